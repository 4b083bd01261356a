//! How is a connection read on which the server sends of itself? Value by value, and only when it is asked for one.
//!
//! What nobody asks for stays with the system and the server, so that a slow reader costs this process the memory of one
//! value.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use redis::{Cmd, RedisResult, Value, parse_redis_value};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::line::Stream;
use crate::replies::Frames;

/// How much is read at once.
const PIECE: usize = 16 << 10;

/// An open connection.
pub(crate) struct Messages {
    stream: Box<dyn Stream>,
    frames: Frames,
    /// What was read: up to `start` it was handed on, and up to `seen` it holds no whole value.
    read: Vec<u8>,
    start: usize,
    seen: usize,
    unsent: Vec<u8>,
}

impl Messages {
    /// A value may have so many bytes at most.
    pub fn new(stream: Box<dyn Stream>, most: u64) -> Self {
        Self {
            stream,
            frames: Frames::new(most),
            read: Vec::new(),
            start: 0,
            seen: 0,
            unsent: Vec::new(),
        }
    }

    /// Sends a command and reads a value, on a connection on which nothing comes of itself yet.
    pub async fn ask(&mut self, command: &Cmd) -> RedisResult<Value> {
        self.send(command);
        poll_fn(|context| self.poll_value(context)).await
    }

    /// Sends a command when it is polled.
    pub fn send(&mut self, command: &Cmd) {
        self.unsent.extend(command.get_packed_command());
    }

    /// The next value. Meanwhile it sends.
    pub fn poll_value(&mut self, context: &mut Context<'_>) -> Poll<RedisResult<Value>> {
        self.poll_send(context)?;
        loop {
            if let Some(value) = self.value()? {
                return Poll::Ready(Ok(value));
            }
            if ready!(self.poll_read(context))? == 0 {
                return Poll::Ready(Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()));
            }
        }
    }

    /// What the network does not take now is sent on when it does.
    fn poll_send(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        while !self.unsent.is_empty() {
            let Poll::Ready(sent) = Pin::new(&mut self.stream).poll_write(context, &self.unsent)
            else {
                return Ok(());
            };
            match sent? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                sent => drop(self.unsent.drain(..sent)),
            }
        }
        match Pin::new(&mut self.stream).poll_flush(context) {
            Poll::Ready(flushed) => flushed,
            Poll::Pending => Ok(()),
        }
    }

    /// The first value of what was read.
    fn value(&mut self) -> RedisResult<Option<Value>> {
        let unseen = self.read.get(self.seen..).unwrap_or_default();
        let Some(end) = self.frames.value(unseen).map_err(io::Error::from)? else {
            self.seen = self.read.len();
            return Ok(None);
        };
        self.seen += end;
        let value = self.read.get(self.start..self.seen).unwrap_or_default();
        let value = parse_redis_value(value)?;
        self.start = self.seen;
        Ok(Some(value))
    }

    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut piece = [0; PIECE];
        let mut piece = ReadBuf::new(&mut piece);
        ready!(Pin::new(&mut self.stream).poll_read(context, &mut piece))?;
        if self.start == self.read.len() && self.read.capacity() > 4 * PIECE {
            // A long value is no reason to hold its memory for ever.
            self.read = Vec::new();
        } else {
            self.read.drain(..self.start);
        }
        self.seen -= self.start;
        self.start = 0;
        self.read.extend_from_slice(piece.filled());
        Poll::Ready(Ok(piece.filled().len()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncWriteExt, duplex};

    use super::*;
    use crate::replies::Unfit;

    #[tokio::test]
    async fn values_come_one_by_one_whatever_the_pieces() {
        let bytes = b"*2\r\n$1\r\na\r\n:17\r\n>1\r\n+b\r\n$3\r\nabc\r\n+OK\r\n";
        for piece in 1..=bytes.len() {
            let (client, mut server) = duplex(piece);
            let mut messages = Messages::new(Box::new(client), 100);
            let sends = tokio::spawn(async move { server.write_all(bytes).await });
            let mut values = Vec::new();
            for _ in 0..4 {
                values.push(poll_fn(|context| messages.poll_value(context)).await);
            }
            let list = Value::Array(vec![Value::BulkString(b"a".into()), Value::Int(17)]);
            assert_eq!(values[0], Ok(list), "{piece}");
            assert!(matches!(values[1], Ok(Value::Push { .. })), "{values:?}");
            assert_eq!(values[2], Ok(Value::BulkString(b"abc".into())));
            assert_eq!(values[3], Ok(Value::Okay));
            sends.await.expect("no panic").expect("it is written");
            let ended = poll_fn(|context| messages.poll_value(context)).await;
            assert!(ended.expect_err("it has ended").is_io_error());
        }
    }

    #[tokio::test]
    async fn a_value_that_is_too_long_is_refused_where_it_is_announced() {
        let (client, mut server) = duplex(1_000);
        let mut messages = Messages::new(Box::new(client), 100);
        server.write_all(b"$2147483648\r\n").await.expect("written");
        let refused = poll_fn(|context| messages.poll_value(context)).await;
        let error = refused.expect_err("it is too long");
        let unfit = crate::dial::io_error(&error).and_then(Unfit::of);
        assert_eq!(unfit, Some(Unfit::TooLong { most: 100 }));
    }
}
