//! What all connections of a switch share.

use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use brimful_pipeline::Preparer;

use super::controllers::Controllers;
use super::endpoint::Protocol;
use super::standalone::Standalone;
use super::tls::Credentials;
use super::transport::Transport;
use crate::control::Handle;

/// What all connections of a switch share.
pub(super) struct Hub {
    pub(super) controllers: Arc<Controllers>,
    pub(super) handle: Handle,
    /// Checks flow-mods in the threads of connections.
    pub(super) preparer: Preparer,
    pub(super) standalone: Standalone,
    pub(super) credentials: Option<Credentials>,
    pub(super) auxiliary: u8,
    pub(super) ends: AtomicBool,
}

impl Hub {
    /// Whether all connections are to end.
    pub(super) fn ends(&self) -> bool {
        self.ends.load(Relaxed)
    }

    /// What carries a connection: to that host, or from a controller.
    pub(super) fn transport(
        &self,
        socket: &TcpStream,
        protocol: Protocol,
        host: Option<&str>,
    ) -> Result<Transport, String> {
        let own = socket.try_clone().map_err(|error| error.to_string())?;
        match (protocol, &self.credentials) {
            (Protocol::Tcp, _) => Ok(Transport::Plain(own)),
            (Protocol::Tls, None) => Err("there is no certificate".to_owned()),
            (Protocol::Tls, Some(credentials)) => {
                let tls = match host {
                    Some(host) => credentials.to(host)?,
                    None => credentials.of_controller()?,
                };
                Ok(Transport::secured(own, tls))
            }
        }
    }
}
