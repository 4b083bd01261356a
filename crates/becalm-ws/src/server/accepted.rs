//! What is a connection between its accept and its upgrade? One with a place, an address and a deadline.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use becalm::time::Sleep;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::Server;
use super::places::{Handshake, Open};

/// A connection of a [`Listener`](super::Listener), to be read, written and wrapped in TLS as any other.
///
/// It fails with `TimedOut` when its request has not come whole by the deadline of
/// [`handshakes`](super::Settings::handshakes), however slowly it is sent.
#[derive(Debug)]
pub struct Accepted {
    stream: TcpStream,
    deadline: Option<Deadline>,
    is_late: bool,
    peer: Peer,
    server: Server,
    _open: Open,
}

struct Deadline(Sleep);

/// The other end of an [`Accepted`] connection: what a layer needs to know of it. Put it into the extensions of its
/// requests; axum does with `into_make_service_with_connect_info::<Peer>()`.
#[derive(Debug, Clone)]
pub struct Peer {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// The request has come: what follows has bounds of its own.
    has_come: AtomicBool,
    handshake: Mutex<Option<Handshake>>,
}

impl Peer {
    pub(crate) fn new(address: SocketAddr, handshake: Handshake) -> Self {
        Self {
            address,
            shared: Arc::new(Shared {
                has_come: AtomicBool::new(false),
                handshake: Mutex::new(Some(handshake)),
            }),
        }
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its address without the port.
    pub fn ip(&self) -> IpAddr {
        self.address.ip()
    }

    /// Says that the request has come whole: the deadline is lifted and the place of its handshake free. The layer says so, and
    /// [`handshake`](super::Server::handshake); who reads requests otherwise says it here.
    pub fn request_has_come(&self) {
        if !self.shared.has_come.swap(true, Ordering::AcqRel) {
            let handshake = &self.shared.handshake;
            drop(
                handshake
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .take(),
            );
        }
    }
}

impl Accepted {
    pub(crate) fn new(server: &Server, stream: TcpStream, peer: Peer, open: Open) -> Self {
        let sleeper = server.sleeper();
        let deadline = sleeper.now().after(server.settings().handshake_deadline);
        Self {
            stream,
            deadline: Some(Deadline(sleeper.sleep_until(deadline))),
            is_late: false,
            peer,
            server: server.clone(),
            _open: open,
        }
    }

    /// The other end.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    fn poll_deadline(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        let Some(Deadline(deadline)) = &mut self.deadline else {
            return Ok(());
        };
        if self.peer.shared.has_come.load(Ordering::Acquire) {
            self.deadline = None;
        } else if deadline.as_mut().poll(context).is_ready() {
            self.is_late = true;
            let sentence = "the handshake took longer than its deadline";
            return Err(io::Error::new(io::ErrorKind::TimedOut, sentence));
        }
        Ok(())
    }
}

impl Drop for Accepted {
    fn drop(&mut self) {
        if !self.peer.shared.has_come.load(Ordering::Acquire) {
            let counters = self.server.counters();
            let counter = if self.is_late {
                &counters.reject_age
            } else {
                &counters.peer_gone
            };
            counter.fetch_add(1, Ordering::Relaxed);
        }
        self.peer.request_has_come();
    }
}

impl AsyncRead for Accepted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // What has come goes first: a deadline that fires while nobody polls cuts nobody off who was in time.
        let read = Pin::new(&mut self.stream).poll_read(context, into);
        if read.is_pending() {
            self.poll_deadline(context)?;
        }
        read
    }
}

impl AsyncWrite for Accepted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

impl std::fmt::Debug for Deadline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Deadline")
    }
}
