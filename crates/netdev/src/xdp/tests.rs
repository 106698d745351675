//! Bursts over a veth pair in a network namespace of its own; skipped where that is not allowed.

use std::process::Command;
use std::thread;
use std::time::Duration;

use super::*;
use crate::skip::skip;
use crate::{BackEnd, PacketPort, PacketRing, wait_for_frames};

/// The longest that goes without the socket.
const MAX_FRAME_LEN: usize = live::MAX_FRAME_LEN;
/// A link that carries nothing but what the test sends.
const JOINED_PORTS: &str = "ip link add ta $QUEUES type veth peer name tb $QUEUES && \
    for port in ta tb; do \
        ip link set $port mtu 2100; \
        ip link set $port addrgenmode none 2>/dev/null; ip link set $port up || exit 99; \
    done";
/// Looks at empty rings before the rest counts as lost.
const LOOKS: u32 = 1000;
/// Time in which what has arrived is not read.
const UNWATCHED: Duration = Duration::from_millis(2);

/// Runs a test in a thread with a namespace and a veth pair of its own.
fn over_joined_ports(test: impl FnOnce() + Send) {
    over_joined_queues(1, test);
}

/// The same with N receive queues at each end.
fn over_joined_queues(queues: usize, test: impl FnOnce() + Send) {
    thread::scope(|scope| {
        let run = scope.spawn(|| match make_joined_ports(queues) {
            Ok(()) => test(),
            Err(reason) => skip(&reason),
        });
        run.join().expect("the test passes");
    });
}

/// In a new namespace of this thread; why not, where that is not allowed.
fn make_joined_ports(queues: usize) -> Result<(), String> {
    // SAFETY: takes no pointers, and changes nothing but the network namespace of this thread.
    if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
        return Err("this machine does not let us make a network namespace".to_owned());
    }
    let queues = format!("numtxqueues {queues} numrxqueues {queues}");
    let made = Command::new("sh")
        .args(["-c", JOINED_PORTS])
        .env("QUEUES", queues)
        .output();
    if !made.is_ok_and(|output| output.status.success()) {
        return Err("this machine does not let us make a veth pair".to_owned());
    }
    let opened = XdpPort::open_queues("ta", options(), Attachment::Native);
    opened.map(drop).map_err(|error| error.to_string())
}

fn options() -> PacketPortOptions {
    PacketPortOptions::new(MAX_FRAME_LEN)
}

fn xdp_port(name: &str) -> XdpPort {
    XdpPort::open(name, options(), Attachment::Native).expect("veth runs programs")
}

/// A frame that no other place in the stream has: its length, its number, and bytes that depend on both.
fn frame(number: u32) -> Vec<u8> {
    let len = MAX_FRAME_LEN - (number * 997) as usize % (MAX_FRAME_LEN - 59);
    let mut frame: Vec<u8> = (0..len).map(|place| (place as u32 ^ number) as u8).collect();
    frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5]);
    frame[14..18].copy_from_slice(&number.to_be_bytes());
    frame
}

/// Sends bursts of these lengths and gives what was to arrive, in order.
fn send(sender: &mut impl Sender, bursts: impl IntoIterator<Item = usize>) -> Vec<Vec<u8>> {
    let mut sent = Vec::new();
    for burst in bursts {
        let first = sent.len() as u32;
        let taken = sender
            .send_burst(burst, &mut |index, buffer| {
                let frame = frame(first + index as u32);
                buffer[..frame.len()].copy_from_slice(&frame);
                frame.len()
            })
            .expect("the link is up");
        sent.extend((0..taken as u32).map(|index| frame(first + index)));
    }
    while sender.flush().expect("the link is up") > 0 {}
    sent
}

/// What has arrived of the test's own frames.
fn receive(receiver: &mut impl Receiver, expected: usize) -> Vec<Vec<u8>> {
    receive_as(receiver, expected, |bytes, _| bytes.to_vec())
}

/// When they arrived.
fn receive_times(receiver: &mut impl Receiver, expected: usize) -> Vec<Option<MonotonicTime>> {
    receive_as(receiver, expected, |_, time| time)
}

/// Frames of the occasion on which bursts are tried out bear no number, and are left out.
fn receive_as<T>(
    receiver: &mut impl Receiver,
    expected: usize,
    keep: impl Fn(&[u8], Option<MonotonicTime>) -> T,
) -> Vec<T> {
    let (mut arrived, mut looks) = (Vec::new(), 0);
    while arrived.len() < expected && looks < LOOKS {
        let count = receiver
            .receive_burst(MAX_BURST, &mut |frame| {
                if frame[0] == 2 {
                    arrived.push(keep(&frame, frame.time));
                }
            })
            .expect("the interface is there");
        looks = if count == 0 { looks + 1 } else { 0 };
        if count == 0 {
            thread::yield_now();
        }
    }
    arrived
}

/// Whether bursts go without the socket, once that is settled; nothing where the kernel is too old for it.
fn accepted_live_frames(sender: &mut XdpSender) -> Option<bool> {
    thread::sleep(Duration::from_millis(10));
    let accepted = sender.live_frames_are_accepted().expect("the interface is there");
    sender.live.as_ref().map(|_| accepted)
}

/// Small bursts go through the socket, large ones do not, and neither overtakes the other.
fn mixed_bursts() -> impl Iterator<Item = usize> {
    [1, MAX_BURST, 3, 24, 23, MAX_BURST, MAX_BURST, 40, 2]
        .into_iter()
        .cycle()
        .take(60)
}

#[test]
fn bursts_of_all_lengths_arrive_whole_and_in_order() {
    over_joined_ports(|| {
        let (mut near, mut far) = (xdp_port("ta"), xdp_port("tb"));
        let sent = send(&mut near.sender, mixed_bursts());
        let arrived = receive(&mut far.receiver, sent.len());
        assert_eq!(sent.len(), mixed_bursts().sum::<usize>(), "all were taken");
        assert!(
            arrived == sent,
            "{} of {} arrived, or others",
            arrived.len(),
            sent.len()
        );
        let statistics = near.sender.statistics().unwrap();
        assert_eq!(
            (statistics.sent, statistics.sent_into_full_queue),
            (sent.len() as u64, 0)
        );
        assert_ne!(accepted_live_frames(&mut near.sender), Some(false));
    });
}

#[test]
fn frames_arrive_with_the_time_at_which_the_kernel_had_them() {
    over_joined_ports(|| {
        for attachment in [Attachment::Native, Attachment::Generic] {
            let mut near = xdp_port("ta");
            let mut far = XdpPort::open("tb", options(), attachment).expect("every interface runs programs");
            let (mut last, mut waited) = (MonotonicTime::now(), 0);
            // As many as the ring has chunks and more: a chunk that comes again brings a new time.
            for _ in 0..options().ring_bytes / CHUNK_LENS[0] / 1000 + 2 {
                let sent = send(&mut near.sender, [1, MAX_BURST, 3].into_iter().cycle().take(45));
                thread::sleep(UNWATCHED);
                let looked = MonotonicTime::now();
                let times = receive_times(&mut far.receiver, sent.len());
                let fetched = MonotonicTime::now();
                assert_eq!(times.len(), sent.len());
                for time in times {
                    let time = time.expect("veth leaves room for it");
                    assert!(last <= time && time <= fetched, "{last:?} {time:?} {fetched:?}");
                    waited += u32::from(time.0 + UNWATCHED.as_nanos() as u64 <= looked.0);
                    last = time;
                }
            }
            // Where a kernel thread took them over, frames arrive late; it never takes over all.
            assert!(waited > 0, "every time is that of the look");
        }
    });
}

#[test]
fn a_peer_that_takes_no_live_frames_gets_all_through_the_socket() {
    over_joined_ports(|| {
        let mut near = xdp_port("ta");
        // No program, hence no NAPI: the driver refuses live frames without a word.
        let mut far = PacketPort::open("tb", options(), PacketRing::Slots).expect("veth");
        let sent = send(&mut near.sender, mixed_bursts());
        let arrived = receive(&mut far.receiver, sent.len());
        assert!(
            arrived == sent,
            "{} of {} arrived, or others",
            arrived.len(),
            sent.len()
        );
        assert_eq!(near.sender.statistics().unwrap().sent, sent.len() as u64);
        assert_ne!(accepted_live_frames(&mut near.sender), Some(true));
    });
}

#[test]
fn a_burst_into_an_interface_that_is_down_is_an_error() {
    over_joined_ports(|| {
        let (mut near, _far) = (xdp_port("ta"), xdp_port("tb"));
        send(&mut near.sender, [MAX_BURST]);
        let down = Command::new("ip").args(["link", "set", "ta", "down"]).status();
        assert!(down.is_ok_and(|status| status.success()));
        let error = near
            .sender
            .send_burst(MAX_BURST, &mut |_, buffer| buffer.len().min(60))
            .unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::NetworkDown);
    });
}

#[test]
fn a_port_takes_frames_to_all_addresses_while_it_is_open() {
    let takes_all = || {
        let shown = Command::new("ip").args(["-details", "link", "show", "ta"]).output();
        String::from_utf8_lossy(&shown.expect("it made the port").stdout).contains("promiscuity 1")
    };
    over_joined_ports(|| {
        let port = xdp_port("ta");
        assert!(takes_all());
        drop(port);
        assert!(!takes_all());
    });
}

#[test]
fn queues_are_ports_of_their_own_and_keep_their_order() {
    const QUEUES: usize = 3;
    const FRAMES: u32 = 900;
    over_joined_queues(QUEUES, || {
        // Of veth, the kernel gives generic programs the queue before.
        let all_queues = [
            BackEnd::Packet(PacketRing::Slots),
            BackEnd::Packet(PacketRing::Blocks),
            BackEnd::Xdp(Attachment::Native),
        ];
        for back_end in all_queues {
            let mut near = XdpPort::open_queues("ta", options(), Attachment::Generic).unwrap();
            let mut far = back_end.open_queues("tb", options(), QUEUES).unwrap();
            assert_eq!((near.len(), far.len()), (QUEUES, QUEUES), "{back_end}");
            for number in 0..FRAMES {
                let sender = &mut near[number as usize % QUEUES].sender;
                let taken = sender.send_burst(1, &mut |_, buffer| {
                    let frame = frame(number);
                    buffer[..frame.len()].copy_from_slice(&frame);
                    frame.len()
                });
                assert_eq!(taken.unwrap(), 1);
            }
            let arrived: Vec<Vec<u32>> = far
                .iter_mut()
                .map(|port| {
                    let (mut numbers, each) = (Vec::new(), FRAMES as usize / QUEUES);
                    while numbers.len() < each {
                        let waited = wait_for_frames(port.receiver.descriptor().as_slice(), Duration::from_secs(10));
                        assert!(waited.unwrap(), "{back_end}");
                        let frames = receive(&mut port.receiver, each - numbers.len());
                        let number = |frame: &Vec<u8>| u32::from_be_bytes(frame[14..18].try_into().unwrap());
                        numbers.extend(frames.iter().map(number));
                    }
                    numbers
                })
                .collect();
            for numbers in &arrived {
                let expected: Vec<u32> = (0..FRAMES).filter(|number| number % 3 == numbers[0] % 3).collect();
                assert_eq!(*numbers, expected, "{back_end}");
            }
            let losses: u64 = far
                .iter_mut()
                .map(|port| port.receiver.statistics().unwrap().receive_dropped)
                .sum();
            assert_eq!(losses, 0, "{back_end}");
        }
        let native = BackEnd::Xdp(Attachment::Native);
        let (mut far, more) = native.open_for_senders("tb", options(), QUEUES).unwrap();
        assert_eq!(more.len(), QUEUES - 1);
        let mut near = XdpPort::open_queues("ta", options(), Attachment::Generic).unwrap();
        for port in &mut near {
            send(&mut port.sender, [1]);
        }
        assert_eq!(receive(&mut far.receiver, QUEUES).len(), QUEUES, "all queues are read");
        drop((near, far, more));
        let error = native.open_for_senders("tb", options(), QUEUES + 1).err().unwrap();
        assert!(
            error
                .to_string()
                .contains("4 threads send by xdp-native, each by a queue of its own, and it has 3"),
            "{error}"
        );
        let fewer = PacketPort::open_queues("tb", options(), PacketRing::Slots, 2).unwrap();
        assert_eq!(fewer.len(), 2);
        let error = XdpPort::open("tb", options(), Attachment::Generic).unwrap_err();
        assert!(error.to_string().contains("has 3 receive queues"), "{error}");
    });
}

#[test]
fn arrived_frames_have_room_in_front_and_can_be_sent_on_from_where_they_are() {
    over_joined_ports(|| {
        for back_end in BackEnd::ALL.into_iter().filter(|back_end| *back_end != BackEnd::Tap) {
            let mut near = xdp_port("ta");
            let mut far = back_end.open("tb", options()).unwrap();
            let capabilities = far.sender.capabilities();
            assert!(capabilities.headroom >= HEADROOM && capabilities.can_wait, "{back_end}");
            assert!(
                !far.sender.is_zero_copy(),
                "veth is no hardware, and the kernel falls back to copies"
            );
            send(&mut near.sender, [1]);
            assert!(wait_for_frames(far.receiver.descriptor().as_slice(), Duration::from_secs(10)).unwrap());
            let Port { sender, receiver } = &mut far;
            let count = receiver.receive_burst(MAX_BURST, &mut |mut arrived| {
                assert!(arrived.headroom() >= capabilities.headroom, "{back_end}");
                let (start, number) = (arrived.headroom() - 4, arrived[14..18].to_vec());
                let frame = &mut arrived.buffer_mut()[start..];
                frame.copy_within(4..16, 0);
                frame[12..16].copy_from_slice(&[0x81, 0, 0, 5]);
                frame[18..22].copy_from_slice(&number);
                let taken = sender.send_burst(1, &mut |_, buffer| {
                    buffer[..60].copy_from_slice(&frame[..60]);
                    60
                });
                assert_eq!(taken.unwrap(), 1);
            });
            assert_eq!(count.unwrap(), 1, "{back_end}");
            while far.sender.flush().unwrap() > 0 {}
            let back = receive(&mut near.receiver, 1);
            let mut expected = frame(0)[..56].to_vec();
            expected.splice(12..12, [0x81, 0, 0, 5]);
            assert_eq!(back, [expected], "{back_end}");
        }
    });
}
