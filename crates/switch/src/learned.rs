//! Which address is behind which port, as a bridge learns it (IEEE 802.1D section 7.8): for outputs to `NORMAL`.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use brimful_frame::{Field, Headers, VLAN_PRESENT};

/// Addresses that are kept at most, where nothing else is said.
const MOST: usize = 1 << 16;
/// How long an address is kept without a frame from it: the default of IEEE 802.1D.
const LIFE_NS: u64 = 300_000_000_000;
const ADDRESSES_LEN: usize = 12;
/// Addresses of so much time may be learned at once, where there is a limit of their rate.
const BURST_NS: u64 = 50_000_000;

/// A VLAN as a match has it, and an address.
type Station = (u16, [u8; 6]);

/// How much a switch learns, so that tests of switches have one of known truth.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct LearningLimits {
    /// Addresses that are kept at most.
    pub addresses: usize,
    /// New addresses a second; 0 for no limit.
    pub rate: u64,
}

impl Default for LearningLimits {
    fn default() -> Self {
        Self {
            addresses: MOST,
            rate: 0,
        }
    }
}

/// The ports that stations are behind.
#[derive(Debug, Default)]
pub(crate) struct Learned {
    limits: LearningLimits,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    places: HashMap<Station, Place>,
    /// Time that new addresses may still take of the limit of their rate, and when that was.
    credit_ns: u64,
    credited_at: u64,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    port: u32,
    seen_at: u64,
}

impl Learned {
    /// Nothing yet, and never more than this.
    pub(crate) fn within(limits: LearningLimits) -> Self {
        Self {
            limits,
            known: Mutex::default(),
        }
    }

    /// Notes which port a frame's sender is behind.
    pub(crate) fn learn(&self, frame: &[u8], port: u32, now: u64) {
        let Some((_, sender)) = stations(frame) else {
            return;
        };
        if is_for_several(sender.1) {
            return;
        }
        let mut known = self.known();
        let is_new = !known.places.get(&sender).is_some_and(|place| place.is_known(now));
        if is_new && !known.may_learn(self.limits.rate, now) {
            return;
        }
        let places = &mut known.places;
        if places.len() >= self.limits.addresses && !places.contains_key(&sender) {
            places.retain(|_, place| place.is_known(now));
            if places.len() >= self.limits.addresses {
                return;
            }
        }
        places.insert(sender, Place { port, seen_at: now });
    }

    /// The port that a frame's receiver is behind, if that is known.
    pub(crate) fn find(&self, frame: &[u8], now: u64) -> Option<u32> {
        let (receiver, _) = stations(frame)?;
        let place = self.known().places.get(&receiver).copied();
        place.filter(|place| place.is_known(now)).map(|place| place.port)
    }

    /// Forgets all stations behind a port.
    pub(crate) fn forget(&self, port: u32) {
        self.known().places.retain(|_, place| place.port != port);
    }

    /// Forgets all stations; what may be learned at once is not more for it.
    pub(crate) fn forget_all(&self) {
        self.known().places.clear();
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// Whether there is room for a new address within a rate, which it then takes.
    fn may_learn(&mut self, rate: u64, now: u64) -> bool {
        let Some(cost_ns) = 1_000_000_000_u64.checked_div(rate) else {
            return true;
        };
        let earned_ns = now.saturating_sub(self.credited_at);
        self.credited_at = now;
        self.credit_ns = self.credit_ns.saturating_add(earned_ns).min(BURST_NS.max(cost_ns));
        let has_room = self.credit_ns >= cost_ns;
        self.credit_ns -= if has_room { cost_ns } else { 0 };
        has_room
    }
}

impl Place {
    fn is_known(self, now: u64) -> bool {
        now.saturating_sub(self.seen_at) < LIFE_NS
    }
}

/// Whether a bridge keeps a frame to itself: those of its own protocols (IEEE 802.1D table 7-10).
pub(crate) fn is_for_bridges(frame: &[u8]) -> bool {
    matches!(frame, [0x01, 0x80, 0xc2, 0x00, 0x00, 0x00..=0x0f, ..])
}

fn is_for_several(address: [u8; 6]) -> bool {
    address[0] & 1 == 1
}

/// Who a frame is for, and who it is from.
fn stations(frame: &[u8]) -> Option<(Station, Station)> {
    let addresses: [u8; ADDRESSES_LEN] = *frame.first_chunk()?;
    // IEEE 802.1Q section 9.6: a tag with VLAN 0 gives a priority only; such a frame is of the port's own VLAN, as one
    // without a tag is.
    let vlan = match Field::VlanVid.read(frame, &Headers::parse(frame))? {
        VLAN_PRESENT => 0,
        vlan => vlan as u16,
    };
    let address = |at: usize| std::array::from_fn(|index| addresses[at + index]);
    Some(((vlan, address(0)), (vlan, address(6))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(to: u8, from: u8, vlan: Option<u8>) -> Vec<u8> {
        let tag = vlan.map_or(Vec::new(), |vlan| vec![0x81, 0, 0, vlan]);
        [
            &[2, 0, 0, 0, 0, to][..],
            &[2, 0, 0, 0, 0, from],
            &tag,
            &[8, 6],
            &[0; 46],
        ]
        .concat()
    }

    #[test]
    fn a_station_is_found_where_it_was_last_seen_in_its_vlan_and_forgotten_in_time() {
        let learned = Learned::default();
        assert_eq!(learned.find(&frame(1, 9, None), 0), None);
        learned.learn(&frame(9, 1, None), 5, 0);
        assert_eq!(learned.find(&frame(1, 9, None), 1), Some(5));
        assert_eq!(learned.find(&frame(1, 9, Some(7)), 1), None);
        assert_eq!(learned.find(&frame(1, 9, Some(0)), 1), Some(5));
        learned.learn(&frame(9, 1, Some(7)), 6, 1);
        assert_eq!(learned.find(&frame(1, 9, Some(7)), 1), Some(6));
        learned.learn(&frame(9, 1, None), 7, 2);
        assert_eq!(learned.find(&frame(1, 9, None), 2), Some(7));
        assert_eq!(learned.find(&frame(1, 9, None), LIFE_NS + 2), None);
    }

    #[test]
    fn stations_behind_a_port_that_is_gone_are_forgotten() {
        let learned = Learned::default();
        learned.learn(&frame(9, 1, None), 5, 0);
        learned.learn(&frame(9, 2, None), 6, 0);
        learned.forget(5);
        assert_eq!(learned.find(&frame(1, 9, None), 1), None);
        assert_eq!(learned.find(&frame(2, 9, None), 1), Some(6));
    }

    #[test]
    fn addresses_of_several_stations_are_not_learnt() {
        let learned = Learned::default();
        let mut several = frame(9, 1, None);
        several[6] = 3;
        learned.learn(&several, 5, 0);
        assert!(learned.known().places.is_empty());
    }

    #[test]
    fn no_more_stations_are_kept_than_there_is_room_for() {
        let learned = Learned::default();
        let station = |number: usize| {
            let mut frame = frame(9, 1, None);
            frame[8..12].copy_from_slice(&(number as u32).to_be_bytes());
            frame
        };
        (0..MOST).for_each(|number| learned.learn(&station(number), 1, 0));
        learned.learn(&station(MOST), 1, 1);
        assert_eq!(learned.known().places.len(), MOST);
        learned.learn(&station(MOST), 1, LIFE_NS);
        assert_eq!(learned.known().places.len(), 1);
    }

    #[test]
    fn new_addresses_are_learned_within_their_rate_and_known_ones_stay_known() {
        let limits = LearningLimits {
            addresses: 100,
            rate: 100,
        };
        let learned = Learned::within(limits);
        let hour = 3_600_000_000_000;
        // What may come at once is five addresses, and then one each 10 ms.
        let known = |from: u8, now: u64| {
            (from..from + 10).for_each(|number| learned.learn(&frame(99, number, None), 1, now));
            (from..from + 10)
                .filter(|&number| learned.find(&frame(number, 99, None), now).is_some())
                .count()
        };
        assert_eq!(known(1, hour), 5);
        assert_eq!(known(20, hour + 10_000_000), 1);
        assert_eq!(known(40, hour + 39_000_000), 2);
        learned.learn(&frame(99, 1, None), 7, hour + 39_000_000);
        assert_eq!(learned.find(&frame(1, 99, None), hour + 39_000_000), Some(7));
    }

    #[test]
    fn frames_of_bridges_are_known() {
        assert!(is_for_bridges(&[1, 0x80, 0xc2, 0, 0, 0, 9]));
        assert!(is_for_bridges(&[1, 0x80, 0xc2, 0, 0, 15, 9]));
        assert!(!is_for_bridges(&[1, 0x80, 0xc2, 0, 0, 16, 9]));
        assert!(!is_for_bridges(&[1, 0x80]));
    }
}
