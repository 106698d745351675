//! Sequences of frames over wires in memory: every frame is found at the port that it came to, and nowhere else.

use brimful_netdev::memory_wire;
use brimful_tester::{MonotonicClock, Received, SendRequest, StationsReply, StationsRequest, Switchboard};

fn asked(sequences: &str) -> SendRequest {
    let line = format!(r#"{{"op":"send","id":7,"settle_s":0.01,"sequences":[{sequences}]}}"#);
    match serde_json::from_str(&line).expect("it is a request") {
        StationsRequest::Send(request) => request,
        StationsRequest::Describe => panic!("no request to send"),
    }
}

fn sequence(port: usize, frame_size: usize, count: u64) -> String {
    format!(
        r#"{{"port":{port},"sources":["02:00:00:00:00:01","02:00:00:00:00:02"],"destinations":["02:00:00:00:01:00"],
        "frame_size":{frame_size},"count":{count},"rate":20000}}"#
    )
}

/// Four ports: 0 and 1 are joined, and so are 2 and 3.
fn sent(request: &SendRequest) -> StationsReply {
    let wires = [memory_wire(["a", "b"], 512), memory_wire(["c", "d"], 512)];
    let ports = wires.into_iter().flatten().collect();
    let mut switchboard = Switchboard::new(ports, MonotonicClock::start(), 3);
    switchboard.send(request).expect("wires in memory do not fail")
}

#[test]
fn every_frame_is_counted_where_it_arrived() {
    let request = asked(&[sequence(0, 64, 300), sequence(3, 1518, 100), sequence(2, 40, 7)].join(","));
    let reply = sent(&request);
    let frames = |at: usize| reply.sequences[at].received.iter().map(|received| received.frames);
    assert_eq!(frames(0).collect::<Vec<_>>(), [0, 300, 0, 0]);
    assert_eq!(frames(1).collect::<Vec<_>>(), [0, 0, 100, 0]);
    assert_eq!(frames(2).collect::<Vec<_>>(), [0, 0, 0, 7]);
    assert_eq!(reply.sequences.iter().map(|sequence| sequence.sent).sum::<u64>(), 407);
    let Received {
        shortest,
        longest,
        copies,
        ..
    } = reply.sequences[2].received[3];
    assert_eq!((shortest, longest, copies), (36, 36, 0));
    assert_eq!((reply.foreign, reply.damaged), (vec![0; 4], vec![0; 4]));
}

#[test]
fn a_frame_that_is_too_long_for_the_port_is_refused_and_the_others_are_sent() {
    let reply = sent(&asked(&[sequence(0, 9216, 5), sequence(2, 64, 5)].join(",")));
    assert!(
        reply.sequences[0]
            .refused
            .as_ref()
            .is_some_and(|reason| reason.contains("MTU"))
    );
    assert_eq!(reply.sequences[0].sent, 0);
    assert_eq!(reply.sequences[1].received[3].frames, 5);
}
