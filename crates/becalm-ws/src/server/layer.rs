//! Which requests for an upgrade reach the handler of an HTTP server? Those that are admitted.

use std::mem;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};

use becalm::support::HasPlace;
use becalm_admission::Advice;
use hyper_util::rt::TokioIo;
use tokio_tungstenite::tungstenite::http::header::{CONNECTION, UPGRADE};
use tokio_tungstenite::tungstenite::http::{
    Extensions, HeaderValue, Method, Request, Response, StatusCode, Version,
};
use tower_layer::Layer;
use tower_service::Service;

use super::admit::Asking;
use super::admitted::Place;
use super::misplaced::Misplaced;
use super::refusal::{any_protocol, is_of_browser, unavailable};
use super::upgrade::switching;
use super::{Peer, Server};

/// Admits requests for an upgrade before the service inside sees them; others pass. See [`Server::layer`].
///
/// It stands outside of everything costly, logins too. The service finds what was admitted as an [`Upgrade`](super::Upgrade) or, for a
/// WebSocket of another library, as a [`Connection`](super::Connection); a request that is answered without either gives its permit back.
///
/// It looks for the [`Peer`] of a [`Listener`](super::Listener) in the request's extensions, where [`Server::make_service`] puts it (or axum's
/// `into_make_service_with_connect_info::<Peer>()`), or for a `SocketAddr`, axum's `ConnectInfo` of either included. Behind a
/// `Listener` the `Peer` is needed: without it a WebSocket is refused with 500, and over TLS, where nothing shows that its request has come, its
/// connection is cut at the handshake's deadline.
///
/// Put it around all routes of such a listener, as [`Server::make_service`] does: other requests pass it, and over HTTP/1 their answer is the last
/// of its connection. One of HTTP/2 stays, until it is idle for a minute (see [`Accepted`](super::Accepted)). It is outside of `becalm_tower::server::AdmissionLayer`, so that no WebSocket waits in a place of that. What it finds to be otherwise is
/// [`Misplaced`](super::Misplaced). A second layer of the same server inside of it does nothing.
///
/// An extended CONNECT of HTTP/2 (RFC 8441) is admitted, too, and refused with 503 alone.
#[derive(Debug, Clone)]
#[must_use = "a layer does nothing until it is around a service"]
pub struct AdmissionLayer {
    server: Server,
}

/// A service that gets only what is admitted: see [`AdmissionLayer`].
#[derive(Debug, Clone)]
pub struct AdmissionService<S> {
    service: S,
    server: Server,
}

impl AdmissionLayer {
    pub(crate) fn new(server: Server) -> Self {
        Self { server }
    }
}

impl<S> Layer<S> for AdmissionLayer {
    type Service = AdmissionService<S>;

    fn layer(&self, service: S) -> AdmissionService<S> {
        AdmissionService {
            service,
            server: self.server.clone(),
        }
    }
}

impl<S, B, D> Service<Request<B>> for AdmissionService<S>
where
    S: Service<Request<B>, Response = Response<D>> + Clone + Send + 'static,
    S::Future: Send,
    B: Send + 'static,
    D: Default,
{
    type Response = Response<D>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<D>, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.service.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        // The one that is ready goes, and its clone stays.
        let clone = self.service.clone();
        let mut service = mem::replace(&mut self.service, clone);
        let server = self.server.clone();
        let outer = request.extensions().get().and_then(Place::server);
        if outer.as_ref().is_some_and(|outer| outer.is(&server)) {
            return Box::pin(service.call(request));
        }
        let coming = server.registry().coming();
        let peer = peer(request.extensions());
        let address = address(peer.as_ref(), request.extensions());
        // A connection of HTTP that stays would hold its place, and no deadline is left to it.
        let ends = peer.is_some() && request.version() <= Version::HTTP_11;
        let working = peer.as_ref().filter(|_| !ends).map(Peer::works);
        if !is_upgrade(&request) {
            let answer = service.call(request);
            return Box::pin(async move {
                let answer = answer.await;
                drop(working);
                Ok(last(ends, answer?))
            });
        }
        if outer.is_some() || peer.is_some_and(|peer| !peer.is_of(&server)) {
            server.tell(Misplaced::OtherServer);
        }
        if address.is_none() {
            server.tell(Misplaced::NoAddress);
        }
        if request.extensions().get::<HasPlace>().is_some() {
            server.tell(Misplaced::InsidePlace);
        }
        let asking = Asking::new(&server, coming);
        Box::pin(async move {
            let entry = asking.admit(address, request.headers(), request.uri());
            match entry.await {
                Ok(mut admitted) => {
                    admitted.working = working;
                    request.extensions_mut().insert(Place::of(admitted));
                    Ok(last(ends, service.call(request).await?))
                }
                Err(advice) => Ok(last(ends, refused(&server, &mut request, advice))),
            }
        })
    }
}

fn is_upgrade<B>(request: &Request<B>) -> bool {
    let mut upgrades = request.headers().get_all(UPGRADE).iter();
    let is_websocket = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"websocket");
    let is_extended = request.version() == Version::HTTP_2 && request.method() == Method::CONNECT;
    is_extended || upgrades.any(is_websocket)
}

/// An answer that is no switch is the last of its connection, if it ends.
fn last<D>(ends: bool, mut answer: Response<D>) -> Response<D> {
    if ends && answer.status() != StatusCode::SWITCHING_PROTOCOLS {
        let close = HeaderValue::from_static("close");
        answer.headers_mut().insert(CONNECTION, close);
    }
    answer
}

/// The other end of a listener's connection, whose request has come.
fn peer(extensions: &Extensions) -> Option<Peer> {
    let peer = extensions.get::<Peer>();
    #[cfg(feature = "axum")]
    let peer = peer.or_else(|| {
        let info = extensions.get::<axum::extract::ConnectInfo<Peer>>();
        info.map(|info| &info.0)
    });
    peer?.request_has_come();
    peer.cloned()
}

/// The address of the connection.
fn address(peer: Option<&Peer>, extensions: &Extensions) -> Option<IpAddr> {
    if let Some(peer) = peer {
        return Some(peer.ip());
    }
    let address = extensions.get::<SocketAddr>();
    #[cfg(feature = "axum")]
    let address = address.or_else(|| {
        let info = extensions.get::<axum::extract::ConnectInfo<SocketAddr>>();
        info.map(|info| &info.0)
    });
    address.map(SocketAddr::ip)
}

fn refused<B, D: Default>(
    server: &Server,
    request: &mut Request<B>,
    advice: Advice,
) -> Response<D> {
    let headers = request.headers();
    let switching = is_of_browser(headers)
        .then(|| switching(headers, any_protocol(headers)))
        .flatten();
    let courtesy = switching
        .as_ref()
        .and_then(|_| server.counters().courtesy());
    let (Some(switching), Some(courtesy)) = (switching, courtesy) else {
        return unavailable(&advice);
    };
    let upgrade = hyper::upgrade::on(request);
    let (server, coming) = (server.clone(), server.registry().coming());
    tokio::spawn(async move {
        if let Ok(upgraded) = upgrade.await {
            server.send_away(TokioIo::new(upgraded), &advice).await;
        }
        drop((courtesy, coming));
    });
    switching
}
