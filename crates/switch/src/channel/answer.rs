//! What the switch answers to the messages of a controller.

use brimful_openflow::wire::{Features, Message, Part, PortMod, Request, Role};
use brimful_openflow::{ErrorCode, ErrorMessage, FlowCommand, NO_BUFFER, TABLE_ALL};

use super::connection::Incoming;
use super::controllers::{Controllers, Peer};
use super::multipart;
use super::session::RoleKind;
use crate::control::{Ended, Handle, Switch, TableChange};
use crate::ports::port_config;

/// What the switch can do (OF 1.3.5 section 7.3.1): statistics of flows, tables, ports, groups and queues.
const CAPABILITIES: u32 = 1 | 2 | 4 | 8 | 64;
/// Roles as requests name them (OF 1.3.5 section 7.3.9); 0 asks for the present one.
const EQUAL: u32 = 1;
const MASTER: u32 = 2;
const SLAVE: u32 = 3;

/// An answer: messages, or the error for the request.
type Answer = Result<Vec<Message>, ErrorMessage>;

/// Answers messages that came together, one after the other; changes of tables in a row are done together.
///
/// # Errors
/// When the switch has ended.
pub(super) fn answer_all(
    messages: Vec<Incoming>,
    peer: &Peer,
    controllers: &Controllers,
    handle: &Handle,
) -> Result<(), Ended> {
    let mut messages = messages.into_iter().peekable();
    while let Some(first) = messages.next() {
        if peer.is_slave() && changes_state(&first.message) {
            peer.refuse(&first, &ErrorCode::IS_SLAVE.because("a slave may not change anything"));
            continue;
        }
        if let Some(change) = table_change(&first.message) {
            let mut requests = vec![first];
            let mut changes = vec![change];
            while let Some(change) = messages.peek().and_then(|next| table_change(&next.message)) {
                changes.push(change);
                requests.extend(messages.next());
            }
            change_tables(&requests, changes, peer, handle)?;
            continue;
        }
        match answer(&first, peer, controllers, handle)? {
            Ok(replies) => replies.iter().for_each(|reply| peer.send(first.transaction, reply)),
            Err(error) => peer.refuse(&first, &error),
        }
    }
    Ok(())
}

fn change_tables(requests: &[Incoming], changes: Vec<TableChange>, peer: &Peer, handle: &Handle) -> Result<(), Ended> {
    let errors = handle.call(move |switch| switch.change_all(&changes))?;
    for (request, error) in requests.iter().zip(errors) {
        if let Some(error) = error {
            peer.refuse(request, &error);
        }
    }
    Ok(())
}

/// What a message changes in the tables. Nothing is buffered: an entry that asks for a buffered packet is refused, while
/// a deletion has no use for one.
fn table_change(message: &Message) -> Option<TableChange> {
    let deletes = |command| matches!(command, FlowCommand::Delete | FlowCommand::DeleteStrict);
    match message {
        Message::FlowMod(change) if change.buffer == NO_BUFFER || deletes(change.command) => {
            Some(TableChange::Flow(change.clone()))
        }
        Message::GroupMod(change) => Some(TableChange::Group(change.clone())),
        Message::MeterMod(change) => Some(TableChange::Meter(change.clone())),
        _ => None,
    }
}

/// Whether only masters and equals may send it (OF 1.3.5 section 6.3.6).
fn changes_state(message: &Message) -> bool {
    matches!(
        message,
        Message::FlowMod(_)
            | Message::GroupMod(_)
            | Message::MeterMod(_)
            | Message::PortMod(_)
            | Message::TableMod(_)
            | Message::PacketOut(_)
    )
}

fn answer(request: &Incoming, peer: &Peer, controllers: &Controllers, handle: &Handle) -> Result<Answer, Ended> {
    Ok(match &request.message {
        Message::FeaturesRequest => handle.call(|switch| Ok(vec![features(switch)]))?,
        Message::GetConfigRequest => Ok(vec![Message::GetConfigReply(peer.session().configuration.clone())]),
        // Fragments go through the tables as other packets do; they are neither dropped nor put together.
        Message::SetConfig(configuration) if configuration.flags != 0 => {
            let text = format!("flags {:#x}: fragments are treated normally here", configuration.flags);
            Err(ErrorCode::CONFIG_FLAGS.because(text))
        }
        Message::SetConfig(configuration) => {
            peer.session().configuration = configuration.clone();
            Ok(Vec::new())
        }
        // All changes before it have been waited for.
        Message::BarrierRequest => Ok(vec![Message::BarrierReply]),
        Message::FlowMod(change) => {
            let text = format!("buffer {}: nothing is buffered here", change.buffer);
            Err(ErrorCode::BUFFER_UNKNOWN.because(text))
        }
        Message::PacketOut(packet) if packet.buffer != NO_BUFFER => {
            let text = format!("buffer {}: nothing is buffered here", packet.buffer);
            Err(ErrorCode::BUFFER_UNKNOWN.because(text))
        }
        Message::PacketOut(packet) => {
            let packet = packet.clone();
            handle
                .call(move |switch| switch.packet_out(packet.in_port, &packet.actions, &packet.data))?
                .map(|()| Vec::new())
        }
        Message::PortMod(change) => {
            let change = change.clone();
            handle
                .call(move |switch| change_port(switch, &change))?
                .map(|()| Vec::new())
        }
        Message::TableMod(change) => {
            let (table, config) = (change.table, change.config);
            handle
                .call(move |switch| change_table(switch, table, config))?
                .map(|()| Vec::new())
        }
        Message::MultipartRequest(part) => multipart_request(part, peer, handle)?,
        Message::QueueGetConfigRequest(wanted) => {
            let port = wanted.port;
            handle.call(move |switch| multipart::queue_configuration(switch, port).map(|reply| vec![reply]))?
        }
        Message::RoleRequest(role) => change_role(role, peer, controllers).map(|role| vec![Message::RoleReply(role)]),
        Message::GetAsyncRequest => Ok(vec![Message::GetAsyncReply(peer.session().masks())]),
        Message::SetAsync(configuration) => {
            peer.session().set_masks(configuration);
            Ok(Vec::new())
        }
        Message::Experimenter(content) => {
            Err(ErrorCode::BAD_EXPERIMENTER.because(format!("experimenter {:#x} is not known", content.experimenter)))
        }
        other => Err(ErrorCode::BAD_TYPE.because(format!("message type {} is no request to a switch", other.number()))),
    })
}

fn features(switch: &Switch) -> Message {
    Message::FeaturesReply(Features {
        datapath: switch.dpid,
        buffers: 0,
        tables: switch.pipeline.read().limits().tables,
        auxiliary: 0,
        capabilities: CAPABILITIES,
    })
}

fn change_port(switch: &mut Switch, change: &PortMod) -> Result<(), ErrorMessage> {
    let known = port_config::DOWN | port_config::NO_RECEIVE | port_config::NO_FORWARD | port_config::NO_PACKET_IN;
    let Some(port) = switch.ports.get(change.number) else {
        return Err(ErrorCode::PORT_UNKNOWN.because(format!("there is no port {}", change.number)));
    };
    if port.address != change.address.0 {
        return Err(ErrorCode::PORT_ADDRESS.because(format!("port {} has another address", change.number)));
    }
    if change.mask & !known != 0 {
        return Err(ErrorCode::PORT_CONFIG.because(format!("configuration {:#x} is not known", change.mask)));
    }
    switch.configure_port(change.number, change.config, change.mask);
    Ok(())
}

/// OF 1.3.5 section 7.3.4.3: there is nothing to configure, but the table has to be there.
fn change_table(switch: &Switch, table: u8, config: u32) -> Result<(), ErrorMessage> {
    if table != TABLE_ALL && table >= switch.pipeline.read().limits().tables {
        return Err(ErrorCode::TABLE_UNKNOWN.because(format!("there is no table {table}")));
    }
    // The bits of earlier versions are deprecated and mean nothing.
    if config & !3 != 0 {
        return Err(ErrorCode::TABLE_CONFIG.because(format!("configuration {config:#x} is not known")));
    }
    Ok(())
}

fn multipart_request(part: &Part<Request>, peer: &Peer, handle: &Handle) -> Result<Answer, Ended> {
    let mut session = peer.session();
    if let Some(refused) = session.gather(part) {
        return Ok(Err(refused));
    }
    if part.flags & brimful_openflow::wire::MORE != 0 {
        return Ok(Ok(Vec::new()));
    }
    let request = session.take_gathered().unwrap_or_else(|| part.content.clone());
    drop(session);
    handle.call(move |switch| multipart::replies(switch, &request))
}

/// OF 1.3.5 section 6.3.6.
fn change_role(wanted: &Role, peer: &Peer, controllers: &Controllers) -> Result<Role, ErrorMessage> {
    let role = match wanted.role {
        0 => None,
        EQUAL => Some(RoleKind::Equal),
        MASTER => Some(RoleKind::Master),
        SLAVE => Some(RoleKind::Slave),
        other => return Err(ErrorCode::ROLE_UNKNOWN.because(format!("there is no role {other}"))),
    };
    let generation = match role {
        Some(RoleKind::Master | RoleKind::Slave) => controllers.renew_generation(wanted.generation)?,
        _ => controllers.generation(),
    };
    if role == Some(RoleKind::Master) {
        controllers.demote_masters();
    }
    let mut session = peer.session();
    if let Some(role) = role {
        session.role = role;
    }
    Ok(Role {
        role: session.role as u32,
        generation: generation.unwrap_or(u64::MAX),
    })
}
