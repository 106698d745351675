use std::sync::Arc;

use brimful_frame::{FieldPlace, HeaderField, Stamp, TemplateError, TestTemplate, VlanTag};

use super::frames::Frames;
use super::values::{FrameNumber, Pattern, Values, quotient, remainder};

/// The frames of one direction, by sequence number.
#[derive(Clone, Debug)]
pub struct Stream {
    templates: Arc<[TestTemplate]>,
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
        let sizes = frames.sizes.pattern(layout.smallest_size()).into_iter();
        let templates: Result<Vec<_>, _> = sizes.map(|size| layout.template(size, &fixed)).collect();
        Ok(Self {
            templates: templates?.into(),
            flows: u64::from(frames.flows),
            varied,
            vlan_ids: VlanIds::OfField(
                frames
                    .fields
                    .get(&HeaderField::VlanId(0))
                    .cloned()
                    .unwrap_or(Values::Fixed(0)),
            ),
        })
    }

    /// Frames that are as they are.
    pub(super) fn replayed(templates: Vec<TestTemplate>) -> Self {
        let ids = templates.iter().map(|template| template.vlan().map_or(0, VlanTag::id));
        Self {
            vlan_ids: VlanIds::OfCapture(ids.collect()),
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
        let (round, place) = self.place_in_pattern(stamp.sequence);
        let template = &self.templates[place];
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
                let (round, _) = self.place_in_pattern(sequence);
                let flow = remainder(round, self.flows);
                values.at(FrameNumber { flow, sequence }) as u16
            }
            VlanIds::OfCapture(ids) => ids[self.place_in_pattern(sequence).1],
        }
    }

    /// Lengths of the frames in the order of the pattern, frame check sequence not included.
    pub(super) fn lens(&self) -> impl Iterator<Item = usize> {
        self.templates.iter().map(TestTemplate::byte_len)
    }

    /// How often the pattern has been through before a frame, and where in it the frame is.
    fn place_in_pattern(&self, sequence: u64) -> (u64, usize) {
        let len = self.templates.len() as u64;
        let round = quotient(sequence, len);
        (round, (sequence - round * len) as usize)
    }
}
