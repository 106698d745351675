//! Which address is behind which port, as a bridge learns it (IEEE 802.1D section 7.8): for outputs to `NORMAL`.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use brimful_frame::{Field, Headers, VLAN_PRESENT};

/// Addresses that are kept at most.
const MOST: usize = 1 << 16;
/// How long an address is kept without a frame from it: the default of IEEE 802.1D.
const LIFE_NS: u64 = 300_000_000_000;
const ADDRESSES_LEN: usize = 12;

/// A VLAN as a match has it, and an address.
type Station = (u16, [u8; 6]);

/// The ports that stations are behind.
#[derive(Debug, Default)]
pub(crate) struct Learned(Mutex<HashMap<Station, Place>>);

#[derive(Clone, Copy, Debug)]
struct Place {
    port: u32,
    seen_at: u64,
}

impl Learned {
    /// Notes which port a frame's sender is behind.
    pub(crate) fn learn(&self, frame: &[u8], port: u32, now: u64) {
        let Some((_, sender)) = stations(frame) else {
            return;
        };
        if is_for_several(sender.1) {
            return;
        }
        let mut places = self.places();
        if places.len() >= MOST && !places.contains_key(&sender) {
            places.retain(|_, place| place.is_known(now));
            if places.len() >= MOST {
                return;
            }
        }
        places.insert(sender, Place { port, seen_at: now });
    }

    /// The port that a frame's receiver is behind, if that is known.
    pub(crate) fn find(&self, frame: &[u8], now: u64) -> Option<u32> {
        let (receiver, _) = stations(frame)?;
        let place = self.places().get(&receiver).copied();
        place.filter(|place| place.is_known(now)).map(|place| place.port)
    }

    /// Forgets all stations behind a port.
    pub(crate) fn forget(&self, port: u32) {
        self.places().retain(|_, place| place.port != port);
    }

    fn places(&self) -> MutexGuard<'_, HashMap<Station, Place>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
        assert!(learned.places().is_empty());
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
        assert_eq!(learned.places().len(), MOST);
        learned.learn(&station(MOST), 1, LIFE_NS);
        assert_eq!(learned.places().len(), 1);
    }

    #[test]
    fn frames_of_bridges_are_known() {
        assert!(is_for_bridges(&[1, 0x80, 0xc2, 0, 0, 0, 9]));
        assert!(is_for_bridges(&[1, 0x80, 0xc2, 0, 0, 15, 9]));
        assert!(!is_for_bridges(&[1, 0x80, 0xc2, 0, 0, 16, 9]));
        assert!(!is_for_bridges(&[1, 0x80]));
    }
}
