//! Copies of what ports take and send, for a port where somebody looks at them.

use brimful_pipeline::{Outputs, PacketIn, Passage};

use crate::plane::Path;
use crate::ports::PortView;

/// Runs frames through the tables, and copies them as they come in and as they leave.
pub(crate) struct Mirrored<'p>(pub(crate) &'p mut dyn Path);

/// Copies what leaves.
struct Copied<'o> {
    outputs: &'o mut dyn Outputs,
    ports: &'o PortView,
}

impl Path for Mirrored<'_> {
    fn process(&mut self, passage: &mut Passage<'_>, ports: &PortView, now: u64, outputs: &mut dyn Outputs) {
        for &mirror in ports.mirrors_of(passage.in_port) {
            outputs.output(&passage.packet, mirror, 0);
        }
        self.0.process(passage, ports, now, &mut Copied { outputs, ports });
    }
}

impl Outputs for Copied<'_> {
    fn output(&mut self, frame: &[u8], port: u32, queue: u32) {
        self.outputs.output(frame, port, queue);
        for &mirror in self.ports.mirrors_of(port) {
            self.outputs.output(frame, mirror, 0);
        }
    }

    fn packet_in(&mut self, packet: PacketIn<'_>) {
        self.outputs.packet_in(packet);
    }

    fn cut_short(&mut self, in_port: u32) {
        self.outputs.cut_short(in_port);
    }
}
