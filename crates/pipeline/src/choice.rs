//! Which bucket of a group a frame goes to.

use brimful_frame::{Field, Headers};
use brimful_openflow::{Bucket, GROUP_ANY, port};

use crate::{Environment, GroupEntry};

/// Groups that are looked at for whether a bucket is alive, at most: they may watch one another, also in circles.
const MOST_WATCHED: u32 = 1024;
const MOST_DEPTH: u32 = 64;

impl GroupEntry {
    /// The bucket for a flow of a select group, by weight: the same for all of its frames.
    pub fn selected(&self, hash: u64, environment: &dyn Environment) -> Option<usize> {
        let is_live = |bucket: &Bucket| bucket.weight > 0 && is_live(bucket, environment);
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
        self.buckets.iter().position(|bucket| is_live(bucket, environment))
    }
}

/// Whether what a bucket watches is alive; one that watches nothing is.
fn is_live(bucket: &Bucket, environment: &dyn Environment) -> bool {
    is_live_within(bucket, environment, 0, &mut 0)
}

fn is_live_within(bucket: &Bucket, environment: &dyn Environment, depth: u32, watched: &mut u32) -> bool {
    if depth > MOST_DEPTH || *watched > MOST_WATCHED {
        return false;
    }
    *watched += 1;
    let watches_port = bucket.watch_port != port::ANY;
    let watches_group = bucket.watch_group != GROUP_ANY;
    let port_lives = watches_port && environment.is_live(bucket.watch_port);
    let group_lives = watches_group
        && environment.group(bucket.watch_group).is_some_and(|group| {
            group
                .buckets
                .iter()
                .any(|bucket| is_live_within(bucket, environment, depth + 1, watched))
        });
    port_lives || group_lives || !(watches_port || watches_group)
}

/// A number that all frames of a flow share, by what distinguishes flows: addresses of Ethernet, of IP or ARP, and
/// ports. Of a fragment the ports do not count: only the first one has them, and all of a packet go the same way.
pub fn flow_hash(frame: &[u8], headers: &Headers) -> u64 {
    const FIELDS: [Field; 10] = [
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
    ];
    const PORTS: [Field; 6] = [
        Field::TcpSrc,
        Field::TcpDst,
        Field::UdpSrc,
        Field::UdpDst,
        Field::SctpSrc,
        Field::SctpDst,
    ];
    let ports: &[Field] = if headers.is_fragment { &[] } else { &PORTS };
    let values = FIELDS.iter().chain(ports);
    let values = values.filter_map(|field| field.read(frame, headers));
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
