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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use redis::aio::MultiplexedConnection;
    use redis::{AsyncConnectionConfig, RedisConnectionInfo, cmd};
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
    use tokio::task::JoinSet;

    use super::*;

    /// A stream whose writes are counted.
    struct Written(DuplexStream, Arc<AtomicUsize>);

    impl AsyncWrite for Written {
        fn poll_write(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
            data: &[u8],
        ) -> Poll<io::Result<usize>> {
            self.1.fetch_add(1, Ordering::Relaxed);
            Pin::new(&mut self.0).poll_write(context, data)
        }

        fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
            Pin::new(&mut self.0).poll_flush(context)
        }

        fn poll_shutdown(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
        ) -> Poll<io::Result<()>> {
            Pin::new(&mut self.0).poll_shutdown(context)
        }
    }

    impl AsyncRead for Written {
        fn poll_read(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
            buffer: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            Pin::new(&mut self.0).poll_read(context, buffer)
        }
    }

    /// Answers every `PING`.
    async fn serve(mut stream: DuplexStream) {
        let mut command = [0; "*1\r\n$4\r\nPING\r\n".len()];
        while stream.read_exact(&mut command).await.is_ok() {
            let _ = stream.write_all(b"+PONG\r\n").await;
        }
    }

    /// On a runtime that runs what was woken last at once.
    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn what_many_tasks_send_leaves_in_few_writes() {
        const TASKS: usize = 32;
        const COMMANDS: usize = 10;
        let (client, server) = duplex(1 << 16);
        tokio::spawn(serve(server));
        let writes = Arc::<AtomicUsize>::default();
        let stream = Gathered::new(Written(client, Arc::clone(&writes)));
        let nobody = RedisConnectionInfo::default().set_skip_set_lib_name();
        let config = AsyncConnectionConfig::new();
        let opened = MultiplexedConnection::new_with_config(&nobody, stream, config).await;
        let (redis, driver) = opened.expect("it is open");
        tokio::spawn(driver);
        let mut tasks = JoinSet::new();
        for _ in 0..TASKS {
            let mut redis = redis.clone();
            tasks.spawn(async move {
                for _ in 0..COMMANDS {
                    cmd("PING").exec_async(&mut redis).await.expect("an answer");
                }
            });
        }
        tasks.join_all().await;
        let writes = writes.load(Ordering::Relaxed);
        assert!(writes <= TASKS * COMMANDS / 8, "{writes} writes");
    }
}
