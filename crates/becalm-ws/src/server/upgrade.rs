//! How does a handler turn an admitted request into a WebSocket? By an answer, and a task that begins when that is written.

use std::fmt;

use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::http::header::{
    CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, UPGRADE,
};
use tokio_tungstenite::tungstenite::http::request::Parts;
use tokio_tungstenite::tungstenite::http::{HeaderMap, HeaderValue, Response, StatusCode};
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use super::admit::Admitted;
use super::admitted::Place;
use super::refusal::offered;
use super::{Connection, Socket};

/// The stream of bytes under a socket of an HTTP server.
pub type Upgraded = TokioIo<hyper::upgrade::Upgraded>;

/// A request for a WebSocket that the [layer](super::AdmissionLayer) has admitted. With axum it is an extractor.
///
/// ```no_run
/// # #[cfg(feature = "axum")]
/// # fn run() {
/// use axum::response::Response;
/// use becalm_ws::server::Upgrade;
/// use futures_util::{SinkExt, StreamExt};
///
/// async fn echo(upgrade: Upgrade) -> Response {
///     upgrade.on_upgrade(|mut socket| async move {
///         socket.ready();
///         while let Some(Ok(message)) = socket.next().await {
///             if message.is_text() && socket.send(message).await.is_err() {
///                 break;
///             }
///         }
///     })
/// }
/// # let _ = axum::Router::<()>::new().route("/", axum::routing::any(echo));
/// # }
/// ```
#[must_use = "an upgrade that is dropped gives its permit back"]
pub struct Upgrade {
    admitted: Admitted,
    upgraded: OnUpgrade,
    headers: HeaderMap,
    protocol: Option<HeaderValue>,
    limits: WebSocketConfig,
}

/// Without the headers, which hold the login.
impl std::fmt::Debug for Upgrade {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Upgrade").finish_non_exhaustive()
    }
}

/// Why a request cannot be upgraded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoUpgrade {
    /// It does not ask for a WebSocket over HTTP/1.1.
    NoWebSocket,
    /// The layer is not around this handler, or something before it took the place.
    NotAdmitted,
}

impl NoUpgrade {
    /// The status of its answer.
    pub fn status(self) -> StatusCode {
        match self {
            Self::NoWebSocket => StatusCode::BAD_REQUEST,
            Self::NotAdmitted => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

impl fmt::Display for NoUpgrade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoWebSocket => "the request does not ask for a WebSocket by HTTP/1.1",
            Self::NotAdmitted => "the request was not admitted: serve the routes by Server::make_service, or put Server::layer around them",
        })
    }
}

impl std::error::Error for NoUpgrade {}

impl Upgrade {
    /// The upgrade of a request with this head.
    ///
    /// # Errors
    ///
    /// It asks for no WebSocket, or was not admitted.
    pub fn of(head: &mut Parts) -> Result<Self, NoUpgrade> {
        let is_13 = |version: &HeaderValue| version == "13";
        if !head.headers.get("sec-websocket-version").is_some_and(is_13)
            || switching::<()>(&head.headers, None).is_none()
        {
            return Err(NoUpgrade::NoWebSocket);
        }
        let upgraded = head.extensions.remove::<OnUpgrade>();
        let upgraded = upgraded.ok_or(NoUpgrade::NoWebSocket)?;
        let admitted = Place::take(&head.extensions).ok_or(NoUpgrade::NotAdmitted)?;
        Ok(Self {
            limits: admitted.server.settings().limits,
            headers: head.headers.clone(),
            protocol: None,
            admitted,
            upgraded,
        })
    }

    /// Chooses the first of these subprotocols that the client offers.
    pub fn protocols<'a>(mut self, known: impl IntoIterator<Item = &'a str>) -> Self {
        let mut known = known.into_iter();
        let chosen = known.find(|known| offered(&self.headers).any(|offered| offered == *known));
        self.protocol = chosen.and_then(|protocol| HeaderValue::from_str(protocol).ok());
        self
    }

    /// The subprotocol that was chosen.
    pub fn protocol(&self) -> Option<&str> {
        self.protocol.as_ref()?.to_str().ok()
    }

    /// Sets the limits of this socket. Default: those of the [settings](super::Settings::limits).
    pub fn limits(mut self, limits: WebSocketConfig) -> Self {
        self.limits = limits;
        self
    }

    /// The answer to the request. When it is written, a task has the socket. The permit stays with it until it is
    /// [ready](Socket::ready).
    pub fn on_upgrade<D, F>(
        self,
        serve: impl FnOnce(Socket<Upgraded>) -> F + Send + 'static,
    ) -> Response<D>
    where
        D: Default,
        F: Future<Output = ()> + Send + 'static,
    {
        let Self {
            admitted,
            upgraded,
            headers,
            protocol,
            limits,
        } = self;
        tokio::spawn(async move {
            if let Ok(upgraded) = upgraded.await {
                let io = TokioIo::new(upgraded);
                let wire = WebSocketStream::from_raw_socket(io, Role::Server, Some(limits)).await;
                serve(Socket::new(wire, Connection::new(admitted))).await;
            }
        });
        // It has a key: that was looked at in the beginning.
        switching(&headers, protocol).unwrap_or_default()
    }
}

/// The 101 to a request with these headers; `None` if it has no key.
pub(crate) fn switching<D: Default>(
    headers: &HeaderMap,
    protocol: Option<HeaderValue>,
) -> Option<Response<D>> {
    let key = headers.get(SEC_WEBSOCKET_KEY)?;
    let accept = HeaderValue::from_str(&derive_accept_key(key.as_bytes())).ok()?;
    let mut response = Response::new(D::default());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    if let Some(protocol) = protocol {
        headers.insert(SEC_WEBSOCKET_PROTOCOL, protocol);
    }
    Some(response)
}

#[cfg(feature = "axum")]
mod extractors {
    use axum::extract::FromRequestParts;
    use axum::response::{IntoResponse, Response};

    use super::{Connection, NoUpgrade, Parts, Upgrade};

    impl IntoResponse for NoUpgrade {
        fn into_response(self) -> Response {
            (self.status(), self.to_string()).into_response()
        }
    }

    impl<S: Sync> FromRequestParts<S> for Upgrade {
        type Rejection = NoUpgrade;

        async fn from_request_parts(head: &mut Parts, _: &S) -> Result<Self, NoUpgrade> {
            Self::of(head)
        }
    }

    impl<S: Sync> FromRequestParts<S> for Connection {
        type Rejection = NoUpgrade;

        async fn from_request_parts(head: &mut Parts, _: &S) -> Result<Self, NoUpgrade> {
            Self::of(&head.extensions).ok_or(NoUpgrade::NotAdmitted)
        }
    }
}
