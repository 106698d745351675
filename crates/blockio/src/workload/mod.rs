//! What is asked of the device.

mod file;
mod sizes;
mod trace;

use std::str::FromStr;
use std::sync::Arc;

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

pub use file::WorkloadFile;
pub use sizes::{Sizes, parse_bytes};
pub use trace::{Trace, TracedDevice};

use crate::{Direction, Io};

/// Where the IOs go, named as other tools name it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Order {
    /// Anywhere, each place as likely.
    Random,
    /// From the beginning to the end of each stream's part, again and again.
    Sequential,
}

/// An order and what is done there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pattern {
    /// Where.
    pub order: Order,
    /// Share of the IOs that read; the others write.
    pub read_share: f64,
}

impl FromStr for Pattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (order, read_share) = match text {
            "randread" => (Order::Random, 1.0),
            "randwrite" => (Order::Random, 0.0),
            "randrw" => (Order::Random, 0.5),
            "read" => (Order::Sequential, 1.0),
            "write" => (Order::Sequential, 0.0),
            "rw" => (Order::Sequential, 0.5),
            _ => {
                return Err(format!(
                    "`{text}` is no pattern: use randread, randwrite, randrw, read, write or rw"
                ));
            }
        };
        Ok(Self { order, read_share })
    }
}

/// Part of the device.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Area {
    /// Its first byte.
    pub start: u64,
    /// Its bytes.
    pub len: u64,
}

/// What a trial asks of the device, but for its load.
#[derive(Clone, Debug, PartialEq)]
pub enum Workload {
    /// Made up as it goes along.
    Synthetic {
        /// Where, and how much of it reads.
        pattern: Pattern,
        /// Bytes of an IO.
        sizes: Sizes,
        /// Sequential streams, each with its part of the area.
        streams: u64,
    },
    /// As it was recorded, again and again.
    Replay(Arc<Trace>),
}

impl Workload {
    /// Whether it writes.
    pub fn writes(&self) -> bool {
        match self {
            Self::Synthetic { pattern, .. } => pattern.read_share < 1.0,
            Self::Replay(trace) => trace.writes(),
        }
    }

    /// Whether it reads.
    pub fn reads(&self) -> bool {
        match self {
            Self::Synthetic { pattern, .. } => pattern.read_share > 0.0,
            Self::Replay(trace) => trace.reads(),
        }
    }

    /// Bytes of the longest IO.
    pub fn longest(&self) -> u32 {
        match self {
            Self::Synthetic { sizes, .. } => sizes.longest(),
            Self::Replay(trace) => trace.longest(),
        }
    }

    /// Bytes of an IO in the mean.
    pub fn mean_size(&self) -> f64 {
        match self {
            Self::Synthetic { sizes, .. } => sizes.mean(),
            Self::Replay(trace) => trace.mean_size(),
        }
    }

    /// The least multiple that all offsets and lengths have.
    pub fn granularity(&self) -> u32 {
        match self {
            Self::Synthetic { sizes, .. } => sizes.shortest(),
            Self::Replay(_) => Trace::SECTOR,
        }
    }

    /// Checks that it fits into an area of a device that takes IOs in multiples of `block` bytes.
    ///
    /// # Errors
    /// Names what does not fit.
    pub fn check(&self, area: Area, block: u32) -> Result<(), String> {
        let longest = self.longest();
        if u64::from(longest) > area.len {
            return Err(format!("IOs of {longest} bytes do not fit into {} bytes", area.len));
        }
        match self {
            Self::Synthetic { sizes, streams, .. } => {
                if let Some(size) = sizes.all().find(|size| !size.is_multiple_of(block)) {
                    return Err(format!(
                        "IOs of {size} bytes: the device takes multiples of {block} bytes"
                    ));
                }
                if area.len / streams < u64::from(longest) {
                    return Err(format!("{streams} streams have no room in {} bytes", area.len));
                }
                Ok(())
            }
            Self::Replay(trace) => trace.check(area, block),
        }
    }

    /// The IOs of a trial, the same for the same seed.
    pub fn stream(&self, area: Area, seed: u64) -> IoStream {
        let source = match self {
            Self::Synthetic {
                pattern,
                sizes,
                streams,
            } => Source::Synthetic(Synthetic {
                pattern: *pattern,
                sizes: sizes.clone(),
                granularity: u64::from(sizes.shortest()),
                positions: vec![
                    0;
                    if pattern.order == Order::Sequential {
                        *streams as usize
                    } else {
                        0
                    }
                ],
                turn: 0,
                area,
                random: ChaCha8Rng::seed_from_u64(seed),
            }),
            Self::Replay(trace) => Source::Replay {
                trace: Arc::clone(trace),
                area,
                next: 0,
            },
        };
        IoStream(source)
    }
}

/// Gives one IO after the other, for ever.
#[derive(Clone, Debug)]
pub struct IoStream(Source);

#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one a trial")]
enum Source {
    Synthetic(Synthetic),
    Replay { trace: Arc<Trace>, area: Area, next: usize },
}

#[derive(Clone, Debug)]
struct Synthetic {
    pattern: Pattern,
    sizes: Sizes,
    granularity: u64,
    /// Of each sequential stream, from the beginning of its part.
    positions: Vec<u64>,
    turn: usize,
    area: Area,
    random: ChaCha8Rng,
}

impl IoStream {
    /// The next one.
    pub fn next_io(&mut self) -> Io {
        match &mut self.0 {
            Source::Synthetic(synthetic) => synthetic.next_io(),
            Source::Replay { trace, area, next } => {
                let io = trace.io(*next);
                *next = (*next + 1) % trace.len();
                Io {
                    offset: area.start + io.offset,
                    ..io
                }
            }
        }
    }
}

impl Synthetic {
    fn next_io(&mut self) -> Io {
        let len = self.sizes.pick(&mut self.random);
        let direction = if self.pattern.read_share >= 1.0 || self.random.random::<f64>() < self.pattern.read_share {
            Direction::Read
        } else {
            Direction::Write
        };
        let offset = match self.pattern.order {
            Order::Random => {
                let places = (self.area.len - u64::from(len)) / self.granularity + 1;
                below(&mut self.random, places) * self.granularity
            }
            Order::Sequential => self.next_in_stream(len),
        };
        Io {
            direction,
            offset: self.area.start + offset,
            len,
        }
    }

    fn next_in_stream(&mut self, len: u32) -> u64 {
        let streams = self.positions.len();
        let part = self.area.len / streams as u64 / self.granularity * self.granularity;
        let stream = self.turn;
        self.turn = (self.turn + 1) % streams;
        let position = &mut self.positions[stream];
        if *position + u64::from(len) > part {
            *position = 0;
        }
        let offset = stream as u64 * part + *position;
        *position += u64::from(len);
        offset
    }
}

/// A number below a limit; each as likely but for a share of limit / 2^64.
pub(crate) fn below(random: &mut ChaCha8Rng, limit: u64) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(limit)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const AREA: Area = Area {
        start: 1 << 20,
        len: 1 << 24,
    };

    fn workload(pattern: &str, sizes: &str, streams: u64) -> Workload {
        Workload::Synthetic {
            pattern: pattern.parse().unwrap(),
            sizes: sizes.parse().unwrap(),
            streams,
        }
    }

    fn take(workload: &Workload, area: Area, seed: u64, count: usize) -> Vec<Io> {
        let mut stream = workload.stream(area, seed);
        (0..count).map(|_| stream.next_io()).collect()
    }

    #[test]
    fn random_reads_reach_every_place_as_often() {
        let area = Area {
            start: 0,
            len: 64 << 10,
        };
        let mut hits = [0_u32; 16];
        for io in take(&workload("randread", "4k", 1), area, 3, 16_000) {
            assert_eq!((io.direction, io.len), (Direction::Read, 4096));
            hits[(io.offset / 4096) as usize] += 1;
        }
        assert!(hits.iter().all(|&hit| (850..1150).contains(&hit)), "{hits:?}");
    }

    #[test]
    fn streams_take_turns_and_each_reads_its_part_in_order() {
        let ios = take(&workload("read", "1M", 2), AREA, 0, 20);
        let offsets: Vec<u64> = ios.iter().map(|io| (io.offset - AREA.start) >> 20).collect();
        let expected: Vec<u64> = (0..20).map(|turn| turn / 2 % 8 + turn % 2 * 8).collect();
        assert_eq!(offsets, expected);
    }

    #[test]
    fn mixes_have_their_shares() {
        let mut mixed = workload("randrw", "4k:3,64k:1", 1);
        if let Workload::Synthetic { pattern, .. } = &mut mixed {
            pattern.read_share = 0.7;
        }
        let ios = take(&mixed, AREA, 9, 20_000);
        let share = |is: fn(&Io) -> bool| ios.iter().filter(|io| is(io)).count() as f64 / 20_000.0;
        assert!((share(|io| io.direction == Direction::Read) - 0.7).abs() < 0.015);
        assert!((share(|io| io.len == 65_536) - 0.25).abs() < 0.015);
        assert!((mixed.mean_size() - 19_456.0).abs() < 1e-9);
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let check = |sizes, streams, len| workload("read", sizes, streams).check(Area { start: 0, len }, 512);
        assert!(check("4k", 1, 1 << 20).is_ok());
        assert!(check("1000", 1, 1 << 20).unwrap_err().contains("multiples of 512"));
        assert!(check("2M", 1, 1 << 20).unwrap_err().contains("do not fit"));
        assert!(check("512k", 4, 1 << 20).unwrap_err().contains("4 streams"));
        assert!("seqread".parse::<Pattern>().unwrap_err().contains("randread"));
    }

    proptest! {
        #[test]
        fn every_io_lies_within_the_area(
            pattern in prop_oneof![Just("randread"), Just("randrw"), Just("write"), Just("rw")],
            sizes in prop_oneof![Just("512"), Just("4k"), Just("4k:1,12k:2"), Just("1M:1,4k:9")],
            streams in 1..8_u64,
            blocks in 2048..10_000_u64,
            seed: u64,
        ) {
            let area = Area { start: 4096, len: blocks * 4096 };
            let workload = workload(pattern, sizes, streams);
            prop_assume!(workload.check(area, 512).is_ok());
            for io in take(&workload, area, seed, 200) {
                prop_assert!(io.offset >= area.start && io.offset + u64::from(io.len) <= area.start + area.len);
                prop_assert_eq!(io.offset % 512, 0);
            }
            prop_assert_eq!(take(&workload, area, seed, 50), take(&workload, area, seed, 50));
        }
    }
}
