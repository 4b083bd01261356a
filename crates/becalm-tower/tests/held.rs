//! Is what a server keeps of others counted by what it holds? Measured by the allocator, in a process of its own.
#![cfg(all(feature = "server", feature = "tokio", target_pointer_width = "64"))]

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::pin::{Pin, pin};
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use allocation_counter::measure;
use becalm_tower::server::{BufferedBody, IdempotencyLayer, MemoryStore, Task};
use http::{HeaderName, HeaderValue, Request, Response};
use http_body_util::Full;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tower::{Layer, Service, service_fn};

/// A piece that the buffer of a connection goes with.
fn piece(bytes: &'static str) -> Bytes {
    let mut buffer = vec![b'7'; 64 << 10];
    buffer[..bytes.len()].copy_from_slice(bytes.as_bytes());
    Bytes::from(buffer).slice(..bytes.len())
}

fn post<B>(key: usize, body: B) -> Request<B> {
    let request = Request::post("http://shop.example/payments")
        .header("authorization", format!("user {}", key % 100))
        .header("idempotency-key", format!("\"{key}\""));
    request.body(body).expect("valid")
}

/// A layer whose handlers run where they are spawned.
fn layer(store: MemoryStore) -> IdempotencyLayer<MemoryStore> {
    IdempotencyLayer::with_executor(store, |mut task: Task| {
        let ended = task.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(ended.is_ready(), "no handler waits");
    })
}

/// What is held after so many answers of this kind, of which a store may keep a mebibyte.
fn held(answers: usize, answer: fn(usize) -> Response<Full<Bytes>>) -> i64 {
    let kept = Mutex::new(None);
    let measured = measure(|| {
        let store = MemoryStore::new().entries(1_000_000).bytes(1 << 20);
        let handler = move |request: Request<BufferedBody<Full<Bytes>>>| {
            let key = request.headers()["idempotency-key"].to_str();
            let key = key.expect("a text").trim_matches('"').parse();
            let answer = answer(key.expect("a number"));
            async { Ok::<_, Infallible>(answer) }
        };
        let mut service = layer(store.clone()).layer(service_fn(handler));
        for key in 0..answers {
            let request = post(key, Full::new(piece("17 EUR")));
            let call = pin!(service.call(request));
            let polled = call.poll(&mut Context::from_waker(Waker::noop()));
            assert!(matches!(polled, Poll::Ready(Ok(_))));
        }
        *kept.lock().expect("unpoisoned") = Some(store);
    });
    measured.bytes_current
}

#[test]
fn a_store_holds_at_most_twice_what_it_counts() {
    type Make = fn(usize) -> Response<Full<Bytes>>;
    let kinds: [(&str, Make); 5] = [
        ("empty", |_| Response::new(Full::default())),
        ("a piece", |_| Response::new(Full::new(piece("done")))),
        ("fields that are pieces", |_| {
            let value = HeaderValue::from_maybe_shared(piece("done"));
            let answer = Response::builder().header("way", value.expect("valid"));
            answer.body(Full::default()).expect("valid")
        }),
        ("names", |key| {
            let mut answer = Response::new(Full::default());
            for name in 0..50 {
                let name = HeaderName::try_from(format!("name-{key}-{name}"));
                let value = HeaderValue::from_static("");
                answer.headers_mut().insert(name.expect("valid"), value);
            }
            answer
        }),
        ("nothing done", |_| {
            let answer = Response::builder().status(404);
            answer.body(Full::new(piece("none"))).expect("valid")
        }),
    ];
    for (kind, answer) in kinds {
        let held = held(5000, answer);
        println!("{kind}: {held} bytes held of 1,048,576 that are counted");
        assert!(held <= 2 << 20, "{kind}: {held}");
    }
}

/// A body of pieces that does not end.
struct Half(usize);

impl Body for Half {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.0 == 0 {
            return Poll::Pending;
        }
        self.0 -= 1;
        Poll::Ready(Some(Ok(Frame::data(piece("17 EUR")))))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(1 << 20)
    }
}

#[test]
fn half_bodies_hold_at_most_twice_what_is_counted() {
    // One of each, and as many as there is room for.
    for (pieces, bodies) in [(1, 10_000), (20_000, 1000)] {
        let mut kept = Vec::new();
        let measured = measure(|| {
            let layer = layer(MemoryStore::new()).waiting_bytes(1 << 20);
            let handler = |_: Request<BufferedBody<Half>>| async {
                Ok::<_, Infallible>(Response::new(Full::<Bytes>::default()))
            };
            let mut service = layer.layer(service_fn(handler));
            for key in 0..bodies {
                let mut call = Box::pin(service.call(post(key, Half(pieces))));
                let polled = call.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                if polled.is_pending() {
                    kept.push(call);
                }
            }
        });
        println!(
            "{pieces} pieces: {} bytes held by {} of {bodies}",
            measured.bytes_current,
            kept.len()
        );
        assert!(measured.bytes_current <= 2 << 20);
    }
}

/// Half of a body of a mebibyte from each of so many sockets: the most that clients and server held at once, in one thread.
fn held_over_sockets(sockets: usize) -> u64 {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build().expect("a runtime");
    let measured = measure(|| {
        runtime.block_on(async {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
            let listener = listener.expect("a port");
            let address = listener.local_addr().expect("an address");
            let layer = IdempotencyLayer::new(MemoryStore::new()).waiting_bytes(8 << 20);
            let service = layer.layer(service_fn(|_: Request<BufferedBody<Incoming>>| async {
                Ok::<_, Infallible>(Response::new(Full::<Bytes>::default()))
            }));
            let mut tasks = JoinSet::new();
            for number in 0..sockets {
                let stream = TcpStream::connect(address).await.expect("it listens");
                let (accepted, _) = listener.accept().await.expect("a connection");
                let service = TowerToHyperService::new(service.clone());
                let http = hyper::server::conn::http1::Builder::new();
                let connection = http.serve_connection(TokioIo::new(accepted), service);
                tasks.spawn(async move { drop(connection.await) });
                tasks.spawn(half(stream, number));
            }
            tokio::time::sleep(Duration::from_secs(2)).await;
        });
    });
    measured.bytes_max
}

static PIECE: &[u8] = &[7; 16 << 10];

async fn half(mut stream: TcpStream, number: usize) {
    let head = format!(
        "POST / HTTP/1.1\r\nhost: a\r\nauthorization: a{number}\r\nidempotency-key: \"{number}\"\r\ncontent-length: 1048576\r\n\r\n"
    );
    let _ = stream.write_all(head.as_bytes()).await;
    for _ in 0..60 {
        if stream.write_all(PIECE).await.is_err() {
            return;
        }
    }
    std::future::pending::<()>().await;
}

#[test]
fn half_bodies_of_sockets_hold_what_may_wait_and_what_their_connections_do() {
    let sockets = 400;
    let held = held_over_sockets(sockets);
    println!("{sockets} half bodies over sockets: at most {held} bytes");
    // A connection of hyper has a buffer of its own, for a start 8 KiB.
    assert!(held <= (16 << 20) + 32 * 1024 * sockets as u64, "{held}");
}
