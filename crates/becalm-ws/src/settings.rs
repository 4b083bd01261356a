//! What do all sockets of a client share?

use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use becalm::Failure;
use becalm::login::Login;
use becalm::policy::InvalidPolicy;
use becalm::reconnect::{Pacer, Plan};
use becalm::rng::Seed;
use becalm::time::Sleeper;
use tokio_tungstenite::tungstenite::{ClientRequestBuilder, Message, protocol::WebSocketConfig};

use crate::session::{Cold, Resume, SessionId};
use crate::{Answer, Event, Heartbeat, Overflow};

/// What all sockets of a client share.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) endpoint: Endpoint,
    #[cfg(any(feature = "rustls-native-roots", feature = "rustls-webpki-roots"))]
    pub(crate) tls: crate::tls::Tls,
    pub(crate) closing: Arc<Closing>,
    pub(crate) answering: Arc<Answering>,
    pub(crate) restart_patience: Duration,
    /// An invalid policy is told when a socket is opened.
    pub(crate) plan: Result<Plan, InvalidPolicy>,
    pub(crate) pacer: Option<Pacer>,
    pub(crate) heartbeat: Heartbeat,
    pub(crate) outbox: (usize, Overflow),
    pub(crate) limits: WebSocketConfig,
    pub(crate) dial_patience: Duration,
    pub(crate) close_patience: Duration,
    pub(crate) resume: Option<Resume>,
    pub(crate) carries: Arc<Carries>,
    pub(crate) observer: Option<Arc<Observer>>,
    pub(crate) sleeper: Arc<dyn Sleeper>,
    pub(crate) seed: Arc<Seed>,
}

/// Who names address, headers and subprotocols.
#[derive(Clone)]
pub(crate) enum Endpoint {
    /// This, for each dial, without waiting.
    Named(Arc<Name>),
    /// A provider that is waited for, once for all dials.
    Asked(Login<ClientRequestBuilder>, Arc<Provider>),
}

pub(crate) type BoxError = Box<dyn Error + Send + Sync>;
pub(crate) type Provided =
    Pin<Box<dyn Future<Output = Result<ClientRequestBuilder, BoxError>> + Send>>;
type Name = dyn Fn(Dialling) -> Result<ClientRequestBuilder, BoxError> + Send + Sync;
pub(crate) type Provider = dyn Fn(Dialling) -> Provided + Send + Sync;
type Closing = dyn Fn(u16, &str) -> Failure + Send + Sync;
type Answering = dyn Fn(&Answer<'_>) -> Failure + Send + Sync;
type Carries = dyn Fn(Cold, &Message) -> bool + Send + Sync;
type Observer = dyn Fn(Event<'_>) + Send + Sync;

/// What is known of the dial that an endpoint is named for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dialling {
    /// The number of the dial since the last healthy connection, as the policy counts attempts. For a
    /// [provider](crate::Client::with_provider) that of the socket which asked first.
    pub number: u32,
    /// What the provider named last was refused (401 or 407): renew the login. A second refusal in a row is the end.
    pub login_was_refused: bool,
    /// The session that the connection will ask for; the header [`session::HEADER`](crate::session::HEADER) names it, too.
    /// `None` for a [provider](crate::Client::with_provider), whose word is for all sockets of the client.
    pub resumes: Option<SessionId>,
}

/// Idle connections are many, and each holds its buffers.
pub(crate) fn small_buffers() -> WebSocketConfig {
    let limits = WebSocketConfig::default();
    limits
        .read_buffer_size(4 * 1024)
        .write_buffer_size(4 * 1024)
}
