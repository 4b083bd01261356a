//! Do sockets that read nothing, or that drip what they send, take the places of all others?
//!
//! Over real sockets of loopback, in the time of the machine: what is asserted is who was answered. `scripts/prove deaf` prints
//! how long it took.

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use becalm::Bulkhead;
use becalm::throttle::Priority;
use becalm::time::TokioSleeper;
use becalm_tower::server::{AdmissionLayer, ArrivingBody};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::client::conn::http1;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, Sleep, interval, sleep, sleep_until, timeout};
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

/// A body whose pieces are sent by the test.
struct Fed(mpsc::UnboundedReceiver<&'static [u8]>);

impl Body for Fed {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = self.0.poll_recv(context);
        piece.map(|piece| piece.map(|piece| Ok(Frame::data(Bytes::from_static(piece)))))
    }
}

fn fed(work: u64) -> (mpsc::UnboundedSender<&'static [u8]>, Request<Fed>) {
    let (sends, body) = mpsc::unbounded_channel();
    let request = Request::post(format!("/{work}")).body(Fed(body));
    (sends, request.expect("valid"))
}

fn work(request: &Request<ArrivingBody<Fed>>) -> Duration {
    Duration::from_millis(request.uri().path()[1..].parse().expect("millis"))
}

fn one_place() -> AdmissionLayer {
    let layer = AdmissionLayer::new(Bulkhead::calls(1).waiting(8)).expect("valid");
    layer.clock(TokioSleeper::new())
}

/// As in a proxy, another task reads the body, and the head of the answer comes meanwhile.
#[tokio::test(start_paused = true)]
async fn a_body_that_waits_for_its_place_when_the_head_comes_keeps_none() {
    for goes_on in [true, false] {
        let (layer, read) = (one_place(), Arc::new(AtomicUsize::new(0)));
        let counted = Arc::clone(&read);
        let service = layer.layer(service_fn(move |request: Request<ArrivingBody<Fed>>| {
            let (work, read) = (work(&request), Arc::clone(&counted));
            let body = request.into_body();
            let reads = async move {
                let mut body = body;
                while body.frame().await.is_some() {
                    read.fetch_add(1, Ordering::SeqCst);
                }
            };
            async move {
                let over = Instant::now() + work;
                if goes_on {
                    tokio::spawn(reads);
                } else {
                    // It is not polled after that, and is never dropped.
                    let mut reads = Box::pin(reads);
                    let _ = timeout(work, &mut reads).await;
                    std::mem::forget(reads);
                }
                sleep_until(over).await;
                Ok::<_, Infallible>(Response::new(Full::<Bytes>::default()))
            }
        }));
        let (sends, request) = fed(400);
        let streams = tokio::spawn(service.clone().oneshot(request));
        sleep(Duration::from_millis(150)).await;
        assert_eq!(layer.running(), 0, "lent");
        // Has the place from 150 to 650 ms.
        let (none, request) = fed(500);
        let other = tokio::spawn(service.clone().oneshot(request));
        drop(none);
        sleep(Duration::from_millis(50)).await;
        sends.send(b"1").expect("read");
        let answer = streams.await.expect("no panic").expect("infallible");
        assert_eq!(answer.status(), 200);
        sleep(Duration::from_millis(1)).await;
        // It needs no place any more, and goes on.
        assert_eq!(read.load(Ordering::SeqCst) > 0, goes_on);
        let answer = other.await.expect("no panic").expect("infallible");
        assert_eq!(answer.status(), 200);
        sleep(Duration::from_secs(60)).await;
        assert_eq!((layer.running(), layer.waiting()), (0, 0), "{goes_on}");
        drop(sends);
    }
}

/// The place that was handed to it, and that it had not fetched when its head came, is that of its answer's body.
#[tokio::test(start_paused = true)]
async fn an_answer_that_holds_its_place_holds_the_one_that_was_handed_to_its_request() {
    let layer = one_place().hold_bodies();
    let service = layer.layer(service_fn(
        |request: Request<ArrivingBody<Fed>>| async move {
            let over = Instant::now() + work(&request);
            // It is not polled after that.
            let mut reads = Box::pin(request.into_body().collect());
            let _ = timeout(Duration::from_millis(250), &mut reads).await;
            sleep_until(over).await;
            drop(reads);
            Ok::<_, Infallible>(Response::new(Full::<Bytes>::default()))
        },
    ));
    let (sends, request) = fed(1000);
    let streams = tokio::spawn(service.clone().oneshot(request));
    sleep(Duration::from_millis(150)).await;
    assert_eq!(layer.running(), 0, "lent");
    // Has the place from 150 to 650 ms.
    let (none, request) = fed(500);
    let other = tokio::spawn(service.clone().oneshot(request));
    drop(none);
    sleep(Duration::from_millis(50)).await;
    sends.send(b"1").expect("read");
    drop(other.await.expect("no panic").expect("infallible"));
    let answer = streams.await.expect("no panic").expect("infallible");
    assert_eq!((answer.status().as_u16(), layer.running()), (200, 1));
    drop(answer);
    assert_eq!((layer.running(), layer.waiting()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_silent_client_is_not_shed_for_want_of_a_place() {
    let layer = one_place();
    // It does something else every 50 ms while it waits for its client.
    let service = layer.layer(service_fn(
        |request: Request<ArrivingBody<Fed>>| async move {
            let work = work(&request);
            let (mut body, mut every) = (request.into_body(), interval(Duration::from_millis(50)));
            loop {
                tokio::select! {
                    frame = body.frame() => if frame.is_none() { break },
                    _ = every.tick() => (),
                }
            }
            sleep(work).await;
            Ok::<_, Infallible>(Response::new(Full::<Bytes>::default()))
        },
    ));
    let (sends, request) = fed(1);
    let silent = tokio::spawn(service.clone().oneshot(request));
    sleep(Duration::from_millis(120)).await;
    let (none, request) = fed(3000);
    drop(none);
    let other = tokio::spawn(service.clone().oneshot(request));
    sleep(Duration::from_secs(2)).await;
    assert_eq!((layer.running(), layer.waiting()), (1, 0));
    sleep(Duration::from_millis(1500)).await;
    drop(sends);
    for asked in [silent, other] {
        let answer = asked.await.expect("no panic").expect("infallible");
        assert_eq!(answer.status(), 200);
    }
}

#[tokio::test(start_paused = true)]
async fn half_a_body_makes_no_request_more_critical() {
    let layer = one_place().interval(Duration::from_secs(1));
    let layer = layer.priority(|head| match head.method.as_str() {
        "POST" => Priority::Sheddable,
        _ => Priority::Critical,
    });
    let order = Arc::new(Mutex::new(Vec::new()));
    let done = Arc::clone(&order);
    let service = layer.layer(service_fn(move |request: Request<ArrivingBody<Fed>>| {
        let done = Arc::clone(&done);
        async move {
            let (work, method) = (work(&request), request.method().clone());
            let body = request.into_body().collect().await;
            let came = body.expect("infallible").to_bytes();
            done.lock().expect("no panic").push((method, came));
            sleep(work).await;
            Ok::<_, Infallible>(Response::new(Full::<Bytes>::default()))
        }
    }));
    let (sends, sheddable) = fed(1);
    let sheddable = tokio::spawn(service.clone().oneshot(sheddable));
    sends.send(b"half").expect("read");
    sleep(Duration::from_millis(150)).await;
    let get = |work| {
        let (_, mut request) = fed(work);
        *request.method_mut() = Method::GET;
        tokio::spawn(service.clone().oneshot(request))
    };
    let runs = get(200);
    sleep(Duration::from_millis(10)).await;
    sends.send(b" a body").expect("read");
    drop(sends);
    sleep(Duration::from_millis(10)).await;
    let waits = get(1);
    for asked in [runs, waits, sheddable] {
        let answer = asked.await.expect("no panic").expect("infallible");
        assert_eq!(answer.status(), 200);
    }
    let order = std::mem::take(&mut *order.lock().expect("no panic"));
    let [(Method::GET, _), (Method::GET, _), (Method::POST, body)] = &order[..] else {
        panic!("{order:?}");
    };
    assert_eq!(body, "half a body");
}
