//! Does it speak TLS, only with whom it trusts, and does it remember whom it has met?

use std::sync::{Arc, Mutex};

use becalm::StopReason;
use becalm_ws::{Client, Connector};
use futures_util::{SinkExt, StreamExt};
use rcgen::{CertificateParams, CertifiedKey, KeyPair, date_time_ymd};
use rustls::HandshakeKind::{Full, Resumed};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};

use crate::server::Server;
use crate::tls_support::side_by_side;
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

#[tokio::test]
async fn a_certificate_that_has_expired_or_is_of_another_is_final() {
    for (name, is_expired, is_final) in [
        ("localhost", false, false),
        ("localhost", true, true),
        ("elsewhere", false, true),
    ] {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        if is_expired {
            params.not_after = date_time_ymd(2001, 1, 1);
        }
        let (acceptor, connector) = side_by_side(&params.self_signed(&key).unwrap(), &key);
        let server = Server::raw(move |_, stream| {
            let acceptor = acceptor.clone();
            async move {
                if let Ok(stream) = acceptor.accept(stream).await {
                    let mut peer = tokio_tungstenite::accept_async(stream).await.unwrap();
                    let _ = peer.send("hello".into()).await;
                    while let Some(Ok(_)) = peer.next().await {}
                }
            }
        })
        .await;
        let client = Client::new(server.tls_uri()).reconnect(soon());
        let mut feed = client.connector(connector).open().unwrap();
        let message = within(feed.next()).await.unwrap();
        assert_eq!(
            (message.is_err(), server.dials()),
            (is_final, 1),
            "{name} {message:?}"
        );
    }
}

#[tokio::test]
async fn tls_that_is_cut_or_fails_inside_the_server_is_dialled_again_and_none_at_all_is_final() {
    let CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (acceptor, connector) = side_by_side(&cert, &signing_key);
    let server = Server::raw(move |number, mut stream| {
        let acceptor = acceptor.clone();
        async move {
            if number != 4 {
                // What is not read takes an answer with it when the connection ends.
                let _ = stream.read(&mut [0; 4096]).await;
            }
            match number {
                1 => (),
                2 => drop(stream.write_all(b"\x16\x03\x03").await),
                // An alert: fatal, internal_error.
                3 => drop(stream.write_all(b"\x15\x03\x03\0\x02\x02\x50").await),
                4 => {
                    let stream = acceptor.accept(stream).await.unwrap();
                    let mut peer = tokio_tungstenite::accept_async(stream).await.unwrap();
                    let _ = peer.send("hello".into()).await;
                }
                // An alert: fatal, unknown_ca.
                5 => drop(stream.write_all(b"\x15\x03\x03\0\x02\x02\x30").await),
                _ => drop(stream.write_all(b"HTTP/1.1 400 No\r\n\r\n").await),
            }
        }
    })
    .await;
    let client = Client::new(server.tls_uri()).reconnect(soon());
    // As at an address that never worked.
    let client = client.restart_patience(std::time::Duration::ZERO);
    let client = client.connector(connector);
    let mut feed = client.open().unwrap();
    assert!(within(feed.next()).await.unwrap().is_ok());
    for dials in [5, 6] {
        let gave_up = within(feed.next()).await.unwrap().unwrap_err();
        assert_eq!(
            (gave_up.reason, server.dials()),
            (StopReason::Permanent, dials),
            "{gave_up}"
        );
        feed.handle().dial_now();
    }
}

#[tokio::test]
async fn a_dial_resumes_the_tls_of_an_earlier_one() {
    let CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (acceptor, connector) = side_by_side(&cert, &signing_key);
    let kinds = Arc::<Mutex<Vec<_>>>::default();
    let seen = Arc::clone(&kinds);
    let server = Server::raw(move |number, stream| {
        let (acceptor, seen) = (acceptor.clone(), Arc::clone(&seen));
        async move {
            let stream = acceptor.accept(stream).await.unwrap();
            seen.lock()
                .unwrap()
                .push(stream.get_ref().1.handshake_kind().unwrap());
            let mut peer = tokio_tungstenite::accept_async(stream).await.unwrap();
            let _ = peer.send(number.to_string().into()).await;
        }
    })
    .await;
    let client = Client::new(server.tls_uri()).reconnect(soon());
    let client = client.connector(connector);
    for _ in 0..2 {
        let mut feed = client.open().unwrap();
        for _ in 0..2 {
            within(feed.next()).await.unwrap().unwrap();
        }
    }
    assert_eq!(*kinds.lock().unwrap(), [Full, Resumed, Resumed, Resumed]);
}
