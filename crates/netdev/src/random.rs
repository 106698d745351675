/// A small seeded generator (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
///
/// Good enough to decide which frame suffers a fault, and the same on every machine.
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// The stream of this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// The next number from 0 up to, not including, 1.
    pub fn next_unit(&mut self) -> f64 {
        const BITS: u32 = 53;
        (self.next_u64() >> (64 - BITS)) as f64 / (1_u64 << BITS) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_repeat_and_spread() {
        let (mut one, mut two) = (SplitMix64::new(7), SplitMix64::new(7));
        let mean = (0..10_000)
            .map(|_| {
                let unit = one.next_unit();
                assert_eq!(unit.to_bits(), two.next_unit().to_bits());
                assert!((0.0..1.0).contains(&unit));
                unit
            })
            .sum::<f64>()
            / 10_000.0;
        assert!((0.49..0.51).contains(&mean), "{mean}");
    }
}
