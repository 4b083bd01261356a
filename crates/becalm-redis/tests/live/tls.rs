//! Is a server known by its certificate, and does no secret come out?

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use becalm::Policy;
use becalm::observe::{About, Event, Observer};
use becalm_redis::subscription::Event as Published;
use becalm_redis::{Builder, Connection, Credentials};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use redis::{AsyncCommands, RedisResult, cmd};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::server::Server;

/// A certificate authority of our own.
struct Authority {
    certificate: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate");
        Self {
            certificate: certificate.der().clone(),
            issuer: Issuer::new(params, key),
        }
    }

    /// A server of this name that it vouches for.
    fn server(&self, name: &str) -> (Server, u16, TempDir) {
        let files = TempDir::new().expect("a directory");
        let params = CertificateParams::new([name.to_owned()]).expect("a name");
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        let [certificate_file, key_file] =
            ["certificate", "key"].map(|name| files.path().join(name));
        fs::write(&certificate_file, certificate.pem()).expect("it is written");
        fs::write(&key_file, key.serialize_pem()).expect("it is written");
        let (server, port) = Server::tls(&certificate_file, &key_file);
        (server, port, files)
    }

    /// What trusts it, and nobody else.
    fn trusted(&self) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.clone()).expect("an authority");
        let config = ClientConfig::builder_with_provider(Arc::new(default_provider()));
        let config = config
            .with_safe_default_protocol_versions()
            .expect("versions");
        Arc::new(config.with_root_certificates(roots).with_no_client_auth())
    }
}

/// Everything that an observer hears.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<String>>>);

impl Observer for Heard {
    fn on_event(&self, about: &About<'_>, event: &Event<'_>) {
        self.0
            .lock()
            .expect("unpoisoned")
            .push(format!("{about:?} {event:?}"));
    }
}

#[tokio::test]
async fn an_authority_of_our_own_is_trusted_and_every_dial_asks_again() {
    let authority = Authority::new();
    let (mut server, port, _files) = authority.server("localhost");
    let address = format!("rediss://localhost:{port}");
    let builder = Builder::new(&address)
        .expect("an address")
        .tls(authority.trusted());
    let mut redis = builder.build().expect("valid settings");
    assert_eq!(redis.incr("visits", 1).await, Ok(1));
    server.kill();
    server.start();
    assert_eq!(redis.get("visits").await, Ok(1));
    let mut own = redis.dedicated().await.expect("a connection");
    let _: () = cmd("WATCH")
        .arg("visits")
        .query_async(&mut own)
        .await
        .expect("it is watched");
    // A command that is dropped closes it under TLS, too.
    let popped = own.blpop::<_, (String, u64)>("orders", 0.0);
    let popped = timeout(Duration::from_millis(50), popped).await;
    popped.expect_err("the list is empty");
    let () = redis.lpush("orders", 17).await.expect("pushed");
    assert_eq!(redis.llen("orders").await, Ok(1));
    let mut heard = redis.subscribe(["news"]);
    let subscribed = heard.next().await;
    assert!(
        matches!(subscribed, Some(Ok(Published::Subscribed(_)))),
        "{subscribed:?}"
    );
    assert_eq!(redis.publish("news", "1").await, Ok(1));
    let message = heard.next().await;
    assert!(
        matches!(message, Some(Ok(Published::Message(_)))),
        "{message:?}"
    );
}

#[tokio::test]
async fn a_server_that_nobody_trusted_vouches_for_is_refused_at_once_and_says_so() {
    let (ours, other) = (Authority::new(), Authority::new());
    let (_server, port, _files) = ours.server("localhost");
    let (_elsewhere, port_elsewhere, _others) = ours.server("elsewhere");
    let at = |port| Builder::new(&format!("rediss://localhost:{port}")).expect("an address");
    for (builder, words) in [
        (at(port).tls(other.trusted()), "invalid peer certificate"),
        // The authorities of the system.
        (at(port), "invalid peer certificate: UnknownIssuer"),
        (at(port_elsewhere).tls(ours.trusted()), "not valid for name"),
    ] {
        let began = Instant::now();
        let mut redis = builder.build().expect("valid settings");
        let refused: RedisResult<u64> = redis.incr("visits", 1).await;
        let sentence = refused.expect_err("it is refused").to_string();
        assert!(sentence.contains(words), "{sentence}");
        assert!(
            began.elapsed() < Duration::from_secs(10),
            "it was waited for"
        );
    }
}

#[tokio::test]
async fn an_error_inside_of_the_server_is_dialled_again() {
    let authority = Authority::new();
    let (_server, port, _files) = authority.server("localhost");
    let listener = TcpListener::bind("localhost:0").await.expect("a port");
    let at = listener.local_addr().expect("an address").port();
    tokio::spawn(async move {
        let (mut first, _) = listener.accept().await.expect("a client");
        let _ = first.read(&mut [0; 4096]).await;
        // An alert: fatal, internal_error (RFC 8446, section 6).
        let _ = first.write_all(b"\x15\x03\x03\0\x02\x02\x50").await;
        drop(first);
        while let Ok((mut client, _)) = listener.accept().await {
            let mut server = TcpStream::connect(("localhost", port))
                .await
                .expect("it is there");
            tokio::spawn(async move { copy_bidirectional(&mut client, &mut server).await });
        }
    });
    let builder = Builder::new(&format!("rediss://localhost:{at}")).expect("an address");
    let mut redis = builder
        .tls(authority.trusted())
        .build()
        .expect("valid settings");
    assert_eq!(redis.incr("visits", 1).await, Ok(1));
}

#[tokio::test]
async fn who_accepts_and_says_nothing_is_dialled_again() {
    let authority = Authority::new();
    let (_server, port, _files) = authority.server("localhost");
    let listener = TcpListener::bind("localhost:0").await.expect("a port");
    let at = listener.local_addr().expect("an address").port();
    tokio::spawn(async move {
        let _silent = listener.accept().await.expect("a client");
        while let Ok((mut client, _)) = listener.accept().await {
            let server = TcpStream::connect(("localhost", port)).await;
            let mut server = server.expect("it is there");
            tokio::spawn(async move { copy_bidirectional(&mut client, &mut server).await });
        }
    });
    let builder = Builder::new(&format!("rediss://localhost:{at}")).expect("an address");
    let builder = builder.dial_timeout(Duration::from_millis(500));
    let mut redis = builder
        .tls(authority.trusted())
        .build()
        .expect("valid settings");
    assert_eq!(redis.incr("visits", 1).await, Ok(1));
}

/// What no peer of TLS says is an error of the system that redis does not count among those of a broken connection.
#[tokio::test]
async fn a_connection_whose_bytes_are_no_tls_is_replaced() {
    let authority = Authority::new();
    let (_server, port, _files) = authority.server("localhost");
    let listener = TcpListener::bind("localhost:0").await.expect("a port");
    let at = listener.local_addr().expect("an address").port();
    let garbles = Arc::<AtomicBool>::default();
    let shared = Arc::clone(&garbles);
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let garbles = Arc::clone(&shared);
            let server = TcpStream::connect(("localhost", port)).await;
            let (mut from_server, mut to_server) = server.expect("it is there").into_split();
            let (mut from_client, mut to_client) = client.into_split();
            tokio::spawn(async move { copy(&mut from_client, &mut to_server).await });
            tokio::spawn(async move {
                let mut piece = vec![0; 4096];
                while let Ok(read @ 1..) = from_server.read(&mut piece).await {
                    if garbles.swap(false, Ordering::SeqCst) {
                        piece[..read].fill(b'?');
                    }
                    let _ = to_client.write_all(&piece[..read]).await;
                }
            });
        }
    });
    let builder = Builder::new(&format!("rediss://localhost:{at}")).expect("an address");
    let mut redis = builder
        .tls(authority.trusted())
        .build()
        .expect("valid settings");
    let () = redis.set("visits", 17).await.expect("it is set");
    garbles.store(true, Ordering::SeqCst);
    assert_eq!(redis.get("visits").await, Ok(17));
}

#[tokio::test]
async fn no_secret_is_in_what_is_shown_told_or_failed_with() {
    const SECRET: &str = "secret-17";
    let authority = Authority::new();
    let (server, port, _files) = authority.server("localhost");
    let limits = cmd("CONFIG")
        .arg("SET")
        .arg("requirepass")
        .arg("another")
        .exec(&mut server.plain());
    limits.expect("it is set");
    let heard = Heard::default();
    let mut shown = Vec::new();
    let address = format!("rediss://guest:{SECRET}@localhost:{port}");
    for is_provided in [false, true] {
        let commands = Policy::default().builder().observer(heard.clone()).build();
        let mut builder = Builder::new(&address).expect("an address");
        builder = builder
            .tls(authority.trusted())
            .commands(commands.expect("a valid policy"));
        if is_provided {
            builder = builder.credentials(|_| async {
                let login = Credentials::of("guest", SECRET);
                Ok::<_, std::io::Error>(login)
            });
        }
        shown.push(format!("{builder:?}"));
        let mut redis = builder.build().expect("valid settings");
        let refused: RedisResult<u64> = redis.incr("visits", 1).await;
        let error = refused.expect_err("the login is wrong");
        assert!(error.to_string().contains("WRONGPASS"), "{error}");
        let mut sources = std::error::Error::source(&error);
        while let Some(source) = sources {
            shown.push(format!("{source} {source:?}"));
            sources = source.source();
        }
        shown.push(format!(
            "{error} {error:?} {redis:?} {:?}",
            redis.dedicated().await
        ));
    }
    for wrong in ["localhost:port", "localhost:99999", "local host", ":0:0"] {
        let refused = Connection::open(&format!("rediss://guest:{SECRET}@{wrong}"));
        if let Err(error) = &refused {
            shown.push(format!("{error}"));
        }
        shown.push(format!("{refused:?}"));
    }
    shown.push(format!("{:?}", Credentials::password(SECRET)));
    shown.extend(heard.0.lock().expect("unpoisoned").clone());
    let shown = shown.join("\n");
    assert!(
        shown.contains("WRONGPASS") && shown.contains("Stopped"),
        "{shown}"
    );
    assert!(!shown.contains(SECRET), "{shown}");
}
