//! Rules of any masks as rows of bits: one row for each value of each byte that rules look at. The rows of a frame's
//! bytes have in common the bits of the rules that it meets; the first of them is the rule.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use brimful_openflow::MatchField;

use crate::tuple::{EMPTY, TOMBSTONE};

/// Rules at most: one word says which words of a row have bits at all.
pub(crate) const MOST_RULES: usize = 64 * 64;
/// The row of a field that the frame lacks, behind those of the 256 values.
pub(crate) const MISSING: usize = 256;
const ROWS: usize = MISSING + 1;

/// Eight bits of a field that some rule looks at.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Octet {
    pub(crate) field: MatchField,
    pub(crate) shift: u32,
}

/// What rules say, in the order of their ranks, and their values.
pub(crate) struct Bitmap {
    pub(crate) octets: Vec<Octet>,
    /// Words of a row.
    words: usize,
    /// By octet and value: bit `w` says whether word `w` of the row has bits.
    summaries: Vec<u64>,
    /// By octet, value and word.
    rows: Vec<u64>,
    values: Vec<AtomicU64>,
}

/// What a rule demands of each field.
pub(crate) type Demands<'r> = &'r [(MatchField, u128, u128)];

impl Bitmap {
    /// From at most [`MOST_RULES`] rules, the highest rank first.
    pub(crate) fn new(rules: &[(Demands<'_>, u64)]) -> Self {
        let octets = octets(rules);
        let words = rules.len().div_ceil(64).max(1);
        let mut bitmap = Self {
            words,
            summaries: vec![0; octets.len() * ROWS],
            rows: vec![0; octets.len() * ROWS * words],
            values: rules.iter().map(|(_, value)| AtomicU64::new(*value)).collect(),
            octets,
        };
        for octet in 0..bitmap.octets.len() {
            bitmap.fill(octet, rules);
        }
        bitmap
    }

    fn fill(&mut self, octet: usize, rules: &[(Demands<'_>, u64)]) {
        let Octet { field, shift } = self.octets[octet];
        // Few different demands on one byte, each of many rules: a row takes whole sets of rules at once.
        let mut sets: HashMap<Option<(u8, u8)>, Vec<u64>> = HashMap::new();
        for (bit, (demands, _)) in rules.iter().enumerate() {
            let demand = demands.iter().find(|demand| demand.0 == field);
            let demand = demand.map(|(_, value, mask)| ((value >> shift) as u8, (mask >> shift) as u8));
            sets.entry(demand).or_insert_with(|| vec![0; self.words])[bit / 64] |= 1 << (bit % 64);
        }
        let mut sets: Vec<_> = sets.into_iter().collect();
        sets.sort_unstable();
        for row in 0..ROWS {
            let at = (octet * ROWS + row) * self.words;
            let words = &mut self.rows[at..at + self.words];
            for (demand, set) in &sets {
                let holds = match demand {
                    None => true,
                    Some((value, mask)) => row != MISSING && row as u8 & mask == *value,
                };
                if holds {
                    words.iter_mut().zip(set).for_each(|(word, bits)| *word |= bits);
                }
            }
            let summary = words
                .iter()
                .enumerate()
                .map(|(index, word)| u64::from(*word != 0) << index)
                .sum();
            self.summaries[octet * ROWS + row] = summary;
        }
    }

    /// Gives the rule at a place another value, or takes it out with [`TOMBSTONE`].
    pub(crate) fn set(&self, place: usize, value: u64) {
        self.values[place].store(value, Ordering::Release);
    }

    /// The value of the first rule that all rows have, [`EMPTY`] where there is none. `rows` has one row for each
    /// octet: the byte's value or [`MISSING`].
    pub(crate) fn find(&self, rows: &[u16]) -> u64 {
        let mut row_at = [0_usize; MOST_OCTETS];
        let mut candidates = u64::MAX;
        for (octet, row) in rows.iter().enumerate() {
            let at = octet * ROWS + usize::from(*row);
            candidates &= self.summaries[at];
            row_at[octet] = at * self.words;
        }
        candidates &= u64::MAX >> (64 - self.words);
        while candidates != 0 {
            let word = candidates.trailing_zeros() as usize;
            candidates &= candidates - 1;
            let mut bits = row_at[..rows.len()]
                .iter()
                .fold(u64::MAX, |bits, at| bits & self.rows[at + word]);
            while bits != 0 {
                let value = self.values[word * 64 + bits.trailing_zeros() as usize].load(Ordering::Acquire);
                if value != TOMBSTONE {
                    return value;
                }
                bits &= bits - 1;
            }
        }
        EMPTY
    }

    /// Bytes that it takes.
    pub(crate) fn byte_len(&self) -> usize {
        (self.summaries.len() + self.rows.len() + self.values.len()) * 8
    }
}

/// Bytes that rules may look at in all.
pub(crate) const MOST_OCTETS: usize = 64;

/// The bytes that some rule looks at.
pub(crate) fn octets(rules: &[(Demands<'_>, u64)]) -> Vec<Octet> {
    let mut masks: HashMap<MatchField, u128> = HashMap::new();
    for &(field, _, mask) in rules.iter().flat_map(|(demands, _)| demands.iter()) {
        *masks.entry(field).or_default() |= mask;
    }
    let mut octets: Vec<Octet> = masks
        .into_iter()
        .flat_map(|(field, mask)| {
            let shifts = (0..16).map(|byte| byte * 8);
            shifts
                .filter(move |shift| mask >> shift & 0xff != 0)
                .map(move |shift| Octet { field, shift })
        })
        .collect();
    octets.sort_by_key(|octet| (octet.field, octet.shift));
    octets
}
