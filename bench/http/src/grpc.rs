//! What does a call of tonic's channel cost, with becalm's layer and without?

use std::convert::Infallible;
use std::error::Error;
use std::future::{Ready, ready};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use becalm::Policy;
use becalm_grpc::client::RetryLayer;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body as HttpBody, Bytes, Incoming};
use hyper::header::{HeaderName, HeaderValue};
use hyper::http::uri::PathAndQuery;
use hyper::service::service_fn as answering;
use hyper::{HeaderMap, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tonic::body::Body;
use tonic::client::{Grpc, GrpcService};
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};
use tower::service_fn;
use tower_layer::Layer;

const ROUNDS: usize = 305;
const CALLS: u32 = 100;
/// One message of no fields, as gRPC frames it.
const MESSAGE: Bytes = Bytes::from_static(&[0; 5]);

/// Of a unary call that is answered at once, over a connection that stays: the median of rounds that take turns.
pub fn print(runtime: &Runtime) {
    let address = start(runtime);
    let layer = layer();
    let alone = alone(runtime, &layer);
    println!("\nbecalm-grpc around a channel that answers at once: {alone:.1?} for each call.");
    let (mut bare, mut repeated) = {
        let _entered = runtime.enter();
        let [bare, below] = [channel(address), channel(address)];
        (Grpc::new(bare), Grpc::new(layer.layer(below)))
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

/// Makes calls of a channel that answers at once, by the layer or without.
pub fn at_once(runtime: &Runtime, is_repeated: bool) -> Box<dyn Fn(u32) + '_> {
    let layer = layer();
    Box::new(move |calls| {
        let rounds = calls / CALLS;
        if is_repeated {
            let mut client = Grpc::new(layer.layer(service_fn(answers)));
            for _ in 0..rounds {
                round(runtime, &mut client);
            }
        } else {
            let mut client = Grpc::new(service_fn(answers));
            for _ in 0..rounds {
                round(runtime, &mut client);
            }
        }
    })
}

/// What the layer adds around a channel that answers at once.
fn alone(runtime: &Runtime, layer: &RetryLayer) -> Duration {
    let mut repeated = Grpc::new(layer.layer(service_fn(answers)));
    let mut at_once = Grpc::new(service_fn(answers));
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        times[0].push(round(runtime, &mut at_once));
        times[1].push(round(runtime, &mut repeated));
    }
    let [bare, repeated] = times.map(median);
    repeated.saturating_sub(bare)
}

fn layer() -> RetryLayer {
    let retrier = Policy::default().retrier().expect("a valid policy");
    let layer = RetryLayer::new(&retrier).idempotent(["/shop.v1.Orders/*"]);
    layer.expect("a name")
}

fn answers(_: hyper::Request<Body>) -> Ready<Result<Response<Body>, Infallible>> {
    let message = Full::new(MESSAGE).with_trailers(ready(Some(Ok(ok()))));
    ready(Ok(Response::new(Body::new(message))))
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

/// The time of each of some calls in a row, as generated clients call: with tonic's own way of encoding.
fn round<S>(runtime: &Runtime, client: &mut Grpc<S>) -> Duration
where
    S: GrpcService<Body>,
    S::ResponseBody: HttpBody<Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    let began = Instant::now();
    runtime.block_on(async {
        for _ in 0..CALLS {
            client.ready().await.ok().expect("it is ready");
            let path = PathAndQuery::from_static("/shop.v1.Orders/Get");
            let answer = client.unary(Request::new(()), path, Empty).await;
            answer.expect("an answer");
        }
    });
    began.elapsed() / CALLS
}

/// Messages of no fields.
struct Empty;

impl Codec for Empty {
    type Encode = ();
    type Decode = ();
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Empty {
    type Item = ();
    type Error = Status;

    fn encode(&mut self, (): (), _: &mut EncodeBuf<'_>) -> Result<(), Status> {
        Ok(())
    }
}

impl Decoder for Empty {
    type Item = ();
    type Error = Status;

    fn decode(&mut self, _: &mut DecodeBuf<'_>) -> Result<Option<()>, Status> {
        Ok(Some(()))
    }
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
    request: hyper::Request<Incoming>,
) -> hyper::Result<Response<impl hyper::body::Body<Data = Bytes, Error = Infallible>>> {
    request.into_body().collect().await?;
    let body = Full::new(MESSAGE).with_trailers(ready(Some(Ok(ok()))));
    let answer = Response::builder().header("content-type", "application/grpc");
    Ok(answer.body(body).expect("valid"))
}

fn ok() -> HeaderMap {
    let name = HeaderName::from_static("grpc-status");
    HeaderMap::from_iter([(name, HeaderValue::from_static("0"))])
}
