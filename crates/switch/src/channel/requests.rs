//! What the switch answers to requests.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};

use brimful_netdev::MonotonicTime;
use brimful_openflow::wire::{Configuration, Features, FlowMonitor, MORE, Message, PacketOut, Part, Request, Version};
use brimful_openflow::{Action, ErrorCode, ErrorMessage, FlowMod, MAX_LEN_NO_BUFFER, NO_BUFFER, port};

use super::answer::Answerer;
use super::buffers::BUFFERS;
use super::connection::RequestHead;
use super::port_config::{change_port, check_port};
use super::session::RoleKind;
use super::{monitors, multipart, queue_config, table_config};
use crate::control::{Ended, Switch};
use crate::watch::{Author, TableChange};

/// What the switch can do (OF 1.3.5 section 7.3.1): statistics of flows, tables, ports, groups and queues.
const CAPABILITIES: u32 = 1 | 2 | 4 | 8 | 64;
/// Roles as requests name them (OF 1.3.5 section 7.3.9); 0 asks for the present one.
const EQUAL: u32 = 1;
const MASTER: u32 = 2;
const SLAVE: u32 = 3;
/// `OFPC_FRAG_DROP` (OF 1.3.5 section 7.3.2); with 0, fragments are treated as other packets.
const FRAGMENTS_DROP: u16 = 1;

/// An answer: messages, or the error for the request.
pub(super) type Answer = Result<Vec<Message>, ErrorMessage>;

impl Answerer<'_> {
    /// What to answer to a request other than for changes of tables.
    ///
    /// # Errors
    /// When the switch has ended.
    pub(super) fn answer(&mut self, head: &RequestHead, message: Message) -> Result<Answer, Ended> {
        let (peer, handle) = (self.peer, &self.hub.handle);
        Ok(match message {
            Message::FeaturesRequest => {
                let auxiliary = peer.auxiliary;
                handle.call(move |switch| Ok(vec![features(switch, auxiliary)]))?
            }
            Message::GetConfigRequest => {
                let drops = handle.call(|switch| switch.ports.view().drops_fragments)?;
                Ok(vec![Message::GetConfigReply(Configuration {
                    flags: if drops { FRAGMENTS_DROP } else { 0 },
                    ..peer.main().session().configuration.clone()
                })])
            }
            // Fragments go through the tables as other packets do, or are dropped; they are not put together.
            Message::SetConfig(configuration) if configuration.flags > FRAGMENTS_DROP => {
                let text = format!("flags {:#x}: fragments are not put together here", configuration.flags);
                Err(ErrorCode::CONFIG_FLAGS.because(text))
            }
            Message::SetConfig(configuration) => {
                let drops = configuration.flags == FRAGMENTS_DROP;
                handle.call(move |switch| switch.ports.drop_fragments(drops))?;
                peer.main().session().configuration = configuration;
                Ok(Vec::new())
            }
            Message::FlowMod(change) => self.change_with_buffer(head, change)?,
            Message::PacketOut(packet) => self.packet_out(packet)?,
            Message::PortMod(change) => handle
                .call(move |switch| check_port(switch, &change).map(|()| change_port(switch, &change)))?
                .map(|()| Vec::new()),
            Message::TableMod(change) => {
                let version = peer.session().version().unwrap_or(Version::V13);
                handle
                    .call(move |switch| table_config::change_table(switch, &change, version))?
                    .map(|()| Vec::new())
            }
            Message::MultipartRequest(part) => self.multipart_request(&part)?,
            Message::QueueGetConfigRequest(wanted) => {
                let port = wanted.port;
                handle.call(move |switch| queue_config::configuration(switch, port).map(|reply| vec![reply]))?
            }
            Message::RoleRequest(wanted) => role_kind(wanted.role)
                .and_then(|role| self.hub.controllers.change_role(peer, role, wanted.generation))
                .map(|role| vec![Message::RoleReply(role)]),
            Message::GetAsyncRequest => Ok(vec![Message::GetAsyncReply(peer.main().session().masks())]),
            Message::SetAsync(configuration) => peer.main().session().set_masks(&configuration).map(|()| Vec::new()),
            Message::BundleControl(control) => self.bundle(&control)?,
            Message::Experimenter(content) => {
                let text = format!("experimenter {:#x} is not known", content.experimenter);
                Err(ErrorCode::BAD_EXPERIMENTER.because(text))
            }
            other => {
                let text = format!("message type {} is no request to a switch", other.number());
                Err(ErrorCode::BAD_TYPE.because(text))
            }
        })
    }

    /// OF 1.3.5 section 7.3.4.2: as the flow-mod, followed by a packet-out of the buffer to the tables.
    fn change_with_buffer(&self, head: &RequestHead, change: FlowMod) -> Result<Answer, Ended> {
        let author = Author {
            connection: self.peer.main().number,
            transaction: head.transaction,
        };
        let buffer = change.buffer;
        let mut errors = self
            .hub
            .handle
            .call(move |switch| switch.change_all(vec![TableChange::Flow(Box::new(change))], |_| author))?;
        if let Some((_, error)) = errors.pop() {
            return Ok(Err(error));
        }
        self.packet_out(PacketOut {
            buffer,
            in_port: port::CONTROLLER,
            actions: vec![Action::Output {
                port: port::TABLE,
                max_len: MAX_LEN_NO_BUFFER,
            }],
            data: Vec::new(),
        })
    }

    fn packet_out(&self, packet: PacketOut) -> Result<Answer, Ended> {
        let PacketOut {
            buffer,
            mut in_port,
            actions,
            data,
        } = packet;
        let mut frame = data;
        if buffer != NO_BUFFER {
            let mut buffers = self
                .hub
                .controllers
                .buffers
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            match buffers.take(buffer, MonotonicTime::now().0) {
                Ok(kept) => (frame, in_port) = (kept.frame, kept.in_port),
                Err(error) => return Ok(Err(error)),
            }
        }
        let handle = &self.hub.handle;
        let done = handle.call(move |switch| switch.packet_out(in_port, &actions, &frame))?;
        Ok(done.map(|()| Vec::new()))
    }

    fn multipart_request(&self, part: &Part<Request>) -> Result<Answer, Ended> {
        let mut session = self.peer.session();
        if let Some(refused) = session.gather(part) {
            return Ok(Err(refused));
        }
        if part.flags & MORE != 0 {
            return Ok(Ok(Vec::new()));
        }
        let request = session.take_gathered().unwrap_or_else(|| part.content.clone());
        let version = session.version().unwrap_or(Version::V13);
        drop(session);
        if let Request::FlowMonitor(wanted) = request {
            return self.monitor(wanted);
        }
        self.hub
            .handle
            .call(move |switch| multipart::replies(switch, &request, version))
    }

    /// With the switch, so that no change comes between the entries that are there and those that come.
    fn monitor(&self, wanted: Vec<FlowMonitor>) -> Result<Answer, Ended> {
        let (peer, controllers) = (Arc::clone(self.peer), Arc::clone(&self.hub.controllers));
        self.hub.handle.call(move |switch| {
            let mut session = peer.main().session();
            let was_empty = session.monitors.is_empty();
            let done = session.monitors.change(&wanted, &switch.pipeline.read());
            match (was_empty, session.monitors.is_empty()) {
                (true, false) => controllers.monitoring.fetch_add(1, Relaxed),
                (false, true) => controllers.monitoring.fetch_sub(1, Relaxed),
                _ => 0,
            };
            Ok(monitors::messages(done?, 0))
        })
    }
}

fn role_kind(number: u32) -> Result<Option<RoleKind>, ErrorMessage> {
    match number {
        0 => Ok(None),
        EQUAL => Ok(Some(RoleKind::Equal)),
        MASTER => Ok(Some(RoleKind::Master)),
        SLAVE => Ok(Some(RoleKind::Slave)),
        other => Err(ErrorCode::ROLE_UNKNOWN.because(format!("there is no role {other}"))),
    }
}

fn features(switch: &Switch, auxiliary: u8) -> Message {
    Message::FeaturesReply(Features {
        datapath: switch.dpid,
        buffers: BUFFERS,
        tables: switch.pipeline.read().limits().tables,
        auxiliary,
        capabilities: CAPABILITIES,
    })
}
