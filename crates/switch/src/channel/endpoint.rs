use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

/// The port of OpenFlow where none is given.
const DEFAULT_PORT: u16 = 6653;

/// Where a controller is, or where the switch waits for controllers.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Endpoint {
    /// A controller at a host and port: `tcp:HOST[:PORT]`, or `tls:HOST[:PORT]`.
    Connect(Protocol, String, u16),
    /// Any that connects to this port, at this address of ours: `ptcp:[PORT][:ADDRESS]`, or `ptls:[PORT][:ADDRESS]`.
    Listen(Protocol, String, u16),
    /// Any that connects to this socket of our machine: `punix:PATH`.
    Local(PathBuf),
}

/// What carries a connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Protocol {
    /// TCP, or a socket of this machine.
    Tcp,
    /// TLS over TCP.
    Tls,
}

impl Endpoint {
    /// Reads one as it is written in settings.
    ///
    /// # Errors
    /// With what is wrong, in one line.
    pub fn read(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "controller {text:?}: use tcp:HOST:PORT or tls:HOST:PORT, or ptcp:PORT, ptls:PORT or punix:PATH to listen"
            )
        };
        let number = |digits: &str| match digits {
            "" => Ok(DEFAULT_PORT),
            digits => digits.parse().map_err(|_| wrong()),
        };
        let (kind, rest) = text.split_once(':').ok_or_else(wrong)?;
        match kind {
            "tcp" | "tls" => {
                let (host, port) = split_host(rest);
                let host = if host.is_empty() { return Err(wrong()) } else { host };
                Ok(Self::Connect(Protocol::named(kind), host.to_owned(), number(port)?))
            }
            "ptcp" | "ptls" => {
                let (port, address) = rest.split_once(':').unwrap_or((rest, "127.0.0.1"));
                Ok(Self::Listen(
                    Protocol::named(&kind[1..]),
                    unbracketed(address).to_owned(),
                    number(port)?,
                ))
            }
            "punix" if !rest.is_empty() => Ok(Self::Local(PathBuf::from(rest))),
            _ => Err(wrong()),
        }
    }

    /// What carries its connections.
    pub fn protocol(&self) -> Protocol {
        match self {
            Self::Connect(protocol, ..) | Self::Listen(protocol, ..) => *protocol,
            Self::Local(_) => Protocol::Tcp,
        }
    }

    /// The address that it has now.
    ///
    /// # Errors
    /// When its name has none, in one line.
    pub fn address(&self) -> Result<SocketAddr, String> {
        let (Self::Connect(_, host, port) | Self::Listen(_, host, port)) = self else {
            return Err(format!("{self}: it has no address"));
        };
        let mut addresses = (host.as_str(), *port)
            .to_socket_addrs()
            .map_err(|error| format!("{self}: {error}"))?;
        addresses.next().ok_or_else(|| format!("{self}: it has no address"))
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(protocol, host, port) if host.contains(':') => {
                write!(formatter, "{}:[{host}]:{port}", protocol.name())
            }
            Self::Connect(protocol, host, port) => write!(formatter, "{}:{host}:{port}", protocol.name()),
            Self::Local(path) => write!(formatter, "punix:{}", path.display()),
            Self::Listen(protocol, address, port) => write!(formatter, "p{}:{port}:{address}", protocol.name()),
        }
    }
}

impl Protocol {
    fn named(name: &str) -> Self {
        if name == "tls" { Self::Tls } else { Self::Tcp }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Tls => "tls",
        }
    }
}

/// Host and digits of the port; addresses of IPv6 stand in brackets.
fn split_host(text: &str) -> (&str, &str) {
    match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (unbracketed(host), port),
        _ => (unbracketed(text), ""),
    }
}

fn unbracketed(text: &str) -> &str {
    text.trim_start_matches('[').trim_end_matches(']')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_and_written() {
        for (text, again) in [
            ("tcp:127.0.0.1:6633", "tcp:127.0.0.1:6633"),
            ("tcp:controller.example", "tcp:controller.example:6653"),
            ("tcp:[::1]:7000", "tcp:[::1]:7000"),
            ("tcp:[::1]", "tcp:[::1]:6653"),
            ("ptcp:", "ptcp:6653:127.0.0.1"),
            ("ptcp:6634:0.0.0.0", "ptcp:6634:0.0.0.0"),
            ("tls:controller.example", "tls:controller.example:6653"),
            ("ptls:6653", "ptls:6653:127.0.0.1"),
            ("punix:/run/s.mgmt", "punix:/run/s.mgmt"),
        ] {
            assert_eq!(
                Endpoint::read(text).map(|endpoint| endpoint.to_string()),
                Ok(again.to_owned())
            );
        }
        for text in ["", "tcp", "tcp:", "udp:host:1", "tcp:host:99999", "ptcp:x", "punix:"] {
            let message = Endpoint::read(text).unwrap_err();
            assert!(message.contains("use tcp:HOST:PORT"), "{message}");
        }
    }
}
