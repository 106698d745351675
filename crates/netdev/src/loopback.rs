use crate::{MemoryPort, Port, memory_wire};

/// A port that receives what it sends. It holds up to `capacity` frames, as [`memory_wire`] does; further ones are
/// dropped and counted.
pub fn loopback(name: &str, capacity: u32) -> MemoryPort {
    let [near, far] = memory_wire([name, name], capacity);
    Port {
        sender: near.sender,
        receiver: far.receiver,
    }
}

#[cfg(test)]
#[cfg(not(feature = "loom"))]
mod tests {
    use super::*;
    use crate::{Receiver, Sender};

    #[test]
    fn what_is_sent_is_received() {
        let mut port = loopback("lo", 2);
        let sent = port.sender.send_burst(3, &mut |index, buffer| {
            buffer[0] = index as u8;
            1
        });
        assert_eq!(sent.unwrap(), 3);
        let mut arrived: Vec<u8> = Vec::new();
        port.receiver
            .receive_burst(9, &mut |frame| arrived.extend(&*frame))
            .unwrap();
        assert_eq!(arrived, [0, 1]);
        assert_eq!(port.sender.statistics().unwrap().sent, 3);
        let statistics = port.receiver.statistics().unwrap();
        assert_eq!((statistics.received, statistics.receive_dropped), (2, 1));
    }
}
