//! Keys and certificates of a switch, and connections under TLS.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, ClientConnection, Connection, RootCertStore, ServerConfig, ServerConnection};
use serde::Deserialize;

use crate::files::read_text;

/// The files that TLS needs, all in PEM.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct TlsFiles {
    /// The switch's key.
    pub private_key: PathBuf,
    /// The switch's certificate, and those between it and the authority.
    pub certificate: PathBuf,
    /// The certificates of the authorities that controllers' certificates are from.
    pub ca_certificate: PathBuf,
}

/// What the switch shows, and whom it trusts: both sides always show a certificate.
#[derive(Clone, Debug)]
pub struct Credentials {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
}

impl Credentials {
    /// Reads the files.
    ///
    /// # Errors
    /// When one cannot be read or does not fit to the others, in one line.
    pub fn read(files: &TlsFiles) -> Result<Self, String> {
        let TlsFiles {
            private_key,
            certificate,
            ca_certificate,
        } = files;
        let text = read_text(private_key).map_err(|error| told(private_key, &error))?;
        let key = PrivateKeyDer::from_pem_slice(text.as_bytes()).map_err(|error| told(private_key, &error))?;
        let chain = certificates(certificate)?;
        let mut roots = RootCertStore::empty();
        for root in certificates(ca_certificate)? {
            roots.add(root).map_err(|error| told(ca_certificate, &error))?;
        }
        let roots = Arc::new(roots);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let does_not_fit = |error: rustls::Error| format!("{} and its key: {error}", certificate.display());
        let client = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(does_not_fit)?
            .with_root_certificates(Arc::clone(&roots))
            .with_client_auth_cert(chain.clone(), key.clone_key())
            .map_err(does_not_fit)?;
        let verifier = WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(&provider))
            .build()
            .map_err(|error| told(ca_certificate, &error))?;
        let server = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(does_not_fit)?
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain, key)
            .map_err(does_not_fit)?;
        Ok(Self {
            client: Arc::new(client),
            server: Arc::new(server),
        })
    }

    /// For a connection to a controller, whose certificate has to be of that host.
    ///
    /// # Errors
    /// When the host is no name, in one line.
    pub(super) fn to(&self, host: &str) -> Result<Connection, String> {
        let name = ServerName::try_from(host.to_owned()).map_err(|error| format!("{host}: {error}"))?;
        let tls = ClientConnection::new(Arc::clone(&self.client), name).map_err(|error| format!("{host}: {error}"))?;
        Ok(tls.into())
    }

    /// For a connection from a controller.
    ///
    /// # Errors
    /// When there cannot be one, in one line.
    pub(super) fn of_controller(&self) -> Result<Connection, String> {
        let tls = ServerConnection::new(Arc::clone(&self.server)).map_err(|error| error.to_string())?;
        Ok(tls.into())
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let text = read_text(path).map_err(|error| told(path, &error))?;
    let read = CertificateDer::pem_slice_iter(text.as_bytes());
    let all: Vec<_> = read.collect::<Result<_, _>>().map_err(|error| told(path, &error))?;
    if all.is_empty() {
        return Err(format!("{}: there is no certificate in it", path.display()));
    }
    Ok(all)
}

fn told(path: &Path, error: &dyn std::fmt::Display) -> String {
    format!("{}: {error}", path.display())
}
