//! How is a connection closed at once, whichever task reads it?

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

type Shared = Arc<Mutex<Option<Box<dyn Stream>>>>;

/// A stream that its [`End`] closes.
pub(crate) struct Line(Shared);

/// Closes a stream. A task that is aborted drops its stream when the runtime comes to it; until then the server would go on.
pub(crate) struct End(Shared);

impl Line {
    pub fn new(stream: Box<dyn Stream>) -> (Self, End) {
        let shared = Arc::new(Mutex::new(Some(stream)));
        (Self(Arc::clone(&shared)), End(shared))
    }

    fn with<T>(
        &self,
        poll: impl FnOnce(Pin<&mut dyn Stream>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let mut stream = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *stream {
            Some(stream) => poll(Pin::new(&mut **stream)),
            None => Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into())),
        }
    }
}

impl End {
    /// Closes it before this returns. Who waits for it is not woken.
    pub fn close(&self) {
        let stream = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(stream);
    }
}

impl AsyncRead for Line {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.with(|stream| stream.poll_read(context, buffer))
    }
}

impl AsyncWrite for Line {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.with(|stream| stream.poll_write(context, data))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.with(|stream| stream.poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.with(|stream| stream.poll_shutdown(context))
    }
}
