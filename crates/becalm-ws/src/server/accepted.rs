//! What is a connection between its accept and its upgrade? One with a place, an address and a deadline.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use becalm::time::Sleep;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::Server;
use super::answering::Answering;
use super::idle::{Idle, QUIET};
use super::misplaced::Misplaced;
use super::places::{Handshake, Open};
use super::sniff::Sniff;

/// A connection of a [`Listener`](super::Listener), to be read, written and wrapped in TLS as any other.
///
/// It fails with `TimedOut` when its request has not come whole by the deadline of
/// [`handshakes`](super::Settings::handshakes), however slowly it is sent.
///
/// [`AdmissionLayer`](super::AdmissionLayer) and [`Server::handshake`] say when it has come. Where neither sees the request, plain HTTP/1
/// shows it: its handshake is over, and its answer goes out; from the begin of an answer to the next request the connection ends after a minute without a byte, since
/// it holds the place of another. An answer that is sent in chunks, as events are, may be silent as long as it goes on and its client reads. A WebSocket that nothing has admitted is counted as [`Misplaced::Unadmitted`], and behind axum answered with 500. TLS
/// shows nothing, so there the deadline ends what no layer has seen.
///
/// A connection of HTTP/2 that the layer has seen stays for its next request, and ends after a minute without a byte in which no request waits for the head
/// of its answer and no WebSocket is open. Events over HTTP/2 that may be silent for so long send a comment (axum's `KeepAlive`), or their server pings (hyper's
/// `keep_alive_interval`).
#[derive(Debug)]
pub struct Accepted {
    stream: TcpStream,
    deadline: Option<Deadline>,
    is_late: bool,
    sniff: Sniff,
    /// What has gone out of the answer that the sniff has seen.
    answering: Answering,
    /// Its client does not read what is written.
    is_stalled: bool,
    /// Of HTTP/2: how long it has been so.
    idle: Option<Box<Idle>>,
    /// How much was written in place of a WebSocket that was not admitted.
    refused: Option<u16>,
    is_of_axum: bool,
    peer: Peer,
    _open: Open,
}

struct Deadline(Sleep);

/// The other end of an [`Accepted`] connection: what a layer needs to know of it. Put it into the extensions of its
/// requests; [`Server::make_service`] and [`Server::service`] do.
#[derive(Debug, Clone)]
pub struct Peer(Arc<Shared>);

/// Behind one pointer, since a connection holds several of them.
#[derive(Debug)]
struct Shared {
    address: SocketAddr,
    server: Server,
    /// The request has come: what follows has bounds of its own.
    has_come: AtomicBool,
    /// It is of HTTP/2, and so stays for its next request.
    stays: AtomicBool,
    /// How many of its requests wait for the heads of their answers, and how many WebSockets it has.
    working: AtomicUsize,
    handshake: Mutex<Option<Handshake>>,
}

/// A request of a connection that stays, or its WebSocket: the connection is not idle.
#[derive(Debug)]
pub(crate) struct Working(Peer);

impl Drop for Working {
    fn drop(&mut self) {
        let Self(Peer(shared)) = self;
        shared.working.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Peer {
    pub(crate) fn new(server: &Server, address: SocketAddr, handshake: Handshake) -> Self {
        Self(Arc::new(Shared {
            address,
            server: server.clone(),
            has_come: AtomicBool::new(false),
            stays: AtomicBool::new(false),
            working: AtomicUsize::new(0),
            handshake: Mutex::new(Some(handshake)),
        }))
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.0.address
    }

    /// Its address without the port.
    pub fn ip(&self) -> IpAddr {
        self.0.address.ip()
    }

    /// Says that the request has come whole: the deadline is lifted and the place of its handshake free. The layer says so, and
    /// [`handshake`](super::Server::handshake); who reads requests otherwise says it here.
    pub fn request_has_come(&self) {
        if !self.0.has_come.swap(true, Ordering::AcqRel) {
            self.end_handshake();
        }
    }

    /// Whether its listener is this server's.
    #[cfg(feature = "tower")]
    pub(crate) fn is_of(&self, server: &Server) -> bool {
        self.0.server.is(server)
    }

    /// A request has come on a connection that stays after its answer.
    #[cfg_attr(
        not(feature = "tower"),
        expect(dead_code, reason = "the layer alone sees requests of HTTP/2")
    )]
    pub(crate) fn works(&self) -> Working {
        self.0.stays.store(true, Ordering::Release);
        self.0.working.fetch_add(1, Ordering::AcqRel);
        Working(self.clone())
    }

    fn is_known(&self) -> bool {
        self.0.has_come.load(Ordering::Acquire)
    }

    fn end_handshake(&self) {
        let handshake = &self.0.handshake;
        let handshake = handshake
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        drop(handshake);
    }
}

impl Accepted {
    pub(crate) fn new(stream: TcpStream, peer: Peer, open: Open) -> Self {
        let sleeper = peer.0.server.sleeper();
        let ends = peer.0.server.settings().handshake_deadline;
        let deadline = Some(Deadline(sleeper.sleep_until(sleeper.now().after(ends))));
        Self {
            stream,
            deadline,
            is_late: false,
            sniff: Sniff::new(),
            answering: Answering::Over,
            is_stalled: false,
            idle: None,
            refused: None,
            is_of_axum: false,
            peer,
            _open: open,
        }
    }

    /// The other end.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// It is served by axum, which has no way to ask for a handshake itself.
    #[cfg(feature = "axum")]
    pub(crate) fn of_axum(mut self) -> Self {
        self.is_of_axum = true;
        self
    }

    /// Nothing can be read or written.
    fn poll_deadline(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        if self.peer.is_known() || self.sniff == Sniff::Came {
            self.deadline = None;
            return self.poll_idle(context);
        }
        if self.sniff.is_answered() {
            if self.answering.goes_on() && !self.is_stalled {
                self.deadline = None;
                return Ok(());
            }
            let sleeper = self.peer.0.server.sleeper();
            let quiet = || Deadline(sleeper.sleep_until(sleeper.now().after(QUIET)));
            self.deadline.get_or_insert_with(quiet);
        }
        let Some(Deadline(deadline)) = &mut self.deadline else {
            return Ok(());
        };
        if deadline.as_mut().poll(context).is_pending() {
            return Ok(());
        }
        self.is_late = true;
        let sentence = match self.sniff {
            Sniff::Answered(_) => "the connection was silent for a minute",
            Sniff::Hidden => {
                "the handshake took longer than its deadline, or nothing has said that its request came: \
                 serve it by Server::service or Server::handshake"
            }
            _ => "the handshake took longer than its deadline",
        };
        Err(io::Error::new(io::ErrorKind::TimedOut, sentence))
    }

    /// Whether it is of HTTP/2 and nothing happens on it any more.
    fn poll_idle(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        let shared = &self.peer.0;
        if !shared.stays.load(Ordering::Acquire) {
            return Ok(());
        }
        let sleeper = shared.server.sleeper();
        let idle = self
            .idle
            .get_or_insert_with(|| Box::new(Idle::new(sleeper)));
        let is_working = shared.working.load(Ordering::Acquire) > 0;
        match idle.poll(sleeper, is_working, context) {
            Poll::Pending => Ok(()),
            Poll::Ready(()) => Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "the connection was idle for a minute",
            )),
        }
    }

    /// Bytes have come or gone.
    fn has_moved(&mut self) {
        if let Some(idle) = &mut self.idle {
            idle.ends(self.peer.0.server.now());
        }
    }

    /// So much of this has gone out, or its client takes nothing now.
    fn has_written<'a>(
        &mut self,
        parts: impl IntoIterator<Item = &'a [u8]>,
        written: Poll<io::Result<usize>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        self.is_stalled = written.is_pending();
        if let Poll::Ready(Ok(mut left)) = written {
            self.has_moved();
            if self.sniff.is_answered() {
                for part in parts {
                    let gone = part.get(..left.min(part.len())).unwrap_or_default();
                    self.answering.writes(gone);
                    left -= gone.len();
                }
            }
        }
        // It may be over by now, or its client takes nothing.
        if self.is_stalled || self.sniff.is_answered() {
            self.poll_deadline(context)?;
        }
        written
    }

    fn has_read(&mut self, bytes: &[u8]) {
        self.has_moved();
        if self.peer.is_known() || bytes.is_empty() {
            return;
        }
        let had_come = self.sniff.has_come();
        self.sniff.reads(bytes);
        if self.sniff.has_come() {
            self.deadline = None;
            if !had_come {
                self.peer.end_handshake();
            }
        }
    }

    /// Looks at what is to be written. `Some` where something else is written in its place.
    fn poll_instead(
        &mut self,
        bytes: &[u8],
        context: &mut Context<'_>,
    ) -> Option<Poll<io::Result<usize>>> {
        if self.refused.is_none() {
            if self.peer.is_known() {
                return None;
            }
            let had_come = self.sniff.has_come();
            let was_answered = self.sniff.is_answered();
            let is_websocket = self.sniff.writes(bytes);
            if self.sniff.is_answered() && !was_answered {
                self.answering = Answering::begins();
            }
            if self.sniff.has_come() {
                self.deadline = None;
                if !had_come {
                    self.peer.end_handshake();
                }
            }
            if !is_websocket {
                let late = self.poll_deadline(context);
                return late.err().map(|late| Poll::Ready(Err(late)));
            }
            self.peer.0.server.tell(Misplaced::Unadmitted);
            if !self.is_of_axum {
                self.peer.request_has_come();
                return None;
            }
        }
        Some(self.poll_refusal(context))
    }

    fn poll_refusal(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let refusal = not_admitted();
        let done = self.refused.get_or_insert(0);
        while let Some(left @ [_, ..]) = refusal.get(usize::from(*done)..) {
            let written = ready!(Pin::new(&mut self.stream).poll_write(context, left))?;
            *done = done.saturating_add(u16::try_from(written.max(1)).unwrap_or(u16::MAX));
        }
        Poll::Ready(Err(io::Error::other(Misplaced::Unadmitted)))
    }
}

/// The answer to a request for a WebSocket that was not admitted.
fn not_admitted() -> Vec<u8> {
    let sentence = Misplaced::Unadmitted.to_string();
    let length = sentence.len();
    format!(
        "HTTP/1.1 500 Internal Server Error\r\ncontent-type: text/plain\r\ncontent-length: {length}\r\n\
         connection: close\r\n\r\n{sentence}"
    )
    .into_bytes()
}

impl Drop for Accepted {
    fn drop(&mut self) {
        if !self.peer.is_known() && !self.sniff.is_answered() {
            let counters = self.peer.0.server.counters();
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
        let before = into.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, into);
        if read.is_pending() {
            self.poll_deadline(context)?;
        } else {
            self.has_read(into.filled().get(before..).unwrap_or_default());
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
        if let Some(instead) = self.poll_instead(bytes, context) {
            return instead;
        }
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.has_written([bytes], written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let first = parts.iter().find(|part| !part.is_empty());
        if let Some(instead) = self.poll_instead(first.map_or(&[], |part| part), context) {
            return instead;
        }
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.has_written(parts.iter().map(|part| &**part), written, context)
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
