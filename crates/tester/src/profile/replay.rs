use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use brimful_frame::{FRAME_CHECK_SEQUENCE_LEN, MAX_FRAME_SIZE};
use brimful_netdev::Capture;
use serde_json::{Map, Value, json};

use super::keys::{MacsKey, ReplayKeys, TimingKey};
use super::{ProfileOptions, Stream};
use crate::LoadShape;
use crate::test_frames::{Stamp, TestFrame, TestTemplate};

/// Frames of a capture at most: each is kept in memory for both directions.
const MAX_FRAMES: usize = 1 << 16;

/// The frames of a capture, ready to be sent.
#[derive(Clone, Debug)]
pub(super) struct Replay {
    file: String,
    streams: Box<[Stream; 2]>,
    shape: LoadShape,
    /// Frames that became longer to have room for the stamp.
    grown: usize,
    frames: usize,
    has_vlan_tags: bool,
}

impl Replay {
    pub(super) fn load(
        keys: &ReplayKeys,
        folder: &Path,
        options: &ProfileOptions,
        way_back: WayBack,
    ) -> Result<Self, String> {
        let path = folder.join(&keys.file);
        let bytes = fs::read(&path).map_err(|error| format!("replay.file: {}: {error}", path.display()))?;
        let capture = Capture::parse(bytes).map_err(|error| format!("replay.file: {}: {error}", path.display()))?;
        Self::of(&capture, keys, options, way_back).map_err(|error| format!("replay.file: {}: {error}", path.display()))
    }

    fn of(capture: &Capture, keys: &ReplayKeys, options: &ProfileOptions, way_back: WayBack) -> Result<Self, String> {
        if capture.truncated() > 0 {
            let truncated = capture.truncated();
            return Err(format!(
                "{truncated} frames were not captured whole; capture them without a snap length"
            ));
        }
        if !(1..=MAX_FRAMES).contains(&capture.len()) {
            return Err(format!("{} frames, a replay has 1 to {MAX_FRAMES}", capture.len()));
        }
        let there = templates(capture)?;
        let back: Vec<_> = match way_back {
            WayBack::Mirrored => there.iter().cloned().map(TestTemplate::mirrored).collect(),
            WayBack::Same => there.clone(),
        };
        let [there, back] = match keys.macs {
            MacsKey::Captured => [there, back],
            MacsKey::Ports => [with_macs_of(there, options, 0), with_macs_of(back, options, 1)],
        };
        let lens = there.iter().map(TestTemplate::byte_len);
        Ok(Self {
            file: keys.file.clone(),
            grown: (0..)
                .zip(lens)
                .filter(|&(index, len)| capture.frame(index).is_some_and(|frame| frame.len() < len))
                .count(),
            frames: there.len(),
            has_vlan_tags: there.iter().any(|template| template.vlan().is_some()),
            streams: Box::new([Stream::replayed(there), Stream::replayed(back)]),
            shape: match keys.timing {
                TimingKey::Even => LoadShape::Even,
                TimingKey::Captured => timeline(capture)?,
            },
        })
    }

    pub(super) fn stream(&self, from: usize) -> Stream {
        self.streams[from].clone()
    }

    pub(super) fn shape(&self) -> LoadShape {
        self.shape.clone()
    }

    pub(super) fn has_vlan_tags(&self) -> bool {
        self.has_vlan_tags
    }

    /// What it is, for the record.
    pub(super) fn description(&self) -> Map<String, Value> {
        let facts = json!({
            "frame_size": format!("{} frames of {}", self.frames, self.file),
            "frames_grown_for_the_stamp": self.grown,
        });
        facts.as_object().cloned().unwrap_or_default()
    }
}

/// Frames from the second port.
#[derive(Clone, Copy)]
pub(super) enum WayBack {
    Mirrored,
    Same,
}

fn templates(capture: &Capture) -> Result<Vec<TestTemplate>, String> {
    let frames = (0..capture.len()).filter_map(|index| capture.frame(index));
    let template = |(number, frame): (usize, &[u8])| {
        let template = TestTemplate::captured(frame).map_err(|error| format!("frame {number}: {error}"))?;
        let size = template.byte_len() + FRAME_CHECK_SEQUENCE_LEN;
        if size > MAX_FRAME_SIZE {
            return Err(format!(
                "frame {number}: frame size {size} is above {MAX_FRAME_SIZE} bytes"
            ));
        }
        if !comes_back(&template) {
            return Err(format!(
                "frame {number}: its headers leave no place for a stamp; take it out of the capture"
            ));
        }
        Ok(template)
    };
    (1..).zip(frames).map(template).collect()
}

/// Whether the receiver finds the stamp: lengths that contradict each other may hide it.
fn comes_back(template: &TestTemplate) -> bool {
    let stamp = Stamp {
        trial: 1,
        stream: 0,
        timestamp: 0,
        sequence: 0,
    };
    let mut frame = vec![0; template.byte_len()];
    template.fill(&mut frame, stamp);
    TestFrame::parse(&frame).is_ok_and(|found| found.stamp == stamp)
}

fn with_macs_of(templates: Vec<TestTemplate>, options: &ProfileOptions, port: usize) -> Vec<TestTemplate> {
    let macs = options.macs();
    let destination = options.next_hop_macs.as_ref().map_or(macs[1 - port], |hops| hops[port]);
    let templates = templates.into_iter();
    templates
        .map(|template| template.with_macs(destination, macs[port]))
        .collect()
}

/// When each frame is due, in mean distances between frames, the first one at 0.
fn timeline(capture: &Capture) -> Result<LoadShape, String> {
    let times: Vec<_> = (0..capture.len()).filter_map(|index| capture.time(index)).collect();
    let (first, last) = (times[0], times[times.len() - 1]);
    if let Some(back) = times.windows(2).position(|pair| pair[1] < pair[0]) {
        let number = back + 2;
        return Err(format!(
            "frame {number} was captured before the one before it; `reordercap` puts them in order"
        ));
    }
    if first == last {
        return Err("all frames have the same time; write replay.timing = \"even\"".to_owned());
    }
    let since_first = |time: Duration| time.saturating_sub(first).as_secs_f64();
    let mean = since_first(last) / (times.len() - 1) as f64;
    let places = times.iter().map(|&time| since_first(time) / mean);
    Ok(LoadShape::Timeline(places.collect::<Arc<[f64]>>()))
}
