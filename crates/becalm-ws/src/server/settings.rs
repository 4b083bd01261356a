//! How much does a server take on, and whom does it believe? Plain data.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use becalm::rng::Seed;
use becalm::time::{Sleeper, TokioSleeper};
use becalm_admission::{Admission, InvalidAdmission, TicketKeys};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

use super::{Proxies, Server};
use crate::Heartbeat;
use crate::session::Sessions;

/// The settings of a [`Server`].
///
/// | setting | default |
/// |---|---|
/// | [`admission`](Self::new) | yours: what the server can take is known to nobody else |
/// | [`tickets`](Self::tickets) | a key of this process: its tickets are worth nothing after a restart |
/// | [`handshakes`](Self::handshakes) | 256 at once, 64 of them of one address, 10 s for each |
/// | [`connections`](Self::connections) | as many as the process has descriptors for, but for a reserve of 64 |
/// | [`connections_of_one`](Self::connections_of_one) | all but what is kept for others: the last eighth |
/// | [`heartbeat`](Self::heartbeat) | a ping after 20 s of quiet, lost after 10 s more |
/// | [`proxies`](Self::proxies) | none: addresses are those of the connections |
/// | [`sessions`](Self::sessions) | none: all arrivals are fresh |
/// | [`limits`](Self::limits) | messages of 64 MiB, frames of 16 MiB, those of sessions where there are some, buffers of 4 KiB |
#[derive(Clone)]
#[must_use = "settings do nothing until a server is made of them"]
pub struct Settings {
    pub(crate) admission: Admission,
    pub(crate) tickets: Option<TicketKeys>,
    pub(crate) handshakes: usize,
    pub(crate) handshakes_of_one: usize,
    pub(crate) handshake_deadline: Duration,
    pub(crate) connections: Option<usize>,
    pub(crate) connections_of_one: usize,
    pub(crate) heartbeat: Option<Heartbeat>,
    pub(crate) proxies: Proxies,
    pub(crate) sessions: Option<Sessions>,
    pub(crate) limits: WebSocketConfig,
    pub(crate) sleeper: Arc<dyn Sleeper>,
    pub(crate) seed: Arc<Seed>,
}

impl Settings {
    /// Lets in as many as these settings of admission say.
    pub fn new(admission: Admission) -> Self {
        Self {
            admission,
            tickets: None,
            handshakes: 256,
            handshakes_of_one: 64,
            handshake_deadline: Duration::from_secs(10),
            connections: None,
            connections_of_one: usize::MAX,
            heartbeat: Some(Heartbeat::default()),
            proxies: Proxies::default(),
            sessions: None,
            limits: crate::settings::small_buffers(),
            sleeper: Arc::new(TokioSleeper::new()),
            seed: Arc::default(),
        }
    }

    /// Sets the keys that seal tickets. Share them among all processes behind one name, and keep them across restarts, so
    /// that appointments survive those.
    pub fn tickets(mut self, keys: TicketKeys) -> Self {
        self.tickets = Some(keys);
        self
    }

    /// Sets how many connections may be between their accept and the end of their request, TLS included; how many of
    /// those of one address, which the addresses of [proxies](Self::proxies) and of this machine are not; and how long each may take.
    /// At least one of each.
    pub fn handshakes(mut self, at_once: usize, of_one: usize, deadline: Duration) -> Self {
        self.handshakes = at_once.max(1);
        self.handshakes_of_one = of_one.max(1);
        self.handshake_deadline = deadline;
        self
    }

    /// Sets how many connections may be open. Those beyond wait in the kernel until one ends. Keep descriptors in reserve for files
    /// and databases.
    pub fn connections(mut self, most: usize) -> Self {
        self.connections = Some(most.max(1));
        self
    }

    /// Sets how many of the open connections one address may have: an IPv4 address, or the /64 of an IPv6 address; behind a
    /// [proxy](Self::proxies) what its header names. Those beyond are closed when they are accepted; behind a proxy they are told to come later.
    ///
    /// Whatever it is, the last eighth of all [`connections`](Self::connections) is for addresses that have less than is still free: one with many gets none of
    /// it, and the last place is for one that has none. Until then an office of thousands behind one address has as many as come. Addresses of
    /// proxies and of this machine have no share, since they stand for many.
    pub fn connections_of_one(mut self, most: usize) -> Self {
        self.connections_of_one = most.max(1);
        self
    }

    /// Sets when a [`Socket`](super::Socket) asks its client whether it is there, or `None` for never: a client that stops without a word, or
    /// whose proxy does, holds its place and its session until the heartbeat finds it, and for ever without. A WebSocket of another library
    /// beside a [`Connection`](super::Connection) is watched by [`Heartbeat::watch`].
    pub fn heartbeat(mut self, heartbeat: impl Into<Option<Heartbeat>>) -> Self {
        self.heartbeat = heartbeat.into();
        self
    }

    /// Sets the proxies whose word on addresses is taken.
    pub fn proxies(mut self, proxies: Proxies) -> Self {
        self.proxies = proxies;
        self
    }

    /// Sets where sessions are kept: who resumes one of them goes before those who begin, and their counts are in the metrics. Messages
    /// and frames are then at most as long as one of a session in its envelope, unless [`limits`](Self::limits) is set after this: a
    /// WebSocket holds what has come of a message, and all connections together have no bound.
    pub fn sessions(mut self, sessions: &Sessions) -> Self {
        let longest = sessions.longest_in_envelope();
        let least = |limit: Option<usize>| Some(limit.map_or(longest, |limit| limit.min(longest)));
        self.limits.max_message_size = least(self.limits.max_message_size);
        self.limits.max_frame_size = least(self.limits.max_frame_size);
        self.sessions = Some(sessions.clone());
        self
    }

    /// Sets the bounds of messages and frames, and the sizes of buffers. A read buffer of tungstenite's default of 128 KiB is held by
    /// every connection.
    pub fn limits(mut self, limits: WebSocketConfig) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the clock and the timers. Default: tokio's.
    pub fn sleeper(mut self, sleeper: impl Sleeper) -> Self {
        self.sleeper = Arc::new(sleeper);
        self
    }

    /// Sets where draws come from. Default: the operating system's entropy. Who knows a seed knows the tickets of a
    /// server without keys.
    pub fn seed(mut self, seed: Seed) -> Self {
        self.seed = Arc::new(seed);
        self
    }

    /// The server.
    ///
    /// # Errors
    ///
    /// The settings of admission are invalid.
    pub fn server(self) -> Result<Server, InvalidAdmission> {
        Server::new(self)
    }

    /// How many connections may be open.
    pub(crate) fn most_open(&self) -> usize {
        /// For what is open beside connections.
        const RESERVE: u64 = 64;
        let by_descriptors = || {
            let left = descriptors()?.saturating_sub(RESERVE).max(1);
            usize::try_from(left).ok()
        };
        self.connections
            .or_else(by_descriptors)
            .unwrap_or(usize::MAX)
    }
}

/// How many descriptors the process may have, if that is bounded.
#[cfg(unix)]
fn descriptors() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current
}

#[cfg(not(unix))]
fn descriptors() -> Option<u64> {
    None
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("admission", &self.admission)
            .field("handshakes", &self.handshakes)
            .field("connections", &self.connections)
            .field("heartbeat", &self.heartbeat)
            .field("proxies", &self.proxies)
            .finish_non_exhaustive()
    }
}
