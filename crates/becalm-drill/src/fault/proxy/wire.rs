//! How fast does a client get its answer, and does its connection end by a close or by a reset?

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

use super::Proxy;
use crate::fault::spec::Fault;

/// The longest that a write waits before it looks again whether it has to: so long a fault may last beyond its end.
const LOOK: Duration = Duration::from_millis(20);

/// When the next byte may be sent: of one connection, or of all together.
#[derive(Default)]
pub struct Link(Mutex<Option<Instant>>);

impl Link {
    /// How many bytes may be sent now, or how long until there are some.
    fn room(&self, rate: u64) -> Result<usize, Duration> {
        let free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        match *free {
            Some(free) if free > now => Err(free - now),
            // As many as take 20 ms, so that those who share it take turns.
            _ => Ok(usize::try_from(rate / 50).unwrap_or(usize::MAX).max(1)),
        }
    }

    fn sent(&self, bytes: usize, rate: u64) {
        #[expect(clippy::cast_precision_loss)] // far below what a double counts
        let takes = Duration::from_secs_f64(bytes as f64 / rate as f64);
        let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        *free = Some(free.unwrap_or(now).max(now) + takes);
    }
}

/// A client's connection.
pub struct Wire {
    stream: TcpStream,
    proxy: Arc<Proxy>,
    own: Link,
    waits: Option<Pin<Box<Sleep>>>,
    resets: Arc<AtomicBool>,
}

impl Wire {
    /// With what says whether it ends by a reset.
    pub fn new(stream: TcpStream, proxy: Arc<Proxy>) -> (Self, Arc<AtomicBool>) {
        let resets = Arc::<AtomicBool>::default();
        let wire = Self {
            stream,
            proxy,
            own: Link::default(),
            waits: None,
            resets: Arc::clone(&resets),
        };
        (wire, resets)
    }

    /// What paces it now.
    fn pace(&self) -> Option<(&Link, u64)> {
        match self.proxy.gate.now() {
            Some(Fault::Slow(rate)) => Some((&self.own, rate)),
            Some(Fault::Bandwidth(rate)) => Some((&self.proxy.link, rate)),
            _ => None,
        }
    }

    fn poll_paced(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            if let Some(waits) = &mut self.waits {
                ready!(waits.as_mut().poll(context));
                self.waits = None;
            }
            let Some((link, rate)) = self.pace() else {
                return Pin::new(&mut self.stream).poll_write(context, bytes);
            };
            match link.room(rate) {
                Ok(room) => {
                    let piece = &bytes[..bytes.len().min(room)];
                    let sent = ready!(Pin::new(&mut self.stream).poll_write(context, piece))?;
                    if let Some((link, rate)) = self.pace() {
                        link.sent(sent, rate);
                    }
                    return Poll::Ready(Ok(sent));
                }
                Err(time) => self.waits = Some(Box::pin(sleep(time.min(LOOK)))),
            }
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_paced(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.waits.is_none() && self.pace().is_none() {
            return Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        }
        let first = slices.iter().find(|it| !it.is_empty());
        self.poll_paced(context, first.map_or(&[], |it| it))
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

impl Drop for Wire {
    fn drop(&mut self) {
        if self.resets.load(Ordering::Relaxed) {
            // What is closed so is reset (RFC 9293 section 3.6.1 lets a system do it; socket(7), SO_LINGER).
            let _ = self.stream.set_zero_linger();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_link_carries_as_many_bytes_as_its_rate_says() {
        let link = Link::default();
        let began = Instant::now();
        let mut sent = 0;
        while sent < 1_000 {
            match link.room(500) {
                Ok(room) => {
                    link.sent(room, 500);
                    sent += room;
                }
                Err(time) => sleep(time).await,
            }
        }
        let took = began.elapsed();
        assert!((1_900..=2_000).contains(&took.as_millis()), "{took:?}");
        // What was not used is not saved up.
        sleep(Duration::from_secs(60)).await;
        link.sent(500, 500);
        assert_eq!(link.room(500), Err(Duration::from_secs(1)));
    }

    #[tokio::test(start_paused = true)]
    async fn the_slowest_link_carries_a_byte() {
        assert_eq!(Link::default().room(1), Ok(1));
    }
}
