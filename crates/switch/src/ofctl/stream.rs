use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use super::OfctlError;
use crate::channel::Endpoint;

/// How long a switch may take to take a connection.
const PATIENCE: Duration = Duration::from_secs(20);

/// Where Open vSwitch has the sockets of its bridges, and those that OpenFlow is spoken at and overheard at.
const BRIDGES: &str = "/run/openvswitch";
pub(super) const SPOKEN: &str = "mgmt";
pub(super) const OVERHEARD: &str = "snoop";

/// What a connection is made of.
pub(super) trait Stream: Read + Write + Send {
    /// How long a read waits; for ever without a time.
    fn set_patience(&self, patience: Option<Duration>) -> io::Result<()>;
    /// How long a write waits.
    fn set_write_patience(&self, patience: Duration) -> io::Result<()>;
    /// The same connection, for another thread.
    fn share(&self) -> io::Result<Box<dyn Stream>>;
    /// Ends it for all that share it.
    fn end(&self);
}

macro_rules! streams {
    ($($kind:ty)*) => {
        $(impl Stream for $kind {
            fn set_patience(&self, patience: Option<Duration>) -> io::Result<()> {
                self.set_read_timeout(patience)
            }

            fn set_write_patience(&self, patience: Duration) -> io::Result<()> {
                self.set_write_timeout(Some(patience))
            }

            fn share(&self) -> io::Result<Box<dyn Stream>> {
                Ok(Box::new(self.try_clone()?))
            }

            fn end(&self) {
                // The other side may have ended it.
                let _ = self.shutdown(Shutdown::Both);
            }
        })*
    };
}

streams! { TcpStream UnixStream }

/// Where the other side of a connection is.
pub(super) enum Place {
    /// At a host and port.
    Tcp(Endpoint),
    /// At a socket of this machine.
    Unix(PathBuf),
    /// It connects to us.
    Waiting(Endpoint, TcpListener),
}

impl Place {
    /// A word without a colon is a socket's path, or, as `ovs-ofctl` has it, the name of a bridge of Open vSwitch, which
    /// has sockets with certain endings.
    pub(super) fn read(text: &str, ending: &str) -> Result<Self, OfctlError> {
        let wrong = || {
            OfctlError::Usage(format!(
                "{text:?}: use tcp:HOST:PORT, unix:PATH, ptcp:PORT to wait, or the name of a bridge of Open vSwitch"
            ))
        };
        let endpoint = || Endpoint::read(text).map_err(|_| wrong());
        Ok(match text.split_once(':') {
            Some(("tcp", _)) => Self::Tcp(endpoint()?),
            Some(("unix", path)) => Self::Unix(PathBuf::from(path)),
            Some(("ptcp", _)) => {
                let endpoint = endpoint()?;
                let address = endpoint.address().map_err(OfctlError::Failed)?;
                let listener = TcpListener::bind(address).map_err(|error| failed(text, &error))?;
                Self::Waiting(endpoint, listener)
            }
            None if text.contains('/') => Self::Unix(PathBuf::from(text)),
            None if !text.is_empty() => Self::Unix(PathBuf::from(format!("{BRIDGES}/{text}.{ending}"))),
            _ => return Err(wrong()),
        })
    }

    /// Makes a connection.
    pub(super) fn open(&self) -> Result<Box<dyn Stream>, OfctlError> {
        match self {
            Self::Tcp(endpoint) => {
                let address = endpoint.address().map_err(OfctlError::Failed)?;
                let stream = TcpStream::connect_timeout(&address, PATIENCE);
                let stream = stream.map_err(|error| failed(&endpoint.to_string(), &error))?;
                with_nodelay(stream)
            }
            Self::Unix(path) => {
                let stream = UnixStream::connect(path);
                let stream = stream.map_err(|error| failed(&format!("unix:{}", path.display()), &error))?;
                Ok(Box::new(stream))
            }
            Self::Waiting(endpoint, listener) => {
                let accepted = listener.accept();
                with_nodelay(accepted.map_err(|error| failed(&endpoint.to_string(), &error))?.0)
            }
        }
    }
}

fn with_nodelay(stream: TcpStream) -> Result<Box<dyn Stream>, OfctlError> {
    stream
        .set_nodelay(true)
        .map_err(|error| OfctlError::Failed(error.to_string()))?;
    Ok(Box::new(stream))
}

fn failed(place: &str, error: &io::Error) -> OfctlError {
    OfctlError::Failed(format!(
        "{place}: {error}: is the switch there, and does it take connections?"
    ))
}
