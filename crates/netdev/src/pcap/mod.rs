//! Capture files as a port: what arrives comes from one file, what is sent goes to another.

mod blocks;
mod capture;

use std::fmt;
use std::io::{self, Write};
use std::time::Duration;

use crate::{
    Arrived, Capabilities, HEADROOM, InterfaceCounters, MAX_BURST, Port, ReceiveStatistics, Receiver, SendStatistics,
    Sender, Take,
};
use capture::{LINK_TYPE_ETHERNET, MAGIC_NANOSECONDS, MAJOR_VERSION, MAX_RECORD_LEN};

pub use blocks::{CaptureBlocks, CapturedWay};
pub use capture::{Capture, CaptureError, CaptureFlaw};

const MINOR_VERSION: u16 = 4;

/// How often a capture is replayed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Replay {
    /// To its end.
    Once,
    /// From the start again after its end.
    Endlessly,
}

/// Frames to a capture file, with times in nanoseconds.
#[derive(Debug)]
pub struct CaptureWriter<W> {
    output: W,
}

impl<W: Write> CaptureWriter<W> {
    /// Starts a file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn new(mut output: W) -> io::Result<Self> {
        output.write_all(&MAGIC_NANOSECONDS.to_le_bytes())?;
        output.write_all(&MAJOR_VERSION.to_le_bytes())?;
        output.write_all(&MINOR_VERSION.to_le_bytes())?;
        for field in [0, 0, MAX_RECORD_LEN, LINK_TYPE_ETHERNET] {
            output.write_all(&field.to_le_bytes())?;
        }
        Ok(Self { output })
    }

    /// Adds a frame, captured at a time since 1970.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&mut self, time: Duration, frame: &[u8]) -> io::Result<()> {
        let len = frame.len() as u32;
        for field in [time.as_secs() as u32, time.subsec_nanos(), len, len] {
            self.output.write_all(&field.to_le_bytes())?;
        }
        self.output.write_all(frame)
    }

    /// Pushes everything out.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }

    /// The output, for its owner.
    pub fn get_ref(&self) -> &W {
        &self.output
    }
}

/// A port that receives the frames of a capture, as fast as they are asked for, and writes what it sends to another.
pub type PcapPort<W, T> = Port<PcapSender<W, T>, PcapReceiver>;

/// The sending half of a [`PcapPort`].
pub struct PcapSender<W, T> {
    name: String,
    sink: CaptureWriter<W>,
    /// The time since 1970, for what is written.
    now: T,
    buffer: Vec<u8>,
    sent: u64,
}

/// The receiving half of a [`PcapPort`].
#[derive(Debug)]
pub struct PcapReceiver {
    source: Capture,
    replay: Replay,
    next: usize,
    buffer: Vec<u8>,
    received: u64,
}

impl<W: Write, T: FnMut() -> Duration> PcapPort<W, T> {
    /// Replays `source` and writes to `sink`; `now` gives the time since 1970.
    pub fn new(name: &str, source: Capture, replay: Replay, sink: CaptureWriter<W>, now: T) -> Self {
        Self {
            sender: PcapSender {
                name: name.to_owned(),
                sink,
                now,
                buffer: vec![0; MAX_RECORD_LEN as usize],
                sent: 0,
            },
            receiver: PcapReceiver {
                source,
                replay,
                next: 0,
                buffer: vec![0; HEADROOM + MAX_RECORD_LEN as usize],
                received: 0,
            },
        }
    }
}

impl<W, T> PcapSender<W, T> {
    /// What is written.
    pub fn sink(&self) -> &CaptureWriter<W> {
        &self.sink
    }
}

impl<W: Write + Send, T: FnMut() -> Duration + Send> Sender for PcapSender<W, T> {
    fn name(&self) -> &str {
        &self.name
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            max_frame_len: MAX_RECORD_LEN as usize,
            headroom: HEADROOM,
            can_wait: false,
            notes_arrival: false,
        }
    }

    fn send_burst(&mut self, count: usize, fill: &mut dyn FnMut(usize, &mut [u8]) -> usize) -> io::Result<usize> {
        let count = count.min(MAX_BURST);
        for index in 0..count {
            let len = fill(index, &mut self.buffer).min(self.buffer.len());
            self.sink.write((self.now)(), &self.buffer[..len])?;
            self.sent += 1;
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<usize> {
        self.sink.flush()?;
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

impl<W, T> fmt::Debug for PcapSender<W, T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("PcapSender")
            .field("name", &self.name)
            .field("sent", &self.sent)
            .finish_non_exhaustive()
    }
}

impl Receiver for PcapReceiver {
    fn receive_burst(&mut self, limit: usize, take: Take<'_>) -> io::Result<usize> {
        for count in 0..limit {
            if self.next == self.source.len() && self.replay == Replay::Endlessly {
                self.next = 0;
            }
            let Some(frame) = self.source.frame(self.next) else {
                return Ok(count);
            };
            let end = HEADROOM + frame.len();
            self.buffer[HEADROOM..end].copy_from_slice(frame);
            take(Arrived::new(&mut self.buffer[..end], HEADROOM, None));
            self.next += 1;
            self.received += 1;
        }
        Ok(limit)
    }

    fn statistics(&mut self) -> io::Result<ReceiveStatistics> {
        Ok(ReceiveStatistics {
            received: self.received,
            receive_dropped: 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(frames: &[Vec<u8>]) -> Capture {
        let empty = Capture::parse(CaptureWriter::new(Vec::new()).unwrap().get_ref().clone()).unwrap();
        let mut seconds = 0;
        let clock = || {
            seconds += 1;
            Duration::new(seconds, 9)
        };
        let sink = CaptureWriter::new(Vec::new()).unwrap();
        let mut port = PcapPort::new("file", empty, Replay::Endlessly, sink, clock);
        for burst in frames.chunks(3) {
            let sent = port.sender.send_burst(burst.len(), &mut |index, buffer| {
                buffer[..burst[index].len()].copy_from_slice(&burst[index]);
                burst[index].len()
            });
            assert_eq!(sent.unwrap(), burst.len());
        }
        assert_eq!(port.sender.flush().unwrap(), 0);
        assert_eq!(port.sender.statistics().unwrap().sent, frames.len() as u64);
        assert_eq!(port.receiver.receive_burst(5, &mut |_| ()).unwrap(), 0);
        Capture::parse(port.sender.sink().get_ref().clone()).unwrap()
    }

    fn received(receiver: &mut impl Receiver, limit: usize) -> Vec<Vec<u8>> {
        let mut frames = Vec::new();
        receiver
            .receive_burst(limit, &mut |frame| frames.push(frame.to_vec()))
            .unwrap();
        frames
    }

    proptest! {
        #[test]
        fn what_was_written_is_read_and_replayed(
            frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..100), 1..20),
        ) {
            let capture = written(&frames);
            prop_assert_eq!(capture.truncated(), 0);
            prop_assert_eq!(capture.time(0), Some(Duration::new(1, 9)));
            let sink = || CaptureWriter::new(io::sink()).unwrap();
            let mut once = PcapPort::new("once", capture.clone(), Replay::Once, sink(), || Duration::ZERO);
            prop_assert_eq!(received(&mut once.receiver, 1000), frames.clone());
            prop_assert!(received(&mut once.receiver, 1000).is_empty());
            let mut endless = PcapPort::new("endless", capture, Replay::Endlessly, sink(), || Duration::ZERO);
            for _ in 0..3 {
                prop_assert_eq!(received(&mut endless.receiver, frames.len()), frames.clone());
            }
        }
    }
}
