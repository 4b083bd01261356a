//! Does a browser keep the appointment that it is given, and hear what a drain says? Chromium, without a word of its own about
//! reconnecting.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::response::{Html, Response};
use axum::routing::{any, get, post};
use becalm_admission::{Admission, TicketKeys};
use becalm_ws::server::{Drain, Listener, Peer, Server, Settings, Upgrade};
use futures_util::{SinkExt, StreamExt};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::servers::is_installed;
use crate::within;

/// A browser with a page, and all of its processes. It ends with its test.
struct Browser {
    process: Child,
    _profile: TempDir,
}

impl Browser {
    fn open(page: &str) -> Self {
        let profile = TempDir::new().expect("a directory");
        let mut chromium = Command::new("chromium");
        chromium
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
            ])
            .args([
                "--no-first-run",
                "--disable-background-networking",
                "--disable-sync",
            ])
            .args(["--disable-component-update", "--disable-dev-shm-usage"])
            .arg("--remote-debugging-port=0")
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg(page)
            .env("HOME", profile.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0);
        Self {
            process: chromium.spawn().expect("it runs"),
            _profile: profile,
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let group = format!("-{}", self.process.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
        let _ = self.process.wait();
    }
}

/// Serves the page, and hands on what it says.
async fn page(says: UnboundedSender<String>) -> u16 {
    let said = async |State(says): State<UnboundedSender<String>>, line: String| {
        let _ = says.send(line);
    };
    let routes = Router::new()
        .route("/", get(async || Html(include_str!("servers/page.html"))))
        .route("/said", post(said))
        .with_state(says);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    tokio::spawn(async move { axum::serve(listener, routes).await });
    port
}

async fn echo(upgrade: Upgrade) -> Response {
    upgrade.on_upgrade(async |mut socket| {
        socket.ready();
        while let Some(Ok(message)) = socket.next().await {
            if message.is_text() && socket.send(message).await.is_err() {
                break;
            }
        }
    })
}

async fn chat(server: Server, listener: Listener) {
    let routes = Router::new()
        .route("/chat", any(echo))
        .layer(server.layer());
    let routes = routes.into_make_service_with_connect_info::<Peer>();
    let serving = axum::serve(listener, routes).with_graceful_shutdown(server.stopped());
    serving.await.expect("it serves");
}

async fn next(said: &mut UnboundedReceiver<String>) -> String {
    within(said.recv()).await.expect("the page goes on")
}

#[tokio::test]
async fn chromium_keeps_its_appointment_and_hears_of_a_drain() {
    if !is_installed("chromium", "Debian's chromium") {
        return;
    }
    // Who comes right behind another has a place of its own, two seconds later.
    let admission = Admission::per_second(1)
        .per(Duration::from_secs(2))
        .burst(1);
    let settings = Settings::new(admission.patience(Duration::from_secs(1)));
    let keys = TicketKeys::new(1, &[7; 32]).expect("a key");
    let server = settings.tickets(keys).server().expect("valid settings");
    let listener = server.listen("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    tokio::spawn(chat(server.clone(), listener));
    let (says, mut said) = unbounded_channel();
    let address = format!("http://127.0.0.1:{}/#{port}", page(says).await);
    let _browser = Browser::open(&address);

    assert_eq!(next(&mut said).await, "heard first");
    let refused = next(&mut said).await;
    assert!(
        refused.starts_with("second 1013 retry-after-ms="),
        "{refused}"
    );
    assert!(refused.contains("; ticket="), "{refused}");
    assert_eq!(next(&mut said).await, "heard second");
    let admitted = server.metrics().admission;
    assert_eq!(
        (admitted.ticket, admitted.reject_rate),
        (1, 1),
        "{admitted:?}"
    );

    let drain = Drain::per_second(1_000).notice(Duration::ZERO);
    let drained = within(server.drain(drain)).await;
    assert_eq!((drained.ended, drained.left), (2, 0));
    for _ in 0..2 {
        let closed = next(&mut said).await;
        assert!(closed.contains(" 1012 retry-after-ms="), "{closed}");
    }
}
