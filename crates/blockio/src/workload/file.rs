use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;

use super::{Pattern, Sizes, Trace, Workload, parse_bytes};

/// A workload as a TOML file says it; every key may be left out.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WorkloadFile {
    /// What it is called in the record.
    pub name: Option<String>,
    /// `randread`, `write`, ...
    pub pattern: Option<String>,
    /// Share of the IOs of a mix that read.
    pub read_share: Option<f64>,
    /// A size for all IOs.
    pub size: Option<String>,
    /// Sizes, each with its weight.
    #[serde(default)]
    pub sizes: Vec<WeightedSize>,
    /// Sequential streams.
    pub streams: Option<u64>,
    /// `even` or `poisson`.
    pub arrivals: Option<String>,
    /// A text of `blkparse` to replay instead.
    pub replay: Option<PathBuf>,
    /// The device of which its IOs are replayed, as `8:0`, where it is of several.
    pub replay_device: Option<String>,
}

/// One of several sizes.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct WeightedSize {
    size: String,
    weight: u64,
}

impl WorkloadFile {
    /// Reads a file; a trace that it names lies beside it.
    ///
    /// # Errors
    /// Says what is wrong, and where.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
        let mut file = Self::parse(&text)?;
        file.replay = file
            .replay
            .map(|trace| path.parent().unwrap_or(Path::new("")).join(trace));
        Ok(file)
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// Says what is wrong, and where.
    pub fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| one_line(&error.to_string()))
    }

    /// These sizes, whatever the file says.
    pub fn set_sizes(&mut self, sizes: &Sizes) {
        self.size = None;
        self.sizes = sizes
            .weighted()
            .map(|(size, weight)| WeightedSize {
                size: size.to_string(),
                weight,
            })
            .collect();
    }

    /// What it asks of the device.
    ///
    /// # Errors
    /// Names the key that makes no sense.
    pub fn workload(&self) -> Result<Workload, String> {
        if let Some(path) = &self.replay {
            let set = [
                self.pattern.is_some(),
                self.read_share.is_some(),
                self.size.is_some(),
                !self.sizes.is_empty(),
            ];
            if set.contains(&true) || self.streams.is_some() || self.arrivals.is_some() {
                return Err("replay: the trace says what is done, where and when; leave the other keys out".to_owned());
            }
            let device = self.replay_device.as_deref().map(str::parse).transpose();
            let device = device.map_err(|error| format!("replay-device: {error}"))?;
            let named = |error: String| format!("replay: {}: {error}", path.display());
            let content = fs::read(path).map_err(|error| named(error.to_string()))?;
            let trace = Trace::read(&content, device).map_err(named)?;
            return Ok(Workload::Replay(Arc::new(trace)));
        }
        if self.replay_device.is_some() {
            return Err("replay-device: there is no replay".to_owned());
        }
        let mut pattern: Pattern = match &self.pattern {
            Some(text) => text.parse().map_err(|error| format!("pattern: {error}"))?,
            None => "randread".parse()?,
        };
        if let Some(share) = self.read_share {
            if pattern.read_share <= 0.0 || pattern.read_share >= 1.0 || !(0.0..=1.0).contains(&share) {
                return Err("read-share: a share from 0 to 1 of a mix, randrw or rw".to_owned());
            }
            pattern.read_share = share;
        }
        let streams = self.streams.unwrap_or(1);
        if !(1..=1024).contains(&streams) {
            return Err(format!("streams: {streams} are not from 1 to 1024"));
        }
        Ok(Workload::Synthetic {
            pattern,
            sizes: self.all_sizes()?,
            streams,
        })
    }

    fn all_sizes(&self) -> Result<Sizes, String> {
        match (&self.size, &self.sizes[..]) {
            (Some(_), [_, ..]) => Err("size and sizes: give one of them".to_owned()),
            (Some(size), []) => size.parse().map_err(|error| format!("size: {error}")),
            (None, []) => "4k".parse(),
            (None, sizes) => {
                let read = |entry: &WeightedSize| Ok((parse_bytes(&entry.size)?, entry.weight));
                let sizes = sizes
                    .iter()
                    .map(read)
                    .collect::<Result<_, String>>()
                    .and_then(Sizes::new);
                sizes.map_err(|error| format!("sizes: {error}"))
            }
        }
    }
}

/// A message of the parser without the picture of the place, which it names as well.
fn one_line(text: &str) -> String {
    let lines = text.lines().map(str::trim);
    let kept: Vec<&str> = lines
        .filter(|line| !line.is_empty() && !line.starts_with(['|', '^']))
        .collect();
    let kept = kept
        .into_iter()
        .filter(|line| !line.starts_with(|letter: char| letter.is_ascii_digit()));
    kept.collect::<Vec<_>>().join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(text: &str) -> Result<Workload, String> {
        WorkloadFile::parse(text)?.workload()
    }

    #[test]
    fn a_file_says_what_the_options_say() {
        let text =
            "pattern = 'randrw'\nread-share = 0.7\nsizes = [{size = '4k', weight = 70}, {size = '64k', weight = 30}]";
        let Ok(Workload::Synthetic {
            pattern,
            sizes,
            streams,
        }) = workload(text)
        else {
            panic!("{:?}", workload(text));
        };
        assert_eq!((pattern.read_share, streams), (0.7, 1));
        assert_eq!(sizes.to_string(), "4096:70,65536:30");
        let Ok(Workload::Synthetic { sizes, .. }) = workload("") else {
            panic!("an empty file is the default");
        };
        assert_eq!(sizes.only(), Some(4096));
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        for (text, why) in [
            ("pattern = 'up'", "pattern: `up`"),
            ("read-share = 0.5", "read-share"),
            ("size = '4k'\nsizes = [{size = '4k', weight = 1}]", "size and sizes"),
            ("sizes = [{size = '4x', weight = 1}]", "sizes: `4x`"),
            ("streams = 0", "streams: 0"),
            ("replay = 'x'\nsize = '4k'", "leave the other keys out"),
            ("replay = '/nowhere/trace'", "replay: /nowhere/trace"),
            ("depth = 4", "unknown field"),
        ] {
            let message = workload(text).unwrap_err();
            assert!(message.contains(why) && !message.contains('\n'), "{text}: {message}");
        }
    }
}
