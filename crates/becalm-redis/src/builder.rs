//! Where is Redis, who logs in, and how are dials and commands repeated?

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use becalm::policy::InvalidPolicy;
use becalm::reconnect::{Pacer, Reconnect, SharedConnection};
use becalm::support::within;
use becalm::{Policy, Retrier};
use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo, RedisError};
#[cfg(feature = "rustls")]
use tokio_rustls::rustls::{self, ClientConfig};

use crate::Connection;
use crate::connection::Core;
use crate::dial::Dialler;
use crate::fence::{Fence, LateCopies};
use crate::login::{BoxError, Credentials, Login};
use crate::primary::Primary;
use crate::refusals::Refusals;
#[cfg(feature = "rustls")]
use crate::tls::Tls;

/// The settings of a [`Connection`].
///
/// | setting | default |
/// |---|---|
/// | [`commands`](Self::commands) | 4 attempts, full jitter under 50 ms x 2, a budget of 10 % retries |
/// | [`patience`](Self::patience) | a command waits 15 s for a connection, and for a server that refuses |
/// | [`reconnect`](Self::reconnect) | [`Reconnect::for_commands`]: full jitter under 50 ms x 2 up to 1 s, for ever |
/// | [`pacer`](Self::pacer) | 5 dials a second, 2 of them at once: those of dedicated connections and subscriptions are among them |
/// | [`dial_timeout`](Self::dial_timeout) | 5 s |
/// | [`response_timeout`](Self::response_timeout) | 1 s |
/// | [`answer_bytes`](Self::answer_bytes) | an answer has 64 MiB at most |
/// | [`idle`](Self::idle) | asked by `PING` after 30 s of rest |
/// | [`late_copies`](Self::late_copies) | what writes is not sent again while its first copy may come late |
#[must_use = "settings do nothing until they are built"]
pub struct Builder {
    info: ConnectionInfo,
    #[cfg(feature = "rustls")]
    tls: Option<Tls>,
    login: Option<Login>,
    primary: Option<Primary>,
    login_timeout: Option<Duration>,
    commands: Option<Retrier>,
    reconnect: Reconnect,
    pacer: Option<Pacer>,
    patience: Duration,
    dial_timeout: Duration,
    response_timeout: Duration,
    answer_bytes: u64,
    idle: Duration,
    late_copies: LateCopies,
}

impl Connection {
    /// A connection to this address, by the defaults of [`Builder`]: `redis://host:port/db`, `rediss://` with the feature `rustls`,
    /// `redis+unix:///path`. It is dialled with the first command.
    ///
    /// # Errors
    ///
    /// It is no such address.
    pub fn open(address: &str) -> Result<Self, InvalidSettings> {
        Builder::new(address)?.build()
    }
}

impl Builder {
    /// To this address: `redis://user:password@host:port/db`, `rediss://` with the feature `rustls`, `redis+unix:///path`. `?protocol=resp3`
    /// speaks version 3 of the protocol.
    ///
    /// # Errors
    ///
    /// It is no such address.
    pub fn new(address: &str) -> Result<Self, InvalidSettings> {
        if cfg!(not(unix)) && is_of_unix(address) {
            return Err(InvalidSettings::NoUnixSockets);
        }
        let tls = address.strip_prefix("rediss://");
        #[cfg(not(feature = "rustls"))]
        if tls.is_some() {
            return Err(InvalidSettings::NoTls);
        }
        let plain = tls.map(|rest| format!("redis://{rest}"));
        let info = plain.as_deref().unwrap_or(address).into_connection_info();
        Self::with(info.map_err(InvalidSettings::Address)?, tls.is_some())
    }

    /// By redis's own settings: an address, a login, a database, the version of the protocol. What they say of TCP and of TLS is not heeded: for TLS
    /// there is `Builder::tls`, with the feature `rustls`.
    ///
    /// # Errors
    ///
    /// It is an address that this program cannot dial.
    pub fn of(info: ConnectionInfo) -> Result<Self, InvalidSettings> {
        let is_tls = matches!(info.addr(), ConnectionAddr::TcpTls { .. });
        if cfg!(not(unix)) && matches!(info.addr(), ConnectionAddr::Unix(_)) {
            return Err(InvalidSettings::NoUnixSockets);
        }
        #[cfg(not(feature = "rustls"))]
        if is_tls {
            return Err(InvalidSettings::NoTls);
        }
        Self::with(info, is_tls)
    }

    #[cfg_attr(
        not(feature = "rustls"),
        expect(clippy::unnecessary_wraps, reason = "TLS may fail")
    )]
    fn with(info: ConnectionInfo, is_tls: bool) -> Result<Self, InvalidSettings> {
        let builder = Self {
            info,
            #[cfg(feature = "rustls")]
            tls: None,
            login: None,
            primary: None,
            login_timeout: None,
            commands: None,
            reconnect: Reconnect::for_commands(),
            pacer: None,
            patience: Duration::from_secs(15),
            dial_timeout: Duration::from_secs(5),
            response_timeout: Duration::from_secs(1),
            answer_bytes: 64 << 20,
            idle: Duration::from_secs(30),
            late_copies: LateCopies::default(),
        };
        #[cfg(not(feature = "rustls"))]
        let _ = is_tls;
        #[cfg(feature = "rustls")]
        if is_tls {
            let tls = Some(Tls::of_system().map_err(InvalidSettings::Tls)?);
            return Ok(Self { tls, ..builder });
        }
        Ok(builder)
    }

    /// Sets how TLS is done: your own certificate authorities, a client's certificate. Default for `rediss://`: the
    /// authorities of the system.
    #[cfg(feature = "rustls")]
    pub fn tls(mut self, config: Arc<ClientConfig>) -> Self {
        self.tls = Some(Tls::of(config));
        self
    }

    /// Asks for the login at each dial: a token that expires, such as IAM's of a managed Redis. The closure is told whether the last
    /// login was refused, so that a token is worth renewing; a second refusal in a row is the end. What it fails with is a dial that
    /// has failed.
    ///
    /// It runs outside of every dial, as a task of its own: dials that wait for it share it, it has its own time
    /// ([`login_timeout`](Self::login_timeout)), and no command that leaves ends it. At most ten begin in ten seconds, fewer while
    /// they bring nothing ([`becalm::login`]); a dial in between has what the last one brought.
    pub fn credentials<F, E>(mut self, provider: impl Fn(bool) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Credentials, E>> + Send + 'static,
        E: Into<BoxError>,
    {
        self.login = Some(Login::new(provider));
        self
    }

    /// Sets how long one login ([`credentials`](Self::credentials)) may take. Default 30 s.
    pub fn login_timeout(mut self, limit: Duration) -> Self {
        self.login_timeout = Some(limit);
        self
    }

    /// Asks at each dial where the primary is, host and port, in place of those of the address: of Redis's Sentinels, whose failover moves it. TLS,
    /// login and database stay those of the address. One that cannot be told is a dial that has failed, as is one that takes longer than
    /// [`dial_timeout`](Self::dial_timeout), or a server that says it is a replica (`ROLE`, for which a user needs `+role`).
    ///
    /// ```
    /// # #[derive(Clone)] struct Sentinels;
    /// # impl Sentinels { async fn primary(&self, _name: &str) -> std::io::Result<(String, u16)> { Ok(("10.0.0.3".into(), 6379)) } }
    /// # fn run(sentinels: Sentinels) -> Result<(), becalm_redis::InvalidSettings> {
    /// let redis = becalm_redis::Builder::new("redis://orders/")?
    ///     .primary(move || {
    ///         let sentinels = sentinels.clone();
    ///         async move { sentinels.primary("orders").await }
    ///     })
    ///     .build()?;
    /// # let _ = redis; Ok(())
    /// # }
    /// ```
    pub fn primary<F, E>(mut self, place: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<(String, u16), E>> + Send + 'static,
        E: Into<BoxError>,
    {
        self.primary = Some(Primary::new(place));
        self
    }

    /// Sets how commands are repeated: their policy, budget, observer. A policy with a deadline bounds a command with all of its
    /// waits, and costs each some 0.5 µs; without one the default bounds each attempt. [`RestDelays`](crate::RestDelays) finds
    /// waits that are made for a REST API.
    pub fn commands(mut self, commands: Retrier) -> Self {
        self.commands = Some(commands);
        self
    }

    /// Sets when it is dialled again.
    pub fn reconnect(mut self, reconnect: Reconnect) -> Self {
        self.reconnect = reconnect;
        self
    }

    /// Sets the pacer of its dials, which connections to one server may share.
    pub fn pacer(mut self, pacer: Pacer) -> Self {
        self.pacer = Some(pacer);
        self
    }

    /// Sets how long a command waits for a connection, if no deadline leaves less. It burns no attempt, and the end of it is the end of the
    /// command.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Sets how long a dial may take: the name, the socket, TLS, and the server's first answer. An attempt time-out of [`reconnect`](Self::reconnect) may end it earlier.
    pub fn dial_timeout(mut self, dial_timeout: Duration) -> Self {
        self.dial_timeout = dial_timeout;
        self
    }

    /// Sets how long an answer may take. Later it is no failure that proves anything: the command may have taken effect.
    /// A connection over which nothing comes for so long, while an answer is due, is given up.
    pub fn response_timeout(mut self, response_timeout: Duration) -> Self {
        self.response_timeout = response_timeout;
        self
    }

    /// Sets how many bytes an answer may have: 64 MiB, unless set. A text counts as soon as it is announced, a list as it comes.
    ///
    /// A longer one is an error for its command, which is not sent again, and its connection is given up: all others would wait
    /// behind it. The process keeps up to twice as much while an answer is read.
    pub fn answer_bytes(mut self, answer_bytes: u64) -> Self {
        self.answer_bytes = answer_bytes;
        self
    }

    /// Sets after how much rest a connection is asked whether it is alive: one for commands before it is used, a subscription
    /// while it waits.
    pub fn idle(mut self, idle: Duration) -> Self {
        self.idle = idle;
        self
    }

    /// Sets whether a command that writes is sent again where the server cannot end the connection that it was first sent over.
    pub fn late_copies(mut self, late_copies: LateCopies) -> Self {
        self.late_copies = late_copies;
        self
    }

    /// The connection. It is dialled with the first command.
    ///
    /// # Errors
    ///
    /// A policy is invalid.
    pub fn build(self) -> Result<Connection, InvalidSettings> {
        let commands = match self.commands {
            Some(commands) => commands,
            None => Policy::exponential(Duration::from_millis(50))
                .builder()
                .name("redis")
                .build()?,
        };
        let pacer = match self.pacer {
            Some(pacer) => pacer,
            // At most 7 in any second.
            None => Pacer::new(5, Duration::from_secs(1), 2).unwrap_or_else(|_| unreachable!()),
        };
        if let (Some(login), Some(limit)) = (&self.login, self.login_timeout) {
            login.set_time_limit(limit);
        }
        let mut reconnect = self.reconnect;
        // Kept by the dial, so that it counts neither the login nor the wait for its turn.
        let attempt_timeout = reconnect.policy.attempt_timeout.take();
        let timeout = attempt_timeout.map_or(self.dial_timeout, |it| it.min(self.dial_timeout));
        let dialler = Arc::new(Dialler {
            info: self.info,
            #[cfg(feature = "rustls")]
            tls: self.tls,
            login: self.login,
            primary: self.primary,
            pacer,
            fence: Fence::default(),
            answer_bytes: self.answer_bytes,
            timeout,
        });
        let plan = reconnect.clone().plan()?;
        let (dial, response_timeout) = (Arc::clone(&dialler), self.response_timeout);
        let dial = move || {
            let dial = Arc::clone(&dial);
            async move { dial.dial(response_timeout, true).await }
        };
        let shared = SharedConnection::builder(reconnect, dial)
            .check(self.idle, move |wire: crate::dial::Wire| async move {
                let mut wire = wire;
                let ping = redis::cmd("PING");
                let asked = within(timeout, ping.exec_async(&mut wire.redis));
                matches!(asked.await, Some(Ok(())))
            })
            .build()?;
        Ok(Connection::new(Core {
            shared,
            reconnect: plan,
            dialler,
            refusals: Refusals::new(),
            commands,
            patience: self.patience,
            response_timeout,
            late_copies: self.late_copies,
            idle: self.idle,
        }))
    }
}

/// Whether it is the path of a Unix socket, as redis reads addresses.
fn is_of_unix(address: &str) -> bool {
    let scheme = address.split_once(':').map(|(scheme, _)| scheme);
    matches!(scheme, Some("unix" | "redis+unix" | "valkey+unix"))
}

/// Without its login.
impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("address", &format_args!("{}", self.info.addr()))
            .field("reconnect", &self.reconnect)
            .finish_non_exhaustive()
    }
}

/// Settings that make no connection.
#[derive(Debug)]
#[non_exhaustive]
pub enum InvalidSettings {
    /// It is no address of a Redis.
    Address(RedisError),
    /// `rediss://` without the feature `rustls`.
    NoTls,
    /// `redis+unix://` on a system without Unix sockets.
    NoUnixSockets,
    /// TLS cannot be set up.
    #[cfg(feature = "rustls")]
    Tls(rustls::Error),
    /// A policy is invalid.
    Policy(InvalidPolicy),
}

impl fmt::Display for InvalidSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(_) => f.write_str(
                "this is no address of a Redis: write redis://host:port/db or redis+unix:///path",
            ),
            Self::NoTls => f.write_str("rediss:// needs the feature rustls of becalm-redis"),
            Self::NoUnixSockets => {
                f.write_str("this system has no Unix sockets: write redis://host:port/db")
            }
            #[cfg(feature = "rustls")]
            Self::Tls(_) => {
                f.write_str("TLS cannot be set up with the cryptography of this program")
            }
            Self::Policy(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for InvalidSettings {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Address(error) => Some(error),
            Self::NoTls | Self::NoUnixSockets => None,
            #[cfg(feature = "rustls")]
            Self::Tls(error) => Some(error),
            Self::Policy(_) => None, // its sentence is this one's
        }
    }
}

impl From<InvalidPolicy> for InvalidSettings {
    fn from(error: InvalidPolicy) -> Self {
        Self::Policy(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_unix_sockets_are_told_from_other_addresses() {
        for path in [
            "unix:///run/redis",
            "redis+unix:///run/redis",
            "unix:/run/redis",
        ] {
            assert!(is_of_unix(path), "{path}");
        }
        for other in ["redis://unix/", "rediss://redis+unix:1/", "unix", ""] {
            assert!(!is_of_unix(other), "{other}");
        }
    }
}
