//! How is a connection upgraded without an HTTP server? Its request is read, it is admitted, you look at it, it gets its 101.

use std::fmt;
use std::io;

use becalm_admission::Advice;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::machine::TryParse;
use tokio_tungstenite::tungstenite::handshake::server::{Request, create_response, write_response};
use tokio_tungstenite::tungstenite::http::header::SEC_WEBSOCKET_PROTOCOL;
use tokio_tungstenite::tungstenite::http::{HeaderValue, Response, StatusCode};
use tokio_tungstenite::tungstenite::protocol::Role;
use tokio_tungstenite::tungstenite::{self, error::ProtocolError};

use super::admit::{Admitted, Asking};
use super::refusal::{any_protocol, is_of_browser, unavailable};
use super::{Connection, Peer, Server, Socket};

/// The longest head of a request, in bytes.
const LONGEST: usize = 16 * 1024;

/// A request for a WebSocket that was admitted and has no answer yet: the place for a login.
#[must_use = "a handshake that is dropped hangs up"]
pub struct Handshake<IO> {
    io: IO,
    request: Request,
    response: Response<()>,
    /// What came behind the request.
    behind: Vec<u8>,
    admitted: Admitted,
}

/// Without the request, which holds the login.
impl<IO> fmt::Debug for Handshake<IO> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handshake").finish_non_exhaustive()
    }
}

/// Why there is no handshake to go on with. The client has had its answer.
#[derive(Debug)]
#[non_exhaustive]
pub enum NoHandshake {
    /// It was told when to come back.
    Later(Advice),
    /// It has hung up.
    Gone,
    /// It is no request for a WebSocket.
    Invalid(Box<tungstenite::Error>),
    /// The connection failed, or took longer than the deadline.
    Io(io::Error),
}

impl fmt::Display for NoHandshake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Later(advice) => write!(f, "told to come back: {advice}"),
            Self::Gone => f.write_str("the client has hung up"),
            Self::Invalid(error) => write!(f, "no request for a WebSocket: {error}"),
            Self::Io(error) => write!(f, "the connection failed: {error}"),
        }
    }
}

impl std::error::Error for NoHandshake {}

impl From<io::Error> for NoHandshake {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Server {
    /// Reads the request of a connection, over TLS or not, and admits it, or tells it when to come back. Ready before any
    /// of the costly work.
    ///
    /// # Errors
    ///
    /// It was not admitted, has gone, or is none of a WebSocket.
    pub async fn handshake<IO>(&self, mut io: IO, peer: &Peer) -> Result<Handshake<IO>, NoHandshake>
    where
        IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let coming = self.registry().coming();
        let read = read_request(&mut io).await?;
        peer.request_has_come();
        let parsed = read.and_then(|(request, behind)| {
            let response = create_response(&request)?;
            Ok((request, behind, response))
        });
        let (request, mut behind, response) = match parsed {
            Ok(parsed) => parsed,
            Err(error) => {
                refuse(&mut io, &status(StatusCode::BAD_REQUEST)).await?;
                return Err(NoHandshake::Invalid(Box::new(error)));
            }
        };
        let asking = Asking::new(self, coming);
        let entry = tokio::select! {
            // In this order, so that it is counted who has gone.
            biased;
            entry = asking.admit(Some(peer.ip()), request.headers(), request.uri()) => entry,
            end = end(&mut io, &mut behind) => return Err(end),
        };
        match entry {
            Ok(admitted) => Ok(Handshake {
                io,
                request,
                response,
                behind,
                admitted,
            }),
            Err(advice) => {
                self.tell_later(io, &request, response, &advice).await?;
                Err(NoHandshake::Later(advice))
            }
        }
    }

    async fn tell_later<IO>(
        &self,
        mut io: IO,
        request: &Request,
        mut switching: Response<()>,
        advice: &Advice,
    ) -> io::Result<()>
    where
        IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let courtesy = is_of_browser(request.headers()).then(|| self.counters().courtesy());
        let Some(Some(courtesy)) = courtesy else {
            return refuse(&mut io, &unavailable(advice)).await;
        };
        if let Some(protocol) = any_protocol(request.headers()) {
            let headers = switching.headers_mut();
            headers.insert(SEC_WEBSOCKET_PROTOCOL, protocol);
        }
        write(&mut io, &switching).await?;
        self.send_away(io, advice).await;
        drop(courtesy);
        Ok(())
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin> Handshake<IO> {
    /// The request.
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// Chooses a subprotocol, one of those that the request offers.
    pub fn protocol(mut self, protocol: HeaderValue) -> Self {
        let headers = self.response.headers_mut();
        headers.insert(SEC_WEBSOCKET_PROTOCOL, protocol);
        self
    }

    /// Answers with 101. The permit stays with the socket until that is [ready](Socket::ready).
    ///
    /// # Errors
    ///
    /// The connection fails.
    pub async fn accept(mut self) -> io::Result<Socket<IO>> {
        write(&mut self.io, &self.response).await?;
        let limits = Some(self.admitted.server.settings().limits);
        let wire = WebSocketStream::from_partially_read(self.io, self.behind, Role::Server, limits);
        Ok(Socket::new(wire.await, Connection::new(self.admitted)))
    }

    /// Answers with this status, such as 401, and ends the connection.
    ///
    /// # Errors
    ///
    /// The connection fails.
    pub async fn refuse(mut self, code: StatusCode) -> io::Result<()> {
        refuse(&mut self.io, &status(code)).await
    }
}

fn status(code: StatusCode) -> Response<()> {
    let mut response = Response::new(());
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert("connection", HeaderValue::from_static("close"));
    response
}

/// The request and what came behind it, or what is wrong with it.
async fn read_request<IO: AsyncRead + Unpin>(
    io: &mut IO,
) -> Result<Result<(Request, Vec<u8>), tungstenite::Error>, NoHandshake> {
    let mut read = Vec::with_capacity(1024);
    loop {
        let before = read.len();
        if io.read_buf(&mut read).await? == 0 {
            return Err(NoHandshake::Gone);
        }
        // Looked at once, or a request that comes byte by byte would be parsed as often.
        let fresh = &read[before.saturating_sub(3)..];
        let is_whole = fresh.windows(4).any(|end| end == b"\r\n\r\n");
        if is_whole || read.len() >= LONGEST {
            let parsed = Request::try_parse(&read);
            let incomplete = ProtocolError::HandshakeIncomplete.into();
            let parsed = parsed.and_then(|request| request.ok_or(incomplete));
            return Ok(parsed.map(|(length, request)| (request, read.split_off(length))));
        }
    }
}

/// Ready when the client has hung up. What it sends meanwhile is kept.
async fn end<IO: AsyncRead + Unpin>(io: &mut IO, behind: &mut Vec<u8>) -> NoHandshake {
    while behind.len() < LONGEST {
        match io.read_buf(behind).await {
            Ok(0) => return NoHandshake::Gone,
            Ok(_) => (),
            Err(error) => return NoHandshake::Io(error),
        }
    }
    std::future::pending().await
}

async fn write<IO: AsyncWrite + Unpin>(io: &mut IO, response: &Response<()>) -> io::Result<()> {
    let mut text = Vec::with_capacity(256);
    write_response(&mut text, response).map_err(io::Error::other)?;
    io.write_all(&text).await?;
    io.flush().await
}

async fn refuse<IO: AsyncWrite + Unpin>(io: &mut IO, response: &Response<()>) -> io::Result<()> {
    write(io, response).await?;
    io.shutdown().await
}
