//! The controllers that are connected, and what they share.

use std::io;
use std::net::{Shutdown, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use brimful_netdev::MonotonicTime;
use brimful_openflow::wire::{Message, RequestForward, Role, RoleStatus, Version};
use brimful_openflow::{ErrorCode, ErrorMessage};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd};
use rustix::io::Errno;

use super::buffers::Buffers;
use super::connection::RequestHead;
use super::session::{RoleKind, Session, Topic};
use super::transport::Transport;
use super::waiting::Waiting;

/// How often a thread that waits for a controller looks whether it is to end.
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};
/// Why a controller's role is another one (OF 1.4.1 section 7.4.4): another one is master now.
const MASTER_REQUEST: u8 = 0;

/// A controller that is connected, by its main connection or one beside it.
pub(super) struct Peer {
    /// Its number: no two connections of a switch have the same.
    pub(super) number: u64,
    /// 0 for a main connection.
    pub(super) auxiliary: u8,
    main: Option<Arc<Peer>>,
    session: Mutex<Session>,
    /// Whether that is the role of its session, cheap enough to ask at each message.
    is_slave: AtomicBool,
    socket: TcpStream,
    wake: OwnedFd,
}

/// What a connection's thread has to do.
pub(super) struct Ready {
    /// Something has come.
    pub(super) reads: bool,
}

/// All that are connected, and what they share.
pub(super) struct Controllers {
    peers: Mutex<Vec<Arc<Peer>>>,
    /// The versions that are spoken with them, ascending.
    versions: Arc<[Version]>,
    /// The highest that a master or slave has stated.
    generation: Mutex<Option<u64>>,
    pub(super) buffers: Mutex<Buffers>,
    /// How many want to be notified of changes of entries.
    pub(super) monitoring: AtomicUsize,
    connections: AtomicU64,
}

impl Peer {
    /// One whose thread is to be woken by [`Self::wake`].
    pub(super) fn session(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The main connection of its controller.
    pub(super) fn main(&self) -> &Self {
        self.main.as_deref().unwrap_or(self)
    }

    pub(super) fn is_slave(&self) -> bool {
        self.main().is_slave.load(Relaxed)
    }

    fn set_role(&self, session: &mut Session, role: RoleKind) {
        session.role = role;
        self.is_slave.store(role == RoleKind::Slave, Relaxed);
    }

    pub(super) fn send(&self, transaction: u32, message: &Message) {
        self.session().connection.send(transaction, message);
    }

    pub(super) fn refuse(&self, request: &RequestHead, error: &ErrorMessage) {
        let mut session = self.session();
        session.connection.refuse(request, error);
    }

    /// Writes what waits, as far as there is room; its thread sees to the rest.
    pub(super) fn flush(&self) -> io::Result<()> {
        self.flush_session(&mut self.session())
    }

    fn flush_session(&self, session: &mut Session) -> io::Result<()> {
        session.flush()?;
        if session.wants_to_write() || session.is_closing() {
            self.wake();
        }
        Ok(())
    }

    /// Has its thread look again.
    pub(super) fn wake(&self) {
        // A counter that is full wakes, too.
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }

    /// Waits until something has come, there is room for what waits, or somebody wakes. While messages are left to be
    /// answered, no others are read.
    pub(super) fn wait(&self, has_more: bool, has_left: bool, waiting: &mut Waiting) -> io::Result<Ready> {
        let (follows, writes) = {
            let mut session = self.session();
            (session.follows(), session.wants_to_write())
        };
        let reads = follows && !has_left;
        let mut flags = PollFlags::empty();
        flags.set(PollFlags::IN, reads);
        flags.set(PollFlags::OUT, writes);
        let mut waited = [PollFd::new(&self.socket, flags), PollFd::new(&self.wake, PollFlags::IN)];
        let goes_on = follows && (has_more || has_left);
        let patience = if goes_on { Timespec::default() } else { LOOK };
        match waiting.poll(&mut waited, &patience) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ended = PollFlags::HUP | PollFlags::ERR;
        let seen = waited[0].revents();
        if waited[1].revents().contains(PollFlags::IN) {
            let mut count = [0; 8];
            let _ = rustix::io::read(&self.wake, &mut count);
        }
        Ok(Ready {
            reads: !has_left && seen.intersects(PollFlags::IN | ended) || has_more && reads,
        })
    }

    /// Lets a controller that sends much at once go on: one that has heard from us lately would wait for its
    /// acknowledgement as long as the kernel hopes to send something along with it, 40 ms.
    pub(super) fn acknowledge_at_once(&self) {
        // Without it, it only takes longer.
        let _ = rustix::net::sockopt::set_tcp_quickack(&self.socket, true);
    }

    /// Ends the connection; its thread sees so.
    pub(super) fn shut_down(&self) {
        let _ = self.socket.shutdown(Shutdown::Both);
        self.wake();
    }
}

impl Controllers {
    /// No controller yet.
    pub(super) fn new(versions: &[Version]) -> Self {
        let mut versions = versions.to_vec();
        versions.sort_unstable();
        versions.dedup();
        Self {
            peers: Mutex::default(),
            versions: versions.into(),
            generation: Mutex::default(),
            buffers: Mutex::default(),
            monitoring: AtomicUsize::new(0),
            connections: AtomicU64::new(0),
        }
    }

    pub(super) fn peers(&self) -> MutexGuard<'_, Vec<Arc<Peer>>> {
        self.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more connection, beside the main one of its controller or without one.
    pub(super) fn connect(
        &self,
        socket: &TcpStream,
        transport: Transport,
        beside: Option<(u8, Arc<Peer>)>,
    ) -> io::Result<Arc<Peer>> {
        socket.set_nonblocking(true)?;
        match socket.set_nodelay(true) {
            // A socket of this machine waits for nothing.
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {}
            done => done?,
        }
        let (auxiliary, main) = beside.map_or((0, None), |(auxiliary, main)| (auxiliary, Some(main)));
        let peer = Arc::new(Peer {
            number: self.connections.fetch_add(1, Relaxed),
            auxiliary,
            main,
            session: Mutex::new(Session::new(transport, &self.versions, MonotonicTime::now().0)),
            is_slave: AtomicBool::new(false),
            socket: socket.try_clone()?,
            wake: eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?,
        });
        self.peers().push(Arc::clone(&peer));
        Ok(peer)
    }

    /// One connection less. Those beside it end with it (OF 1.3.5 section 6.3.8).
    pub(super) fn disconnect(&self, gone: &Arc<Peer>) {
        let mut peers = self.peers();
        peers.retain(|peer| !Arc::ptr_eq(peer, gone));
        for peer in peers.iter().filter(|peer| std::ptr::eq(peer.main(), &raw const **gone)) {
            peer.shut_down();
        }
        drop(peers);
        if !gone.session().monitors.is_empty() {
            self.monitoring.fetch_sub(1, Relaxed);
        }
        gone.shut_down();
    }

    /// Does something for the main connection of every controller, and writes what it left to be sent. Nothing here
    /// waits for a controller.
    pub(super) fn for_each(&self, mut tell: impl FnMut(&Peer, &mut Session)) {
        let peers: Vec<Arc<Peer>> = self
            .peers()
            .iter()
            .filter(|peer| peer.auxiliary == 0)
            .cloned()
            .collect();
        for peer in peers {
            let mut session = peer.session();
            tell(&peer, &mut session);
            if session.wants_to_write() && peer.flush_session(&mut session).is_err() {
                peer.shut_down();
            }
        }
    }

    /// Controllers that have agreed on a version; connections beside their main ones are not counted.
    pub(super) fn established(&self) -> usize {
        let peers = self.peers();
        let main = peers.iter().filter(|peer| peer.auxiliary == 0);
        main.filter(|peer| peer.session().version().is_some()).count()
    }

    /// Sends a message to all that want to be notified of its topic.
    pub(super) fn tell(&self, topic: Topic, reason: u8, message: &Message) {
        self.for_each(|_, session| {
            if session.wants(topic, reason) {
                session.tell(message);
            }
        });
    }

    /// Whether a controller other than this one wants to be notified of changes of groups or meters.
    pub(super) fn wants_forwards(&self, but: &Peer, reason: u8) -> bool {
        let peers = self.peers();
        let mut others = peers.iter().filter(|peer| peer.number != but.main().number);
        others.any(|peer| peer.session().wants(Topic::RequestForward, reason))
    }

    /// Notifies other controllers of a change of groups or meters (OF 1.4.1 section 7.4.6).
    pub(super) fn forward(&self, but: &Peer, reason: u8, request: &RequestForward) {
        self.for_each(|peer, session| {
            if peer.number != but.main().number && session.wants(Topic::RequestForward, reason) {
                session.tell(&Message::RequestForward(request.clone()));
            }
        });
    }

    /// Gives a controller another role, if it wants one; gives its role. There is one master at most.
    pub(super) fn change_role(
        &self,
        peer: &Peer,
        role: Option<RoleKind>,
        generation: u64,
    ) -> Result<Role, ErrorMessage> {
        let main = peer.main();
        // Held to the end: of two that want to be master at once, the second demotes the first.
        let mut last = self.generation.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(role, Some(RoleKind::Master | RoleKind::Slave)) {
            *last = Some(not_behind(*last, generation)?);
        }
        let generation = last.unwrap_or(u64::MAX);
        if role == Some(RoleKind::Master) {
            self.for_each(|other, session| {
                if other.number != main.number && session.role == RoleKind::Master {
                    other.set_role(session, RoleKind::Slave);
                    if session.wants(Topic::RoleStatus, MASTER_REQUEST) {
                        session.tell(&Message::RoleStatus(RoleStatus {
                            role: RoleKind::Slave as u32,
                            reason: MASTER_REQUEST,
                            generation,
                            properties: brimful_openflow::wire::Data::default(),
                        }));
                    }
                }
            });
        }
        let mut session = main.session();
        if let Some(role) = role {
            main.set_role(&mut session, role);
        }
        Ok(Role {
            role: session.role as u32,
            generation,
        })
    }
}

/// OF 1.3.5 section 6.3.6: a generation that is behind the last one, by a signed difference, is stale.
fn not_behind(last: Option<u64>, wanted: u64) -> Result<u64, ErrorMessage> {
    if last.is_some_and(|last| wanted.wrapping_sub(last).cast_signed() < 0) {
        return Err(ErrorCode::ROLE_STALE.because(format!("generation {wanted} is behind")));
    }
    Ok(wanted)
}
