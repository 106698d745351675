//! Keys: the bits of a frame that a set of rules with the same masks looks at, packed into words of 64 bits.

use brimful_frame::Headers;
use brimful_openflow::{MatchField, Source};
use brimful_pipeline::Demands;
use smallvec::{SmallVec, smallvec};

/// The fields that rules look at, and the bits of each: what their masks have in common.
pub(crate) type MaskShape = Vec<(MatchField, u128)>;

/// The words of a key. Most have no more than two.
pub(crate) type Key = SmallVec<[u64; 2]>;

/// Up to 64 bits of a field, and where they go.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Part {
    pub(crate) field: MatchField,
    /// Which of the fields of the mask shape that is.
    index: usize,
    /// Bits of the field below this part.
    pub(crate) field_shift: u32,
    /// Bits of this part that count.
    pub(crate) mask: u64,
    pub(crate) word: usize,
    pub(crate) shift: u32,
}

/// How a key is made.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct KeyLayout {
    pub(crate) parts: Vec<Part>,
    pub(crate) words: usize,
}

/// A frame and what accompanies it, to be matched.
pub(crate) struct Subject<'f> {
    pub(crate) frame: &'f [u8],
    pub(crate) headers: Headers,
    pub(crate) in_port: u32,
    pub(crate) in_phy_port: u32,
    pub(crate) metadata: u64,
    pub(crate) tunnel_id: u64,
}

impl Subject<'_> {
    pub(crate) fn read(&self, field: MatchField) -> Option<u128> {
        match (field, field.info().source) {
            (_, Source::Frame(place)) => place.read(self.frame, &self.headers),
            (MatchField::InPort, _) => Some(u128::from(self.in_port)),
            (MatchField::InPhyPort, _) => Some(u128::from(self.in_phy_port)),
            (MatchField::Metadata, _) => Some(u128::from(self.metadata)),
            _ => Some(u128::from(self.tunnel_id)),
        }
    }
}

impl KeyLayout {
    pub(crate) fn of(shape: &[(MatchField, u128)]) -> Self {
        let fields = shape.iter().enumerate();
        let mut parts: Vec<Part> = fields
            .flat_map(|(index, &(field, mask))| halves(index, field, mask))
            .collect();
        // Wide ones first, so that narrow ones fill what they leave.
        parts.sort_by_key(|part| std::cmp::Reverse(width(part.mask)));
        let mut used: Vec<u32> = Vec::new();
        for part in &mut parts {
            let bits = width(part.mask);
            let word = used.iter().position(|&taken| taken + bits <= 64).unwrap_or_else(|| {
                used.push(0);
                used.len() - 1
            });
            (part.word, part.shift) = (word, used[word]);
            used[word] += bits;
        }
        Self {
            parts,
            words: used.len(),
        }
    }

    /// The key of a rule of this mask shape.
    pub(crate) fn of_demands(&self, demands: &Demands) -> Key {
        self.pack(|part| Some(demands[part.index].1)).unwrap_or_default()
    }

    /// The key of a frame; `None` where it lacks one of the fields.
    pub(crate) fn of_subject(&self, subject: &Subject<'_>) -> Option<Key> {
        self.pack(|part| subject.read(part.field))
    }

    #[inline]
    fn pack(&self, value: impl Fn(&Part) -> Option<u128>) -> Option<Key> {
        let mut key: Key = smallvec![0; self.words];
        for part in &self.parts {
            let bits = (value(part)? >> part.field_shift) as u64 & part.mask;
            key[part.word] |= bits << part.shift;
        }
        Some(key)
    }
}

/// A field in parts of 64 bits, of which those without a bit that counts are left out.
fn halves(index: usize, field: MatchField, mask: u128) -> impl Iterator<Item = Part> {
    let part = move |field_shift: u32| Part {
        field,
        index,
        field_shift,
        mask: (mask >> field_shift) as u64,
        word: 0,
        shift: 0,
    };
    let wanted = [part(0), part(64)].into_iter().filter(|part| part.mask != 0);
    let wanted: Vec<Part> = wanted.collect();
    wanted.into_iter()
}

fn width(mask: u64) -> u32 {
    64 - mask.leading_zeros()
}

/// Mixes the words of a key. Compiled code does the same, step by step.
pub(crate) fn hash(key: &[u64], factor: u64) -> u64 {
    key.iter().fold(factor, |hash, word| {
        let product = (hash ^ word).wrapping_mul(factor);
        product ^ (product >> 32)
    })
}
