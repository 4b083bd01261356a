//! Does it speak TLS, and only with whom it trusts?

use std::sync::Arc;

use becalm::StopReason;
use becalm_ws::{Client, Connector};
use futures_util::{SinkExt, StreamExt};
use rcgen::CertifiedKey;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};

use crate::{soon, within};

#[tokio::test]
async fn your_own_authority_is_trusted_and_a_stranger_is_not_dialled_again() {
    let CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();

    // Without a word of the program on cryptography, the socket chooses it.
    let address = format!("wss://localhost:{port}/");
    let mut stranger = Client::new(address.parse().unwrap())
        .reconnect(soon())
        .open()
        .unwrap();
    let asks = tokio::spawn(async move { stranger.next().await });
    let (stream, _) = within(listener.accept()).await.unwrap();
    let serves = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(serves));
    assert!(within(acceptor.accept(stream)).await.is_err());
    let gave_up = within(asks).await.unwrap().unwrap().unwrap_err();
    assert_eq!(gave_up.reason, StopReason::Permanent, "{gave_up}");

    let mut trusted = RootCertStore::empty();
    trusted.add(cert.der().clone()).unwrap();
    let trusts = ClientConfig::builder()
        .with_root_certificates(trusted)
        .with_no_client_auth();
    let client = Client::new(address.parse().unwrap()).reconnect(soon());
    let mut friend = client
        .connector(Connector::Rustls(Arc::new(trusts)))
        .open()
        .unwrap();
    let asks = tokio::spawn(async move { friend.next().await });
    let (stream, _) = within(listener.accept()).await.unwrap();
    let stream = within(acceptor.accept(stream)).await.unwrap();
    let mut peer = tokio_tungstenite::accept_async(stream).await.unwrap();
    peer.send("hello".into()).await.unwrap();
    assert!(within(asks).await.unwrap().unwrap().is_ok());
}
