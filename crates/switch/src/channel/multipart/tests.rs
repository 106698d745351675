//! Requests in several messages.

use super::*;

#[test]
fn all_parts_but_the_last_say_that_more_follow() {
    let port = |number| Port {
        number,
        address: EthernetAddress([0; 6]),
        name: Name::new("port"),
        config: 0,
        state: 0,
        properties: Vec::new(),
    };
    for (count, parts) in [(0, 1), (900, 1), (5000, 6)] {
        let ports: Vec<Port> = (1..=count).map(port).collect();
        let messages = Parts(Version::V13).of(ports.clone(), Reply::PortDescription);
        assert_eq!(messages.len(), parts);
        let mut all = Vec::new();
        for (index, message) in messages.into_iter().enumerate() {
            assert!(message.encode(1, Version::V13).len() < 1 << 16);
            let Message::MultipartReply(Part { flags, content }) = message else {
                panic!("another message");
            };
            assert_eq!(flags, if index + 1 < parts { MORE } else { 0 });
            let Reply::PortDescription(list) = content else {
                panic!("another reply");
            };
            all.extend(list);
        }
        assert_eq!(all, ports);
    }
}
