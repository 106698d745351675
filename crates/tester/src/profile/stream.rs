use std::sync::Arc;

use brimful_frame::VlanTag;

use super::frames::Frames;
use super::values::{FrameNumber, Pattern, Per, Values};
use crate::division::{quotient, remainder};
use crate::flows::FlowTurns;
use crate::lots::Lots;
use crate::test_frames::{FieldPlace, HeaderField, Stamp, TemplateError, TestTemplate};

/// Frames of all flows are prepared up to this number of bytes: they should stay in the cache nearest to the processor
/// but one.
const PREPARED_BYTES: u64 = 1 << 20;

/// The frames of one direction, by sequence number.
#[derive(Clone, Debug)]
pub struct Stream {
    /// One for each place of the pattern of sizes; where nothing varies beyond them, one for each flow as well.
    templates: Arc<[TestTemplate]>,
    /// Frames until the sizes begin again.
    pattern: usize,
    flows: u64,
    varied: Vec<(FieldPlace, Pattern)>,
    vlan_ids: VlanIds,
}

/// The ids of the outermost VLAN tags; 0 is no tag.
#[derive(Clone, Debug)]
enum VlanIds {
    OfField(Values),
    OfCapture(Arc<[u16]>),
}

impl Stream {
    pub(super) fn generated(frames: &Frames) -> Result<Self, TemplateError> {
        let layout = &frames.layout;
        let sizes = frames.sizes.pattern(layout.smallest_size());
        let flows = u64::from(frames.flows);
        let vlan_ids = frames.fields.get(&HeaderField::VlanId(0)).cloned();
        let stream = |templates: Vec<_>, varied| Self {
            pattern: sizes.len(),
            templates: templates.into(),
            varied,
            flows,
            vlan_ids: VlanIds::OfField(vlan_ids.unwrap_or(Values::Fixed(0))),
        };
        let bytes = sizes.iter().sum::<usize>() as u64 * flows;
        let changes_within_flows =
            |values: &Values| matches!(values, Values::Varied(pattern) if pattern.per == Per::Frame);
        if bytes <= PREPARED_BYTES && !frames.fields.values().any(changes_within_flows) {
            let mut templates = Vec::with_capacity(sizes.len() * frames.flows as usize);
            for flow in 0..flows {
                let number = FrameNumber { flow, sequence: 0 };
                let fields: Vec<_> = frames
                    .fields
                    .iter()
                    .map(|(&field, values)| (field, values.at(number)))
                    .collect();
                for &size in &sizes {
                    templates.push(layout.template(size, &fields)?);
                }
            }
            return Ok(stream(templates, Vec::new()));
        }
        let mut fixed = Vec::new();
        let mut varied = Vec::new();
        for (&field, values) in &frames.fields {
            match values {
                Values::Fixed(value) => fixed.push((field, *value)),
                Values::Varied(pattern) => {
                    let place = layout.place(field).expect("fields are held against the headers");
                    varied.push((place, pattern.clone()));
                }
            }
        }
        let templates: Result<_, _> = sizes.iter().map(|&size| layout.template(size, &fixed)).collect();
        Ok(stream(templates?, varied))
    }

    /// Frames that are as they are.
    pub(super) fn replayed(templates: Vec<TestTemplate>) -> Self {
        let ids = templates.iter().map(|template| template.vlan().map_or(0, VlanTag::id));
        Self {
            vlan_ids: VlanIds::OfCapture(ids.collect()),
            pattern: templates.len(),
            templates: templates.into(),
            flows: 1,
            varied: Vec::new(),
        }
    }

    /// Writes the frame with this stamp to the start of `buffer` and gives its length.
    ///
    /// Sizes take turns frame by frame, flows each time the pattern of sizes is through, so that every flow has every
    /// size.
    ///
    /// # Panics
    /// When `buffer` is too short for the longest frame.
    pub fn fill(&self, buffer: &mut [u8], stamp: Stamp) -> usize {
        let len = self.templates.len() as u64;
        let round = quotient(stamp.sequence, len);
        let template = &self.templates[(stamp.sequence - round * len) as usize];
        if self.varied.is_empty() {
            return template.fill(buffer, stamp);
        }
        let number = FrameNumber {
            flow: remainder(round, self.flows),
            sequence: stamp.sequence,
        };
        let fields = self.varied.iter().map(|(place, pattern)| (*place, pattern.at(number)));
        template.fill_varied(buffer, stamp, fields)
    }

    /// The id of the outermost VLAN tag of a frame; 0 when it has no tag.
    pub(crate) fn vlan_id(&self, sequence: u64) -> u16 {
        match &self.vlan_ids {
            VlanIds::OfField(Values::Fixed(id)) => *id as u16,
            VlanIds::OfField(values) => {
                let flow = remainder(quotient(sequence, self.pattern as u64), self.flows);
                values.at(FrameNumber { flow, sequence }) as u16
            }
            VlanIds::OfCapture(ids) => ids[remainder(sequence, ids.len() as u64) as usize],
        }
    }

    /// How many threads may send it, each all frames of some flows, and how they take turns.
    pub(crate) fn lots(&self, count: usize) -> Option<Lots> {
        let lots = Lots {
            count: count as u64,
            turn: self.pattern as u64,
        };
        (count == 1 || self.flows.is_multiple_of(lots.count)).then_some(lots)
    }

    /// Which flows its frames belong to; nothing when there is but one.
    pub(crate) fn flow_turns(&self) -> Option<FlowTurns> {
        (self.flows > 1).then_some(FlowTurns {
            pattern: self.pattern as u64,
            flows: self.flows,
        })
    }

    /// Lengths of the frames in the order of the pattern, frame check sequence not included.
    pub(super) fn lens(&self) -> impl Iterator<Item = usize> {
        self.templates[..self.pattern].iter().map(TestTemplate::byte_len)
    }
}
