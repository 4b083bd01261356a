//! Do sockets that read nothing, or that drip what they send, take the places of all others?
//!
//! Over real sockets of loopback, in the time of the machine: what is asserted is who was answered. `scripts/prove deaf` prints
//! how long it took.

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use becalm::Bulkhead;
use becalm::time::TokioSleeper;
use becalm_tower::server::{AdmissionLayer, ArrivingBody};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::client::conn::http1;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, Sleep, interval, sleep};
use tower::{Layer, ServiceExt, service_fn};

use crate::within;

/// How many may run at once.
const PLACES: u32 = 10;
/// How long it takes to work on a request.
const WORK: Duration = Duration::from_millis(5);

/// What holds the places.
#[derive(Debug, Clone, Copy)]
enum Peers {
    /// Ask for 64 MiB and read nothing.
    Deaf,
    /// Send a POST byte by byte.
    Drip,
    /// Send half a POST, and nothing more.
    Half,
}

/// Serves on a port of loopback, as long as what it returns lives. `/large` answers with more than a socket takes.
async fn serve() -> (u16, JoinSet<()>) {
    let layer = AdmissionLayer::new(Bulkhead::calls(PLACES).waiting(64)).expect("valid");
    // A busy machine sheds nobody: whoever is shed found no place at all.
    let layer = layer
        .target(Duration::from_secs(1))
        .interval(Duration::from_secs(1));
    let service = layer.layer(service_fn(
        |request: Request<ArrivingBody<Incoming>>| async {
            let is_large = request.uri().path() == "/large";
            let _ = request.into_body().collect().await;
            sleep(WORK).await;
            let frames = if is_large { 1024 } else { 1 };
            Ok::<_, Infallible>(Response::new(Frames(frames)))
        },
    ));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
    let listener = listener.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let mut server = JoinSet::new();
    server.spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            let service = TowerToHyperService::new(service.clone());
            let http = hyper::server::conn::http1::Builder::new();
            let connection = http.serve_connection(TokioIo::new(stream), service);
            connections.spawn(async move { drop(connection.await) });
        }
    });
    (port, server)
}

static FRAME: &[u8] = &[7; 64 << 10];

/// So many frames of 64 KiB.
struct Frames(usize);

impl Body for Frames {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let frame = Frame::data(Bytes::from_static(FRAME));
        let left = self.0.checked_sub(1);
        self.0 = left.unwrap_or_default();
        Poll::Ready(left.map(|_| Ok(frame)))
    }
}

async fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await;
    stream.expect("the server listens")
}

/// A socket that behaves so until it is dropped.
async fn peer(port: u16, peers: Peers) {
    let mut stream = connect(port).await;
    let large = "GET /large HTTP/1.1\r\nhost: a\r\n\r\n";
    let order = "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 100000\r\n\r\n";
    let head = if matches!(peers, Peers::Deaf) {
        large
    } else {
        order
    };
    stream.write_all(head.as_bytes()).await.expect("connected");
    if matches!(peers, Peers::Drip) {
        loop {
            sleep(Duration::from_millis(20)).await;
            if stream.write_all(b"7").await.is_err() {
                break;
            }
        }
    }
    if matches!(peers, Peers::Half) {
        let half = vec![7; 50_000];
        stream.write_all(&half).await.expect("connected");
    }
    std::future::pending::<()>().await;
}

/// One request of somebody else: its status, and how long it took.
async fn ask(port: u16) -> (u16, Duration) {
    let start = Instant::now();
    let io = TokioIo::new(connect(port).await);
    let (mut client, connection) = http1::handshake(io).await.expect("connected");
    let mut connections = JoinSet::new();
    connections.spawn(async move { connection.await.unwrap_or_default() });
    let request = Request::post("/").body(Full::<Bytes>::from("17 EUR"));
    let answer = client.send_request(request.expect("valid")).await;
    let (head, body) = answer.expect("an answer").into_parts();
    body.collect().await.expect("all of it");
    (head.status.as_u16(), start.elapsed())
}

/// How many of 200 requests of others are not answered beside so many of these sockets, and the median of the time that they take.
async fn beside(peers: Peers, sockets: u32) -> (usize, Duration) {
    let (port, _server) = serve().await;
    let mut others = JoinSet::new();
    for _ in 0..sockets {
        others.spawn(peer(port, peers));
    }
    // Those that drip use up the time for which they keep their place.
    sleep(Duration::from_millis(200) + Duration::from_millis(15) * sockets).await;
    let (mut asked, mut every) = (JoinSet::new(), interval(Duration::from_millis(10)));
    for _ in 0..200 {
        every.tick().await;
        asked.spawn(ask(port));
    }
    let answers = within(asked.join_all()).await;
    let refused = answers.iter().filter(|(status, _)| *status != 200).count();
    let mut took: Vec<_> = answers.iter().map(|(_, took)| *took).collect();
    took.sort_unstable();
    (refused, took[took.len() / 2])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deaf_and_dripping_sockets_take_no_places() {
    for peers in [Peers::Deaf, Peers::Drip, Peers::Half] {
        let (refused, _) = beside(peers, 20).await;
        assert_eq!(refused, 0, "{peers:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "in the time of the machine, by hand: scripts/prove deaf"]
async fn in_full() {
    let (_, alone) = beside(Peers::Deaf, 0).await;
    println!("alone: median {alone:?}");
    for peers in [Peers::Deaf, Peers::Drip, Peers::Half] {
        for sockets in [20, 200] {
            let (refused, median) = beside(peers, sockets).await;
            let ratio = median.as_secs_f64() / alone.as_secs_f64();
            println!(
                "{sockets} x {peers:?}: {refused} of 200 shed, median {median:?}, {ratio:.2} x"
            );
            assert_eq!(refused, 0);
            assert!(ratio <= 2.0, "{ratio}");
        }
    }
}

/// A body that comes after a while.
struct Later(Pin<Box<Sleep>>);

impl Body for Later {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.as_mut().poll(context).map(|()| None)
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_client_lends_its_place_and_is_next_when_it_sends() {
    // How long others have the place, and what becomes of the request whose client was silent for 300 ms.
    for (others_take, status, ends) in [(0, 200, 301), (500, 200, 611), (5000, 503, 1300)] {
        let layer = AdmissionLayer::new(Bulkhead::calls(1)).expect("valid");
        let layer = layer.clock(TokioSleeper::new());
        let service = layer.layer(service_fn(
            |request: Request<ArrivingBody<Later>>| async move {
                let work: u64 = request.uri().path()[1..].parse().expect("millis");
                let _ = request.into_body().collect().await;
                sleep(Duration::from_millis(work)).await;
                Ok::<_, Infallible>(Response::new(Full::<Bytes>::default()))
            },
        ));
        let ask = |comes: u64, work: u64| {
            let body = Later(Box::pin(sleep(Duration::from_millis(comes))));
            let request = Request::post(format!("/{work}")).body(body);
            service.clone().oneshot(request.expect("valid"))
        };
        let start = Instant::now();
        let silent = tokio::spawn(ask(300, 1));
        sleep(Duration::from_millis(50)).await;
        // It has the place as yet.
        assert_eq!(ask(0, 0).await.expect("infallible").status(), 503);
        sleep(Duration::from_millis(60)).await;
        assert_eq!(layer.running(), 0);
        let other = tokio::spawn(ask(0, others_take));
        let silent = silent.await.expect("no panic").expect("infallible");
        let took = start.elapsed().as_millis();
        assert_eq!(silent.status(), status);
        // Where there is no queue, it asks every 10 ms.
        assert!((ends..=ends + 15).contains(&took), "{took}");
        let other = other.await.expect("no panic").expect("infallible");
        assert_eq!((other.status().as_u16(), layer.running()), (200, 0));
    }
}
