//! The channel under TLS.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;

use brimful_openflow::wire::{Message, Version};
use brimful_switch::channel::{Credentials, Endpoint, Peers, TlsFiles};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, StreamOwned};

use crate::client::{Bench, Client, connected, flow};

/// An authority, and what it has given to a switch and to a controller.
struct World {
    folder: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut authority = CertificateParams::new(Vec::new()).unwrap();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
        fs::write(folder.path().join("ca.pem"), issuer.pem()).unwrap();
        for name in ["switch", "controller"] {
            let key = KeyPair::generate().unwrap();
            let certificate = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
            let certificate = certificate.signed_by(&key, &issuer).unwrap();
            fs::write(folder.path().join(format!("{name}.pem")), certificate.pem()).unwrap();
            fs::write(folder.path().join(format!("{name}.key")), key.serialize_pem()).unwrap();
        }
        Self { folder }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn files(&self) -> TlsFiles {
        TlsFiles {
            private_key: self.path("switch.key"),
            certificate: self.path("switch.pem"),
            ca_certificate: self.path("ca.pem"),
        }
    }

    fn peers(&self, endpoint: &str) -> Peers {
        Peers {
            endpoints: vec![Endpoint::read(endpoint).unwrap()],
            credentials: Some(Credentials::read(&self.files()).unwrap()),
            ..Peers::default()
        }
    }

    fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots
            .add(CertificateDer::from_pem_file(self.path("ca.pem")).unwrap())
            .unwrap();
        roots
    }

    fn own(&self) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
        let chain = vec![CertificateDer::from_pem_file(self.path("controller.pem")).unwrap()];
        (
            chain,
            PrivateKeyDer::from_pem_file(self.path("controller.key")).unwrap(),
        )
    }
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

#[test]
fn a_controller_with_a_certificate_is_served_and_one_without_is_not() {
    let world = World::new();
    let bench = Bench::new(100_000, world.peers("ptls:0"));
    let config = || {
        ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(world.roots())
    };
    let name = || ServerName::try_from("127.0.0.1").unwrap();
    let (chain, key) = world.own();
    let tls = ClientConnection::new(Arc::new(config().with_client_auth_cert(chain, key).unwrap()), name()).unwrap();
    let mut controller = Client::greeting(StreamOwned::new(tls, connected(bench.address())), Version::V14);
    for number in 0..5000 {
        controller.send(&Message::FlowMod(flow(number, 1)));
    }
    assert_eq!(controller.until_barrier(), []);
    // Replies longer than any buffer in between.
    let request = brimful_openflow::wire::Request::TableDescription;
    let reply = controller.multipart(request);
    assert!(matches!(reply, brimful_openflow::wire::Reply::TableDescription(tables) if tables.len() == 254));

    let anonymous = ClientConnection::new(Arc::new(config().with_no_client_auth()), name()).unwrap();
    let mut stream = StreamOwned::new(anonymous, connected(bench.address()));
    let mut bytes = [0; 8];
    assert!(std::io::Read::read_exact(&mut stream, &mut bytes).is_err());
    let mut plain = connected(bench.address());
    std::io::Write::write_all(&mut plain, &[4, 0, 0, 8, 0, 0, 0, 1]).unwrap();
    let mut answer = Vec::new();
    let _ = std::io::Read::read_to_end(&mut plain, &mut answer);
    assert!(answer.first() != Some(&4), "an answer without TLS");
    bench.end();
}

#[test]
fn the_switch_connects_to_a_controller_that_it_trusts() {
    let world = World::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let bench = Bench::new(100, world.peers(&format!("tls:{}", listener.local_addr().unwrap())));
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(world.roots()), provider());
    let (chain, key) = world.own();
    let config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier.build().unwrap())
        .with_single_cert(chain, key)
        .unwrap();
    let tls = ServerConnection::new(Arc::new(config)).unwrap();
    let stream = StreamOwned::new(tls, listener.accept().unwrap().0);
    let mut controller = Client::greeting(stream, Version::V13);
    controller.does(&Message::FlowMod(flow(1, 1)));
    bench.end();
}

#[test]
fn bad_files_are_told_in_one_line() {
    let (world, other) = (World::new(), World::new());
    let said = |files: &TlsFiles| Credentials::read(files).unwrap_err();
    let absent = |path: &Path| path.with_extension("absent");
    let files = world.files();
    for (files, expected) in [
        (
            TlsFiles {
                private_key: absent(&files.private_key),
                ..files.clone()
            },
            "switch.absent",
        ),
        (
            TlsFiles {
                certificate: files.private_key.clone(),
                ..files.clone()
            },
            "switch.key: there is no certificate in it",
        ),
        (
            TlsFiles {
                private_key: other.files().private_key,
                ..files.clone()
            },
            "switch.pem and its key",
        ),
    ] {
        let message = said(&files);
        assert!(message.contains(expected) && !message.contains('\n'), "{message}");
    }
}
