/// The Internet checksum (RFC 1071) while it is being summed.
///
/// Sums may be kept and added to later, which is how a template avoids summing the same bytes for every frame.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Checksum(u64);

impl Checksum {
    /// The sum of nothing.
    pub fn new() -> Self {
        Self(0)
    }

    /// With one more 16-bit word.
    #[must_use]
    pub fn with_word(self, word: u16) -> Self {
        Self(self.0 + u64::from(word))
    }

    /// With bytes that start on an even offset; an odd last byte is padded with zero.
    #[must_use]
    pub fn with_bytes(self, bytes: &[u8]) -> Self {
        // A 32-bit word counts the same as its two halves: 2^16 is 1 modulo 2^16 - 1. In which order the two bytes of all
        // words are summed does not matter either, as long as those of the sum are put right (RFC 1071 section 2).
        let mut lanes = [0_u64; 2];
        let mut blocks = bytes.chunks_exact(16);
        for block in &mut blocks {
            for (lane, eight) in lanes.iter_mut().zip(block.chunks_exact(8)) {
                let word = u64::from_ne_bytes([
                    eight[0], eight[1], eight[2], eight[3], eight[4], eight[5], eight[6], eight[7],
                ]);
                *lane += (word & 0xffff_ffff) + (word >> 32);
            }
        }
        let mut sum = fold_once(lanes[0]) + fold_once(lanes[1]);
        for pair in blocks.remainder().chunks(2) {
            sum += u64::from(u16::from_ne_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]));
        }
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        Self(self.0 + u64::from(u16::from_be(sum as u16)))
    }

    /// With everything that another sum has.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }

    /// The value for a checksum field.
    pub fn finish(self) -> u16 {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    /// Whether bytes summed together with their own checksum field are intact.
    pub fn is_intact(self) -> bool {
        self.finish() == 0
    }
}

/// Keeps a kept sum far from overflow.
fn fold_once(sum: u64) -> u64 {
    (sum & 0xffff_ffff) + (sum >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn naive(bytes: &[u8]) -> u16 {
        let mut sum = 0_u32;
        for pair in bytes.chunks(2) {
            sum += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    #[test]
    fn example_of_rfc_1071() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(Checksum::new().with_bytes(&bytes).finish(), !0xddf2);
    }

    proptest! {
        #[test]
        fn equals_the_naive_sum(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
            prop_assert_eq!(Checksum::new().with_bytes(&bytes).finish(), naive(&bytes));
        }

        #[test]
        fn parts_add_up(words in proptest::collection::vec(any::<u16>(), 0..100), cut in 0..100_usize) {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
            let cut = (cut * 2).min(bytes.len());
            let parts = Checksum::new().with_bytes(&bytes[..cut]).with_bytes(&bytes[cut..]);
            prop_assert_eq!(parts.finish(), naive(&bytes));
        }
    }
}
