//! Which bucket of a group a frame goes to.

use brimful_frame::{Field, Headers};
use brimful_openflow::{Bucket, GROUP_ANY, port};

use crate::{Environment, GroupEntry};

/// Groups within groups at most: loops are refused when they are made.
const MOST_CHAINED: usize = 32;

impl GroupEntry {
    /// The bucket for a flow of a select group, by weight: the same for all of its frames.
    pub fn selected(&self, hash: u64, environment: &dyn Environment) -> Option<usize> {
        let is_live = |bucket: &Bucket| bucket.weight > 0 && is_live(bucket, environment, 0);
        let total: u64 = self
            .buckets
            .iter()
            .filter(|bucket| is_live(bucket))
            .map(|bucket| u64::from(bucket.weight))
            .sum();
        // The high half of the product spreads a hash evenly over any number of shares.
        let mut share = ((u128::from(hash) * u128::from(total)) >> 64) as u64;
        for (index, bucket) in self.buckets.iter().enumerate().filter(|(_, bucket)| is_live(bucket)) {
            let weight = u64::from(bucket.weight);
            if share < weight {
                return Some(index);
            }
            share -= weight;
        }
        None
    }

    /// The first bucket that is alive.
    pub fn first_live(&self, environment: &dyn Environment) -> Option<usize> {
        self.buckets.iter().position(|bucket| is_live(bucket, environment, 0))
    }
}

/// Whether what a bucket watches is alive; one that watches nothing is.
fn is_live(bucket: &Bucket, environment: &dyn Environment, depth: usize) -> bool {
    if depth > MOST_CHAINED {
        return false;
    }
    let watches_port = bucket.watch_port != port::ANY;
    let watches_group = bucket.watch_group != GROUP_ANY;
    let port_lives = watches_port && environment.is_live(bucket.watch_port);
    let group_lives = watches_group
        && environment.group(bucket.watch_group).is_some_and(|group| {
            group
                .buckets
                .iter()
                .any(|bucket| is_live(bucket, environment, depth + 1))
        });
    port_lives || group_lives || !(watches_port || watches_group)
}

/// A number that all frames of a flow share, whatever tells flows apart: addresses of Ethernet, of IP or ARP, and ports.
pub fn flow_hash(frame: &[u8], headers: &Headers) -> u64 {
    const FIELDS: [Field; 16] = [
        Field::EthDst,
        Field::EthSrc,
        Field::VlanVid,
        Field::IpProto,
        Field::Ipv4Src,
        Field::Ipv4Dst,
        Field::Ipv6Src,
        Field::Ipv6Dst,
        Field::ArpSpa,
        Field::ArpTpa,
        Field::TcpSrc,
        Field::TcpDst,
        Field::UdpSrc,
        Field::UdpDst,
        Field::SctpSrc,
        Field::SctpDst,
    ];
    let values = FIELDS.iter().filter_map(|field| field.read(frame, headers));
    let hash = values.fold(0x243f_6a88_85a3_08d3, |hash, value| {
        mix(mix(hash ^ value as u64) ^ (value >> 64) as u64)
    });
    mix(hash)
}

/// Spreads every bit over all others (the finisher of `splitmix64`).
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
