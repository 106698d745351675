//! Sockets of controllers, and the threads that serve them.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use brimful_openflow::wire::Version;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::controllers::{Controllers, Peer};
use super::conversation::converse;
use super::endpoint::Endpoint;
use super::events;
use super::hub::Hub;
use super::listener::Listener;
use super::standalone::{self, Standalone};
use super::tls::Credentials;
use super::transport::Transport;
use crate::control::Handle;
use crate::events::PacketInEvent;
use crate::notice::say;

/// Between attempts to connect: twice as long each time, up to the second one.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(8);
/// How often a thread that pauses looks whether it is to end.
const LOOK: Duration = Duration::from_millis(100);
/// How long a controller may take to answer to an attempt.
const CONNECT_PATIENCE: Duration = Duration::from_secs(1);
/// Packets for controllers that wait at most, and that are sent together.
const MOST_PACKETS: usize = 4096;
const TOGETHER: usize = 64;
/// Connections at most; further ones are closed at once.
const MOST_CONNECTIONS: usize = 512;
/// Memory that a thread of a connection gets, which may do what the control thread does.
const STACK_BYTES: usize = 2 << 20;

/// Whom the switch talks to, and how.
#[derive(Clone, Debug)]
pub struct Peers {
    /// Controllers that it connects to, and places where it listens for some.
    pub endpoints: Vec<Endpoint>,
    /// What TLS needs.
    pub credentials: Option<Credentials>,
    /// Versions that it speaks, at least one. Its hello is of the highest.
    pub versions: Vec<Version>,
    /// Connections beside the main one of each controller that it connects to.
    pub auxiliary: u8,
    /// Whether it forwards frames as a bridge does while no controller is there.
    pub stands_alone: bool,
}

impl Default for Peers {
    /// No controller; every version.
    fn default() -> Self {
        Self {
            endpoints: Vec::new(),
            credentials: None,
            versions: Version::ALL.to_vec(),
            auxiliary: 0,
            stands_alone: false,
        }
    }
}

/// The channel of a switch, while it is there.
pub struct Channel {
    hub: Arc<Hub>,
    threads: Vec<JoinHandle<()>>,
    addresses: Vec<SocketAddr>,
}

/// Connects a switch to its controllers, and listens for them.
///
/// # Errors
/// When a port cannot be listened on, or the switch has ended.
pub fn start(peers: Peers, handle: &Handle) -> Result<Channel, String> {
    let controllers = Arc::new(Controllers::new(&peers.versions));
    let (sender, heard) = sync_channel(MOST_PACKETS);
    let watcher = Arc::clone(&controllers);
    let preparer = handle
        .call(move |switch| {
            switch.attach(sender, watcher);
            switch.pipeline.read().preparer()
        })
        .map_err(|ended| ended.to_string())?;
    let hub = Arc::new(Hub {
        controllers,
        handle: handle.clone(),
        preparer,
        standalone: Standalone::default(),
        credentials: peers.credentials,
        auxiliary: peers.auxiliary,
        ends: AtomicBool::new(false),
    });
    let (mut threads, mut addresses) = (Vec::new(), Vec::new());
    for endpoint in peers.endpoints {
        let hub = Arc::clone(&hub);
        let listener = Listener::open(&endpoint)?;
        addresses.extend(listener.as_ref().and_then(Listener::address));
        threads.push(std::thread::spawn(move || match listener {
            Some(listener) => accept(&listener, &endpoint, &hub),
            None => connect(&endpoint, &hub),
        }));
    }
    let own = Arc::clone(&hub);
    threads.push(std::thread::spawn(move || tell(&heard, &own)));
    if peers.stands_alone {
        let own = Arc::clone(&hub);
        threads.push(std::thread::spawn(move || {
            // It ends with the switch.
            let _ = standalone::watch(&own.standalone, &own.controllers, &own.handle, &own.ends);
        }));
    }
    Ok(Channel {
        hub,
        threads,
        addresses,
    })
}

impl Channel {
    /// Where it listens for controllers.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Whether a thread of it has ended although it should not: it has panicked.
    pub fn has_failed(&self) -> bool {
        self.threads.iter().any(JoinHandle::is_finished)
    }

    /// Closes all connections.
    pub fn stop(self) {
        self.hub.ends.store(true, Relaxed);
        for thread in self.threads {
            // A thread that has panicked has said so.
            let _ = thread.join();
        }
    }
}

/// Whether there is no controller, or none any more.
fn passes_at_once(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, Interrupted, WouldBlock};
    matches!(error.kind(), WouldBlock | ConnectionAborted | Interrupted)
}

fn accept(listener: &Listener, endpoint: &Endpoint, hub: &Arc<Hub>) {
    let (mut served, mut said) = (Vec::new(), String::new());
    let protocol = endpoint.protocol();
    while !hub.ends() {
        let patience = Timespec {
            tv_sec: 0,
            tv_nsec: LOOK.subsec_nanos().into(),
        };
        let _ = poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&patience));
        served.retain(|thread: &JoinHandle<_>| !thread.is_finished());
        let socket = match listener.accept() {
            Ok(socket) => socket,
            Err(error) if passes_at_once(&error) => continue,
            Err(error) => {
                // Without a descriptor or memory for it, it would fail again at once.
                tell_once(&mut said, format!("{endpoint}: no controller can connect now: {error}"));
                sleep(LOOK, || hub.ends());
                continue;
            }
        };
        if served.len() >= MOST_CONNECTIONS {
            continue;
        }
        let hub = Arc::clone(hub);
        let builder = std::thread::Builder::new().name("controller".to_owned());
        let builder = builder.stack_size(STACK_BYTES);
        let thread = builder.spawn(move || {
            // The end of a connection that a controller began is reported to none.
            let _ = hub
                .transport(&socket, protocol, None)
                .and_then(|transport| serve(&socket, transport, None, &hub));
        });
        served.extend(thread);
    }
    for thread in served {
        let _ = thread.join();
    }
}

/// Stays connected to a controller, with as many connections beside the main one as there are to be.
fn connect(endpoint: &Endpoint, hub: &Arc<Hub>) {
    let mut pause = FIRST_PAUSE;
    let mut said = String::new();
    while !hub.ends() {
        let news = match reach(endpoint, hub) {
            Err(error) => error,
            Ok((socket, transport)) => {
                let begun = Instant::now();
                let agreed = || tell_once(&mut said, format!("{endpoint}: connected"));
                let ended = serve_with_others(endpoint, &socket, transport, hub, agreed);
                // A controller that hangs up as soon as it is reached is not asked at full speed.
                if begun.elapsed() > LONGEST_PAUSE {
                    pause = FIRST_PAUSE;
                }
                match ended {
                    Ok(()) => format!("{endpoint}: the connection has ended"),
                    Err(reason) => format!("{endpoint}: {reason}"),
                }
            }
        };
        if !hub.ends() {
            tell_once(&mut said, news);
        }
        sleep(pause, || hub.ends());
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

fn sleep(pause: Duration, ends: impl Fn() -> bool) {
    let mut waited = Duration::ZERO;
    while waited < pause && !ends() {
        std::thread::sleep(LOOK.min(pause));
        waited += LOOK;
    }
}

fn reach(endpoint: &Endpoint, hub: &Hub) -> Result<(TcpStream, Transport), String> {
    let address = endpoint.address()?;
    let socket =
        TcpStream::connect_timeout(&address, CONNECT_PATIENCE).map_err(|error| format!("{endpoint}: {error}"))?;
    let host = match endpoint {
        Endpoint::Connect(_, host, _) => Some(host.as_str()),
        Endpoint::Listen(..) | Endpoint::Local(_) => None,
    };
    let transport = hub
        .transport(&socket, endpoint.protocol(), host)
        .map_err(|error| format!("{endpoint}: {error}"))?;
    Ok((socket, transport))
}

fn serve_with_others(
    endpoint: &Endpoint,
    socket: &TcpStream,
    transport: Transport,
    hub: &Arc<Hub>,
    agreed: impl FnMut(),
) -> Result<(), String> {
    let main = hub
        .controllers
        .connect(socket, transport, None)
        .map_err(|error| error.to_string())?;
    let has_ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for auxiliary in 1..=hub.auxiliary {
            let (main, has_ended) = (&main, &has_ended);
            scope.spawn(move || {
                let ends = || hub.ends() || has_ended.load(Relaxed);
                while !ends() {
                    // OF 1.3.5 section 6.3.8: only once the main connection is there.
                    if main.session().was_established
                        && let Ok((socket, transport)) = reach(endpoint, hub)
                    {
                        let _ = serve(&socket, transport, Some((auxiliary, Arc::clone(main))), hub);
                    }
                    sleep(FIRST_PAUSE, ends);
                }
            });
        }
        let ended = converse(&main, hub, agreed);
        has_ended.store(true, Relaxed);
        ended
    })
}

/// Says what is new of a controller, once.
fn tell_once(said: &mut String, news: String) {
    if *said != news {
        say(&news);
        *said = news;
    }
}

/// Serves a connection until it ends; gives why it ended.
fn serve(
    socket: &TcpStream,
    transport: Transport,
    beside: Option<(u8, Arc<Peer>)>,
    hub: &Arc<Hub>,
) -> Result<(), String> {
    let peer = hub
        .controllers
        .connect(socket, transport, beside)
        .map_err(|error| error.to_string())?;
    converse(&peer, hub, || {})
}

fn tell(heard: &Receiver<PacketInEvent>, hub: &Hub) {
    while !hub.ends() {
        match heard.recv_timeout(LOOK) {
            Ok(first) => {
                let packets = std::iter::once(first).chain(heard.try_iter().take(TOGETHER - 1));
                events::tell_packets(packets.collect(), &hub.controllers);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}
