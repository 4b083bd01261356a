//! A server of tonic on loopback that answers as it is told, and counts.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt::Debug;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use becalm_tower::server::{AdmissionLayer, AdmittedBody};
use http::{Request, Response};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::TcpListenerStream;
use tokio_stream::{Stream, StreamExt};
use tonic::body::Body;
use tonic::transport::{Channel, Endpoint};
use tonic::{Status, Streaming};
use tonic_prost::ProstCodec;
use tower::service_fn;
use tower::util::MapResponseLayer;

use crate::orders::{CHAT, GET, IMPORT, Order, WATCH};

/// What it answers. After the last of a script it answers the order it got.
pub enum Does {
    /// This status, without messages.
    Fails(Status),
    /// Sends so many orders, and then this status.
    FailsAfter(usize, Status),
}

impl Does {
    /// A status with a value of `grpc-retry-pushback-ms` for each of these.
    pub fn fails(code: i32, pushback: &[&str]) -> Self {
        let mut status = Status::new(code.into(), "as told");
        for value in pushback {
            let value = value.parse().expect("a value");
            status
                .metadata_mut()
                .append("grpc-retry-pushback-ms", value);
        }
        Self::Fails(status)
    }
}

/// One attempt as the server saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub path: String,
    pub previous: Option<String>,
    pub timeout: Option<String>,
    pub scope: Option<String>,
    /// What gRPC does not tell.
    pub length: Option<String>,
    /// All orders of the request together.
    pub lines: String,
}

impl Seen {
    fn of(path: &str, headers: &http::HeaderMap) -> Self {
        let header = |name| Some(headers.get(name)?.to_str().ok()?.to_owned());
        Self {
            path: path.to_owned(),
            previous: header("grpc-previous-rpc-attempts"),
            timeout: header("grpc-timeout"),
            scope: header("becalm-scope"),
            length: header("content-length"),
            lines: String::new(),
        }
    }
}

#[derive(Clone, Default)]
struct Shared {
    script: Arc<Mutex<VecDeque<Does>>>,
    seen: Arc<Mutex<Vec<Seen>>>,
    shed: Arc<AtomicUsize>,
}

pub struct Server {
    pub origin: String,
    shared: Shared,
    running: JoinHandle<()>,
}

impl Server {
    pub async fn start(script: impl IntoIterator<Item = Does>) -> Self {
        let shared = Shared::default();
        shared.script.lock().expect("unpoisoned").extend(script);
        let server = tonic::transport::Server::builder().add_service(Orders(shared.clone()));
        let (origin, incoming) = listen().await;
        let serving = async move { server.serve_with_incoming(incoming).await };
        Self::running(origin, shared, serving)
    }

    /// A server that takes on what this layer lets it.
    pub async fn admitting(admission: AdmissionLayer) -> Self {
        let shared = Shared::default();
        let shed = Arc::clone(&shared.shed);
        let count = MapResponseLayer::new(move |answer: Response<AdmittedBody<Body>>| {
            let is_shed = answer
                .headers()
                .get("grpc-status")
                .is_some_and(|code| code == "8");
            shed.fetch_add(usize::from(is_shed), Ordering::SeqCst);
            answer
        });
        let mut server = tonic::transport::Server::builder()
            .layer(count)
            .layer(admission);
        let server = server.add_service(Orders(shared.clone()));
        let (origin, incoming) = listen().await;
        let serving = async move { server.serve_with_incoming(incoming).await };
        Self::running(origin, shared, serving)
    }

    fn running<E: Debug>(
        origin: String,
        shared: Shared,
        serving: impl Future<Output = Result<(), E>> + Send + 'static,
    ) -> Self {
        let running = tokio::spawn(async move { serving.await.expect("it serves") });
        Self {
            origin,
            shared,
            running,
        }
    }

    pub fn channel(&self) -> Channel {
        let endpoint = Endpoint::from_shared(self.origin.clone());
        endpoint.expect("an address").connect_lazy()
    }

    pub fn shed(&self) -> usize {
        self.shared.shed.load(Ordering::SeqCst)
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.shared.seen.lock().expect("unpoisoned").clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.running.abort();
    }
}

async fn listen() -> (String, TcpListenerStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    (
        format!("http://{address}"),
        TcpListenerStream::new(listener),
    )
}

#[derive(Clone)]
struct Orders(Shared);

impl tonic::server::NamedService for Orders {
    const NAME: &'static str = "shop.v1.Orders";
}

type Answers = Pin<Box<dyn Stream<Item = Result<Order, Status>> + Send>>;

impl tower::Service<Request<Body>> for Orders {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let shared = self.0.clone();
        Box::pin(async move {
            let path = request.uri().path().to_owned();
            let seen = Seen::of(&path, request.headers());
            let mut grpc = tonic::server::Grpc::new(ProstCodec::<Order, Order>::default());
            Ok(match path.as_str() {
                GET => {
                    let get = |order: tonic::Request<Order>| async {
                        let order = order.into_inner();
                        shared.note(&seen, [&order]);
                        shared.unary(order).map(tonic::Response::new)
                    };
                    grpc.unary(service_fn(get), request).await
                }
                WATCH => {
                    let watch = |order: tonic::Request<Order>| async {
                        let order = order.into_inner();
                        shared.note(&seen, [&order]);
                        shared.stream(order).map(tonic::Response::new)
                    };
                    grpc.server_streaming(service_fn(watch), request).await
                }
                IMPORT => {
                    let import = |orders: tonic::Request<Streaming<Order>>| async {
                        let orders = orders.into_inner().collect::<Result<Vec<Order>, _>>();
                        let orders = orders.await?;
                        shared.note(&seen, &orders);
                        let order = orders.into_iter().next().unwrap_or_default();
                        shared.unary(order).map(tonic::Response::new)
                    };
                    grpc.client_streaming(service_fn(import), request).await
                }
                CHAT => {
                    let chat = |orders: tonic::Request<Streaming<Order>>| async {
                        shared.note(&seen, []);
                        let answers: Answers = match shared.next() {
                            Some(Does::Fails(status)) => return Err(status),
                            _ => Box::pin(orders.into_inner()),
                        };
                        Ok(tonic::Response::new(answers))
                    };
                    grpc.streaming(service_fn(chat), request).await
                }
                _ => Status::unimplemented(path).into_http(),
            })
        })
    }
}

impl Shared {
    fn note<'a>(&self, seen: &Seen, orders: impl IntoIterator<Item = &'a Order>) {
        let mut seen = seen.clone();
        for order in orders {
            seen.lines.push_str(&String::from_utf8_lossy(&order.lines));
        }
        self.seen.lock().expect("unpoisoned").push(seen);
    }

    fn next(&self) -> Option<Does> {
        self.script.lock().expect("unpoisoned").pop_front()
    }

    fn unary(&self, order: Order) -> Result<Order, Status> {
        match self.next() {
            Some(Does::Fails(status) | Does::FailsAfter(_, status)) => Err(status),
            None => Ok(order),
        }
    }

    fn stream(&self, order: Order) -> Result<Answers, Status> {
        let answers = match self.next() {
            Some(Does::Fails(status)) => return Err(status),
            Some(Does::FailsAfter(count, status)) => {
                let orders = std::iter::repeat_n(order, count).map(Ok);
                orders.chain([Err(status)]).collect()
            }
            None => vec![Ok(order)],
        };
        Ok(Box::pin(tokio_stream::iter(answers)))
    }
}
