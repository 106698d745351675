//! A switch in memory with any number of ports, which learns addresses and loses the frames that a test names.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex};

use brimful_netdev::{
    Arrived, Capabilities, InterfaceCounters, MAX_BURST, Port, ReceiveStatistics, Receiver, SendStatistics, Sender,
    Take,
};

const LONGEST: usize = 2048;

/// Says whether a frame that came in on a port is lost before it goes out of another.
pub(crate) type Lose = fn(&[u8], usize, usize) -> bool;

struct Switch {
    places: Mutex<Places>,
    lose: Lose,
    /// Frames for one port that go out of another one as well.
    also: Option<(usize, usize)>,
}

#[derive(Default)]
struct Places {
    queues: Vec<VecDeque<Vec<u8>>>,
    learnt: BTreeMap<[u8; 6], usize>,
}

pub(crate) struct SwitchSender {
    name: String,
    port: usize,
    switch: Arc<Switch>,
    sent: u64,
    buffer: Vec<u8>,
    /// Frames that it takes at a time.
    pub(crate) takes: usize,
}

pub(crate) struct SwitchReceiver {
    port: usize,
    switch: Arc<Switch>,
    received: u64,
}

/// Ports `a`, `b` and so on of one switch.
pub(crate) fn switch(
    count: usize,
    lose: Lose,
    also: Option<(usize, usize)>,
) -> Vec<Port<SwitchSender, SwitchReceiver>> {
    let places = Places {
        queues: vec![VecDeque::new(); count],
        ..Places::default()
    };
    let switch = Arc::new(Switch {
        places: Mutex::new(places),
        lose,
        also,
    });
    let port = |port: usize| Port {
        sender: SwitchSender {
            name: char::from(b'a' + port as u8).to_string(),
            port,
            switch: Arc::clone(&switch),
            sent: 0,
            buffer: vec![0; LONGEST],
            takes: MAX_BURST,
        },
        receiver: SwitchReceiver {
            port,
            switch: Arc::clone(&switch),
            received: 0,
        },
    };
    (0..count).map(port).collect()
}

impl SwitchSender {
    /// Another way to send on the same port.
    pub(crate) fn another(&self) -> Self {
        Self {
            name: self.name.clone(),
            port: self.port,
            switch: Arc::clone(&self.switch),
            sent: 0,
            buffer: vec![0; LONGEST],
            takes: MAX_BURST,
        }
    }
}

impl Switch {
    fn forward(&self, frame: &[u8], from: usize) {
        let mut places = self.places.lock().expect("nobody panics");
        let address = |bytes: &[u8]| <[u8; 6]>::try_from(bytes).expect("six bytes");
        places.learnt.insert(address(&frame[6..12]), from);
        let known = places.learnt.get(&address(&frame[..6])).copied();
        for to in 0..places.queues.len() {
            let is_copied = self.also.is_some_and(|(of, copy)| known == Some(of) && copy == to);
            let goes = known.is_none_or(|known| known == to) || is_copied;
            if goes && to != from && !(self.lose)(frame, from, to) {
                places.queues[to].push_back(frame.to_vec());
            }
        }
    }
}

impl Sender for SwitchSender {
    fn name(&self) -> &str {
        &self.name
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            max_frame_len: LONGEST,
            headroom: 0,
            can_wait: false,
            notes_arrival: false,
        }
    }

    fn send_burst(&mut self, count: usize, fill: &mut dyn FnMut(usize, &mut [u8]) -> usize) -> io::Result<usize> {
        let count = count.min(self.takes);
        for index in 0..count {
            let len = fill(index, &mut self.buffer);
            self.switch.forward(&self.buffer[..len], self.port);
        }
        self.sent += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<usize> {
        Ok(0)
    }

    fn statistics(&mut self) -> io::Result<SendStatistics> {
        Ok(SendStatistics {
            sent: self.sent,
            sent_into_full_queue: 0,
        })
    }

    fn interface_counters(&mut self) -> io::Result<Option<InterfaceCounters>> {
        Ok(None)
    }

    fn link_is_up(&mut self) -> io::Result<bool> {
        Ok(true)
    }
}

impl Receiver for SwitchReceiver {
    fn receive_burst(&mut self, limit: usize, take: Take<'_>) -> io::Result<usize> {
        let mut places = self.switch.places.lock().expect("nobody panics");
        let queue = &mut places.queues[self.port];
        let count = queue.len().min(limit);
        let frames: Vec<_> = queue.drain(..count).collect();
        drop(places);
        for mut frame in frames {
            take(Arrived::new(&mut frame, 0, None));
        }
        self.received += count as u64;
        Ok(count)
    }

    fn statistics(&mut self) -> io::Result<ReceiveStatistics> {
        Ok(ReceiveStatistics {
            received: self.received,
            receive_dropped: 0,
        })
    }
}
