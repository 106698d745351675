//! Frames that controllers send.

use std::sync::Arc;

use brimful_frame::Packet;
use brimful_netdev::MonotonicTime;
use brimful_openflow::{Action, ErrorCode, ErrorMessage, port};
use brimful_pipeline::{Outputs, PacketIn, Passage, View, check_packet_out, run_actions};

use crate::batch::Batch;
use crate::control::Switch;
use crate::events::PacketInEvent;
use crate::worker::HEADROOM;

/// Bytes that every frame begins with: two addresses and an `EtherType`.
const ETHERNET_LEN: usize = 14;

/// What becomes of a frame that a controller has sent.
#[derive(Default)]
struct ControlOutbox {
    frames: Vec<(u32, u32, Vec<u8>)>,
    for_tables: Vec<Vec<u8>>,
    packet_ins: Vec<PacketInEvent>,
    is_cut_short: bool,
}

impl Outputs for ControlOutbox {
    fn output(&mut self, frame: &[u8], port: u32, queue: u32) {
        if port == port::TABLE {
            self.for_tables.push(frame.to_vec());
        } else {
            self.frames.push((port, queue, frame.to_vec()));
        }
    }

    fn packet_in(&mut self, packet: PacketIn<'_>) {
        self.packet_ins.push(PacketInEvent::of(&packet));
    }

    fn cut_short(&mut self, _: u32) {
        self.is_cut_short = true;
    }
}

impl Switch {
    /// Sends a frame on its way by a list of actions, as a controller asks. An output to the tables goes through them.
    ///
    /// # Errors
    /// With the error for the controller.
    pub fn packet_out(&mut self, in_port: u32, actions: &[Action], frame: &[u8]) -> Result<(), ErrorMessage> {
        // OF 1.3.5 section 7.3.7: without actions the packet is dropped, so that one that is not there does no harm.
        if frame.is_empty() && actions.is_empty() {
            return Ok(());
        }
        if frame.len() < ETHERNET_LEN {
            let text = format!("a packet of {} bytes has no Ethernet header", frame.len());
            return Err(ErrorCode::BAD_PACKET.because(text));
        }
        // Floodlight and its like say ANY, which is no port that a packet could come by; Open vSwitch takes that.
        let in_port = if in_port == port::ANY {
            port::CONTROLLER
        } else {
            in_port
        };
        if in_port != port::CONTROLLER && self.ports.get(in_port).is_none() {
            return Err(ErrorCode::BAD_PORT.because(format!("there is no port {in_port}")));
        }
        check_packet_out(actions, self.pipeline.read().shared())?;
        let counters = self
            .counters
            .get_or_insert_with(|| self.pipeline.write().counters.block());
        let counters = Arc::clone(counters);
        let (now, ports, pipeline) = (MonotonicTime::now().0, self.ports.view(), self.pipeline.read());
        let view = View {
            shared: pipeline.shared(),
            live_ports: &ports.live,
            now,
            counters: &counters,
            floods: &*ports,
        };
        let mut outbox = ControlOutbox::default();
        let mut buffer = vec![0; HEADROOM + frame.len()];
        buffer[HEADROOM..].copy_from_slice(frame);
        let mut passage = Passage::new(Packet::new(&mut buffer, HEADROOM, frame.len()), in_port);
        run_actions(actions, &mut passage, &view, &mut outbox);
        for frame in std::mem::take(&mut outbox.for_tables) {
            let mut buffer = vec![0; HEADROOM + frame.len()];
            buffer[HEADROOM..].copy_from_slice(&frame);
            let mut passage = Passage::new(Packet::new(&mut buffer, HEADROOM, frame.len()), in_port);
            pipeline.process(&mut passage, &view, &mut outbox);
        }
        drop(pipeline);
        if let (true, Some(port)) = (outbox.is_cut_short, self.ports.get(in_port)) {
            port.counts.cut_short.add(1);
        }
        for (number, queue, frame) in outbox.frames {
            let copies = ports.mirrors_of(number).iter().map(|&mirror| (mirror, 0));
            for (number, queue) in std::iter::once((number, queue)).chain(copies) {
                if let Some(port) = self.ports.get(number) {
                    let mut batch = Batch::default();
                    batch.push(&frame, queue);
                    port.send(&mut batch, now);
                    port.tend(now);
                }
            }
        }
        for packet in outbox.packet_ins {
            self.packets.publish(packet);
        }
        Ok(())
    }
}
