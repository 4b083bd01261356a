//! How do commands of many tasks leave in one write?
//!
//! The task that writes is woken by the first who sends, and runs before the others have had their turn: redis's own connection makes a
//! system call for each command so. Here it steps back once before it writes, behind the tasks that are ready, and takes along what
//! they have sent by then.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A stream that is written when those who are ready have had their turn.
#[derive(Debug)]
pub(crate) struct Gathered<S> {
    stream: S,
    /// Since it was last flushed.
    has_stepped_back: bool,
}

impl<S> Gathered<S> {
    pub fn new(stream: S) -> Self {
        Self {
            stream,
            has_stepped_back: false,
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Gathered<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        if !self.has_stepped_back {
            self.has_stepped_back = true;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Pin::new(&mut self.stream).poll_write(context, data)
    }

    /// Comes when all has been written.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.has_stepped_back = false;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Gathered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}
