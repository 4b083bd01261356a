//! How does a client talk to the service? Over connections that it keeps.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};

use becalm::classify::{Classify, Failure};
use http::{Request, StatusCode};
use http_body_util::Empty;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// Idle connections that are kept for the next attempt.
const KEPT: usize = 32;

/// The clients' connections to one service: each carries one attempt at a time and is kept
/// afterwards. An attempt that is dropped takes its connection with it.
#[derive(Debug)]
pub struct Connections {
    address: SocketAddr,
    idle: Mutex<Vec<Connection>>,
}

impl Connections {
    /// No connections yet.
    pub fn to(address: SocketAddr) -> Self {
        Self {
            address,
            idle: Mutex::default(),
        }
    }

    /// Sends one request and waits for the status of its answer, for ever: the retrier sets the
    /// time.
    pub async fn get(&self) -> Result<StatusCode, Broken> {
        // Bound first: the lock must not be held across the connect.
        let idle = self
            .idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => Connection::open(self.address).await?,
        };
        let status = connection.exchange(&self.address).await?;
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < KEPT {
            idle.push(connection);
        }
        Ok(status)
    }
}

type Driver = http1::Connection<TokioIo<TcpStream>, Empty<Bytes>>;

/// A connection, driven by the attempt that uses it, so that both end together.
#[derive(Debug)]
struct Connection {
    sender: http1::SendRequest<Empty<Bytes>>,
    driver: Pin<Box<Driver>>,
}

impl Connection {
    async fn open(address: SocketAddr) -> Result<Self, Broken> {
        let stream = TcpStream::connect(address).await.map_err(Broken::Connect)?;
        stream.set_nodelay(true).map_err(Broken::Connect)?;
        let (sender, driver) = http1::handshake(TokioIo::new(stream)).await?;
        Ok(Self {
            sender,
            driver: Box::pin(driver),
        })
    }

    async fn exchange(&mut self, host: &SocketAddr) -> Result<StatusCode, Broken> {
        let request = Request::get("/")
            .header(http::header::HOST, host.to_string())
            .body(Empty::new())
            .map_err(Broken::Request)?;
        let sender = &mut self.sender;
        let exchange = async {
            sender.ready().await?;
            sender.send_request(request).await
        };
        tokio::select! {
            response = exchange => Ok(response?.status()),
            ended = &mut self.driver => Err(ended.err().map_or(Broken::Closed, Broken::Http)),
        }
    }
}

/// An attempt without an answer.
#[derive(Debug)]
#[non_exhaustive]
pub enum Broken {
    /// No connection.
    Connect(io::Error),
    /// The connection failed in the middle.
    Http(hyper::Error),
    /// The service closed the connection without an answer.
    Closed,
    /// The request could not be built.
    Request(http::Error),
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
            Self::Http(error) => write!(f, "the connection failed: {error}"),
            Self::Closed => f.write_str("the service closed the connection without an answer"),
            Self::Request(error) => write!(f, "the request cannot be built: {error}"),
        }
    }
}

impl std::error::Error for Broken {}

impl Classify for Broken {
    fn classify(&self) -> Failure {
        match self {
            Self::Connect(error) => error.classify(),
            Self::Http(_) | Self::Closed => Failure::transient(),
            Self::Request(_) => Failure::permanent(),
        }
    }
}
