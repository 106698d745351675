use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};

/// The port of OpenFlow where none is given.
const DEFAULT_PORT: u16 = 6653;

/// Where a controller is, or where the switch waits for controllers.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Endpoint {
    /// A controller at a host and port: `tcp:HOST[:PORT]`.
    Connect(String, u16),
    /// Any that connects to this port, at this address of ours: `ptcp:[PORT][:ADDRESS]`.
    Listen(String, u16),
}

impl Endpoint {
    /// Reads one as it is written in settings.
    ///
    /// # Errors
    /// With what is wrong, in one line.
    pub fn read(text: &str) -> Result<Self, String> {
        let wrong = || format!("controller {text:?}: use tcp:HOST:PORT, or ptcp:PORT to listen");
        let number = |digits: &str| match digits {
            "" => Ok(DEFAULT_PORT),
            digits => digits.parse().map_err(|_| wrong()),
        };
        let (kind, rest) = text.split_once(':').ok_or_else(wrong)?;
        match kind {
            "tcp" => {
                let (host, port) = split_host(rest);
                let host = if host.is_empty() { return Err(wrong()) } else { host };
                Ok(Self::Connect(host.to_owned(), number(port)?))
            }
            "ptcp" => {
                let (port, address) = rest.split_once(':').unwrap_or((rest, "127.0.0.1"));
                Ok(Self::Listen(unbracketed(address).to_owned(), number(port)?))
            }
            _ => Err(wrong()),
        }
    }

    /// The address that it has now.
    ///
    /// # Errors
    /// When its name has none, in one line.
    pub fn address(&self) -> Result<SocketAddr, String> {
        let (Self::Connect(host, port) | Self::Listen(host, port)) = self;
        let mut addresses = (host.as_str(), *port)
            .to_socket_addrs()
            .map_err(|error| format!("{self}: {error}"))?;
        addresses.next().ok_or_else(|| format!("{self}: it has no address"))
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(host, port) if host.contains(':') => write!(formatter, "tcp:[{host}]:{port}"),
            Self::Connect(host, port) => write!(formatter, "tcp:{host}:{port}"),
            Self::Listen(address, port) => write!(formatter, "ptcp:{port}:{address}"),
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
        ] {
            assert_eq!(
                Endpoint::read(text).map(|endpoint| endpoint.to_string()),
                Ok(again.to_owned())
            );
        }
        for text in ["", "tcp", "tcp:", "udp:host:1", "tcp:host:99999", "ptcp:x"] {
            let message = Endpoint::read(text).unwrap_err();
            assert!(message.contains("use tcp:HOST:PORT"), "{message}");
        }
    }
}
