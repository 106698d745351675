use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use brimful_openflow::{Band, BandType, meter_flag};

use crate::CounterId;

/// Seconds of its rate that a band without a burst of its own lets through at once: small beside what a rate is
/// measured over, large beside the gaps of a busy sender.
const DEFAULT_BURST_S: f64 = 0.05;
/// Bits of a slow band's bucket at the least: two of Ethernet's usual longest frames, so that the rate is held however frames
/// are spaced. A longer frame passes when the bucket is full.
const SMALLEST_BURST_BITS: u64 = 1_514 * 8 * 2;
const NANOSECONDS: u128 = 1_000_000_000;

/// A meter. Its settings do not change: a modification makes another one.
#[derive(Debug)]
pub struct MeterEntry {
    /// Its number.
    pub meter: u32,
    /// Of [`meter_flag`].
    pub flags: u16,
    /// Its bands as they were given.
    pub bands: Vec<Band>,
    /// What came in.
    pub counter: CounterId,
    /// What each band took.
    pub band_counters: Vec<CounterId>,
    /// Nanoseconds of the owner's clock.
    pub installed_at: u64,
    buckets: Vec<TokenBucket>,
}

/// A band as a clock: the moment at which all that has passed would have passed at exactly its rate. What would push it
/// further ahead of now than the burst allows is above the rate. One word, so that several threads share it.
#[derive(Debug)]
struct TokenBucket {
    /// Tokens a second: bits or packets.
    rate: u64,
    /// Nanoseconds that the clock may be ahead.
    tolerance_ns: u64,
    /// Nanoseconds.
    due: AtomicU64,
}

impl MeterEntry {
    /// A meter with full buckets.
    pub fn new(
        meter: u32,
        flags: u16,
        bands: Vec<Band>,
        installed_at: u64,
        counters: (CounterId, Vec<CounterId>),
    ) -> Self {
        let buckets = bands.iter().map(|band| TokenBucket::new(*band, flags)).collect();
        Self {
            meter,
            flags,
            bands,
            counter: counters.0,
            band_counters: counters.1,
            installed_at,
            buckets,
        }
    }

    /// The band that a frame of `bytes` falls under at `now`: of those whose rate is exceeded, the one with the highest.
    pub fn band(&self, bytes: usize, now: u64) -> Option<(usize, BandType)> {
        let tokens = if self.flags & meter_flag::PACKETS != 0 {
            1
        } else {
            bytes as u64 * 8
        };
        let mut found: Option<usize> = None;
        for (index, bucket) in self.buckets.iter().enumerate() {
            if !bucket.take(tokens, now) && found.is_none_or(|other| self.bands[other].rate < self.bands[index].rate) {
                found = Some(index);
            }
        }
        found.map(|index| (index, self.bands[index].band_type))
    }
}

impl TokenBucket {
    fn new(band: Band, flags: u16) -> Self {
        let is_packets = flags & meter_flag::PACKETS != 0;
        let unit = if is_packets { 1 } else { 1000 };
        let rate = (u64::from(band.rate) * unit).max(1);
        let default = (rate as f64 * DEFAULT_BURST_S) as u64;
        let smallest = if is_packets { 2 } else { SMALLEST_BURST_BITS };
        let asked = u64::from(band.burst) * unit;
        let is_asked = flags & meter_flag::BURST != 0 && asked > 0;
        let burst = if is_asked { asked } else { default.max(smallest) };
        Self {
            rate,
            tolerance_ns: (u128::from(burst) * NANOSECONDS / u128::from(rate)) as u64,
            due: AtomicU64::new(0),
        }
    }

    /// Takes tokens if they are there.
    fn take(&self, tokens: u64, now: u64) -> bool {
        let step = (u128::from(tokens) * NANOSECONDS).div_ceil(u128::from(self.rate)) as u64;
        let mut due = self.due.load(Relaxed);
        loop {
            let next = due.max(now) + step;
            if next > now.saturating_add(self.tolerance_ns.max(step)) {
                return false;
            }
            match self.due.compare_exchange_weak(due, next, Relaxed, Relaxed) {
                Ok(_) => return true,
                Err(other) => due = other,
            }
        }
    }
}

/// The DSCP with a drop precedence `levels` higher, where it has one (RFC 2597: three classes of loss in each of four).
pub(crate) fn remarked(dscp: u8, levels: u8) -> u8 {
    let (class, precedence) = (dscp >> 3, dscp >> 1 & 3);
    let is_assured = (1..=4).contains(&class) && precedence > 0 && dscp & 1 == 0;
    if !is_assured {
        return dscp;
    }
    class << 3 | precedence.saturating_add(levels).min(3) << 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(flags: u16, band: Band, frames_a_second: u64, bytes: usize, seconds: u64) -> u64 {
        let meter = MeterEntry::new(1, flags, vec![band], 0, (CounterId(0), vec![CounterId(1)]));
        let frames = frames_a_second * seconds;
        let moments = (0..frames).map(|index| index * 1_000_000_000 / frames_a_second);
        moments.filter(|&now| meter.band(bytes, now).is_none()).count() as u64
    }

    #[test]
    fn rates_are_held_within_one_per_cent_of_ten_seconds() {
        for rate in [100, 1_000, 10_000, 1_000_000] {
            let band = Band {
                band_type: BandType::Drop,
                rate,
                burst: 0,
            };
            let rate = u64::from(rate);
            let through = passed(meter_flag::PACKETS, band, rate * 2, 1500, 10);
            assert!(
                through.abs_diff(rate * 10) * 100 <= rate * 10,
                "{rate} packets/s: {through} in 10 s"
            );
        }
        for rate in [200, 1_000, 10_000, 100_000, 10_000_000] {
            let band = Band {
                band_type: BandType::Drop,
                rate,
                burst: 0,
            };
            let bits = u64::from(rate) * 1000;
            let through = passed(meter_flag::KBPS, band, bits * 2 / 12_000, 1500, 10) * 12_000;
            assert!(
                through.abs_diff(bits * 10) * 50 <= bits * 10,
                "{rate} kbit/s: {through} bits in 10 s"
            );
        }
    }

    #[test]
    fn the_highest_exceeded_band_applies() {
        let band = |rate, levels| Band {
            band_type: BandType::DscpRemark(levels),
            rate,
            burst: 1,
        };
        let meter = MeterEntry::new(
            1,
            meter_flag::PACKETS | meter_flag::BURST,
            vec![band(10, 1), band(1000, 2)],
            0,
            (CounterId(0), vec![CounterId(1), CounterId(2)]),
        );
        assert_eq!(meter.band(100, 0), None);
        assert_eq!(meter.band(100, 10_000_000), Some((0, BandType::DscpRemark(1))));
        assert_eq!(meter.band(100, 10_000_001), Some((1, BandType::DscpRemark(2))));
    }

    #[test]
    fn drop_precedence_rises_within_its_class() {
        assert_eq!(remarked(18, 1), 20);
        assert_eq!(remarked(18, 7), 22);
        assert_eq!(remarked(0, 1), 0);
        assert_eq!(remarked(46, 1), 46);
    }
}
