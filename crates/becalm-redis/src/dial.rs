//! How is a connection made? An address, a login, a socket of its own, and a server that answers `PING`.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use becalm::Failure;
use becalm::classify::{connect, redis as words};
use becalm::login::Renewed;
use becalm::reconnect::Pacer;
use becalm::support::within;
use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::{
    AsyncConnectionConfig, Cmd, ConnectionAddr, ConnectionInfo, ErrorKind, ProtocolVersion,
    RedisConnectionInfo, RedisError, RedisResult, Value, cmd,
};
use tokio::net::TcpStream;
#[cfg(unix)]
use tokio::net::UnixStream;
use tokio::task::JoinHandle;

use crate::commands;
use crate::counted::{Counted, Counts};
use crate::fence::{Client, Fence};
use crate::gathered::Gathered;
use crate::line::{End, Line, Stream};
use crate::login::{Credentials, Login};
use crate::primary::{Place, Primary, leads};
use crate::replies::Replies;
use crate::subscription::Messages;

/// Where it is dialled, and as whom.
pub(crate) struct Dialler {
    pub info: ConnectionInfo,
    #[cfg(feature = "rustls")]
    pub tls: Option<crate::tls::Tls>,
    pub login: Option<Login>,
    /// Who knows where it is, if that changes.
    pub primary: Option<Primary>,
    pub pacer: Pacer,
    pub fence: Fence,
    /// The most that an answer may have, in bytes.
    pub answer_bytes: u64,
    /// Of the dial alone, without the waits for its login and its turn.
    pub timeout: Duration,
}

/// An open connection; clones are one.
#[derive(Clone)]
pub(crate) struct Wire {
    pub redis: MultiplexedConnection,
    pub counts: Arc<Counts>,
    pub client: Arc<Client>,
    driver: Arc<Driver>,
}

impl Wire {
    /// Closes it for all who hold it, before this returns.
    pub fn close(&self) {
        self.driver.close();
    }
}

/// The task that reads and writes. It ends with the last who holds the connection.
struct Driver {
    task: JoinHandle<()>,
    end: End,
}

impl Driver {
    fn close(&self) {
        self.end.close();
        self.task.abort();
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.close();
    }
}

pub(crate) type Dialled<T> = Result<T, (Failure, RedisError)>;

impl Dialler {
    /// Connects, logs in, and asks whether the server is there. It ends in time, also where nobody answers: everybody waits for it.
    ///
    /// One that is to be shared has all those before it ended that were, too.
    pub async fn dial(&self, response_timeout: Duration, is_shared: bool) -> Dialled<Wire> {
        let wire = |credentials, place| self.wire(credentials, place, response_timeout, is_shared);
        self.dialled(wire).await
    }

    /// As [`dial`](Self::dial), for what is published.
    pub async fn dial_for_messages(&self) -> Dialled<Messages> {
        self.dialled(|credentials, place| self.messages(credentials, place))
            .await
    }

    async fn dialled<T, F: Future<Output = RedisResult<T>>>(
        &self,
        attempt: impl FnOnce(Option<Credentials>, Option<Place>) -> F,
    ) -> Dialled<T> {
        let login = match &self.login {
            Some(login) => Some(login.renewed().await.map_err(|none| {
                let error = io::Error::other(none).into();
                (Failure::transient().unsent(), error)
            })?),
            None => None,
        };
        let _permit = self.pacer.pass().await;
        let place = self.place().await?;
        let credentials = login.as_ref().map(|login| login.value().clone());
        let attempt = attempt(credentials.or_else(|| self.own()), place);
        let dialled = within(self.timeout, attempt).await.unwrap_or_else(|| {
            let late = "the dial took longer than its time-out";
            Err(io::Error::new(io::ErrorKind::TimedOut, late).into())
        });
        match dialled {
            Ok(dialled) => {
                if let Some(login) = login {
                    login.accepted();
                }
                Ok(dialled)
            }
            Err(error) => Err((Self::meaning(&error, login), error)),
        }
    }

    /// Where the primary is, where that is to be asked.
    async fn place(&self) -> Dialled<Option<Place>> {
        let Some(primary) = &self.primary else {
            return Ok(None);
        };
        let unknown = match within(self.timeout, primary.ask()).await {
            Some(Ok(place)) => return Ok(Some(place)),
            Some(Err(error)) => error.to_string(),
            None => "it took longer than a dial may take".into(),
        };
        let error = format!("it is not known where the primary is: {unknown}");
        Err((
            Failure::transient().unsent(),
            io::Error::other(error).into(),
        ))
    }

    /// The login of the address.
    fn own(&self) -> Option<Credentials> {
        let login = self.info.redis_settings();
        let password = login.password()?.into();
        let username = login.username().map(Into::into);
        Some(Credentials { username, password })
    }

    async fn messages(
        &self,
        credentials: Option<Credentials>,
        place: Option<Place>,
    ) -> RedisResult<Messages> {
        let stream = self.stream(place, &Arc::default()).await?;
        let mut messages = Messages::new(stream, self.answer_bytes);
        for command in greeting(self.info.redis_settings(), credentials) {
            accepted(&command, messages.ask(&command).await?)?;
        }
        if self.primary.is_some() {
            leads(messages.ask(&cmd("ROLE")).await?)?;
        }
        Ok(messages)
    }

    async fn wire(
        &self,
        credentials: Option<Credentials>,
        place: Option<Place>,
        response_timeout: Duration,
        is_shared: bool,
    ) -> RedisResult<Wire> {
        let counts = Arc::<Counts>::default();
        let (stream, end) = Line::new(self.stream(place, &counts).await?);
        let stream = Replies::new(stream, self.answer_bytes);
        let stream = Gathered::new(stream);
        let config = AsyncConnectionConfig::new().set_response_timeout(Some(response_timeout));
        // It logs in below, command by command: of a refusal redis keeps no word.
        let nobody = RedisConnectionInfo::default().set_skip_set_lib_name();
        let (mut redis, driver) =
            MultiplexedConnection::new_with_config(&nobody, stream, config).await?;
        let task = tokio::spawn(driver);
        let driver = Arc::new(Driver { task, end });
        for command in greeting(self.info.redis_settings(), credentials) {
            let answer = redis.req_packed_command(&command).await?;
            accepted(&command, answer)?;
        }
        if self.primary.is_some() {
            leads(redis.req_packed_command(&cmd("ROLE")).await?)?;
        }
        let client = if is_shared {
            self.fence.close_behind(&mut redis).await?
        } else {
            Arc::default()
        };
        Ok(Wire {
            redis,
            counts,
            client,
            driver,
        })
    }

    async fn stream(
        &self,
        place: Option<Place>,
        counts: &Arc<Counts>,
    ) -> io::Result<Box<dyn Stream>> {
        let (host, port) = match (&place, self.info.addr()) {
            (Some((host, port)), _) => (host, *port),
            #[cfg(unix)]
            (None, ConnectionAddr::Unix(path)) => {
                let stream = UnixStream::connect(path).await?;
                return Ok(Box::new(Counted::new(stream, Arc::clone(counts))));
            }
            (None, ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. }) => {
                (host, *port)
            }
            _ => {
                return Err(io::Error::new(
                    io::ErrorKind::Unsupported,
                    if cfg!(unix) {
                        "this kind of address is not supported: use TCP or a Unix socket"
                    } else {
                        "this kind of address is not supported: use TCP"
                    },
                ));
            }
        };
        let stream = TcpStream::connect((&**host, port)).await?;
        stream.set_nodelay(true)?;
        #[cfg(feature = "rustls")]
        if let Some(tls) = &self.tls {
            return Ok(Box::new(tls.connect(host, stream, counts).await?));
        }
        Ok(Box::new(Counted::new(stream, Arc::clone(counts))))
    }

    /// What a failed dial means. A refused login is worth another dial where there is a provider to renew it, once.
    fn meaning(error: &RedisError, login: Option<Renewed<Credentials>>) -> Failure {
        let is_refused = |code| ["NOAUTH", "WRONGPASS", "NOPERM"].contains(&code);
        if error.code().is_some_and(is_refused) {
            if login.is_some_and(Renewed::refused) {
                return Failure::transient().unsent();
            }
            return Failure::permanent().unsent();
        }
        if let Some(reply) = reply(error) {
            return words::classify("PING", &reply).unsent();
        }
        if error.is_io_error() {
            connect::classify(error)
        } else {
            Failure::permanent().unsent()
        }
    }
}

/// The error of the system, which redis shares among its own: what is in an `Arc` is not found as what it is.
pub(crate) fn io_error(error: &RedisError) -> Option<&io::Error> {
    let source = error.source()?;
    let shared = source.downcast_ref::<Arc<dyn Error + Send + Sync>>();
    let within = shared.and_then(|shared| shared.downcast_ref());
    within.or_else(|| source.downcast_ref())
}

/// What is said first on a connection.
fn greeting(
    login: &RedisConnectionInfo,
    credentials: Option<Credentials>,
) -> impl Iterator<Item = Cmd> {
    let is_new = login.protocol() != ProtocolVersion::RESP2;
    let hello = (is_new || credentials.is_some()).then(|| {
        let mut hello = if is_new { cmd("HELLO") } else { cmd("AUTH") }.take();
        if is_new {
            hello.arg(3);
        }
        if let Some(Credentials { username, password }) = credentials {
            if is_new {
                hello
                    .arg("AUTH")
                    .arg(username.as_deref().unwrap_or("default"));
            } else {
                hello.arg(username); // no word, without one
            }
            hello.arg(password);
        }
        hello
    });
    let select = (login.db() != 0).then(|| cmd("SELECT").arg(login.db()).take());
    hello.into_iter().chain(select).chain([cmd("PING")])
}

/// What the server has answered to its greeting.
fn accepted(command: &Cmd, answer: Value) -> RedisResult<()> {
    let Err(error) = answer.extract_error() else {
        return Ok(());
    };
    let is_unknown = || {
        error
            .detail()
            .is_some_and(|it| it.starts_with("unknown command"))
    };
    let is_old = error.code() == Some("NOPROTO") || error.code() == Some("ERR") && is_unknown();
    if is_old && commands::name(command) == "HELLO" {
        let sentence = "the server does not speak RESP3: leave protocol=resp3 out of its address";
        return Err((ErrorKind::Client, sentence, error.to_string()).into());
    }
    Err(error)
}

/// The error that the server answered, in its own words.
pub(crate) fn reply(error: &RedisError) -> Option<String> {
    let code = error.code()?;
    Some(format!("{code} {}", error.detail().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use becalm::Policy;
    use becalm::reconnect::Reconnect;

    use super::*;

    #[tokio::test]
    async fn where_logins_come_from_may_be_down_whatever_it_says() {
        let asked = Arc::<AtomicU32>::default();
        let counted = Arc::clone(&asked);
        let three = Policy::fixed(Duration::from_millis(1)).attempts(3);
        let redis = crate::Builder::new("redis://127.0.0.1:1").expect("an address");
        let redis =
            redis
                .reconnect(Reconnect::new(three))
                .credentials(move |_| {
                    counted.fetch_add(1, Ordering::Relaxed);
                    let words = "invalid peer certificate: Expired";
                    async move {
                        Err::<Credentials, _>(io::Error::new(io::ErrorKind::InvalidData, words))
                    }
                });
        let mut redis = redis.build().expect("valid policies");
        let answer = cmd("GET").arg("k").exec_async(&mut redis).await;
        let error = answer.expect_err("no login").to_string();
        assert!(
            error.contains("invalid peer certificate: Expired"),
            "{error}"
        );
        assert_eq!(asked.load(Ordering::Relaxed), 3);
    }
}
