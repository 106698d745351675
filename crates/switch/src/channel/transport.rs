//! The bytes of a connection, plain or under TLS. Nothing here waits.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use rustls::CertificateError;

/// What carries a connection.
pub(super) enum Transport {
    /// TCP.
    Plain(TcpStream),
    /// TLS over TCP.
    Secured(Box<Secured>),
}

/// A socket under TLS.
pub(super) struct Secured {
    socket: TcpStream,
    tls: rustls::Connection,
}

/// Bytes that wait to be sent.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    bytes: Vec<u8>,
    sent: usize,
}

impl Transport {
    /// TLS over a socket.
    pub(super) fn secured(socket: TcpStream, tls: rustls::Connection) -> Self {
        Self::Secured(Box::new(Secured { socket, tls }))
    }

    /// Reads what has come: 0 bytes at the end of the connection, [`io::ErrorKind::WouldBlock`] when there is nothing.
    ///
    /// # Errors
    /// When the connection has one.
    pub(super) fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.read(bytes),
            Self::Secured(secured) => secured.read(bytes),
        }
    }

    /// Whether a read that fills less than its room leaves nothing: TLS gives what one record has.
    pub(super) fn gives_all_there_is(&self) -> bool {
        matches!(self, Self::Plain(_))
    }

    /// Writes as many bytes as there is room for.
    ///
    /// # Errors
    /// When the connection has one.
    pub(super) fn write(&mut self, outgoing: &mut Outgoing) -> io::Result<()> {
        loop {
            let taken = match self {
                Self::Plain(socket) if outgoing.is_empty() => return socket.flush(),
                Self::Plain(socket) => or_none(socket.write(outgoing.rest()))?,
                Self::Secured(secured) => secured.write(outgoing.rest())?,
            };
            outgoing.take(taken);
            if taken == 0 {
                return Ok(());
            }
        }
    }

    /// Whether it has bytes of its own to send.
    pub(super) fn wants_to_write(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Secured(secured) => secured.tls.wants_write(),
        }
    }
}

impl Secured {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self.tls.reader().read(bytes) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            done => return done,
        }
        if self.tls.read_tls(&mut self.socket)? == 0 {
            return Ok(0);
        }
        if let Err(error) = self.tls.process_new_packets() {
            // The other side gets the reason, if it still listens.
            let _ = self.tls.write_tls(&mut self.socket);
            return Err(io::Error::new(io::ErrorKind::InvalidData, told(&error)));
        }
        self.tls.reader().read(bytes)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = self.tls.writer().write(bytes)?;
        while self.tls.wants_write() {
            if or_none(self.tls.write_tls(&mut self.socket))? == 0 {
                break;
            }
        }
        Ok(taken)
    }
}

/// What is wrong, without the time of day: what is said again and again is said once.
fn told(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidCertificate(CertificateError::ExpiredContext { .. }) => {
            "the certificate of the other side has expired".to_owned()
        }
        rustls::Error::InvalidCertificate(CertificateError::NotValidYetContext { .. }) => {
            "the certificate of the other side is not valid yet: is the clock right?".to_owned()
        }
        other => other.to_string(),
    }
}

/// No bytes where there is no room for any.
fn or_none(written: io::Result<usize>) -> io::Result<usize> {
    match written {
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(0),
        done => done,
    }
}

impl Outgoing {
    /// Adds bytes.
    pub(super) fn extend(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// How many wait.
    pub(super) fn len(&self) -> usize {
        self.bytes.len() - self.sent
    }

    /// Whether none waits.
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn rest(&self) -> &[u8] {
        &self.bytes[self.sent..]
    }

    fn take(&mut self, count: usize) {
        self.sent += count;
        if self.sent == self.bytes.len() {
            self.bytes.clear();
            // What a long answer took is given back.
            self.bytes.shrink_to(KEPT_BYTES);
            self.sent = 0;
        } else if self.sent > self.bytes.len() / 2 {
            self.bytes.drain(..self.sent);
            self.sent = 0;
        }
    }

    /// All that waits; nothing waits afterwards.
    #[cfg(test)]
    pub(super) fn take_all(&mut self) -> Vec<u8> {
        let rest = self.rest().to_vec();
        *self = Self::default();
        rest
    }
}

/// Memory that is kept for bytes to come.
const KEPT_BYTES: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rustls::pki_types::UnixTime;

    use super::*;

    #[test]
    fn what_is_wrong_with_a_certificate_does_not_change_with_the_time_of_day() {
        let at = |seconds| UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        let said = |time| {
            let (time, not_after) = (at(time), at(1));
            told(&rustls::Error::InvalidCertificate(CertificateError::ExpiredContext {
                time,
                not_after,
            }))
        };
        assert_eq!(said(2), said(3));
        assert!(said(2).ends_with("has expired"));
    }
}
