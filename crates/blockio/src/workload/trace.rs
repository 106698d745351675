use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::sync::Arc;

use super::Area;
use crate::{Arrivals, Direction, Io};

/// Mean distances of IOs that a trace can have, in seconds.
const MEAN_DISTANCES_S: RangeInclusive<f64> = 1e-9..=1e9;

/// Binary traces of blktrace begin with this, in the byte order of the machine; the version is in the eighth byte.
const MAGIC: u32 = 0x6561_7400;

/// Numbers of a device, as `blkparse` writes them.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct TracedDevice {
    major: u32,
    minor: u32,
}

impl fmt::Display for TracedDevice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{},{}", self.major, self.minor)
    }
}

impl FromStr for TracedDevice {
    type Err = String;

    /// Reads `8,0`, or `8:0` where commas have another meaning.
    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once([',', ':']);
        let read = |text: &str| text.parse().ok();
        let found = numbers.and_then(|(major, minor)| Some((read(major)?, read(minor)?)));
        let (major, minor) = found.ok_or_else(|| format!("`{text}` is no device, like 8,0"))?;
        Ok(Self { major, minor })
    }
}

/// IOs as `blkparse` writes them, and when each began.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    ios: Vec<Io>,
    /// When each began, in mean distances.
    places: Arc<[f64]>,
    /// The rate at which it was recorded.
    recorded_load: f64,
}

impl Trace {
    /// What `blkparse` counts in.
    pub const SECTOR: u32 = 512;

    /// Reads the content of a file; see [`Trace::parse`].
    ///
    /// # Errors
    /// When it is no text, or no trace.
    pub fn read(content: &[u8], device: Option<TracedDevice>) -> Result<Self, String> {
        let magic = content.first_chunk::<4>();
        let begins = |read: fn([u8; 4]) -> u32| magic.is_some_and(|bytes| read(*bytes) & !0xff == MAGIC);
        match std::str::from_utf8(content) {
            Ok(text) if !begins(u32::from_le_bytes) && !begins(u32::from_be_bytes) => Self::parse(text, device),
            _ if begins(u32::from_le_bytes) || begins(u32::from_be_bytes) => Err(
                "is a binary trace of blktrace; run `blkparse -i FILE > TEXT` first, and replay the text".to_owned(),
            ),
            _ => Err("is no text; give what blkparse printed".to_owned()),
        }
    }

    /// Reads the lines of IOs that were queued (`Q`): device, processor, number, seconds, process, action, what it is,
    /// sector `+` sectors. Other lines are passed over. Places begin at the lowest sector of the trace.
    ///
    /// A trace of several devices has the same IO once for each that it went through, and places that have nothing to do
    /// with each other: one of them has to be chosen.
    ///
    /// # Errors
    /// When there are too few IOs, they are of several devices and none was chosen, or a line of one makes no sense.
    pub fn parse(text: &str, device: Option<TracedDevice>) -> Result<Self, String> {
        let mut queued: BTreeMap<TracedDevice, Vec<(f64, Io)>> = BTreeMap::new();
        for (number, line) in text.lines().enumerate() {
            let words: Vec<&str> = line.split_whitespace().collect();
            if words.get(5) != Some(&"Q") {
                continue;
            }
            let named = |error| format!("line {}: {error}", number + 1);
            if let Some(read) = io_of(&words).map_err(named)? {
                queued.entry(words[0].parse().map_err(named)?).or_default().push(read);
            }
        }
        let mut found = ios_of(queued, device)?;
        if found.len() < 2 {
            return Err(format!("{} IOs were queued (action Q): a replay needs 2", found.len()));
        }
        found.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        let first = found[0].0;
        let span = found[found.len() - 1].0 - first;
        let lowest = found.iter().map(|(_, io)| io.offset).min().unwrap_or_default();
        // The last is followed by a distance as well, the mean one.
        let mean = span / (found.len() - 1) as f64;
        if mean <= 0.0 {
            return Err("all IOs began at the same time".to_owned());
        }
        if !MEAN_DISTANCES_S.contains(&mean) {
            return Err(format!(
                "IOs began {mean:e} s apart on average, which no device was asked"
            ));
        }
        let ios = found.iter().map(|(_, io)| Io {
            offset: io.offset - lowest,
            ..*io
        });
        Ok(Self {
            ios: ios.collect(),
            places: found.iter().map(|(time, _)| (time - first) / mean).collect(),
            recorded_load: 1.0 / mean,
        })
    }

    /// When its IOs begin, whatever the load.
    pub fn arrivals(&self) -> Arrivals {
        Arrivals::Timeline(Arc::clone(&self.places))
    }

    /// IOs a second when it was recorded.
    pub fn recorded_load(&self) -> f64 {
        self.recorded_load
    }

    /// IOs; never 0.
    #[expect(clippy::len_without_is_empty, reason = "none is empty")]
    pub fn len(&self) -> usize {
        self.ios.len()
    }

    pub(crate) fn io(&self, index: usize) -> Io {
        self.ios[index]
    }

    pub(crate) fn writes(&self) -> bool {
        self.ios.iter().any(|io| io.direction == Direction::Write)
    }

    pub(crate) fn reads(&self) -> bool {
        self.ios.iter().any(|io| io.direction == Direction::Read)
    }

    pub(crate) fn longest(&self) -> u32 {
        self.ios.iter().map(|io| io.len).max().unwrap_or_default()
    }

    pub(crate) fn mean_size(&self) -> f64 {
        self.ios.iter().map(|io| f64::from(io.len)).sum::<f64>() / self.len() as f64
    }

    pub(crate) fn check(&self, area: Area, block: u32) -> Result<(), String> {
        let end = self
            .ios
            .iter()
            .map(|io| io.offset + u64::from(io.len))
            .max()
            .unwrap_or_default();
        if end > area.len {
            return Err(format!("the trace spans {end} bytes, and there are {}", area.len));
        }
        let is_off = |io: &&Io| !io.offset.is_multiple_of(u64::from(block)) || !io.len.is_multiple_of(block);
        match self.ios.iter().find(is_off) {
            Some(io) => Err(format!(
                "the trace has {} bytes at {}: the device takes multiples of {block} bytes",
                io.len, io.offset
            )),
            None => Ok(()),
        }
    }
}

/// The IOs of the chosen device, or of the only one.
fn ios_of(
    mut queued: BTreeMap<TracedDevice, Vec<(f64, Io)>>,
    device: Option<TracedDevice>,
) -> Result<Vec<(f64, Io)>, String> {
    let counts = || {
        let each = queued.iter().map(|(device, ios)| {
            let plural = if ios.len() == 1 { "" } else { "s" };
            format!("{device} ({} IO{plural})", ios.len())
        });
        each.collect::<Vec<_>>().join(", ")
    };
    let chosen = match device {
        None if queued.len() > 1 => {
            return Err(format!(
                "the trace is of several devices: {}; choose one with replay-device, as 8:0",
                counts()
            ));
        }
        Some(device) if !queued.is_empty() && !queued.contains_key(&device) => {
            return Err(format!(
                "replay-device: no IO was queued to {device}, but to {}",
                counts()
            ));
        }
        Some(device) => Some(device),
        None => queued.keys().next().copied(),
    };
    Ok(chosen.and_then(|device| queued.remove(&device)).unwrap_or_default())
}

/// An IO of data; flushes, discards and the like are none.
fn io_of(words: &[&str]) -> Result<Option<(f64, Io)>, String> {
    let time: f64 = words[3].parse().map_err(|_| format!("`{}` are no seconds", words[3]))?;
    let kind = words.get(6).copied().unwrap_or_default();
    if kind.contains('D') || kind.contains('N') {
        return Ok(None);
    }
    let direction = match (kind.contains('R'), kind.contains('W')) {
        (true, false) => Direction::Read,
        (false, true) => Direction::Write,
        _ => return Ok(None),
    };
    let &[sector, "+", sectors, ..] = words.get(7..).unwrap_or_default() else {
        return Ok(None);
    };
    let sector: u64 = sector.parse().map_err(|_| format!("`{sector}` is no sector"))?;
    let sectors: u32 = sectors
        .parse()
        .map_err(|_| format!("`{sectors}` is no number of sectors"))?;
    if !(1..=131_072).contains(&sectors) || sector > u64::MAX / 1024 {
        return Err(format!("{sectors} sectors at {sector} are no IO"));
    }
    let io = Io {
        direction,
        offset: sector * u64::from(Trace::SECTOR),
        len: sectors * Trace::SECTOR,
    };
    Ok(time.is_finite().then_some((time, io)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "
  8,0    1        1     0.000000000  4162  Q   R 1000 + 8 [fio]
  8,0    1        2     0.000001000  4162  G   R 1000 + 8 [fio]
  8,0    0        3     0.003000000  4162  Q  WS 1016 + 16 [fio]
  8,0    0        4     0.003500000  4162  Q   D 5000 + 8 [fstrim]
  8,0    1        5     0.004000000  4162  Q  RA 1008 + 8 [fio]
CPU0 (8,0):
 Reads Queued:           2,        8KiB
";

    #[test]
    fn queued_ios_are_read_from_the_lowest_sector_on() {
        let trace = Trace::parse(TEXT, None).unwrap();
        let io = |direction, offset, len| Io { direction, offset, len };
        assert_eq!(
            trace.ios,
            [
                io(Direction::Read, 0, 4096),
                io(Direction::Write, 8192, 8192),
                io(Direction::Read, 4096, 4096)
            ]
        );
        assert_eq!(trace.arrivals(), Arrivals::Timeline([0.0, 1.5, 2.0].into()));
        assert!((trace.recorded_load() - 500.0).abs() < 1e-6);
        let check = |len, block| trace.check(Area { start: 0, len }, block);
        assert!(check(16_384, 4096).is_ok());
        assert!(check(8192, 512).unwrap_err().contains("spans 16384"));
        assert!(check(1 << 20, 8192).unwrap_err().contains("multiples of 8192"));
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        for (text, why) in [
            ("", "0 IOs"),
            ("8,0 1 1 soon 1 Q R 1 + 8", "line 1: `soon`"),
            ("8,0 1 1 0.1 1 Q R x + 8", "`x` is no sector"),
            ("8,0 1 1 0.1 1 Q R 1 + 0", "no IO"),
            ("8,0 1 1 0.1 1 Q R 1 + 8\n8,0 1 1 0.1 1 Q R 1 + 8", "same time"),
            (
                "8,0 1 1 -1e308 1 Q R 1 + 8\n8,0 1 1 1e308 1 Q R 1 + 8",
                "apart on average",
            ),
            ("8,0 1 1 0 1 Q R 1 + 8\n8,0 1 1 5e-324 1 Q R 1 + 8", "apart on average"),
        ] {
            let message = Trace::parse(text, None).unwrap_err();
            assert!(message.contains(why), "{text}: {message}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_trace_or_an_error(text in "[0-9., QRW+a-z\n]{0,200}") {
            let _ = Trace::parse(&text, None);
        }

        #[test]
        fn any_bytes_are_a_trace_or_an_error(content: Vec<u8>) {
            let _ = Trace::read(&content, None);
        }
    }

    /// A volume, the disk that it is on, and another disk.
    const SEVERAL: &str = "
253,0 0 1 0.001000 100 Q R 4096 + 8 [db]
  8,0 0 2 0.001001 100 A R 6144 + 8 <- (253,0) 4096
  8,0 0 3 0.001001 100 Q R 6144 + 8 [db]
 8,16 0 4 0.002000 100 Q D 2048 + 8 [fstrim]
253,0 0 5 0.003000 100 Q R 4104 + 8 [db]
  8,0 0 6 0.003001 100 Q R 6152 + 8 [db]
";

    #[test]
    fn a_trace_of_several_devices_is_refused_until_one_is_chosen() {
        let message = Trace::parse(SEVERAL, None).unwrap_err();
        assert_eq!(
            message,
            "the trace is of several devices: 8,0 (2 IOs), 253,0 (2 IOs); choose one with replay-device, as 8:0"
        );
        for name in ["253,0", "253:0"] {
            let trace = Trace::parse(SEVERAL, Some(name.parse().unwrap())).unwrap();
            assert_eq!(trace.len(), 2);
            assert!((trace.recorded_load() - 500.0).abs() < 1e-6);
        }
        let message = Trace::parse(SEVERAL, Some("8,16".parse().unwrap())).unwrap_err();
        assert!(
            message.contains("no IO was queued to 8,16, but to 8,0 (2 IOs), 253,0 (2 IOs)"),
            "{message}"
        );
        // Of one device nothing has to be chosen, though others are named in other lines.
        assert!(Trace::parse(&SEVERAL.replace("253,0 0", "8,0 0"), None).is_ok());
        assert!("8".parse::<TracedDevice>().is_err());
        let wrong = Trace::parse("sda 0 1 0.1 100 Q R 1 + 8", None).unwrap_err();
        assert!(wrong.contains("line 1: `sda` is no device"), "{wrong}");
    }

    #[test]
    fn a_binary_trace_is_named_and_what_makes_a_text_of_it() {
        for magic in [(MAGIC | 7).to_le_bytes(), (MAGIC | 7).to_be_bytes()] {
            let message = Trace::read(&[&magic[..], &[0; 44]].concat(), None).unwrap_err();
            assert!(message.contains("run `blkparse -i FILE"), "{message}");
        }
        assert!(Trace::read(b"\xff\xfe", None).unwrap_err().contains("is no text"));
        assert!(Trace::read(b"", None).unwrap_err().contains("0 IOs"));
        assert!(Trace::read(TEXT.as_bytes(), None).is_ok());
    }
}
