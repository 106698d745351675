//! Sockets of controllers, and the threads that serve them.

use std::io::{self, Read};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use brimful_netdev::MonotonicTime;

use super::answer::answer_all;
use super::connection::State;
use super::controllers::{Controllers, LOOK, Peer};
use super::endpoint::Endpoint;
use super::events;
use crate::control::{Ended, Handle};
use crate::events::Event;

/// Between attempts to connect: twice as long each time, up to the second one.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(8);
/// How long a controller may take to answer to an attempt.
const CONNECT_PATIENCE: Duration = Duration::from_secs(1);
/// Events for controllers that wait at most.
const MOST_EVENTS: usize = 4096;
const READ_BYTES: usize = 64 << 10;

/// The channel of a switch, while it is there.
pub struct Channel {
    ends: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

/// Connects a switch to its controllers, and listens for them.
///
/// # Errors
/// When a port cannot be listened on, or the switch has ended.
pub fn start(endpoints: &[Endpoint], handle: &Handle) -> Result<Channel, String> {
    let ends = Arc::new(AtomicBool::new(false));
    let controllers = Arc::new(Controllers::default());
    let (sender, heard) = sync_channel(MOST_EVENTS);
    handle
        .call(move |switch| switch.listen(sender))
        .map_err(|ended| ended.to_string())?;
    let mut threads = Vec::new();
    for endpoint in endpoints {
        let (endpoint, handle) = (endpoint.clone(), handle.clone());
        let (controllers, ends) = (Arc::clone(&controllers), Arc::clone(&ends));
        let listener = match &endpoint {
            Endpoint::Listen(..) => Some(listen(&endpoint)?),
            Endpoint::Connect(..) => None,
        };
        threads.push(std::thread::spawn(move || match listener {
            Some(listener) => accept(&listener, &controllers, &handle, &ends),
            None => connect(&endpoint, &controllers, &handle, &ends),
        }));
    }
    let (own_handle, own_ends) = (handle.clone(), Arc::clone(&ends));
    threads.push(std::thread::spawn(move || {
        tell(&heard, &controllers, &own_handle, &own_ends);
    }));
    Ok(Channel { ends, threads })
}

impl Channel {
    /// Closes all connections.
    pub fn stop(self) {
        self.ends.store(true, Relaxed);
        for thread in self.threads {
            // A thread that has panicked has said so.
            let _ = thread.join();
        }
    }
}

fn listen(endpoint: &Endpoint) -> Result<TcpListener, String> {
    let address = endpoint.address()?;
    let listener = TcpListener::bind(address).map_err(|error| format!("{endpoint}: {error}"))?;
    listener
        .set_nonblocking(true)
        .map_err(|error| format!("{endpoint}: {error}"))?;
    Ok(listener)
}

fn accept(listener: &TcpListener, controllers: &Arc<Controllers>, handle: &Handle, ends: &Arc<AtomicBool>) {
    let mut served = Vec::new();
    while !ends.load(Relaxed) {
        if let Ok((socket, _)) = listener.accept() {
            let (controllers, handle, ends) = (Arc::clone(controllers), handle.clone(), Arc::clone(ends));
            served.push(std::thread::spawn(move || serve(socket, &controllers, &handle, &ends)));
        } else {
            std::thread::sleep(LOOK);
        }
        served.retain(|thread: &JoinHandle<_>| !thread.is_finished());
    }
    for thread in served {
        let _ = thread.join();
    }
}

fn connect(endpoint: &Endpoint, controllers: &Controllers, handle: &Handle, ends: &AtomicBool) {
    let mut pause = FIRST_PAUSE;
    let mut said = String::new();
    while !ends.load(Relaxed) {
        let socket = endpoint.address().and_then(|address| {
            TcpStream::connect_timeout(&address, CONNECT_PATIENCE).map_err(|error| format!("{endpoint}: {error}"))
        });
        let news = match socket {
            Err(error) => error,
            Ok(socket) => {
                say(&mut said, format!("{endpoint}: connected"));
                if serve(socket, controllers, handle, ends) {
                    pause = FIRST_PAUSE;
                }
                format!("{endpoint}: the connection has ended")
            }
        };
        if !ends.load(Relaxed) {
            say(&mut said, news);
        }
        let mut waited = Duration::ZERO;
        while waited < pause && !ends.load(Relaxed) {
            std::thread::sleep(LOOK.min(pause));
            waited += LOOK;
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Says what is new of a controller, once.
fn say(said: &mut String, news: String) {
    if *said != news {
        eprintln!("brimful-switchd: {news}");
        *said = news;
    }
}

/// Serves a connection until it ends; whether both sides agreed on a version.
fn serve(socket: TcpStream, controllers: &Controllers, handle: &Handle, ends: &AtomicBool) -> bool {
    let Ok(peer) = Peer::new(socket) else {
        return false;
    };
    let peer = Arc::new(peer);
    controllers.peers().push(Arc::clone(&peer));
    // The end of a connection has no one to be told to.
    let _ = run(&peer, controllers, handle, ends);
    controllers.peers().retain(|other| !Arc::ptr_eq(other, &peer));
    let _ = peer.socket.shutdown(Shutdown::Both);
    peer.session().was_established
}

fn tell(heard: &Receiver<Event>, controllers: &Controllers, handle: &Handle, ends: &AtomicBool) {
    while !ends.load(Relaxed) {
        match heard.recv_timeout(LOOK) {
            Ok(event) => {
                if events::tell(event, controllers, handle).is_err() {
                    return;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// Reads and answers until the connection ends.
fn run(peer: &Peer, controllers: &Controllers, handle: &Handle, ends: &AtomicBool) -> io::Result<()> {
    let mut bytes = vec![0; READ_BYTES];
    peer.flush()?;
    while !ends.load(Relaxed) {
        let now = MonotonicTime::now().0;
        match (&peer.socket).read(&mut bytes) {
            Ok(0) => return Ok(()),
            Ok(count) => peer.session().connection.receive(&bytes[..count], now),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        let messages = {
            let mut session = peer.session();
            let messages = session.connection.take_messages();
            session.connection.tick(now);
            session.was_established |= session.version().is_some();
            messages
        };
        let answered = answer_all(messages, peer, controllers, handle);
        peer.flush()?;
        if matches!(answered, Err(Ended)) || matches!(peer.session().connection.state(), State::Closing(_)) {
            return Ok(());
        }
    }
    Ok(())
}
