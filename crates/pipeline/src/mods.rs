//! Changes of groups and meters (OF 1.3.5 sections 6.5 and 6.6).

use std::collections::HashSet;
use std::sync::Arc;

use brimful_openflow::{
    BandType, ErrorCode, ErrorMessage, FlowMod, GROUP_ALL, GROUP_ANY, GroupMod, GroupType, MeterMod, ModCommand,
    meter_flag, port,
};

use crate::check::check_buckets;
use crate::group::chained;
use crate::{Change, CounterId, FlowEntry, GroupEntry, MeterEntry, Pipeline, Removal, Shared, describe};

/// The largest number of a group.
const MOST_GROUP: u32 = 0xffff_ff00;
/// The largest number of a meter.
const MOST_METER: u32 = 0xffff_0000;
/// All meters.
const METER_ALL: u32 = 0xffff_ffff;

type Changes = Result<Vec<Change>, ErrorMessage>;

impl Pipeline {
    /// Does a group-mod at a moment of the owner's clock, in nanoseconds.
    ///
    /// # Errors
    /// With the error for the controller; nothing has changed then.
    pub fn group_mod(&mut self, change: &GroupMod, now: u64) -> Changes {
        describe::check_group(change)?;
        let old = self.shared.groups.get(&change.group).cloned();
        match (change.command, old) {
            (ModCommand::Delete, _) => self.delete_groups(change.group),
            _ if change.group > MOST_GROUP => {
                Err(ErrorCode::GROUP_INVALID.because(format!("group {:#x} is reserved", change.group)))
            }
            (ModCommand::Add, Some(_)) => {
                Err(ErrorCode::GROUP_EXISTS.because(format!("group {} is there", change.group)))
            }
            (ModCommand::Modify, None) => {
                Err(ErrorCode::GROUP_UNKNOWN.because(format!("there is no group {}", change.group)))
            }
            (_, old) => {
                self.check_group(change)?;
                let kept = old.as_ref().map(|old| old.counter);
                let counters = self.counters_for(kept, change.buckets.len(), ErrorCode::GROUP_TOO_MANY)?;
                self.retired.extend(old.iter().flat_map(|old| &old.bucket_counters));
                let entry = GroupEntry {
                    group: change.group,
                    group_type: change.group_type,
                    buckets: change.buckets.clone(),
                    counter: counters.0,
                    bucket_counters: counters.1,
                    installed_at: old.map_or(now, |old| old.installed_at),
                };
                Ok(vec![self.share(|shared| {
                    shared.groups.insert(change.group, Arc::new(entry));
                })])
            }
        }
    }

    /// Does a meter-mod at a moment of the owner's clock, in nanoseconds.
    ///
    /// # Errors
    /// With the error for the controller; nothing has changed then.
    pub fn meter_mod(&mut self, change: &MeterMod, now: u64) -> Changes {
        describe::check_meter(change)?;
        let old = self.shared.meters.get(&change.meter).cloned();
        match (change.command, old) {
            (ModCommand::Delete, _) => Ok(self.delete_meters(change.meter)),
            _ if change.meter == 0 || change.meter > MOST_METER => Err(ErrorCode::METER_INVALID.because(format!(
                "a meter has a number from 1 to {MOST_METER:#x}, not {:#x}",
                change.meter
            ))),
            (ModCommand::Add, Some(_)) => {
                Err(ErrorCode::METER_EXISTS.because(format!("meter {} is there", change.meter)))
            }
            (ModCommand::Modify, None) => {
                Err(ErrorCode::METER_UNKNOWN.because(format!("there is no meter {}", change.meter)))
            }
            (_, old) => {
                check_meter(change)?;
                let kept = old.as_ref().map(|old| old.counter);
                let counters = self.counters_for(kept, change.bands.len(), ErrorCode::METER_TOO_MANY)?;
                self.retired.extend(old.iter().flat_map(|old| &old.band_counters));
                let since = old.map_or(now, |old| old.installed_at);
                let entry = MeterEntry::new(change.meter, change.flags, change.bands.clone(), since, counters);
                Ok(vec![self.share(|shared| {
                    shared.meters.insert(change.meter, Arc::new(entry));
                })])
            }
        }
    }

    fn check_group(&self, change: &GroupMod) -> Result<(), ErrorMessage> {
        let invalid = |text: String| Err(ErrorCode::GROUP_INVALID.because(text));
        // OF 1.3.5 section 6.5: a group that has what its type does not have is refused, such as weights; those of a select
        // group are shares of their sum.
        let is_select = change.group_type == GroupType::Select;
        if !is_select && change.buckets.iter().any(|bucket| bucket.weight != 0) {
            return invalid("only the buckets of select groups have weights".into());
        }
        if is_select && !change.buckets.is_empty() && change.buckets.iter().all(|bucket| bucket.weight == 0) {
            return invalid("no bucket of the select group has a weight".into());
        }
        if change.group_type == GroupType::Indirect && change.buckets.len() != 1 {
            return invalid(format!(
                "an indirect group has one bucket, not {}",
                change.buckets.len()
            ));
        }
        let watches =
            |bucket: &brimful_openflow::Bucket| bucket.watch_port != port::ANY || bucket.watch_group != GROUP_ANY;
        if change.group_type == GroupType::FastFailover && !change.buckets.iter().all(watches) {
            return Err(
                ErrorCode::GROUP_WATCH.because("each bucket of a fast failover group watches a port or a group")
            );
        }
        if self.reaches(change.group, chained(&change.buckets)) {
            return Err(ErrorCode::GROUP_LOOP.because(format!("group {} would lead back to itself", change.group)));
        }
        check_buckets(&change.buckets, &self.shared)
    }

    /// Whether groups lead to one.
    fn reaches(&self, group: u32, from: impl Iterator<Item = u32>) -> bool {
        let mut seen = HashSet::new();
        let mut open: Vec<u32> = from.collect();
        while let Some(next) = open.pop() {
            if next == group {
                return true;
            }
            if seen.insert(next)
                && let Some(entry) = self.shared.groups.get(&next)
            {
                open.extend(entry.chained());
            }
        }
        false
    }

    /// OF 1.3.5 section 6.5: flows that use a deleted group go with it; a group that another one leads to stays.
    fn delete_groups(&mut self, group: u32) -> Changes {
        let groups = &self.shared.groups;
        let gone: HashSet<u32> = match group {
            GROUP_ALL => groups.keys().copied().collect(),
            _ => groups.contains_key(&group).then_some(group).into_iter().collect(),
        };
        if gone.is_empty() {
            return Ok(Vec::new());
        }
        let leads = |entry: &&Arc<GroupEntry>| entry.chained().any(|next| next == group);
        if group != GROUP_ALL
            && let Some(other) = groups.values().find(leads)
        {
            return Err(ErrorCode::GROUP_CHAINED.because(format!("group {} leads to group {group}", other.group)));
        }
        let mut changes = self.remove_where(Removal::GroupDelete, |entry| {
            gone.iter().any(|group| entry.uses_group(*group))
        });
        let entries: Vec<_> = gone
            .iter()
            .filter_map(|group| self.shared.groups.get(group).cloned())
            .collect();
        for entry in &entries {
            self.retire(entry.counter, &entry.bucket_counters);
        }
        changes.push(self.share(|shared| shared.groups.retain(|group, _| !gone.contains(group))));
        Ok(changes)
    }

    fn delete_meters(&mut self, meter: u32) -> Vec<Change> {
        let gone: Vec<Arc<MeterEntry>> = match meter {
            METER_ALL => self.shared.meters.values().cloned().collect(),
            _ => self.shared.meters.get(&meter).cloned().into_iter().collect(),
        };
        if gone.is_empty() {
            return Vec::new();
        }
        let is_gone = |number: u32| gone.iter().any(|entry| entry.meter == number);
        let mut changes = self.remove_where(Removal::MeterDelete, |entry| {
            entry.instructions.meter.is_some_and(is_gone)
        });
        for entry in &gone {
            self.retire(entry.counter, &entry.band_counters);
        }
        changes.push(self.share(|shared| shared.meters.retain(|number, _| !is_gone(*number))));
        changes
    }

    fn remove_where(&mut self, reason: Removal, is_gone: impl Fn(&FlowEntry) -> bool) -> Vec<Change> {
        let entries = self.tables.iter().flat_map(|table| table.by_rank.values());
        let gone: Vec<Arc<FlowEntry>> = entries.filter(|entry| is_gone(entry)).cloned().collect();
        gone.iter().map(|entry| self.remove(entry, reason)).collect()
    }

    fn share(&mut self, change: impl FnOnce(&mut Shared)) -> Change {
        change(Arc::make_mut(&mut self.shared));
        Change::Shared(Arc::clone(&self.shared))
    }

    /// One counter for the whole, and one for each part. A modification keeps that of the whole, and what it says; parts
    /// begin anew (OF 1.3.5 sections 6.5 and 7.3.4).
    fn counters_for(
        &mut self,
        kept: Option<CounterId>,
        parts: usize,
        full: ErrorCode,
    ) -> Result<(CounterId, Vec<CounterId>), ErrorMessage> {
        let missing = parts + usize::from(kept.is_none());
        let mut given: Vec<CounterId> = (0..missing).map_while(|_| self.counters.give()).collect();
        if given.len() < missing {
            self.retired.extend(given);
            return Err(full.because("no counters are left"));
        }
        let whole = kept.unwrap_or_else(|| given.swap_remove(0));
        Ok((whole, given))
    }

    fn retire(&mut self, counter: CounterId, parts: &[CounterId]) {
        self.retired.push(counter);
        self.retired.extend_from_slice(parts);
    }
}

fn check_meter(change: &MeterMod) -> Result<(), ErrorMessage> {
    let known = meter_flag::KBPS | meter_flag::PACKETS | meter_flag::BURST | meter_flag::STATISTICS;
    let both = meter_flag::KBPS | meter_flag::PACKETS;
    if change.flags & !known != 0 || change.flags & both == both {
        return Err(ErrorCode::METER_FLAGS.because(format!(
            "flags {:#x}: kbit/s or packets/s, burst, statistics",
            change.flags
        )));
    }
    for band in &change.bands {
        if band.rate == 0 {
            return Err(ErrorCode::METER_RATE.because("a band needs a rate above 0"));
        }
        if band.band_type == BandType::DscpRemark(0) {
            return Err(
                ErrorCode::METER_BAND_VALUE.because("dscp_remark raises the drop precedence by 1 level at least")
            );
        }
    }
    Ok(())
}

/// A flow-mod that takes everything out of all tables.
pub fn delete_everything() -> FlowMod {
    FlowMod {
        table: brimful_openflow::TABLE_ALL,
        command: brimful_openflow::FlowCommand::Delete,
        ..FlowMod::add(0, 0, brimful_openflow::Match::default(), Vec::new())
    }
}
