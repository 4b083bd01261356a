//! Are the words that the judge knows those of the crates themselves? Each error as its crate makes it, in nothing that says more.

use std::error::Error;
use std::net::Ipv4Addr;

use becalm::classify::{Class, Effect, connect};
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::SocksV5;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{
    self, AlertDescription, CertRevocationListError, CertificateError, ContentType, HandshakeType,
    InvalidMessage, PeerIncompatible, PeerMisbehaved,
};
use tokio_tungstenite::tungstenite;
use tower_service::Service;

use becalm_connecting::Authority;

type BoxError = Box<dyn Error + Send + Sync>;

fn class(error: &(dyn Error + 'static)) -> Option<Class> {
    let failure = connect::recognise(error)?;
    assert_eq!(failure.effect, Effect::Unsent, "{error}");
    Some(failure.class)
}

#[test]
fn those_of_rustls() {
    use rustls::Error as Of;
    let refusal = |of| Of::InvalidCertificate(of);
    for error in [
        refusal(CertificateError::Expired),
        refusal(CertificateError::NotValidYet),
        refusal(CertificateError::Revoked),
        refusal(CertificateError::UnknownIssuer),
        refusal(CertificateError::BadSignature),
        refusal(CertificateError::NotValidForName),
        refusal(CertificateError::InvalidPurpose),
        refusal(CertificateError::UnknownRevocationStatus),
        refusal(CertificateError::ApplicationVerificationFailure),
        Of::InvalidCertRevocationList(CertRevocationListError::BadSignature),
        Of::InvalidMessage(InvalidMessage::InvalidContentType),
        Of::InappropriateMessage {
            expect_types: vec![ContentType::Handshake],
            got_type: ContentType::ApplicationData,
        },
        Of::InappropriateHandshakeMessage {
            expect_types: vec![HandshakeType::ServerHello],
            got_type: HandshakeType::Finished,
        },
        Of::PeerIncompatible(PeerIncompatible::ServerDoesNotSupportTls12Or13),
        Of::PeerMisbehaved(PeerMisbehaved::SelectedUnofferedCipherSuite),
        Of::NoApplicationProtocol,
        Of::NoCertificatesPresented,
        Of::PeerSentOversizedRecord,
        Of::DecryptError,
        Of::AlertReceived(AlertDescription::HandshakeFailure),
        Of::AlertReceived(AlertDescription::CertificateRequired),
    ] {
        assert_eq!(class(&error), Some(Class::Permanent), "{error}");
    }
    for alert in [
        AlertDescription::InternalError,
        AlertDescription::UserCanceled,
        AlertDescription::CloseNotify,
    ] {
        let error = Of::AlertReceived(alert);
        assert_eq!(class(&error), Some(Class::Transient), "{error}");
    }
}

#[test]
fn those_of_tungstenite_and_of_names() {
    let none = rustls::Error::General("no authorities".to_owned());
    let error = tungstenite::Error::Tls(none.into());
    assert_eq!(class(&error), Some(Class::Permanent), "{error}");
    let error = tungstenite::Error::Tls(tungstenite::error::TlsError::InvalidDnsName);
    assert_eq!(class(&error), Some(Class::Permanent), "{error}");
    let error = ServerName::try_from("a b").expect_err("no name");
    assert_eq!(class(&error), Some(Class::Permanent), "{error}");
}

async fn refused<C>(mut connector: C, to: &str) -> BoxError
where
    C: Service<http::Uri, Error: Into<BoxError>>,
{
    let called = connector.call(to.parse().expect("a URI")).await;
    called
        .map(drop)
        .map_err(Into::into)
        .expect_err("it is not taken")
}

#[tokio::test]
async fn those_of_connectors_that_do_not_take_an_address() {
    let _ = ring::default_provider().install_default();
    let over_rustls = || {
        let builder = HttpsConnectorBuilder::new();
        let builder = builder.with_tls_config(Authority::new("the shop").trusted());
        builder.https_only().enable_http1().build()
    };
    let mut over_native = hyper_tls::HttpsConnector::new();
    over_native.https_only(true);
    for error in [
        refused(HttpConnector::new(), "https://shop.test").await,
        refused(over_rustls(), "ftp://shop.test").await,
        refused(over_rustls(), "shop.test:443").await,
        refused(over_native, "http://shop.test").await,
    ] {
        assert_eq!(class(&*error), Some(Class::Permanent), "{error}");
    }
}

#[tokio::test]
async fn those_of_a_proxy_of_socks_about_a_login() {
    for replies in [vec![[5, 2], [1, 1]], vec![[5, 0]]] {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.expect("a client");
            for reply in replies {
                let _ = stream.read(&mut [0; 512]).await;
                let _ = stream.write_all(&reply).await;
            }
            while let Ok(1..) = stream.read(&mut [0; 512]).await {}
        });
        let proxy = format!("http://127.0.0.1:{port}").parse().expect("a URI");
        let connector = SocksV5::new(proxy, HttpConnector::new());
        let connector = connector.with_auth("shop".to_owned(), "secret".to_owned());
        let error = refused(connector, "https://127.0.0.1").await;
        assert_eq!(class(&*error), Some(Class::Permanent), "{error}");
    }
}
