//! What does a call of tonic's channel cost, with becalm's layer and without?

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use becalm::Policy;
use becalm_grpc::client::RetryLayer;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn as answering;
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tonic::body::Body;
use tonic::transport::{Channel, Endpoint};
use tower::service_fn;
use tower_layer::Layer;
use tower_service::Service;

const ROUNDS: usize = 305;
const CALLS: u32 = 100;
/// One message of no fields, as gRPC frames it.
const MESSAGE: Bytes = Bytes::from_static(&[0; 5]);

/// Of a unary call that is answered at once, over a connection that stays: the median of rounds that take turns.
pub fn print(runtime: &Runtime) {
    let address = start(runtime);
    let retrier = Policy::default().retrier().expect("a valid policy");
    let layer = RetryLayer::new(&retrier).idempotent(["/shop.v1.Orders/*"]);
    let layer = layer.expect("a name");
    let alone = alone(runtime, &layer);
    println!("\nbecalm-grpc around a channel that answers at once: {alone:.1?} for each call.");
    let (mut bare, mut repeated) = {
        let _entered = runtime.enter();
        (channel(address), layer.layer(channel(address)))
    };
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        times[0].push(round(runtime, &mut bare));
        times[1].push(round(runtime, &mut repeated));
    }
    let [bare_time, repeated_time] = times.map(median);
    let counts = [
        allocations(|| round(runtime, &mut bare)),
        allocations(|| round(runtime, &mut repeated)),
    ];
    let more = repeated_time.as_secs_f64() - bare_time.as_secs_f64();
    println!("\n| | a unary call takes | more than tonic | more allocations |");
    println!("|---|---|---|---|");
    println!("| tonic's channel | {bare_time:.1?} | | |");
    println!(
        "| becalm-grpc | {repeated_time:.1?} | {:.2} µs | {} |",
        more * 1e6,
        counts[1] - counts[0]
    );
}

/// What the layer adds around a channel that answers at once.
fn alone(runtime: &Runtime, layer: &RetryLayer) -> Duration {
    let answer = |_| std::future::ready(Ok::<_, Infallible>(Response::new(Body::empty())));
    let mut at_once = service_fn(answer);
    let mut repeated = layer.layer(at_once);
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        times[0].push(round(runtime, &mut at_once));
        times[1].push(round(runtime, &mut repeated));
    }
    let [bare, repeated] = times.map(median);
    repeated.saturating_sub(bare)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn allocations(mut run: impl FnMut() -> Duration) -> u64 {
    let counted = allocation_counter::measure(|| {
        run();
    });
    counted.count_total / u64::from(CALLS)
}

/// The time of each of some calls in a row.
fn round<S>(runtime: &Runtime, channel: &mut S) -> Duration
where
    S: Service<Request<Body>, Response = Response<Body>>,
    S::Error: std::fmt::Debug,
{
    let began = Instant::now();
    runtime.block_on(async {
        for _ in 0..CALLS {
            std::future::poll_fn(|context| channel.poll_ready(context))
                .await
                .expect("it is ready");
            let request = Request::post("/shop.v1.Orders/Get")
                .header("te", "trailers")
                .header("content-type", "application/grpc");
            let request = request.body(Body::new(Full::new(MESSAGE))).expect("valid");
            let answer = channel.call(request).await.expect("an answer");
            answer.into_body().collect().await.expect("a message");
        }
    });
    began.elapsed() / CALLS
}

fn channel(address: SocketAddr) -> Channel {
    let endpoint = Endpoint::from_shared(format!("http://{address}"));
    endpoint
        .expect("an address")
        .tcp_nodelay(true)
        .connect_lazy()
}

/// A server on the thread of its clients: neither waits for a core that sleeps.
fn start(runtime: &Runtime) -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("a socket");
    let address = listener.local_addr().expect("an address");
    runtime.spawn(serve(listener));
    address
}

async fn serve(listener: std::net::TcpListener) {
    let listener = TcpListener::from_std(listener).expect("a socket");
    while let Ok((stream, _)) = listener.accept().await {
        let _ = stream.set_nodelay(true);
        let http = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
        let connection = http.serve_connection(TokioIo::new(stream), answering(answer));
        tokio::spawn(async move { drop(connection.await) });
    }
}

async fn answer(
    request: Request<Incoming>,
) -> hyper::Result<Response<impl hyper::body::Body<Data = Bytes, Error = Infallible>>> {
    request.into_body().collect().await?;
    let status = HeaderMap::from_iter([(
        "grpc-status".parse().expect("a name"),
        "0".parse().expect("a value"),
    )]);
    let body = Full::new(MESSAGE).with_trailers(std::future::ready(Some(Ok(status))));
    let answer = Response::builder().header("content-type", "application/grpc");
    Ok(answer.body(body).expect("valid"))
}
