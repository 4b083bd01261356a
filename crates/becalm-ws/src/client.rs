//! Where does a socket dial, and how does it behave?

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use becalm::Failure;
use becalm::classify::websocket::classify_close;
use becalm::login::Login;
use becalm::policy::InvalidPolicy;
use becalm::reconnect::{Pacer, Reconnect};
use becalm::rng::Seed;
use becalm::time::TokioSleeper;
#[cfg(any(feature = "rustls-native-roots", feature = "rustls-webpki-roots"))]
use tokio_tungstenite::Connector;
use tokio_tungstenite::tungstenite::http::Uri;
use tokio_tungstenite::tungstenite::{ClientRequestBuilder, Message, protocol::WebSocketConfig};

use crate::answer::by_default;
use crate::session::{Cold, Resume};
use crate::settings::{BoxError, Endpoint, Provided, Settings, small_buffers};
use crate::{Answer, Dialling, Event, Heartbeat, Overflow, WebSocket};

/// As long as Kubernetes waits for a deployment to go on before it calls it failed (`progressDeadlineSeconds`).
const RESTART_PATIENCE: Duration = Duration::from_secs(600);

/// The longest control frame (125 bytes and 14 of its head, RFC 6455 section 5.5), and a little more.
const CONTROL: usize = 150;

/// The settings of a [`WebSocket`].
///
/// | setting | default |
/// |---|---|
/// | [`reconnect`](Self::reconnect) | for ever, full jitter under 1 s x 2 up to 30 s; a connection is healthy after 5 s |
/// | [`heartbeat`](Self::heartbeat) | a ping after 20 s of quiet, lost after 10 s more |
/// | [`outbox`](Self::outbox) | 1 MiB; who sends more waits |
/// | [`limits`](Self::limits) | messages of 64 MiB, frames of 16 MiB, buffers of 4 KiB |
/// | [`patience`](Self::patience) | 10 s for a dial, 5 s for the end of a close |
/// | [`restart_patience`](Self::restart_patience) | 10 minutes with answers that are final where no connection was open before |
/// | [`resume`](Self::resume) | no sessions: a message that was written as the server died is lost, and nothing tells |
#[derive(Clone)]
#[must_use = "settings do nothing until they are opened"]
pub struct Client {
    settings: Arc<Settings>,
}

impl Client {
    /// A socket to this address: `ws://` or, with a feature for TLS, `wss://`.
    pub fn new(address: Uri) -> Self {
        let request = ClientRequestBuilder::new(address);
        Self::with_request(move |_| Ok(request.clone()))
    }

    /// A socket whose address, headers and subprotocols are named at every dial of each socket, without waiting: a path of its own,
    /// a header that counts. A login that is refused is final, since nothing renews it. What fails is a dial that has failed.
    pub fn with_request(
        request: impl Fn(Dialling) -> Result<ClientRequestBuilder, BoxError> + Send + Sync + 'static,
    ) -> Self {
        Self::of(Endpoint::Named(Arc::new(request)))
    }

    /// A socket whose address, headers and subprotocols are asked for at every dial. A provider that fails is a dial that
    /// has failed.
    ///
    /// It is asked outside of every dial, as a task of its own, for all sockets of this client: those that dial meanwhile share what it
    /// names, it has its own time ([`login_timeout`](Self::login_timeout)), and no socket that is dropped ends it. At most ten begin
    /// in ten seconds, fewer while they fail or name what is refused ([`becalm::login`]); a dial in between takes what was named last.
    /// Until a server has accepted a login, ten sockets at once dial with it, and the others wait for what becomes of those.
    ///
    /// ```
    /// use becalm_ws::{Client, ClientRequestBuilder};
    /// # async fn token(_renew: bool) -> std::io::Result<String> { Ok("17".into()) }
    ///
    /// let orders = Client::with_provider(|dial| async move {
    ///     let token = token(dial.login_was_refused).await?;
    ///     let address = "wss://shop.example/orders".parse()?;
    ///     Ok(ClientRequestBuilder::new(address)
    ///         .with_header("authorization", format!("Bearer {token}"))
    ///         .with_sub_protocol("orders.v2"))
    /// });
    /// # let _ = orders;
    /// ```
    pub fn with_provider<F>(provider: impl Fn(Dialling) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<ClientRequestBuilder, BoxError>> + Send + 'static,
    {
        let provider = move |dialling| -> Provided { Box::pin(provider(dialling)) };
        Self::of(Endpoint::Asked(Login::new(), Arc::new(provider)))
    }

    fn of(endpoint: Endpoint) -> Self {
        let settings = Settings {
            endpoint,
            #[cfg(any(feature = "rustls-native-roots", feature = "rustls-webpki-roots"))]
            tls: crate::tls::Tls::default(),
            closing: Arc::new(|code, _| classify_close(code)),
            answering: Arc::new(by_default),
            restart_patience: RESTART_PATIENCE,
            plan: Reconnect::default().plan(),
            pacer: None,
            heartbeat: Heartbeat::default(),
            outbox: (1024 * 1024, Overflow::Wait),
            limits: small_buffers(),
            dial_patience: Duration::from_secs(10),
            close_patience: Duration::from_secs(5),
            resume: None,
            carries: Arc::new(|why, _| why != Cold::WrongUser),
            observer: None,
            sleeper: Arc::new(TokioSleeper::new()),
            seed: Arc::default(),
        };
        Self {
            settings: Arc::new(settings),
        }
    }

    fn with(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(Arc::make_mut(&mut self.settings));
        self
    }

    /// Sets when it dials again, and what proves a connection healthy.
    pub fn reconnect(self, reconnect: Reconnect) -> Self {
        self.with(|settings| settings.plan = reconnect.plan())
    }

    /// Sets the pacer that its dials share with those of other sockets. Default: none.
    pub fn pacer(self, pacer: Pacer) -> Self {
        self.with(|settings| settings.pacer = Some(pacer))
    }

    /// Sets what the peer's close codes mean: code, reason. Default:
    /// [`classify_close`], the table of RFC 6455 and of IANA, in which a code of the application's own (4000 to 4999) connects again unless it is
    /// 4000 and a status of HTTP that would not. `becalm::classify::websocket` has those of Centrifugo, Pusher, Discord and graphql-ws.
    pub fn closing(self, meaning: impl Fn(u16, &str) -> Failure + Send + Sync + 'static) -> Self {
        self.with(|settings| settings.closing = Arc::new(meaning))
    }

    /// Sets what an answer to a handshake means that is no connection, as [`closing`](Self::closing) does of close codes. Default:
    /// [`Answer::failure`].
    ///
    /// ```
    /// # let client = becalm_ws::Client::new("wss://shop.example/orders".parse().unwrap());
    /// use becalm_ws::becalm::Failure;
    ///
    /// let client = client.answering(|answer| match answer.status {
    ///     // Our gateway has forgotten the tenant, and will not remember it.
    ///     404 if answer.headers.contains_key("x-tenant-gone") => Failure::permanent(),
    ///     _ => answer.failure(),
    /// });
    /// # let _ = client;
    /// ```
    pub fn answering(
        self,
        meaning: impl Fn(&Answer<'_>) -> Failure + Send + Sync + 'static,
    ) -> Self {
        self.with(|settings| settings.answering = Arc::new(meaning))
    }

    /// Sets for how long what ends it at an address that never worked is dialled again at one that did: a 404, a 403, a login page, a certificate
    /// of another, an answer that is no WebSocket. A proxy says so while what is behind it restarts. It begins with the first such answer
    /// after a connection was open. Default: 10 minutes, as long as Kubernetes waits for a deployment to go on. Zero: none.
    pub fn restart_patience(self, patience: Duration) -> Self {
        self.with(|settings| settings.restart_patience = patience)
    }

    /// Sets how a half-open connection is found.
    pub fn heartbeat(self, heartbeat: Heartbeat) -> Self {
        self.with(|settings| settings.heartbeat = heartbeat)
    }

    /// Sets how many bytes of messages may wait to be sent, and what happens to those beyond. A message takes 64 bytes besides its payload:
    /// no more of them wait than take this bound so, or 1,024 where that is less.
    pub fn outbox(self, bytes: usize, overflow: Overflow) -> Self {
        self.with(|settings| settings.outbox = (bytes, overflow))
    }

    /// Sets the bounds of messages and frames, and the sizes of buffers. A larger read buffer is faster where much comes, and
    /// is held by every connection. A message that does not fit into `max_write_buffer_size` with its frame is [dropped](Event::Dropped). That
    /// bound is 150 bytes at least: a close with its reason, a ping and a session's first word take no more.
    pub fn limits(self, mut limits: WebSocketConfig) -> Self {
        limits.max_write_buffer_size = limits.max_write_buffer_size.max(CONTROL);
        self.with(|settings| settings.limits = limits)
    }

    /// Sets how long a dial may take, TLS and handshake together, and how long the end of a close.
    pub fn patience(self, dial: Duration, close: Duration) -> Self {
        self.with(|settings| (settings.dial_patience, settings.close_patience) = (dial, close))
    }

    /// Sets how long the [provider](Self::with_provider) may take. Default 30 s. Clones of a client share it.
    pub fn login_timeout(self, limit: Duration) -> Self {
        if let Endpoint::Asked(login, _) = &self.settings.endpoint {
            login.set_time_limit(limit);
        }
        self
    }

    /// Keeps a [session](crate::session), with a server that does so too: what a connection loses is sent again with the next, and each message comes
    /// once.
    ///
    /// Without a session a message goes over one connection, once. What the system had taken to send when the server died is lost, and nothing tells: only the
    /// server could. Choose a session where no message may be lost.
    pub fn resume(self, resume: Resume) -> Self {
        self.with(|settings| settings.resume = Some(resume))
    }

    /// Sets which messages that no connection was given go over a session that begins [cold](Cold) after another: what is false here is
    /// told as [`Event::Dropped`], before [`Event::Cold`]. Default: all, but those that were meant for another user's session
    /// ([`Cold::WrongUser`]). An application that numbers its messages itself, and sends again what the server says it lacks, carries none.
    ///
    /// If it panics, the message and all that it was not asked about yet are told as [`Event::Dropped`]. Then the panic goes on to the task that
    /// polls the socket.
    pub fn carries(self, carries: impl Fn(Cold, &Message) -> bool + Send + Sync + 'static) -> Self {
        self.with(|settings| settings.carries = Arc::new(carries))
    }

    #[cfg(any(feature = "rustls-native-roots", feature = "rustls-webpki-roots"))]
    /// Sets how TLS is done: your own certificate authorities, a client's certificate. Default: by the features of this crate.
    pub fn connector(self, connector: Connector) -> Self {
        self.with(|settings| settings.tls.choose(connector))
    }

    /// Is told of everything that happens. If it panics, it is told the rest of this step all the same. Then the panic goes on to the task that polls the
    /// socket. A panic at [`Event::GaveUp`] comes with the next poll, or with the drop.
    pub fn observer(self, observer: impl Fn(Event<'_>) + Send + Sync + 'static) -> Self {
        self.with(|settings| settings.observer = Some(Arc::new(observer)))
    }

    /// Sets where the draws of its delays come from. Default: the operating system's entropy.
    pub fn seed(self, seed: Seed) -> Self {
        self.with(|settings| settings.seed = Arc::new(seed))
    }

    /// The socket. It dials when it is first polled. Each that is opened from one client has state of its own.
    ///
    /// # Errors
    ///
    /// The policy of [`reconnect`](Self::reconnect) is invalid.
    pub fn open(&self) -> Result<WebSocket, InvalidPolicy> {
        WebSocket::new(Arc::clone(&self.settings))
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("plan", &self.settings.plan)
            .field("heartbeat", &self.settings.heartbeat)
            .field("outbox", &self.settings.outbox)
            .field("limits", &self.settings.limits)
            .finish_non_exhaustive()
    }
}
