//! The controllers that are connected, and what they share.

use std::io::{self, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use brimful_netdev::MonotonicTime;
use brimful_openflow::wire::Message;
use brimful_openflow::{ErrorCode, ErrorMessage};

use super::connection::Incoming;
use super::session::{RoleKind, Session, Topic};

/// How often a thread that waits for a controller looks whether it is to end.
pub(super) const LOOK: Duration = Duration::from_millis(100);
/// How long a controller may take to accept what is sent to it.
const WRITE_PATIENCE: Duration = Duration::from_secs(5);

/// A controller that is connected.
pub(super) struct Peer {
    session: Mutex<Session>,
    pub(super) socket: TcpStream,
}

/// All that are connected, and what they share.
#[derive(Default)]
pub(super) struct Controllers {
    peers: Mutex<Vec<Arc<Peer>>>,
    generation: Mutex<Option<u64>>,
}

impl Peer {
    pub(super) fn new(socket: TcpStream) -> io::Result<Self> {
        socket.set_nonblocking(false)?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(LOOK))?;
        socket.set_write_timeout(Some(WRITE_PATIENCE))?;
        Ok(Self {
            session: Mutex::new(Session::new(MonotonicTime::now().0)),
            socket,
        })
    }

    pub(super) fn session(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_slave(&self) -> bool {
        self.session().role == RoleKind::Slave
    }

    pub(super) fn send(&self, transaction: u32, message: &Message) {
        self.session().connection.send(transaction, message);
    }

    pub(super) fn refuse(&self, request: &Incoming, error: &ErrorMessage) {
        self.session()
            .connection
            .refuse(request.transaction, error, &request.bytes);
    }

    /// Writes what waits. One thread at a time does so: the session stays locked, so that messages stay whole.
    pub(super) fn flush(&self) -> io::Result<()> {
        let mut session = self.session();
        let waiting = std::mem::take(session.connection.outgoing());
        (&self.socket).write_all(&waiting)
    }
}

impl Controllers {
    pub(super) fn peers(&self) -> MutexGuard<'_, Vec<Arc<Peer>>> {
        self.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a message to all that want to be told of its topic. A controller that does not take it loses its connection.
    pub(super) fn tell(&self, topic: Topic, reason: u8, message: &Message) {
        let peers: Vec<Arc<Peer>> = self.peers().clone();
        for peer in peers {
            let mut session = peer.session();
            if !session.wants(topic, reason) {
                continue;
            }
            session.tell_packet(message);
            drop(session);
            if peer.flush().is_err() {
                let _ = peer.socket.shutdown(Shutdown::Both);
            }
        }
    }

    /// The highest generation that a master or slave has stated.
    pub(super) fn generation(&self) -> Option<u64> {
        *self.generation.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// OF 1.3.5 section 6.3.6: a generation that is behind the last one, by a signed difference, is stale.
    pub(super) fn renew_generation(&self, wanted: u64) -> Result<Option<u64>, ErrorMessage> {
        let mut generation = self.generation.lock().unwrap_or_else(PoisonError::into_inner);
        if generation.is_some_and(|last| wanted.wrapping_sub(last).cast_signed() < 0) {
            return Err(ErrorCode::ROLE_STALE.because(format!("generation {wanted} is behind")));
        }
        *generation = Some(wanted);
        Ok(*generation)
    }

    /// There is one master at most.
    pub(super) fn demote_masters(&self) {
        for peer in self.peers().iter() {
            let mut session = peer.session();
            if session.role == RoleKind::Master {
                session.role = RoleKind::Slave;
            }
        }
    }
}
