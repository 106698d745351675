//! A connection from its first byte to its end, with a peer that does what it likes.

use super::*;

const SECOND: u64 = 1_000_000_000;

fn hello(versions: &[Version]) -> Vec<u8> {
    Message::Hello(Hello::offering(versions)).encode(1, Version::V13)
}

fn new(versions: &[Version]) -> Connection {
    Connection::new(&versions.into(), 0)
}

fn established() -> Connection {
    let mut connection = new(&Version::ALL);
    connection.receive(&hello(&[Version::V13]), 0);
    connection.take_messages();
    assert_eq!(connection.state(), &State::Established(Version::V13));
    connection.outgoing().take_all();
    connection
}

/// What waits to be sent, message by message.
fn sent(connection: &mut Connection) -> Vec<Message> {
    let bytes = connection.outgoing().take_all();
    let (mut at, mut messages) = (0, Vec::new());
    while let Some(header) = Header::parse(&bytes[at..]) {
        let end = at + usize::from(header.length);
        messages.push(Message::decode(&bytes[at..end], Version::V13).unwrap());
        at = end;
    }
    messages
}

#[test]
fn messages_come_out_whole_however_the_bytes_are_cut() {
    let mut connection = established();
    let bytes = [
        Message::BarrierRequest.encode(5, Version::V13),
        Message::FeaturesRequest.encode(6, Version::V13),
    ]
    .concat();
    let mut taken = Vec::new();
    for byte in bytes {
        connection.receive(&[byte], 0);
        let messages = connection.take_messages();
        taken.extend(messages.at(0).map(|_| messages.head(0).transaction));
    }
    assert_eq!(taken, [5, 6]);
}

#[test]
fn a_long_message_comes_out_whole_however_it_is_cut() {
    let long = Message::EchoRequest(Data((0..60_000).map(|place: u32| place as u8).collect())).encode(7, Version::V13);
    let bytes = [Message::BarrierRequest.encode(5, Version::V13), long.clone(), long].concat();
    for size in [7, 4096, 32_768, 60_007, bytes.len()] {
        let (mut connection, mut taken) = (established(), Vec::new());
        for part in bytes.chunks(size) {
            connection.receive(part, 0);
            taken.extend_from_slice(&connection.take_messages().bytes);
        }
        assert_eq!(taken, bytes, "in parts of {size}");
    }
}

#[test]
fn without_a_common_version_it_says_so_and_closes() {
    let mut connection = new(&Version::ALL);
    connection.outgoing().take_all();
    connection.receive(&[1, 0, 0, 8, 0, 0, 0, 7], 0);
    connection.take_messages();
    assert!(matches!(connection.state(), State::Closing(_)));
    let messages = sent(&mut connection);
    assert!(matches!(
        &messages[..],
        [Message::Error(ErrorBody { kind: 0, code: 0, .. })]
    ));
}

#[test]
fn a_later_hello_changes_nothing_unless_it_leaves_no_version() {
    let mut connection = established();
    connection.receive(&hello(&[Version::V13, Version::V14]), 0);
    connection.receive(&[5, 0, 0, 8, 0, 0, 0, 7], 0);
    connection.take_messages();
    assert_eq!(connection.state(), &State::Established(Version::V13));
    assert_eq!(sent(&mut connection), []);
    connection.receive(&[0, 0, 0, 8, 0, 0, 0, 7], 0);
    connection.take_messages();
    assert!(matches!(connection.state(), State::Closing(_)));
    assert!(matches!(
        &sent(&mut connection)[..],
        [Message::Error(ErrorBody { kind: 0, code: 0, .. })]
    ));
}

#[test]
fn the_highest_common_version_is_spoken() {
    for (hello, expected) in [
        (hello(&[Version::V13, Version::V14]), Version::V14),
        (hello(&[Version::V13]), Version::V13),
        (vec![5, 0, 0, 8, 0, 0, 0, 1], Version::V14),
        (vec![6, 0, 0, 8, 0, 0, 0, 1], Version::V14),
        (vec![4, 0, 0, 8, 0, 0, 0, 1], Version::V13),
    ] {
        let mut connection = new(&Version::ALL);
        connection.receive(&hello, 0);
        connection.take_messages();
        assert_eq!(connection.version(), Some(expected));
    }
}

#[test]
fn the_first_hello_and_what_is_agreed_are_of_the_versions_of_the_settings() {
    for (versions, expected) in [(&[Version::V13][..], Version::V13), (&Version::ALL, Version::V14)] {
        let mut connection = new(versions);
        assert_eq!(connection.outgoing().take_all()[0], expected as u8);
        connection.receive(&hello(&Version::ALL), 0);
        connection.take_messages();
        assert_eq!(connection.version(), Some(expected));
    }
    let mut connection = new(&[Version::V14]);
    connection.receive(&hello(&[Version::V13]), 0);
    connection.take_messages();
    let reason = "no version in common: OpenFlow 1.4 here".to_owned();
    assert_eq!(connection.state(), &State::Closing(reason));
}

#[test]
fn a_length_below_the_header_ends_the_connection() {
    let mut connection = established();
    connection.receive(&[4, 20, 0, 3, 0, 0, 0, 3], 0);
    connection.take_messages();
    assert!(matches!(
        &sent(&mut connection)[..],
        [Message::Error(ErrorBody { kind: 1, code: 6, .. })]
    ));
    assert!(matches!(connection.state(), State::Closing(_)));
}

#[test]
fn parts_of_messages_keep_no_connection() {
    let greeting = hello(&[Version::V13]);
    let mut connection = new(&Version::ALL);
    for (byte, second) in greeting.iter().zip([0, 4, 8]) {
        connection.receive(&[*byte], second * SECOND);
        connection.take_messages();
        connection.tick(second * SECOND);
    }
    assert_eq!(connection.state(), &State::Closing("no hello came".to_owned()));
    let mut connection = established();
    let request = Message::BarrierRequest.encode(5, Version::V13);
    for (byte, second) in request.iter().zip([0, 4, 8, 12, 16]) {
        connection.receive(&[*byte], second * SECOND);
        connection.take_messages();
        connection.tick(second * SECOND);
    }
    assert_eq!(connection.state(), &State::Closing("no echo came".to_owned()));
}

#[test]
fn a_silent_controller_is_asked_and_then_given_up() {
    let mut connection = established();
    connection.tick(4 * SECOND);
    assert_eq!(sent(&mut connection), []);
    connection.tick(5 * SECOND);
    assert_eq!(sent(&mut connection), [Message::EchoRequest(Data::default())]);
    connection.tick(9 * SECOND);
    assert_eq!(connection.state(), &State::Established(Version::V13));
    connection.tick(10 * SECOND);
    assert!(matches!(connection.state(), State::Closing(_)));
}
