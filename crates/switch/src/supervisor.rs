//! What a supervisor such as systemd is told (`sd_notify(3)`): one datagram to the socket that it names.

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The process does what it is for.
pub const READY: &str = "READY=1";
/// It has been asked to end, and is about to.
pub const STOPPING: &str = "STOPPING=1";

/// Tells it to the supervisor at a socket, which is abstract where its name begins with `@`.
///
/// # Errors
/// When nobody is there.
pub fn tell(socket: &OsStr, state: &str) -> io::Result<()> {
    let sender = UnixDatagram::unbound()?;
    let address = match socket.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(socket)?,
    };
    sender.send_to_addr(state.as_bytes(), &address).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(by: &UnixDatagram) -> String {
        let mut bytes = [0; 64];
        let length = by.recv(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    }

    #[test]
    fn a_supervisor_is_told_at_a_path_or_at_an_abstract_name() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        tell(path.as_os_str(), READY).unwrap();
        assert_eq!(received(&socket), "READY=1");

        let name = format!("brimful-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let socket = UnixDatagram::bind_addr(&address).unwrap();
        tell(OsStr::new(&format!("@{name}")), STOPPING).unwrap();
        assert_eq!(received(&socket), "STOPPING=1");

        assert!(tell(directory.path().join("absent").as_os_str(), READY).is_err());
    }
}
