//! How does a request go to the service and its answer back, and what breaks on the way?
//!
//! Each connection of a client has one to the service: what either says of keeping it, or closes, the other hears, as if nobody
//! stood between.

use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::header::{CONNECTION, HeaderValue, UPGRADE};
use http::request::Parts;
use http::{Request, Response, Version};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::net::TcpStream;
use tokio::sync::{Mutex, Notify, oneshot};
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::Proxy;
use super::body::Kept;
use super::call::Call;
use super::tally;
use super::wire::Wire;
use crate::fault::spec::Fault;

/// Headers of a head of HTTP/1. Services take about a hundred, and refuse more themselves.
const HEADERS: usize = 1_000;

/// Bytes of a head of HTTP/2, by its own count (RFC 9113 section 6.5.2). Services take some kilobytes, and refuse more themselves.
const HEAD: u32 = 1 << 20;

/// Serves a client until either side has closed.
pub async fn converse(client: TcpStream, from: IpAddr, proxy: Arc<Proxy>) {
    let _open = proxy.tally.connection();
    let (wire, resets) = Wire::new(client, Arc::clone(&proxy));
    let conversation = Arc::new(Conversation {
        from,
        proxy: Arc::clone(&proxy),
        service: Mutex::default(),
        resets,
        cut: Notify::new(),
        closed: Arc::default(),
    });
    let heard = Arc::clone(&conversation);
    let respond = service_fn(move |request| {
        let conversation = Arc::clone(&heard);
        async move { conversation.receive(request).await }
    });
    let mut server = auto::Builder::new(TokioExecutor::new());
    server
        .http1()
        .preserve_header_case(true)
        .max_headers(HEADERS)
        .auto_date_header(false);
    server
        .http2()
        // How many requests of a connection may wait at once, or be given up, is the client's choice and the service's.
        .max_concurrent_streams(None)
        .max_pending_accept_reset_streams(usize::MAX)
        .max_header_list_size(HEAD)
        .auto_date_header(false);
    let mut talk = pin!(server.serve_connection(TokioIo::new(wire), respond));
    let mut closes = pin!(async {
        tokio::select! {
            () = conversation.closed.notified() => {}
            () = proxy.over() => {}
        }
    });
    let mut is_closing = false;
    loop {
        tokio::select! {
            _ = talk.as_mut() => return,
            () = conversation.cut.notified() => return,
            () = closes.as_mut(), if !is_closing => {
                is_closing = true;
                talk.as_mut().graceful_shutdown();
            }
        }
    }
}

/// The connection is closed, or the stream of HTTP/2 reset, without an answer.
#[derive(Debug)]
struct Cut;

impl std::fmt::Display for Cut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("there is no answer")
    }
}

impl std::error::Error for Cut {}

struct Conversation {
    from: IpAddr,
    proxy: Arc<Proxy>,
    service: Mutex<Option<Service>>,
    /// The client's connection ends by a reset.
    resets: Arc<AtomicBool>,
    /// The client's connection ends now.
    cut: Notify,
    /// The service has closed its connection.
    closed: Arc<Notify>,
}

impl Conversation {
    async fn receive(&self, request: Request<Incoming>) -> Result<Response<Passed>, Cut> {
        let (mut head, body) = request.into_parts();
        let Proxy { gate, tally, .. } = &*self.proxy;
        let mut seen = tally.request(Some(Call::of(&head, self.from)));
        let mut body = Kept::new(body);
        // It would speak another protocol from here on, of which nobody here knows what a request is.
        if head.headers.remove(UPGRADE).is_some() {
            head.headers.remove(CONNECTION);
        }
        match gate.now() {
            Some(Fault::Hold) => {
                seen.held();
                self.wait(&mut body).await?;
            }
            Some(Fault::Pour) => {
                seen.held();
                return self.pour(head, body, seen).await;
            }
            Some(Fault::Reset) => {
                seen.broken();
                self.resets.store(true, Ordering::Relaxed);
                self.cut.notify_one();
                return std::future::pending().await;
            }
            Some(Fault::Status(status)) => {
                seen.broken();
                // A connection of HTTP/1 ends with a request that was not read, and its client may see that before the status.
                if head.version != Version::HTTP_2 {
                    body.keep().await.map_err(|_| Cut)?;
                }
                let mut answer = Response::new(nothing());
                *answer.status_mut() = status.try_into().unwrap_or_default();
                return Ok(answer);
            }
            Some(Fault::Loss(share)) if gate.loses(share) => {
                seen.broken();
                self.wait(&mut body).await?;
                return Err(Cut);
            }
            _ => {}
        }
        self.forward(head, body, seen).await
    }

    /// Until the fault is lifted. The client may leave meanwhile: what it has sent is read, since only behind it is that seen.
    async fn wait(&self, body: &mut Kept) -> Result<(), Cut> {
        let mut lifted = pin!(self.proxy.gate.lifted());
        tokio::select! {
            () = &mut lifted => {}
            kept = body.keep() => {
                kept.map_err(|_| Cut)?;
                lifted.await;
            }
        }
        Ok(())
    }

    async fn forward(
        &self,
        head: Parts,
        body: Kept,
        seen: tally::Request<'_>,
    ) -> Result<Response<Passed>, Cut> {
        let mut service = self.service.lock().await;
        if service.is_none() {
            *service = Service::open(&self.proxy, head.version, &self.closed).await;
        }
        let Some(sender) = service.as_mut() else {
            drop(service);
            seen.unreachable();
            // In HTTP/2 it is the request's own stream that is reset.
            let resets = head.version != Version::HTTP_2;
            self.resets.store(resets, Ordering::Relaxed);
            return Err(Cut);
        };
        seen.forwarded();
        let request = Request::from_parts(head, body);
        let answer = if let Sender::Two(two) = &mut sender.speaks {
            let mut two = two.clone();
            // Others are sent on the same connection meanwhile.
            drop(service);
            two.send_request(request).await
        } else {
            sender.speaks.send(request).await
        };
        let Ok(answer) = answer else {
            seen.unreachable();
            return Err(Cut);
        };
        self.late().await;
        seen.answered(answer.status());
        Ok(passed(answer, None))
    }

    /// Waits as long as answers are late.
    async fn late(&self) {
        if let Some(Fault::Delay(time)) = self.proxy.gate.now() {
            let _ = timeout(time, self.proxy.gate.lifted()).await;
        }
    }

    /// Keeps a request and sends it when the fault is lifted, whether its client is still there or not.
    async fn pour(
        &self,
        head: Parts,
        mut body: Kept,
        seen: tally::Request<'_>,
    ) -> Result<Response<Passed>, Cut> {
        let proxy = Arc::clone(&self.proxy);
        let (to_client, answer) = oneshot::channel();
        tokio::spawn(async move {
            let _pouring = proxy.tally.pouring();
            let kept = body.keep().await;
            proxy.gate.lifted().await;
            if kept.is_err() {
                return;
            }
            let nobody = Arc::default();
            let Some(mut service) = Service::open(&proxy, head.version, &nobody).await else {
                return;
            };
            let request = Request::from_parts(head, body);
            let Ok(answer) = service.speaks.send(request).await else {
                return;
            };
            // Nobody is there any more: the service may say all the same what it has to say.
            if let Err(answer) = to_client.send(passed(answer, Some(service))) {
                let _ = answer.into_body().collect().await;
            }
        });
        if let Ok(answer) = answer.await {
            seen.forwarded();
            seen.answered(answer.status());
            Ok(answer)
        } else {
            seen.unreachable();
            Err(Cut)
        }
    }
}

/// A connection to the service. Dropped, it is closed, whatever is sent or awaited on it.
struct Service {
    speaks: Sender,
    driver: AbortHandle,
}

enum Sender {
    One(http1::SendRequest<Kept>),
    Two(http2::SendRequest<Kept>),
}

impl Sender {
    async fn send(&mut self, request: Request<Kept>) -> hyper::Result<Response<Incoming>> {
        match self {
            Self::One(one) => {
                one.ready().await?;
                one.send_request(request).await
            }
            Self::Two(two) => two.send_request(request).await,
        }
    }
}

impl Service {
    /// `closed` hears when the service closes it.
    async fn open(proxy: &Proxy, version: Version, closed: &Arc<Notify>) -> Option<Self> {
        let io = TokioIo::new(proxy.connect().await.ok()?);
        let (speaks, driver) = if version == Version::HTTP_2 {
            let (sender, connection) = http2::Builder::new(TokioExecutor::new())
                .max_header_list_size(HEAD)
                .handshake(io)
                .await
                .ok()?;
            (Sender::Two(sender), drive(connection, closed))
        } else {
            let (sender, connection) = http1::Builder::new()
                .preserve_header_case(true)
                .max_headers(HEADERS)
                .handshake(io)
                .await
                .ok()?;
            (Sender::One(sender), drive(connection, closed))
        };
        Some(Self { speaks, driver })
    }
}

/// Reads and writes what goes over a connection, until it is closed.
fn drive(
    connection: impl Future<Output: Send> + Send + 'static,
    closed: &Arc<Notify>,
) -> AbortHandle {
    let closed = Arc::clone(closed);
    let driver = tokio::spawn(async move {
        let _ = connection.await;
        closed.notify_one();
    });
    driver.abort_handle()
}

impl Drop for Service {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// The body of an answer.
type Passed = UnsyncBoxBody<Bytes, hyper::Error>;

fn nothing() -> Passed {
    Empty::new().map_err(|never| match never {}).boxed_unsync()
}

/// What the service says, as it comes, and what it comes `over` if that is not the conversation's.
fn passed(answer: Response<Incoming>, over: Option<Service>) -> Response<Passed> {
    let is_old = answer.version() == Version::HTTP_10;
    let mut answer = answer.map(|body| {
        let kept_open = move |error| {
            let _ = &over;
            error
        };
        body.map_err(kept_open).boxed_unsync()
    });
    // RFC 9112 section 9.3: what HTTP/1.0 leaves unsaid means close, and means the contrary in the client's HTTP/1.1.
    if is_old && !answer.headers().contains_key(CONNECTION) {
        let close = HeaderValue::from_static("close");
        answer.headers_mut().insert(CONNECTION, close);
    }
    answer
}
