//! What does a server keep of its sessions, and for how long?

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use becalm::rng::Seed;
use becalm::time::{Sleeper, TokioSleeper};

use super::Gone;

/// The settings of [`Sessions`](super::Sessions).
///
/// | setting | default |
/// |---|---|
/// | [`window`](Self::window) | 256 KiB of unconfirmed messages for each session |
/// | [`longest`](Self::longest) | messages of 256 KiB from a client |
/// | [`bytes`](Self::bytes) | 256 MiB for all sessions together |
/// | [`age`](Self::age) | 2 minutes without a connection |
/// | [`per_user`](Self::per_user) | 8 sessions without a connection for each user |
/// | [`confirm_after`](Self::confirm_after) | 500 ms |
/// | [`confirm_within`](Self::confirm_within) | 2 minutes |
/// | [`patience`](Self::patience) | 10 s for a client's first word |
#[derive(Clone)]
#[must_use = "settings do nothing until they are opened"]
pub struct SessionSettings {
    pub(super) window: usize,
    pub(super) longest: u32,
    pub(super) bytes: usize,
    pub(super) age: Duration,
    pub(super) per_user: usize,
    pub(super) confirm_after: Duration,
    pub(super) confirm_within: Duration,
    pub(super) patience: Duration,
    pub(super) observer: Option<Arc<Observer>>,
    pub(super) sleeper: Arc<dyn Sleeper>,
    pub(super) seed: Arc<Seed>,
}

type Observer = dyn Fn(&Gone) + Send + Sync;

impl Default for SessionSettings {
    fn default() -> Self {
        Self {
            window: 256 * 1024,
            longest: 256 * 1024,
            bytes: 256 * 1024 * 1024,
            age: Duration::from_secs(120),
            per_user: 8,
            confirm_after: Duration::from_millis(500),
            confirm_within: Duration::from_secs(120),
            patience: Duration::from_secs(10),
            observer: None,
            sleeper: Arc::new(TokioSleeper::new()),
            seed: Arc::default(),
        }
    }
}

impl SessionSettings {
    /// Sets how many bytes of messages a session keeps that its client has not confirmed, 64 more counted for each. Who sends more
    /// waits; a message that is longer alone is refused.
    pub fn window(mut self, bytes: usize) -> Self {
        self.window = bytes;
        self
    }

    /// Sets the longest message that a client may send. Keep the limits of the WebSocket itself 17 bytes above it; those of
    /// tungstenite are 16 MiB. A server of this crate does so by itself.
    pub fn longest(mut self, bytes: u32) -> Self {
        self.longest = bytes;
        self
    }

    /// Sets how many bytes all sessions keep together. Beyond, the session that has waited longest for a connection is given up; where
    /// none waits for one, those who send wait. What comes to sessions whose application waits to send is read ahead as long as there is room for it
    /// beside that, too.
    pub fn bytes(mut self, bytes: usize) -> Self {
        self.bytes = bytes;
        self
    }

    /// Sets how long a session waits for a connection.
    pub fn age(mut self, age: Duration) -> Self {
        self.age = age;
        self
    }

    /// Sets how many sessions of one user wait for a connection. Beyond, that which has waited longest is given up.
    pub fn per_user(mut self, sessions: usize) -> Self {
        self.per_user = sessions;
        self
    }

    /// Sets how long a message that has come waits to be confirmed with one that goes.
    pub fn confirm_after(mut self, delay: Duration) -> Self {
        self.confirm_after = delay;
        self
    }

    /// Sets how long a client may take messages and confirm none of them, until its connection is ended ([`Lost::Unconfirmed`](super::Lost))
    /// and its session waits for another, or makes room. A client confirms what its application has taken, which may be slow for reasons of
    /// its own, and a page in the background may have its timers run once a minute: so the default is as long as a session without a
    /// connection is kept. [`Duration::MAX`] waits for ever.
    pub fn confirm_within(mut self, within: Duration) -> Self {
        self.confirm_within = within;
        self
    }

    /// Sets how long a new connection may take to say hello.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Is told of every session that is over, with what its client has not confirmed.
    pub fn observer(mut self, observer: impl Fn(&Gone) + Send + Sync + 'static) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// Sets the clock. Default: tokio's.
    pub fn sleeper(mut self, sleeper: Arc<dyn Sleeper>) -> Self {
        self.sleeper = sleeper;
        self
    }

    /// Sets where ids come from: for tests, since ids that can be guessed are none. Default: the operating system's entropy.
    pub fn seed(mut self, seed: Seed) -> Self {
        self.seed = Arc::new(seed);
        self
    }
}

impl fmt::Debug for SessionSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionSettings")
            .field("window", &self.window)
            .field("longest", &self.longest)
            .field("bytes", &self.bytes)
            .field("age", &self.age)
            .field("per_user", &self.per_user)
            .finish_non_exhaustive()
    }
}
