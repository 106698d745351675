//! One connection of a controller, from its beginning to its end.

use std::io;
use std::sync::Arc;

use brimful_netdev::MonotonicTime;

use super::answer::Answerer;
use super::connection::{Messages, State};
use super::controllers::Peer;
use super::hub::Hub;
use super::waiting::{Idle, Waiting};
use crate::control::Ended;

/// Few enough that what becomes of them is small pieces of memory, enough that changes are done together.
const READ_BYTES: usize = 32 << 10;

/// A connection that its thread serves: it is closed also where that panics.
struct Connected<'c> {
    peer: &'c Arc<Peer>,
    hub: &'c Hub,
}

impl Drop for Connected<'_> {
    fn drop(&mut self) {
        self.hub.controllers.disconnect(self.peer);
    }
}

/// Serves a connection until it ends; `agreed` is called once both sides have agreed on a version.
///
/// # Errors
/// With why it ended, if there is more to say than that.
pub(super) fn converse(peer: &Arc<Peer>, hub: &Hub, agreed: impl FnMut()) -> Result<(), String> {
    let connected = Connected { peer, hub };
    let ended = run(peer, hub, agreed);
    // What is left to say, as far as there is room.
    let _ = peer.flush();
    drop(connected);
    let session = peer.session();
    match (ended, session.connection.state()) {
        (Err(error), _) if error.kind() == io::ErrorKind::InvalidData => Err(error.to_string()),
        (_, State::Closing(reason)) => Err(reason.clone()),
        _ => Ok(()),
    }
}

/// Reads and answers until the connection ends.
#[allow(
    clippy::large_stack_arrays,
    reason = "the allocator keeps half a megabyte for the first piece of this size"
)]
fn run(peer: &Arc<Peer>, hub: &Hub, mut agreed: impl FnMut()) -> io::Result<()> {
    let mut bytes = [0; READ_BYTES];
    let mut answerer = Answerer::new(peer, hub);
    let (mut has_more, mut waiting) = (false, Waiting::default());
    let mut idle = Idle::default();
    // Messages that wait until the controller takes the answers to those before them.
    let mut left: Option<(Messages, usize)> = None;
    peer.flush()?;
    while !hub.ends() {
        let ready = peer.wait(has_more, left.is_some(), &mut waiting)?;
        let now = MonotonicTime::now().0;
        let (count, messages, is_new) = {
            let mut session = peer.session();
            let count = if ready.reads {
                session.receive(&mut bytes, now)?
            } else {
                0
            };
            let messages = left.take().unwrap_or_else(|| (session.connection.take_messages(), 0));
            session.connection.tick(now);
            let is_new = !session.was_established && session.version().is_some();
            session.was_established |= is_new;
            (count, messages, is_new)
        };
        has_more = count == bytes.len();
        if has_more {
            peer.acknowledge_at_once();
        }
        let prepared = if is_new {
            agreed();
            hub.standalone.leave(&hub.handle)
        } else {
            Ok(())
        };
        let done = prepared
            .and_then(|()| answerer.answer_all(&messages.0, messages.1))
            .and_then(|place| answerer.look().map(|()| place));
        if let Ok(Some(place)) = done {
            left = Some((messages.0, place));
        }
        idle.has_read(now, count);
        if count > 0 {
            let can_wait = answerer.has_changed_only && !peer.session().wants_to_write();
            waiting.has_read(now, count, can_wait);
        }
        peer.flush()?;
        if answerer.take_barrier() {
            waiting.has_answered_barrier();
        }
        if matches!(done, Err(Ended)) || peer.session().is_closing() {
            return Ok(());
        }
        resume(peer, hub);
    }
    Ok(())
}

/// Sends a controller that follows again what it has missed.
fn resume(peer: &Arc<Peer>, hub: &Hub) {
    let is_due = {
        let mut session = peer.session();
        session.monitors.is_paused() && !session.wants_to_write()
    };
    if is_due {
        let own = Arc::clone(peer);
        // The end of the switch is seen elsewhere.
        let _ = hub.handle.call(move |switch| {
            let mut session = own.session();
            let events = session.monitors.resume(&switch.pipeline.read());
            session.tell_of_flows(events);
        });
        let _ = peer.flush();
    }
}
