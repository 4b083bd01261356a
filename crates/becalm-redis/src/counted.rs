//! How many bytes have left over a connection, and how many have come?

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

/// What has gone over a connection.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    written: AtomicU64,
    read: AtomicU64,
    /// Whether there is something owed.
    is_owed: AtomicBool,
    owed: Mutex<Option<Owed>>,
}

/// An answer that nobody waits for any more, and that was not there.
#[derive(Debug)]
struct Owed {
    since: Instant,
    read: u64,
}

/// Who waits for the answer to what was sent since the mark. One who goes without it leaves it owed.
#[derive(Debug)]
pub(crate) struct Waiting<'a>(pub &'a Counts, pub Mark);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let Self(counts, mark) = self;
        if counts.written_since(*mark) > 0 && counts.is_silent_since(*mark) {
            let mut owed = counts.owed.lock().unwrap_or_else(PoisonError::into_inner);
            // Of several the first, while nothing comes.
            if owed.as_ref().is_none_or(|owed| owed.read != mark.read) {
                let since = Instant::now();
                *owed = Some(Owed {
                    since,
                    read: mark.read,
                });
                counts.is_owed.store(true, Ordering::Release);
            }
        }
    }
}

/// What had gone over it at a moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    written: u64,
    read: u64,
}

impl Counts {
    pub fn mark(&self) -> Mark {
        Mark {
            written: self.written.load(Ordering::Acquire),
            read: self.read.load(Ordering::Acquire),
        }
    }

    fn wrote(&self, polled: &Poll<io::Result<usize>>) {
        if let Poll::Ready(Ok(written)) = polled {
            self.written.fetch_add(*written as u64, Ordering::Release);
        }
    }

    /// How much was handed to the kernel since then.
    pub fn written_since(&self, mark: Mark) -> u64 {
        self.mark().written - mark.written
    }

    /// Whether nothing has come since then.
    pub fn is_silent_since(&self, mark: Mark) -> bool {
        self.mark().read == mark.read
    }

    /// Whether an answer has been owed for so long, and nothing has come.
    pub fn is_silent_for(&self, at_least: Duration) -> bool {
        if !self.is_owed.load(Ordering::Acquire) {
            return false;
        }
        let mut owed = self.owed.lock().unwrap_or_else(PoisonError::into_inner);
        let read = self.read.load(Ordering::Acquire);
        if let Some(owed) = owed.as_ref().filter(|owed| owed.read == read) {
            return owed.since.elapsed() >= at_least;
        }
        *owed = None;
        self.is_owed.store(false, Ordering::Release);
        false
    }
}

/// A stream whose bytes are counted: those written when the kernel has taken them.
///
/// It lies under TLS, which may fail after the kernel has taken some of what it was given, and then does not say how much. What is
/// counted there proves no less: TLS makes bytes more and never fewer (RFC 8446, section 5.2; rustls compresses nothing) and keeps their
/// order, so that fewer bytes than a command is long cannot hold all of it.
#[derive(Debug)]
pub(crate) struct Counted<S> {
    stream: S,
    counts: Arc<Counts>,
}

impl<S> Counted<S> {
    pub fn new(stream: S, counts: Arc<Counts>) -> Self {
        Self { stream, counts }
    }

    #[cfg(all(test, feature = "rustls"))]
    pub fn stream_mut(&mut self) -> &mut S {
        &mut self.stream
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Counted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        let read = buffer.filled().len() - before;
        if read > 0 {
            self.counts.read.fetch_add(read as u64, Ordering::Release);
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Counted<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, data);
        self.counts.wrote(&polled);
        polled
    }

    /// TLS hands its records over so, many at once.
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.counts.wrote(&polled);
        polled
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
