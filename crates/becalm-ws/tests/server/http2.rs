//! Does a connection of HTTP/2 hold its place while it is idle? For a minute.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use axum::routing::get;
use becalm::time::FakeSleeper;
use becalm_ws::server::Server;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tower_service::Service;

use crate::servers::open;
use crate::within;

const SETTLES: Duration = Duration::from_millis(100);

async fn serve(server: Server, mut listener: becalm_ws::server::Listener, routes: Router) {
    while let Some(accepted) = listener.accept().await {
        let (peer, server, routes) = (accepted.peer().clone(), server.clone(), routes.clone());
        let service = hyper::service::service_fn(move |request| {
            server.service(&peer, routes.clone()).call(request)
        });
        let builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
        tokio::spawn(builder.serve_connection(TokioIo::new(accepted), service));
    }
}

async fn client_of(address: std::net::SocketAddr) -> (SendRequest<Body>, JoinHandle<()>) {
    let stream = TcpStream::connect(address).await.expect("it listens");
    let opens = handshake(TokioExecutor::new(), TokioIo::new(stream));
    let (sends, connection) = opens.await.expect("it speaks HTTP/2");
    let ends = tokio::spawn(async move {
        let _ = connection.await;
    });
    (sends, ends)
}

async fn status(sends: &mut SendRequest<Body>, target: &str) -> u16 {
    let request = Request::get(format!("http://x{target}")).body(Body::empty());
    let answer = sends.send_request(request.expect("a request")).await;
    answer.map_or(0, |answer| answer.status().as_u16())
}

#[tokio::test]
async fn one_that_is_idle_ends_after_a_minute_and_one_that_works_does_not() {
    let clock = FakeSleeper::new();
    let settings = open().connections(1).sleeper(clock.clone());
    let server = settings.server().expect("valid");
    let listener = server.listen("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let answers = Arc::new(Notify::new());
    let waits = Arc::clone(&answers);
    let slow = get(move || async move {
        waits.notified().await;
        "slow"
    });
    let routes = Router::new()
        .route("/health", get("well"))
        .route("/slow", slow);
    tokio::spawn(serve(server, listener, routes));

    let (mut first, ended) = client_of(address).await;
    assert_eq!(within(status(&mut first, "/health")).await, 200);
    let minute = async |seconds: u64| {
        sleep(SETTLES).await;
        clock.advance(Duration::from_secs(seconds));
        sleep(SETTLES).await;
    };
    // A request in between: it is not idle for a minute.
    for _ in 0..3 {
        minute(40).await;
        assert_eq!(within(status(&mut first, "/health")).await, 200);
    }
    let mut clone = first.clone();
    let asked = tokio::spawn(async move { status(&mut clone, "/slow").await });
    for _ in 0..4 {
        minute(61).await;
    }
    assert!(!ended.is_finished(), "a request waits for its answer");
    answers.notify_one();
    assert_eq!(within(asked).await.expect("no panic"), 200);

    // The next has no place until this one is idle for a minute.
    let next = tokio::spawn(async move {
        let (mut next, _ended) = client_of(address).await;
        status(&mut next, "/health").await
    });
    minute(40).await;
    assert!(!ended.is_finished() && !next.is_finished());
    minute(61).await;
    within(ended).await.expect("no panic");
    assert_eq!(within(next).await.expect("no panic"), 200);
}

/// It asks for more than it reads, and pings, so that the server has something to write before it reads on.
#[tokio::test]
async fn one_that_reads_nothing_ends_after_a_minute() {
    let clock = FakeSleeper::new();
    let settings = open().connections(1).sleeper(clock.clone());
    let server = settings.server().expect("valid");
    let listener = server.listen("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let routes = Router::new().route("/flood", get(|| async { vec![b'x'; 64 << 20] }));
    tokio::spawn(serve(server, listener, routes));
    let mut client = TcpStream::connect(address).await.expect("it listens");
    let mut says = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    let mut frame = |kind: u8, flags: u8, stream: u8, payload: &[u8]| {
        let length = u8::try_from(payload.len()).expect("short");
        says.extend([0, 0, length, kind, flags, 0, 0, 0, stream]);
        says.extend(payload);
    };
    let window = [0x7f, 0xff, 0, 0];
    // SETTINGS with INITIAL_WINDOW_SIZE, WINDOW_UPDATE of the connection.
    frame(4, 0, 0, &[&[0, 4], &window[..]].concat());
    frame(8, 0, 0, &window);
    // HEADERS, the last of its stream: GET, http, a path, an authority.
    frame(1, 5, 1, b"\x82\x86\x44\x06/flood\x41\x01x");
    client.write_all(&says).await.expect("it reads");
    sleep(SETTLES).await;
    // PING.
    let ping = [0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1];
    client.write_all(&ping.repeat(10)).await.expect("it reads");
    for _ in 0..3 {
        sleep(SETTLES).await;
        clock.advance(Duration::from_secs(61));
    }
    let (mut next, _ended) = client_of(address).await;
    assert_eq!(within(status(&mut next, "/flood")).await, 200);
}
