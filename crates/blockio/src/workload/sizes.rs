use std::fmt;
use std::str::FromStr;

use rand_chacha::ChaCha8Rng;

use super::below;

/// The longest IO that is asked for; kernels split what is longer than a device takes.
const LONGEST: u64 = 64 << 20;

/// Sizes of IOs in bytes, each with its weight.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Sizes(Vec<(u32, u64)>);

impl Sizes {
    /// Each with its weight, at least one.
    ///
    /// # Errors
    /// Names the size or weight that cannot be.
    pub fn new(sizes: Vec<(u64, u64)>) -> Result<Self, String> {
        if sizes.is_empty() {
            return Err("there is no size".to_owned());
        }
        let checked = sizes.into_iter().map(|(size, weight)| match (size, weight) {
            (1..=LONGEST, 1..=1_000_000) => Ok((size as u32, weight)),
            (1..=LONGEST, _) => Err(format!("a weight of {weight} is not from 1 to 1000000")),
            _ => Err(format!("{size} bytes are not from 1 to {LONGEST}")),
        });
        checked.collect::<Result<_, _>>().map(Self)
    }

    pub(crate) fn pick(&self, random: &mut ChaCha8Rng) -> u32 {
        if let [(size, _)] = self.0[..] {
            return size;
        }
        let mut place = below(random, self.total());
        let found = self.0.iter().find(|(_, weight)| {
            let is_here = place < *weight;
            place = place.saturating_sub(*weight);
            is_here
        });
        found.map_or(self.0[0].0, |(size, _)| *size)
    }

    /// The sizes, without their weights.
    pub fn all(&self) -> impl Iterator<Item = u32> {
        self.0.iter().map(|(size, _)| *size)
    }

    /// Each with its weight.
    pub(crate) fn weighted(&self) -> impl Iterator<Item = (u32, u64)> {
        self.0.iter().copied()
    }

    /// The only size, if there is but one.
    pub fn only(&self) -> Option<u32> {
        (self.0.len() == 1).then(|| self.0[0].0)
    }

    pub(crate) fn longest(&self) -> u32 {
        self.all().max().unwrap_or_default()
    }

    pub(crate) fn shortest(&self) -> u32 {
        self.all().min().unwrap_or_default()
    }

    pub(crate) fn mean(&self) -> f64 {
        let sum: u64 = self.0.iter().map(|(size, weight)| u64::from(*size) * weight).sum();
        sum as f64 / self.total() as f64
    }

    fn total(&self) -> u64 {
        self.0.iter().map(|(_, weight)| weight).sum()
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(size) = self.only() {
            return write!(formatter, "{size}");
        }
        let parts: Vec<String> = self.0.iter().map(|(size, weight)| format!("{size}:{weight}")).collect();
        formatter.write_str(&parts.join(","))
    }
}

impl FromStr for Sizes {
    type Err = String;

    /// `4k`, or sizes with weights: `4k:70,64k:30`; `+` does for a comma.
    fn from_str(text: &str) -> Result<Self, String> {
        let read = |part: &str| -> Result<(u64, u64), String> {
            let (size, weight) = part.split_once(':').unwrap_or((part, "1"));
            let weight = weight.parse().map_err(|_| format!("`{weight}` is no weight"))?;
            Ok((parse_bytes(size)?, weight))
        };
        Self::new(text.split([',', '+']).map(read).collect::<Result<_, _>>()?)
    }
}

/// Reads `512`, `4k`, `1MiB`, `16G`: bytes, with prefixes of 1024.
///
/// # Errors
/// When the text is none of these.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let error = || format!("`{text}` is no size like 4k or 1MiB");
    let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().map_err(|_| error())?;
    let shift = match text[digits..].to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return Err(error()),
    };
    number.checked_mul(1 << shift).ok_or_else(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_written() {
        for (text, written) in [
            ("4k", "4096"),
            ("512", "512"),
            ("1MiB", "1048576"),
            ("4k:70+64k:30", "4096:70,65536:30"),
        ] {
            let sizes: Sizes = text.parse().unwrap();
            assert_eq!(sizes.to_string(), written);
            assert_eq!(written.parse(), Ok(sizes));
        }
        for (wrong, why) in [
            ("", "no size"),
            ("4q", "4q"),
            ("0", "0 bytes"),
            ("4k:0", "weight"),
            ("128M", "bytes are not"),
        ] {
            let message = wrong.parse::<Sizes>().unwrap_err();
            assert!(message.contains(why), "{wrong}: {message}");
        }
        assert!(parse_bytes("99999999T").is_err());
    }
}
