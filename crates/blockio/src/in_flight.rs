use brimful_trial::Nanoseconds;

use crate::Direction;

/// No slot.
const NONE: u32 = u32::MAX;

/// An IO that was handed to the device.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Started {
    /// Its number in the trial.
    pub(crate) index: u64,
    pub(crate) direction: Direction,
    pub(crate) len: u32,
    /// When it was to start.
    pub(crate) due: Nanoseconds,
    /// When it did.
    pub(crate) sent_at: Nanoseconds,
    /// Its deadline has passed, and it has been counted as lost.
    pub(crate) has_expired: bool,
}

/// What the device has, oldest first; everything takes the same time, however much that is.
pub(crate) struct InFlight {
    slots: Vec<Slot>,
    free: Vec<u32>,
    oldest: u32,
    newest: u32,
    /// The oldest that has not expired.
    unexpired: u32,
}

#[derive(Clone, Copy)]
struct Slot {
    started: Started,
    older: u32,
    newer: u32,
}

impl InFlight {
    pub(crate) fn new(slots: u32) -> Self {
        let nothing = Started {
            index: 0,
            direction: Direction::Read,
            len: 0,
            due: Nanoseconds::ZERO,
            sent_at: Nanoseconds::ZERO,
            has_expired: false,
        };
        let empty = Slot {
            started: nothing,
            older: NONE,
            newer: NONE,
        };
        Self {
            slots: vec![empty; slots as usize],
            free: (0..slots).rev().collect(),
            oldest: NONE,
            newest: NONE,
            unexpired: NONE,
        }
    }

    pub(crate) fn slots(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    pub(crate) fn oldest(&self) -> Option<&Started> {
        self.slots.get(self.oldest as usize).map(|slot| &slot.started)
    }

    /// Takes a slot, where one is free.
    pub(crate) fn begin(&mut self, started: Started) -> Option<u32> {
        let slot = self.free.pop()?;
        self.slots[slot as usize] = Slot {
            started,
            older: self.newest,
            newer: NONE,
        };
        match self.newest {
            NONE => self.oldest = slot,
            newest => self.slots[newest as usize].newer = slot,
        }
        self.newest = slot;
        if self.unexpired == NONE {
            self.unexpired = slot;
        }
        Some(slot)
    }

    /// Gives a slot back.
    pub(crate) fn end(&mut self, slot: u32) -> Started {
        let Slot { started, older, newer } = self.slots[slot as usize];
        match older {
            NONE => self.oldest = newer,
            older => self.slots[older as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.slots[newer as usize].older = older,
        }
        if self.unexpired == slot {
            self.unexpired = newer;
        }
        self.free.push(slot);
        started
    }

    /// Marks those that were due before a time, which rises; `expired` gets each once.
    pub(crate) fn expire(&mut self, before: Nanoseconds, mut expired: impl FnMut(&Started)) {
        while let Some(slot) = self.slots.get_mut(self.unexpired as usize)
            && slot.started.due < before
        {
            slot.started.has_expired = true;
            expired(&slot.started);
            self.unexpired = slot.newer;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Step {
        Begin,
        End(usize),
        Expire(u64),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            4 => Just(Step::Begin),
            3 => (0..8_usize).prop_map(Step::End),
            1 => (0..60_u64).prop_map(Step::Expire),
        ];
        proptest::collection::vec(step, 1..200)
    }

    proptest! {
        #[test]
        fn equals_the_naive_twin(steps in steps()) {
            let mut in_flight = InFlight::new(8);
            let mut naive: Vec<(u32, Started)> = Vec::new();
            let (mut next, mut horizon) = (0, 0);
            for step in steps {
                match step {
                    Step::Begin => {
                        let started = Started {
                            index: next,
                            direction: Direction::Read,
                            len: 1,
                            due: Nanoseconds(next),
                            sent_at: Nanoseconds(next),
                            has_expired: false,
                        };
                        let slot = in_flight.begin(started);
                        prop_assert_eq!(slot.is_some(), naive.len() < 8);
                        if let Some(slot) = slot {
                            prop_assert!(naive.iter().all(|(other, _)| *other != slot));
                            naive.push((slot, started));
                        }
                        next += 1;
                    }
                    Step::End(at) if !naive.is_empty() => {
                        let (slot, started) = naive.remove(at % naive.len());
                        prop_assert_eq!(in_flight.end(slot), started);
                    }
                    Step::End(_) => {}
                    Step::Expire(by) => {
                        horizon = (horizon + by).min(next);
                        let mut found = Vec::new();
                        in_flight.expire(Nanoseconds(horizon), |started| found.push(started.index));
                        let mut expected = Vec::new();
                        for (_, started) in &mut naive {
                            if !started.has_expired && started.due.0 < horizon {
                                started.has_expired = true;
                                expected.push(started.index);
                            }
                        }
                        prop_assert_eq!(found, expected);
                    }
                }
                prop_assert_eq!(in_flight.len(), naive.len());
                prop_assert_eq!(in_flight.oldest(), naive.first().map(|(_, started)| started));
            }
        }
    }
}
