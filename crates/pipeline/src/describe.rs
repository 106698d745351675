//! What could not be described: a controller that asks for it has to get all of it in one message, of any version. So it is
//! refused when it comes.

use brimful_openflow::wire::{Version, Wire, encoded_len};
use brimful_openflow::{Bucket, ErrorCode, ErrorMessage, GroupMod, MeterMod};

use crate::Instructions;

type Checked = Result<(), ErrorMessage>;

/// Bytes of a message at most, and of the headers that parts of a multipart reply have.
const MOST_MESSAGE: usize = u16::MAX as usize;
const REPLY_HEADERS: usize = 16;
/// A flow's statistics before its match (OF 1.3.5 section 7.3.5.2), and more than any match takes, which has every field
/// once.
const FLOW_HEADERS: usize = 48;
const MOST_MATCH: usize = 4096;
/// What a group and a meter begin with where they are described (OF 1.3.5 sections 7.3.5.7 and 7.3.5.10).
const DESCRIPTION_HEADERS: usize = 8;
/// Statistics of a group or a meter, and of each of its buckets or bands (OF 1.3.5 sections 7.3.5.6 and 7.3.5.9).
const STATISTICS_HEADERS: usize = 40;
const STATISTICS_OF_PART: usize = 16;
/// This number of actions and buckets fits whatever they are: none takes more than 40 bytes.
const FEW: usize = 1000;

/// Checks the instructions of an entry.
pub(crate) fn check_flow(instructions: &Instructions) -> Checked {
    if instructions.apply.len() + instructions.write.len() <= FEW {
        return Ok(());
    }
    let actions = instructions.apply.iter().chain(&instructions.write);
    let room = MOST_MESSAGE - REPLY_HEADERS - FLOW_HEADERS - MOST_MATCH;
    check(room, actions, || {
        ErrorCode::ACTION_TOO_MANY.because("the actions take more than a description of the entry can have")
    })
}

/// Checks the buckets of a group.
pub(crate) fn check_group(change: &GroupMod) -> Checked {
    let too_many = || {
        ErrorCode::GROUP_TOO_MANY_BUCKETS.because(format!(
            "group {}: {} buckets take more than a description of it can have",
            change.group,
            change.buckets.len()
        ))
    };
    check_parts(change.buckets.len(), too_many)?;
    let parts = |bucket: &Bucket| 1 + bucket.actions.len();
    if change.buckets.iter().map(parts).sum::<usize>() <= FEW {
        return Ok(());
    }
    let room = MOST_MESSAGE - REPLY_HEADERS - DESCRIPTION_HEADERS;
    check(room, change.buckets.iter(), too_many)
}

/// Checks the bands of a meter.
pub(crate) fn check_meter(change: &MeterMod) -> Checked {
    check_parts(change.bands.len(), || {
        let text = format!(
            "meter {}: {} bands are more than its statistics can have",
            change.meter,
            change.bands.len()
        );
        ErrorCode::METER_TOO_MANY_BANDS.because(text)
    })
}

fn check_parts(count: usize, too_many: impl Fn() -> ErrorMessage) -> Checked {
    let most = (MOST_MESSAGE - REPLY_HEADERS - STATISTICS_HEADERS) / STATISTICS_OF_PART;
    if count <= most { Ok(()) } else { Err(too_many()) }
}

/// Whether parts fit into bytes; versions have them alike, but for what surrounds them.
fn check<'p, P: Wire + 'p>(
    room: usize,
    mut parts: impl Iterator<Item = &'p P>,
    too_long: impl Fn() -> ErrorMessage,
) -> Checked {
    let len = parts.try_fold(0, |sum: usize, part| Some(sum + encoded_len(part, Version::V14)?));
    if len.is_some_and(|len| len <= room) {
        Ok(())
    } else {
        Err(too_long())
    }
}
