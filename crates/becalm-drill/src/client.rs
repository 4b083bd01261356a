//! How does a client talk to the service? Over connections that it keeps.

use std::error::Error;
use std::fmt;
use std::io;
use std::iter;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::{Mutex, PoisonError};

use becalm::classify::{Cause, Classify, Failure, FailureKind};
use becalm::http::unanswered;
use futures_util::FutureExt;
use http::header::LOCATION;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::ask::Ask;
use crate::system;

/// Idle connections that are kept for the next attempt.
const KEPT: usize = 32;

/// The clients' connections to one service: each carries one attempt at a time and is kept
/// afterwards. An attempt that is dropped takes its connection with it.
#[derive(Debug)]
pub struct Connections {
    address: SocketAddr,
    ask: Ask,
    idle: Mutex<Vec<Connection>>,
}

impl Connections {
    /// No connections yet.
    pub fn to(address: SocketAddr, ask: Ask) -> Self {
        Self {
            address,
            ask: ask.host(&address.to_string()),
            idle: Mutex::default(),
        }
    }

    /// What is asked of the service.
    pub fn ask(&self) -> &Ask {
        &self.ask
    }

    /// Sends one request of the call with this number and waits for the end of its answer, for ever:
    /// the retrier sets the time. Returns the answer's status.
    pub async fn send(&self, call: u64) -> Result<StatusCode, Broken> {
        self.answer(call).await.map(|answer| answer.status)
    }

    /// As [`Connections::send`], with where the answer redirects to.
    pub async fn answer(&self, call: u64) -> Result<Head, Broken> {
        let request = self.ask.request(call).map_err(Broken::Request)?;
        // Bound first: the lock must not be held across the connect.
        let idle = self.idle();
        let mut connection = match idle {
            Some(connection) => connection,
            None => Connection::open(self.address).await?,
        };
        let head = connection.exchange(request).await?;
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if connection.is_open && idle.len() < KEPT {
            idle.push(connection);
        }
        Ok(head)
    }

    /// A connection that the service has not closed meanwhile.
    fn idle(&self) -> Option<Connection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        iter::from_fn(|| idle.pop()).find_map(Connection::still_open)
    }
}

/// What is known of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    pub status: StatusCode,
    /// Where it redirects to.
    pub location: Option<String>,
}

type Driver = http1::Connection<TokioIo<TcpStream>, Full<Bytes>>;

/// A connection, driven by the attempt that uses it, so that both end together.
#[derive(Debug)]
struct Connection {
    sender: http1::SendRequest<Full<Bytes>>,
    driver: Pin<Box<Driver>>,
    is_open: bool,
}

impl Connection {
    async fn open(address: SocketAddr) -> Result<Self, Broken> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, driver) = http1::handshake(TokioIo::new(stream)).await?;
        Ok(Self {
            sender,
            driver: Box::pin(driver),
            is_open: true,
        })
    }

    /// Itself, unless its other end is gone.
    fn still_open(mut self) -> Option<Self> {
        (&mut self.driver).now_or_never().is_none().then_some(self)
    }

    async fn exchange(&mut self, request: Request<Full<Bytes>>) -> Result<Head, Broken> {
        let sender = &mut self.sender;
        let exchange = async {
            sender.ready().await?;
            let mut answer = sender.send_request(request).await?;
            // A connection carries the next request when the answer to this one is read.
            while let Some(frame) = answer.body_mut().frame().await {
                frame?;
            }
            let location = answer.headers().get(LOCATION);
            Ok::<_, Broken>(Head {
                status: answer.status(),
                location: location.map(|it| String::from_utf8_lossy(it.as_bytes()).into()),
            })
        };
        let mut exchange = pin!(exchange);
        tokio::select! {
            biased;
            head = &mut exchange => head,
            ended = &mut self.driver => {
                self.is_open = false;
                ended?;
                // A service that closes the connection behind its answer has answered. What is left of
                // the exchange is ready, whatever it came to.
                exchange.now_or_never().unwrap_or(Err(Broken::Closed))
            }
        }
    }
}

/// Whether this machine has no connection to give, so that the service was not asked.
fn is_shortage(error: &io::Error) -> bool {
    error.raw_os_error().is_some_and(system::is_shortage)
}

/// An attempt without an answer.
#[derive(Debug)]
#[non_exhaustive]
pub enum Broken {
    /// No connection.
    Connect(io::Error),
    /// This machine has none to give.
    Short(io::Error),
    /// The connection failed in the middle.
    Http(hyper::Error),
    /// The service closed the connection without an answer.
    Closed,
    /// The request could not be built.
    Request(http::Error),
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        if is_shortage(&error) {
            Self::Short(error)
        } else {
            Self::Connect(error)
        }
    }
}

impl From<hyper::Error> for Broken {
    fn from(error: hyper::Error) -> Self {
        Self::Http(error)
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(error) => write!(f, "cannot connect: {error}"),
            Self::Short(error) => write!(f, "this machine has no more connections: {error}"),
            Self::Http(error) => write!(f, "the connection failed: {error}"),
            Self::Closed => f.write_str("the service closed the connection without an answer"),
            Self::Request(error) => write!(f, "the request cannot be built: {error}"),
        }
    }
}

impl Error for Broken {}

impl Classify for Broken {
    fn classify(&self) -> Failure {
        match self {
            Self::Connect(error) | Self::Short(error) => error.classify(),
            Self::Http(error) => unanswered(iter::once(error as &(dyn Error + 'static))),
            Self::Closed => Failure::transient().because(Cause::Kind(FailureKind::Reset)),
            Self::Request(_) => Failure::permanent(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::errno::Errno;

    #[test]
    fn what_this_machine_lacks_is_told_from_what_the_service_refuses() {
        let broken = |errno: Errno| Broken::from(io::Error::from_raw_os_error(errno as i32));
        for errno in [Errno::EMFILE, Errno::ENFILE, Errno::EADDRNOTAVAIL] {
            assert!(matches!(broken(errno), Broken::Short(_)), "{errno}");
        }
        for errno in [Errno::ECONNREFUSED, Errno::ECONNRESET, Errno::ETIMEDOUT] {
            assert!(matches!(broken(errno), Broken::Connect(_)), "{errno}");
        }
    }
}
