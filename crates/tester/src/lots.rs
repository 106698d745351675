use crate::division::quotient;

/// How the frames of a port are dealt out to the threads that send them: by turns, as flows take them, so that one
/// thread sends all frames of a flow where there are a multiple of as many flows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Lots {
    /// How many threads share the port.
    pub(crate) count: u64,
    /// Frames of one turn.
    pub(crate) turn: u64,
}

impl Lots {
    /// All frames in one.
    pub(crate) const ONE: Self = Self { count: 1, turn: 1 };

    /// Which lot a frame of the port is in, and its number there.
    pub(crate) fn place_of(self, frame: u64) -> (usize, u64) {
        if self.count == 1 {
            return (0, frame);
        }
        let turn = quotient(frame, self.turn);
        let round = quotient(turn, self.count);
        let lot = turn - round * self.count;
        (lot as usize, frame - (turn - round) * self.turn)
    }

    /// Which frame of the port a frame of a lot is.
    pub(crate) fn frame_of_port(self, lot: usize, number: u64) -> u64 {
        if self.count == 1 {
            return number;
        }
        let round = quotient(number, self.turn);
        number + (round * (self.count - 1) + lot as u64) * self.turn
    }

    /// Frames that come faster than all frames of a lot do on average, at most.
    pub(crate) fn excess(self) -> f64 {
        if self.count == 1 { 0.0 } else { self.turn as f64 }
    }

    /// Frames of a lot among the first `frames` of the port.
    pub(crate) fn among(self, lot: usize, frames: u64) -> u64 {
        if self.count == 1 {
            return frames;
        }
        let round = self.count * self.turn;
        let rounds = quotient(frames, round);
        let begun = (frames - rounds * round).saturating_sub(lot as u64 * self.turn);
        rounds * self.turn + begun.min(self.turn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The twin deals them out one by one.
        #[test]
        fn frames_are_dealt_out_as_a_naive_twin_does(count in 1..9_u64, turn in 1..13_u64, frames in 0..500_u64) {
            let lots = Lots { count, turn };
            let mut naive = vec![0; count as usize];
            for frame in 0..frames {
                let lot = (frame / turn % count) as usize;
                prop_assert_eq!(lots.place_of(frame), (lot, naive[lot]));
                prop_assert_eq!(lots.frame_of_port(lot, naive[lot]), frame);
                naive[lot] += 1;
            }
            for (lot, &dealt) in naive.iter().enumerate() {
                prop_assert_eq!(lots.among(lot, frames), dealt);
            }
        }

        #[test]
        fn one_thread_has_all_frames_of_a_flow(count in 1..9_u64, turn in 1..13_u64, of_each in 1..5_u64, frame: u32) {
            let (lots, flows) = (Lots { count, turn }, count * of_each);
            let flow = u64::from(frame) / turn % flows;
            prop_assert_eq!(lots.place_of(u64::from(frame)).0 as u64, flow % count);
        }
    }
}
