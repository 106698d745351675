//! How long a large file takes to read: run by hand with `cargo test --release -- --ignored`.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may fail, and a measurement shows its figure"
)]

use std::fmt::Write;
use std::time::Instant;

use brimful_switch::tables;

#[test]
#[ignore = "a measurement, for a quiet machine"]
fn a_hundred_thousand_flows() {
    let mut text = String::new();
    for flow in 0..100_000_u32 {
        let [_, a, b, c] = flow.to_be_bytes();
        writeln!(text, "priority=10,udp,in_port=1,nw_dst=10.{a}.{b}.{c},tp_dst=53,actions=set_field:02:00:00:00:00:{c:02x}->eth_dst,output:2").unwrap();
    }
    let start = Instant::now();
    let read = tables::read("large.flows", &text, 0).unwrap();
    assert_eq!(read.changes.len(), 100_000);
    println!("{:?} for {} bytes", start.elapsed(), text.len());
}
