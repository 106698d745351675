use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The simple Internet mix in an order that spreads the sizes: 7 x 64, 4 x 594, 1 x 1518 bytes in twelve frames.
const IMIX: [usize; 12] = [64, 594, 64, 64, 594, 64, 1518, 64, 594, 64, 64, 594];
/// The frame sizes behind the letters of an IMIX genome (RFC 6985 section 4). `z`, the MTU, has none of its own.
const GENOME_LETTERS: [(char, usize); 10] = [
    ('a', 64),
    ('b', 128),
    ('c', 256),
    ('d', 512),
    ('e', 1024),
    ('f', 1280),
    ('g', 1518),
    ('h', 2112),
    ('i', 9000),
    ('j', 16000),
];
/// Frames at most until a pattern of sizes begins again: each has a template of its own.
pub const MAX_SIZE_PATTERN: usize = 4096;

/// Which frame sizes a trial has, frame check sequence included.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum FrameSizes {
    /// One size.
    Fixed(usize),
    /// 7 x 64, 4 x 594 and 1 x 1518 bytes in twelve frames. A size too small for headers and stamp (IPv6, VLAN) is
    /// raised to the smallest that has room.
    Imix,
    /// Several sizes, each as often as its weight says, evenly spread.
    Mix(Vec<WeightedSize>),
    /// Sizes in an order of their own.
    Genome(Genome),
}

/// A frame size and how often it comes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct WeightedSize {
    /// Bytes, frame check sequence included.
    pub size: usize,
    /// Frames of this size in a pattern.
    pub weight: u32,
}

/// The sizes of an IMIX genome (RFC 6985), in the order of its letters.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Genome {
    text: String,
    sizes: Vec<usize>,
}

/// Text or numbers that are no frame sizes.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum FrameSizesError {
    /// No size at all.
    #[error("`{0}` is neither a number of bytes nor `imix`")]
    Unknown(String),
    /// A letter that stands for no size.
    #[error("genome `{text}`: `{letter}` stands for no size: a to j do (RFC 6985), others when `letters` gives one")]
    Letter {
        /// The genome.
        text: String,
        /// The letter.
        letter: char,
    },
    /// A letter that cannot be given a size.
    #[error("letters: `{0}` cannot be given a size: z, the MTU, and capital letters can (RFC 6985)")]
    NoCustomLetter(String),
    /// Only a number, or a number of 0.
    #[error("genome `{0}`: a repetition is a number from 1 and the letter it repeats, like 7a")]
    Repetition(String),
    /// A weight of 0.
    #[error("the weight of size {0} is 0: leave the size out")]
    NoWeight(usize),
    /// Nothing to send.
    #[error("there is no size in it")]
    Empty,
    /// More frames than templates are made for.
    #[error("the pattern has more than {MAX_SIZE_PATTERN} frames")]
    TooLong,
}

impl FrameSizes {
    /// Several sizes with weights. Weights are brought to their smallest form: 500 and 1000 are 1 and 2.
    ///
    /// # Errors
    /// When a weight is 0, there is no size, or the pattern is too long.
    pub fn mix(mut sizes: Vec<WeightedSize>) -> Result<Self, FrameSizesError> {
        if let Some(none) = sizes.iter().find(|entry| entry.weight == 0) {
            return Err(FrameSizesError::NoWeight(none.size));
        }
        let divisor = sizes
            .iter()
            .fold(0, |divisor, entry| common_divisor(divisor, entry.weight));
        if divisor == 0 {
            return Err(FrameSizesError::Empty);
        }
        for entry in &mut sizes {
            entry.weight /= divisor;
        }
        let frames: u64 = sizes.iter().map(|entry| u64::from(entry.weight)).sum();
        if frames > MAX_SIZE_PATTERN as u64 {
            return Err(FrameSizesError::TooLong);
        }
        Ok(Self::Mix(sizes))
    }

    /// The sizes in the order in which they are sent, again and again.
    pub(super) fn pattern(&self, smallest: usize) -> Vec<usize> {
        match self {
            Self::Fixed(size) => vec![*size],
            Self::Imix => IMIX.iter().map(|&size| size.max(smallest)).collect(),
            Self::Mix(sizes) => spread(sizes),
            Self::Genome(genome) => genome.sizes.clone(),
        }
    }
}

impl Genome {
    /// Reads letters, each of which a number before it may repeat: `7a4dg`. `custom` gives sizes to `z` and capital
    /// letters.
    ///
    /// # Errors
    /// When a letter has no size, a repetition no letter, or the pattern is empty or too long.
    pub fn parse(text: &str, custom: &BTreeMap<String, usize>) -> Result<Self, FrameSizesError> {
        let mut letters = BTreeMap::from(GENOME_LETTERS);
        for (name, &size) in custom {
            match name.parse() {
                Ok(letter @ ('z' | 'A'..='Z')) => letters.insert(letter, size),
                _ => return Err(FrameSizesError::NoCustomLetter(name.clone())),
            };
        }
        let mut sizes = Vec::new();
        let mut number = String::new();
        for letter in text.chars() {
            if letter.is_ascii_digit() {
                number.push(letter);
                continue;
            }
            let Some(&size) = letters.get(&letter) else {
                let text = text.to_owned();
                return Err(FrameSizesError::Letter { text, letter });
            };
            let times = match std::mem::take(&mut number) {
                none if none.is_empty() => 1,
                // More digits than fit are more frames than fit.
                digits => digits.parse().unwrap_or(usize::MAX),
            };
            if times == 0 {
                return Err(FrameSizesError::Repetition(text.to_owned()));
            }
            if times > MAX_SIZE_PATTERN - sizes.len() {
                return Err(FrameSizesError::TooLong);
            }
            sizes.extend(std::iter::repeat_n(size, times));
        }
        if !number.is_empty() {
            return Err(FrameSizesError::Repetition(text.to_owned()));
        }
        if sizes.is_empty() {
            return Err(FrameSizesError::Empty);
        }
        let with_sizes = custom.iter().map(|(letter, size)| format!(",{letter}={size}"));
        Ok(Self {
            text: std::iter::once(text.to_owned()).chain(with_sizes).collect(),
            sizes,
        })
    }
}

impl FromStr for FrameSizes {
    type Err = FrameSizesError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "imix" {
            return Ok(Self::Imix);
        }
        let size = text.parse().map_err(|_| FrameSizesError::Unknown(text.to_owned()))?;
        Ok(Self::Fixed(size))
    }
}

impl fmt::Display for FrameSizes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(size) => write!(formatter, "{size}"),
            Self::Imix => write!(formatter, "imix"),
            Self::Mix(sizes) => {
                for (index, entry) in sizes.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(formatter, "{comma}{} x {}", entry.weight, entry.size)?;
                }
                Ok(())
            }
            Self::Genome(genome) => write!(formatter, "{}", genome.text),
        }
    }
}

/// Each size as often as its weight says and as evenly as that allows: at every place the one that is most behind.
fn spread(sizes: &[WeightedSize]) -> Vec<usize> {
    let frames: i64 = sizes.iter().map(|entry| i64::from(entry.weight)).sum();
    let mut behind = vec![0; sizes.len()];
    let next = |_| {
        for (lag, entry) in behind.iter_mut().zip(sizes) {
            *lag += i64::from(entry.weight);
        }
        let largest = behind.iter().max().copied().unwrap_or_default();
        let index = behind.iter().position(|&lag| lag == largest).unwrap_or_default();
        behind[index] -= frames;
        sizes[index].size
    };
    (0..frames).map(next).collect()
}

fn common_divisor(one: u32, other: u32) -> u32 {
    if other == 0 {
        one
    } else {
        common_divisor(other, one % other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn genome(text: &str) -> Result<Vec<usize>, FrameSizesError> {
        let custom = BTreeMap::from([("z".to_owned(), 1500), ("A".to_owned(), 300)]);
        Genome::parse(text, &custom).map(|genome| genome.sizes)
    }

    #[test]
    fn text_is_read() {
        assert_eq!("imix".parse(), Ok(FrameSizes::Imix));
        assert_eq!("1518".parse(), Ok(FrameSizes::Fixed(1518)));
        assert!("big".parse::<FrameSizes>().is_err());
    }

    #[test]
    fn genomes_are_read() {
        assert_eq!(genome("aaafg"), Ok(vec![64, 64, 64, 1280, 1518]));
        assert_eq!(genome("3afg"), genome("aaafg"));
        assert_eq!(
            genome("bcdehiz2A"),
            Ok(vec![128, 256, 512, 1024, 2112, 9000, 1500, 300, 300])
        );
        for (wrong, expected) in [
            ("", "no size"),
            ("3", "repetition"),
            ("0a", "repetition"),
            ("a B", "` `"),
            ("aB", "`B`"),
            ("99999999999999999999999a", "4096"),
        ] {
            let message = genome(wrong).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
        let redefined = BTreeMap::from([("a".to_owned(), 70)]);
        assert!(Genome::parse("a", &redefined).is_err());
    }

    #[test]
    fn weights_are_brought_to_their_smallest_form() {
        let sizes = [(64, 700), (594, 400), (1518, 100)];
        let entries = sizes.map(|(size, weight)| WeightedSize { size, weight });
        let mix = FrameSizes::mix(entries.to_vec()).unwrap();
        assert_eq!(mix.to_string(), "7 x 64, 4 x 594, 1 x 1518");
        assert_eq!(FrameSizes::mix(Vec::new()), Err(FrameSizesError::Empty));
        let heavy = [
            WeightedSize { size: 64, weight: 5000 },
            WeightedSize { size: 65, weight: 1 },
        ];
        assert_eq!(FrameSizes::mix(heavy.to_vec()), Err(FrameSizesError::TooLong));
    }

    proptest! {
        #[test]
        fn a_mix_keeps_its_weights_and_spreads_them(weights in prop::collection::vec(1..60_u32, 1..6)) {
            let sizes = weights.iter().zip(64..).map(|(&weight, size)| WeightedSize { size, weight });
            let sizes: Vec<_> = sizes.collect();
            let pattern = spread(&sizes);
            let frames = pattern.len() as f64;
            for entry in &sizes {
                let mut seen = 0;
                for (place, &size) in pattern.iter().enumerate() {
                    seen += u32::from(size == entry.size);
                    let fair = (place + 1) as f64 * f64::from(entry.weight) / frames;
                    prop_assert!((f64::from(seen) - fair).abs() <= sizes.len() as f64, "{pattern:?}");
                }
                prop_assert_eq!(seen, entry.weight);
            }
        }

        #[test]
        fn any_text_is_a_genome_or_refused(text in "[a-jzA-C0-9 ]{0,12}") {
            if let Ok(sizes) = genome(&text) {
                prop_assert!((1..=MAX_SIZE_PATTERN).contains(&sizes.len()));
            }
        }
    }
}
