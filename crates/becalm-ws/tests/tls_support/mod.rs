//! A server of TLS, and a client that trusts it.

use std::sync::Arc;

use becalm_ws::Connector;
use rcgen::KeyPair;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};

/// A server with this certificate, and a client that trusts it.
pub fn side_by_side(cert: &rcgen::Certificate, key: &KeyPair) -> (TlsAcceptor, Connector) {
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let provider = Arc::new(ring::default_provider());
    let serves = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    let mut trusted = RootCertStore::empty();
    trusted.add(cert.der().clone()).unwrap();
    let trusts = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(trusted)
        .with_no_client_auth();
    let acceptor = TlsAcceptor::from(Arc::new(serves));
    (acceptor, Connector::Rustls(Arc::new(trusts)))
}
