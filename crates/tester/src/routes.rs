use std::sync::Arc;

use crate::division::quotient;
use crate::traffic_pattern::{Allotment, Part};
use crate::{Share, TrafficPattern};

/// The directions of a bed of ports, and in which order each port sends in them.
///
/// A direction has sequence numbers of its own, so that what arrives is counted without looking at the others; which
/// frame of its port a frame of it is follows from them and back.
#[derive(Clone, Debug)]
pub struct Routes {
    directions: Vec<Direction>,
    orders: Vec<SendingOrder>,
}

/// From one port to another; its place among the directions is the stream of its frames.
#[derive(Clone, Debug)]
pub struct Direction {
    /// The port that sends.
    pub from: usize,
    /// The port that the frames are for.
    pub to: usize,
    /// The place of its order among those.
    pub(crate) order: usize,
    pub(crate) turns: Turns,
}

/// The frames of one direction among all of its port, which repeat a round.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Turns {
    /// Frames of a round.
    round: u64,
    /// The places of this direction in it, rising.
    places: Arc<[u64]>,
}

/// To whom a port sends its frames, one after the other.
#[derive(Clone, Debug)]
pub struct SendingOrder {
    /// The port.
    pub from: usize,
    /// What it sends of the load.
    pub share: f64,
    round: Arc<[Place]>,
}

/// Of a round of a port.
#[derive(Clone, Copy, Debug)]
struct Place {
    direction: u8,
    /// Frames of this direction earlier in the round, and in all of it.
    before: u32,
    of_round: u32,
}

impl Routes {
    /// The directions of a pattern; `shares` are what the ports send of what the pattern gives them, all of it where
    /// there are none.
    ///
    /// # Errors
    /// When pattern, shares and number of ports do not fit, in one line that begins with the option.
    pub fn new(pattern: &TrafficPattern, ports: usize, is_both_ways: bool, shares: &[Share]) -> Result<Self, String> {
        if !shares.is_empty() && shares.len() != ports {
            return Err(format!(
                "--port-shares has {} shares: give {ports}, one for each port in their order, like 100%/20%",
                shares.len()
            ));
        }
        let mut routes = Self {
            directions: Vec::new(),
            orders: Vec::new(),
        };
        for allotment in pattern.allotments(ports, is_both_ways)? {
            let share = shares.get(allotment.from).copied().unwrap_or(Share::WHOLE);
            routes.add(&allotment, share);
        }
        Ok(routes)
    }

    fn add(&mut self, allotment: &Allotment, share: Share) {
        let weights: Vec<_> = allotment.parts.iter().map(|part| part.weight).collect();
        let round = spread(&weights);
        let first = self.directions.len();
        let order = self.orders.len();
        for (index, &Part { to, .. }) in allotment.parts.iter().enumerate() {
            let places = (0..)
                .zip(&round)
                .filter(|&(_, &own)| own == index)
                .map(|(place, _)| place);
            self.directions.push(Direction {
                from: allotment.from,
                to,
                order,
                turns: Turns {
                    round: round.len() as u64,
                    places: places.collect(),
                },
            });
        }
        let mut before = vec![0; weights.len()];
        let place = |&index: &usize| {
            before[index] += 1;
            Place {
                direction: (first + index) as u8,
                before: before[index] - 1,
                of_round: self.directions[first + index].turns.places.len() as u32,
            }
        };
        self.orders.push(SendingOrder {
            from: allotment.from,
            share: share.ratio() * f64::from(weights.iter().sum::<u32>()) / f64::from(allotment.whole),
            round: round.iter().map(place).collect(),
        });
    }

    /// All directions; those of a port come together, in the order of the ports.
    pub fn directions(&self) -> &[Direction] {
        &self.directions
    }

    /// Of the ports that send, in the order of the ports.
    pub fn orders(&self) -> &[SendingOrder] {
        &self.orders
    }

    /// The place of a port among those that send.
    pub(crate) fn place_of(&self, port: usize) -> Option<usize> {
        self.orders.iter().position(|order| order.from == port)
    }

    /// What all ports send together, in loads.
    pub fn factor(&self) -> f64 {
        self.orders.iter().map(|order| order.share).sum()
    }
}

impl SendingOrder {
    /// The direction of a frame of the port and its number there.
    pub fn at(&self, frame: u64) -> (usize, u64) {
        let len = self.round.len() as u64;
        let round = quotient(frame, len);
        let place = &self.round[(frame - round * len) as usize];
        let number = round * u64::from(place.of_round) + u64::from(place.before);
        (usize::from(place.direction), number)
    }
}

impl Turns {
    /// Which frame of its port a frame of the direction is.
    pub(crate) fn frame_of_port(&self, number: u64) -> u64 {
        let len = self.places.len() as u64;
        let round = quotient(number, len);
        round * self.round + self.places[(number - round * len) as usize]
    }

    /// Frames of the direction among the first `frames` of its port.
    pub(crate) fn among(&self, frames: u64) -> u64 {
        let round = quotient(frames, self.round);
        let begun = frames - round * self.round;
        round * self.places.len() as u64 + self.places.partition_point(|&place| place < begun) as u64
    }
}

/// Each index as often as its weight says, spread as evenly as a round allows: at each place the one that is furthest
/// behind, and of several the first.
fn spread(weights: &[u32]) -> Vec<usize> {
    let divisor = weights.iter().copied().fold(0, greatest_common_divisor);
    let weights: Vec<_> = weights.iter().map(|weight| i64::from(weight / divisor)).collect();
    let len: i64 = weights.iter().sum();
    let mut credits = vec![0; weights.len()];
    let next = |_| {
        for (credit, weight) in credits.iter_mut().zip(&weights) {
            *credit += weight;
        }
        let furthest = (0..credits.len())
            .rev()
            .max_by_key(|&index| credits[index])
            .expect("a port sends somewhere");
        credits[furthest] -= len;
        furthest
    };
    (0..len).map(next).collect()
}

fn greatest_common_divisor(one: u32, other: u32) -> u32 {
    if other == 0 {
        one
    } else {
        greatest_common_divisor(other, one % other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn routes(pattern: &str, ports: usize) -> Routes {
        Routes::new(&pattern.parse().unwrap(), ports, true, &[]).unwrap()
    }

    /// The ports, counted from 1, that each port sends its first frames to.
    fn order(routes: &Routes, frames: u64) -> Vec<(usize, Vec<usize>)> {
        let to = |order: &SendingOrder, frame| routes.directions()[order.at(frame).0].to + 1;
        let of_port = |order: &SendingOrder| (order.from + 1, (0..frames).map(|frame| to(order, frame)).collect());
        routes.orders().iter().map(of_port).collect()
    }

    #[test]
    fn a_mesh_has_the_order_of_the_rfc() {
        // The example of RFC 2889 section 5.1.3.
        let expected = [
            (1, vec![2, 3, 4, 5, 6, 2]),
            (2, vec![3, 4, 5, 6, 1, 3]),
            (3, vec![4, 5, 6, 1, 2, 4]),
            (4, vec![5, 6, 1, 2, 3, 5]),
            (5, vec![6, 1, 2, 3, 4, 6]),
            (6, vec![1, 2, 3, 4, 5, 1]),
        ];
        assert_eq!(order(&routes("mesh", 6), 6), expected);
    }

    #[test]
    fn in_each_slot_of_a_mesh_every_port_is_the_destination_of_one() {
        for ports in [2, 3, 4, 6, 8, 16] {
            let order = order(&routes("mesh", ports), 3 * ports as u64);
            for slot in 0..3 * ports {
                let to: BTreeSet<_> = order.iter().map(|(_, to)| to[slot]).collect();
                assert_eq!(to.len(), ports, "{ports} {slot}");
                assert!(order.iter().all(|(from, to)| to[slot] != *from));
            }
        }
    }

    #[test]
    fn halves_have_the_order_of_the_rfc() {
        // The example of RFC 2889 section 5.4.
        let expected = [
            (1, vec![5, 6, 7, 8, 5]),
            (2, vec![6, 7, 8, 5, 6]),
            (3, vec![7, 8, 5, 6, 7]),
            (4, vec![8, 5, 6, 7, 8]),
        ];
        assert_eq!(order(&routes("halves", 8), 5), expected);
    }

    #[test]
    fn shares_are_spread_evenly() {
        let uneven = routes("flows:1>2=50%,1>3=25%,3>1=10%", 3);
        assert_eq!(order(&uneven, 6), [(1, vec![2, 3, 2, 2, 3, 2]), (3, vec![1; 6])]);
        let shares: Vec<_> = uneven.orders().iter().map(|order| order.share).collect();
        assert!(
            (shares[0] - 0.75).abs() < 1e-12 && (shares[1] - 0.1).abs() < 1e-12,
            "{shares:?}"
        );
        assert!((uneven.factor() - 0.85).abs() < 1e-12);
        // What is not said is divided evenly.
        let open = routes("flows:1>2=40%,1>3,1>4", 4);
        assert_eq!(order(&open, 10)[0].1.iter().filter(|&&to| to == 3).count(), 3);
        assert!((open.factor() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn what_does_not_fit_is_refused_in_one_line() {
        for (pattern, shares, expected) in [
            ("ring", "", "write pairs, mesh"),
            ("flows:", "", "`` is no flow"),
            ("flows:1", "", "`1` is no flow: write FROM>TO"),
            ("flows:1>17", "", "is no flow"),
            ("flows:0>1", "", "is no flow"),
            ("flows:2>2", "", "a port does not send to itself"),
            ("flows:1>2=150%", "", "`150%` is no share of the load"),
            ("flows:1>2=0%", "", "is no share"),
            ("flows:1>2=0.001%", "", "two decimals at most"),
            ("flows:1>2=1", "", "is no share"),
            ("flows:1>6", "", "--pattern flows:1>6: 1>6: there are 5 ports"),
            ("flows:1>2,1>2=1%", "", "1>2=1% is there twice"),
            ("flows:1>2=60%,1>3=60%", "", "port 1 sends more than 100% of the load"),
            (
                "flows:1>2=100%,1>3",
                "",
                "port 1 has nothing left for a flow without a share",
            ),
            ("pairs", "", "--pattern pairs: 5 ports leave one over"),
            ("halves", "", "--pattern halves: 5 ports leave one over"),
            ("mesh", "100%/20%", "--port-shares has 2 shares: give 5"),
            ("mesh", "100%/x", "`x` is no share"),
        ] {
            let shares = if shares.is_empty() {
                Ok(Vec::new())
            } else {
                Share::parse_list(shares)
            };
            let made = pattern
                .parse::<TrafficPattern>()
                .and_then(|pattern| Routes::new(&pattern, 5, true, &shares?));
            let message = made.unwrap_err();
            assert!(message.contains(expected), "{pattern}: {message}");
            assert!(!message.contains('\n'));
        }
    }

    prop_compose! {
        /// Some flows of a port among eight.
        fn flows()(weights in prop::collection::vec(0..=1428_u32, 7)) -> Vec<(usize, u32)> {
            (2..=8).zip(weights).filter(|&(_, weight)| weight > 0).collect()
        }
    }

    proptest! {
        /// The twin counts frames one by one.
        #[test]
        fn directions_number_their_frames_as_a_naive_twin_does(flows in flows(), frames in 1..3000_u64) {
            prop_assume!(!flows.is_empty());
            let texts: Vec<_> = flows
                .iter()
                .map(|(to, weight)| format!("1>{to}={}.{:02}%", weight / 100, weight % 100))
                .collect();
            let routes = routes(&format!("flows:{}", texts.join(",")), 8);
            let mut naive = vec![0; routes.directions().len()];
            let order = &routes.orders()[0];
            for frame in 0..frames {
                let (direction, number) = order.at(frame);
                prop_assert_eq!(number, naive[direction]);
                prop_assert_eq!(routes.directions()[direction].turns.frame_of_port(number), frame);
                naive[direction] += 1;
            }
            let total: u32 = flows.iter().map(|flow| flow.1).sum();
            for (direction, (to, weight)) in flows.iter().enumerate() {
                let found = &routes.directions()[direction];
                prop_assert_eq!(found.to + 1, *to);
                prop_assert_eq!(found.turns.among(frames), naive[direction]);
                // Spread: never further from its share than there are flows.
                let due = frames as f64 * f64::from(*weight) / f64::from(total);
                prop_assert!((naive[direction] as f64 - due).abs() <= flows.len() as f64);
            }
        }

        /// Which port of a mesh a frame is for, said as in the RFC.
        #[test]
        fn a_mesh_is_what_the_formula_says(ports in 2..=16_usize, port in 0..16_usize, frame in 0..1_000_000_u64) {
            let port = port % ports;
            let routes = routes("mesh", ports);
            let to = routes.directions()[routes.orders()[port].at(frame).0].to + 1;
            prop_assert_eq!(to, 1 + ((port + 1) + (frame as usize % (ports - 1))) % ports);
        }
    }
}
