//! Does a listener go on where a layer stands in a wrong place, and is it told what to write?

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use axum::extract::ws::{Message, WebSocketUpgrade};
use axum::response::Response;
use axum::routing::{any, get};
use becalm::support::HasPlace;
use becalm::time::FakeSleeper;
use becalm_admission::Admission;
use becalm_ws::server::{Misplaced, Peer, Server, Settings, Upgrade};
use futures_util::{SinkExt, StreamExt};
use std::future::IntoFuture;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

use crate::servers::{echo, open, request};
use crate::{until, within};

const DEADLINE: Duration = Duration::from_millis(300);

/// Two handshakes at once, of a deadline that a test can wait for.
fn narrow() -> Settings {
    open().handshakes(2, 2, DEADLINE)
}

fn routes() -> Router {
    Router::new()
        .route("/", any(upgraded))
        .route("/pushed", any(pushed))
        .route("/slow", get(slow))
        .route("/health", get("well"))
        .route("/events", get(events))
        .route("/flood", get(flood))
}

async fn upgraded(upgrade: Upgrade) -> Response {
    upgrade.on_upgrade(|socket| async move {
        socket.ready();
        echo(socket).await;
    })
}

/// It only sends, so that nobody reads its connection.
async fn pushed(upgrade: WebSocketUpgrade) -> Response {
    upgrade.on_upgrade(async |mut socket| {
        while socket.send(Message::Text("x".into())).await.is_ok() {
            sleep(Duration::from_millis(50)).await;
        }
    })
}

/// It answers after the deadline of handshakes.
async fn slow() -> &'static str {
    sleep(DEADLINE * 3).await;
    "slow"
}

/// How its routes are served.
enum Served {
    /// `/pushed`, `/slow` and `/health` are added after the layer.
    Outside,
    /// Without a layer.
    Bare,
    /// With the layer, without the peer.
    NoPeer,
    Twice,
    /// By the layer of another server.
    Other(Server),
    /// In a place of another layer.
    InPlace,
    Made,
}

async fn start(settings: Settings, how: Served) -> (Server, SocketAddr) {
    let server = settings.server().expect("valid");
    let listener = server.listen("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let (clone, mut outside) = (server.clone(), routes());
    tokio::spawn(async move {
        let server = clone;
        let of = |layer: &Server| routes().layer(layer.layer());
        let app = match how {
            Served::Made => {
                let made = server.make_service(routes());
                return axum::serve(listener, made).await;
            }
            Served::NoPeer => {
                let app = of(&server).into_make_service();
                return axum::serve(listener, app).await;
            }
            Served::Outside => {
                let inside = Router::new().route("/in", any(upgraded));
                outside = outside.merge(inside.layer(server.layer()));
                outside
            }
            Served::Bare => outside,
            Served::Twice => of(&server).layer(server.layer()),
            Served::Other(other) => of(&other),
            Served::InPlace => {
                let place = |mut request: axum::extract::Request| async {
                    let place = HasPlace(Arc::new(()));
                    request.extensions_mut().insert(place);
                    request
                };
                of(&server).layer(axum::middleware::map_request(place))
            }
        };
        let app = app.into_make_service_with_connect_info::<Peer>();
        axum::serve(listener, app).await
    });
    (server, address)
}

/// The whole answer to an upgrade.
async fn asks(address: SocketAddr, target: &str) -> String {
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    let asked = request(target, "");
    stream.write_all(asked.as_bytes()).await.expect("it reads");
    let mut answer = Vec::new();
    // A refused upgrade may end with a reset.
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8(answer).expect("a text")
}

async fn gets(address: SocketAddr, target: &str) -> String {
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    let head = format!("GET {target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await.expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("an answer");
    answer
}

/// Says something and hears it.
async fn talks(address: SocketAddr, target: &str) {
    let uri = format!("ws://{address}{target}");
    let stream = TcpStream::connect(address).await.expect("it listens");
    let (mut socket, _) = tokio_tungstenite::client_async(uri, stream)
        .await
        .expect("it is admitted");
    socket.send("hello".into()).await.expect("it reads");
    let heard = socket.next().await.expect("an answer").expect("whole");
    assert_eq!(heard.to_text().expect("a text"), "hello");
}

fn told(server: &Server) -> Vec<(Misplaced, u64)> {
    server.metrics().misplaced.into_iter().collect()
}

#[tokio::test]
async fn websockets_outside_of_the_layer_are_refused_by_a_sentence_and_stop_nobody() {
    for served in [Served::Outside, Served::Bare, Served::NoPeer] {
        let is_outside = matches!(served, Served::Outside);
        let (server, address) = start(narrow(), served).await;
        for _ in 0..9 {
            let answer = within(asks(address, "/pushed")).await;
            assert!(answer.starts_with("HTTP/1.1 500 "), "{answer}");
            assert!(
                answer.ends_with(&Misplaced::Unadmitted.to_string()),
                "{answer}"
            );
        }
        assert_eq!(server.metrics().misplaced[&Misplaced::Unadmitted], 9);
        let metrics = server.metrics().to_string();
        assert!(
            metrics.contains("ws_misplaced_total{why=\"unadmitted\"} 9\n"),
            "{metrics}"
        );
        assert_eq!(server.metrics().handshakes_in_flight, 0);
        if is_outside {
            within(talks(address, "/in")).await;
        }
    }
}

#[tokio::test]
async fn answers_outside_of_the_layer_take_their_time_and_keep_nobody_out() {
    let (server, address) = start(narrow(), Served::Outside).await;
    let slow: Vec<_> = (0..9)
        .map(|_| tokio::spawn(gets(address, "/slow")))
        .collect();
    within(talks(address, "/in")).await;
    for answer in slow {
        let answer = within(answer).await.expect("no panic");
        assert!(answer.ends_with("slow"), "{answer}");
    }
    assert!(told(&server).is_empty());
    assert_eq!(server.metrics().admission.reject_age, 0);
}

/// One that waits for its next request has a minute, and one that is worked on has as long as that takes.
#[tokio::test]
async fn a_long_poll_outside_of_the_layer_takes_its_time_in_a_later_request_too() {
    let clock = FakeSleeper::new();
    let settings = narrow().sleeper(clock.clone());
    let (_server, address) = start(settings, Served::Bare).await;
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    let mut said = String::new();
    for (target, end) in [("/health", "well"), ("/slow", "slow"), ("/slow", "slow")] {
        let head = format!("GET {target} HTTP/1.1\r\nhost: x\r\n\r\n");
        stream.write_all(head.as_bytes()).await.expect("it reads");
        sleep(DEADLINE).await;
        if end == "slow" {
            clock.advance(Duration::from_secs(61));
        }
        said.clear();
        while !said.ends_with(end) {
            said.push(within(stream.read_u8()).await.expect("an answer").into());
        }
    }
    sleep(DEADLINE).await;
    clock.advance(Duration::from_secs(61));
    assert!(within(stream.read_u8()).await.is_err());
}

/// Events that are silent: the client reads, and the handler has more to say. Nothing more is said of one that has ended.
#[tokio::test]
async fn events_outside_of_the_layer_may_be_silent_and_are_not_kept_for_who_does_not_read() {
    let clock = FakeSleeper::new();
    let settings = narrow().sleeper(clock.clone());
    let (_server, address) = start(settings, Served::Bare).await;
    let asks = async |target: &str| {
        let mut stream = TcpStream::connect(address).await.expect("it listens");
        let head = format!("GET {target} HTTP/1.1\r\nhost: x\r\n\r\n");
        stream.write_all(head.as_bytes()).await.expect("it reads");
        stream
    };
    let minutes = async |count: usize| {
        for _ in 0..count {
            sleep(DEADLINE / 3).await;
            clock.advance(Duration::from_secs(61));
        }
        sleep(DEADLINE / 3).await;
    };
    let hears = async |stream: &mut TcpStream, end: &str| {
        let mut said = String::new();
        while !said.ends_with(end) {
            said.push(within(stream.read_u8()).await.expect("more").into());
        }
    };
    let said = Arc::new(tokio::sync::Notify::new());
    *SAYS.lock().unwrap() = Some(Arc::clone(&said));
    let mut events = asks("/events").await;
    hears(&mut events, "data: 0\n\n\r\n").await;
    minutes(3).await;
    said.notify_one();
    hears(&mut events, "data: 1\n\n\r\n").await;
    minutes(3).await;
    // It ends, and waits for its next request.
    said.notify_one();
    hears(&mut events, "0\r\n\r\n").await;
    minutes(1).await;
    assert!(within(events.read_u8()).await.is_err());

    let _reads_nothing = asks("/flood").await;
    until(|| FLOODS.load(Ordering::SeqCst) == 1).await;
    sleep(DEADLINE).await;
    minutes(1).await;
    until(|| FLOODS.load(Ordering::SeqCst) == 0).await;
}

/// What has the events say one more, and end.
static SAYS: Mutex<Option<Arc<tokio::sync::Notify>>> = Mutex::new(None);
static FLOODS: AtomicUsize = AtomicUsize::new(0);

/// Two events, and the end, each when it is to be said.
async fn events() -> Response {
    let says = SAYS.lock().unwrap().clone().expect("a test");
    let events = futures_util::stream::unfold(0, move |number| {
        let says = Arc::clone(&says);
        async move {
            if number > 0 {
                says.notified().await;
            }
            let event = format!("data: {number}\n\n");
            (number < 2).then_some((Ok::<_, std::io::Error>(event), number + 1))
        }
    });
    let body = axum::body::Body::from_stream(events);
    Response::builder()
        .header("content-type", "text/event-stream")
        .body(body)
        .expect("an answer")
}

/// More than a client takes that does not read.
async fn flood() -> Response {
    struct Flood;
    impl Drop for Flood {
        fn drop(&mut self) {
            FLOODS.fetch_sub(1, Ordering::SeqCst);
        }
    }
    FLOODS.fetch_add(1, Ordering::SeqCst);
    let floods = futures_util::stream::unfold(Flood, |flood| async move {
        Some((Ok::<_, std::io::Error>(vec![b'x'; 65_536]), flood))
    });
    Response::new(axum::body::Body::from_stream(floods))
}

/// A connection may be used for HTTP outside of the layer first.
#[tokio::test]
async fn an_upgrade_in_a_later_request_is_admitted_or_refused_as_one_in_the_first() {
    let (server, address) = start(narrow(), Served::Outside).await;
    for (target, status) in [("/in", "HTTP/1.1 101 "), ("/pushed", "HTTP/1.1 500 ")] {
        let mut stream = TcpStream::connect(address).await.expect("it listens");
        for head in [
            "GET /health HTTP/1.1\r\nhost: x\r\n\r\n".to_owned(),
            request(target, ""),
        ] {
            stream.write_all(head.as_bytes()).await.expect("it reads");
            let end = if head.contains(target) {
                "\r\n\r\n"
            } else {
                "well"
            };
            let mut said = String::new();
            while !said.ends_with(end) {
                said.push(within(stream.read_u8()).await.expect("an answer").into());
            }
            let expected = if end == "well" {
                "HTTP/1.1 200 "
            } else {
                status
            };
            assert!(said.starts_with(expected), "{said}");
        }
    }
    assert_eq!(told(&server), [(Misplaced::Unadmitted, 1)]);
    assert_eq!(server.metrics().admission.admit, 1);
    until(|| server.metrics().handshakes_in_flight == 0).await;
}

#[tokio::test]
async fn a_loop_that_asks_for_no_handshake_goes_on_and_is_told() {
    let server = narrow().server().expect("valid");
    let mut listener = server.listen("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Some(connection) = listener.accept().await {
            tokio::spawn(async move {
                if let Ok(socket) = tokio_tungstenite::accept_async(connection).await {
                    sleep(DEADLINE * 2).await;
                    echo(socket).await;
                }
            });
        }
    });
    within(async { futures_util::future::join_all((0..9).map(|_| talks(address, "/"))).await })
        .await;
    assert_eq!(told(&server), [(Misplaced::Unadmitted, 9)]);
}

#[tokio::test]
async fn who_holds_a_connection_without_a_word_keeps_its_place_up_to_the_deadline() {
    let server = open().handshakes(1, 1, DEADLINE).server().expect("valid");
    let mut listener = server.listen("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let _clients = [(); 2].map(|()| std::net::TcpStream::connect(address).expect("it listens"));
    let held = within(listener.accept()).await;
    let next = within(listener.accept()).await;
    assert!(held.is_some() && next.is_some());
}

#[tokio::test]
async fn a_layer_inside_of_one_of_the_same_server_does_nothing() {
    let (server, address) = start(narrow(), Served::Twice).await;
    for _ in 0..3 {
        within(talks(address, "/")).await;
    }
    let metrics = server.metrics();
    assert_eq!(metrics.admission.admit, 3);
    assert!(told(&server).is_empty());
}

#[tokio::test]
async fn what_does_its_work_by_halves_is_told() {
    let other = open().server().expect("valid");
    let (_, address) = start(narrow(), Served::Other(other.clone())).await;
    within(talks(address, "/")).await;
    assert_eq!(told(&other), [(Misplaced::OtherServer, 1)]);

    let (server, address) = start(narrow(), Served::InPlace).await;
    within(talks(address, "/")).await;
    assert_eq!(told(&server), [(Misplaced::InsidePlace, 1)]);

    let server = Settings::new(Admission::per_second(100))
        .server()
        .expect("valid");
    let tcp = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = tcp.local_addr().expect("an address");
    let app = routes().layer(server.layer());
    tokio::spawn(axum::serve(tcp, app.into_make_service()).into_future());
    within(talks(address, "/")).await;
    assert_eq!(told(&server), [(Misplaced::NoAddress, 1)]);
}

#[tokio::test]
async fn a_service_that_is_made_leaves_no_route_outside() {
    let (server, address) = start(narrow(), Served::Made).await;
    for target in ["/", "/"] {
        within(talks(address, target)).await;
    }
    // A WebSocket of another library is admitted as well.
    let stream = TcpStream::connect(address).await.expect("it listens");
    let uri = format!("ws://{address}/pushed");
    let (mut socket, _) = tokio_tungstenite::client_async(uri, stream)
        .await
        .expect("admitted");
    sleep(DEADLINE * 2).await;
    assert!(
        within(socket.next())
            .await
            .is_some_and(|pushed| pushed.is_ok())
    );
    let answer = within(gets(address, "/health")).await.to_lowercase();
    assert!(answer.contains("connection: close"), "{answer}");
    assert_eq!(server.metrics().admission.admit, 3);
    assert!(told(&server).is_empty());
}

#[tokio::test]
async fn a_service_that_is_made_names_the_peer() {
    let server = narrow().server().expect("valid");
    let listener = server.listen("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let who = get(async |ConnectInfo(peer): ConnectInfo<Peer>| peer.ip().to_string());
    let app = server.make_service(Router::new().route("/who", who));
    tokio::spawn(axum::serve(listener, app).into_future());
    let answer = within(gets(address, "/who")).await;
    assert!(answer.ends_with("127.0.0.1"), "{answer}");
}
