//! A network that does what a test tells it: messages go when they are let go, and each end hears of a cut when it is told.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

use futures_core::Stream;
use futures_sink::Sink;
use tokio_tungstenite::tungstenite::Message;

use crate::session::{Envelope, Lost, SessionSocket, Sessions};

/// One connection, seen from above.
#[derive(Debug, Clone, Default)]
pub struct Pipe {
    pub number: usize,
    ends: Arc<Mutex<Ends>>,
}

#[derive(Debug, Default)]
pub struct Ends {
    /// From the client: on the way, and at the server.
    pub up: VecDeque<Message>,
    pub at_server: VecDeque<Message>,
    /// From the server: on the way, and at the client.
    pub down: VecDeque<Message>,
    pub at_client: VecDeque<Message>,
    /// The server's end hears that it is over.
    pub is_over: bool,
    /// The server's end takes nothing to send.
    pub is_deaf: bool,
    /// What is below the session at the server closes the connection when it is read next.
    pub leaves: bool,
    /// What the server had told that it has received when that happened, and what was on the way.
    pub closed: Option<(u64, usize)>,
    /// What the server has told on this connection that it has received.
    pub told: u64,
    /// How many messages the server has read.
    pub read: usize,
}

/// How many messages the way from the server holds.
pub const HOLDS: usize = 8;

impl Pipe {
    pub fn new(number: usize) -> Self {
        let ends = Arc::default();
        Self { number, ends }
    }

    pub fn lock(&self) -> MutexGuard<'_, Ends> {
        self.ends.lock().unwrap()
    }

    /// Lets so many go their way.
    pub fn let_go(&self, up: usize, down: usize) {
        let ends = &mut *self.lock();
        let up = ends.up.drain(..up.min(ends.up.len()));
        ends.at_server.extend(up);
        let down = ends.down.drain(..down.min(ends.down.len()));
        ends.at_client.extend(down);
    }
}

/// The server's end.
#[derive(Debug)]
pub struct Wire(pub Pipe);

#[derive(Debug, PartialEq)]
pub struct Cut;

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cut")
    }
}

impl std::error::Error for Cut {}

impl Stream for Wire {
    type Item = Result<Message, Cut>;

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut ends = self.0.lock();
        if ends.leaves && ends.closed.is_none() {
            ends.closed = Some((ends.told, ends.down.len()));
            ends.down.push_back(Message::Close(None));
            ends.is_deaf = true;
        }
        match ends.at_server.pop_front() {
            Some(message) => {
                ends.read += 1;
                Poll::Ready(Some(Ok(message)))
            }
            None if ends.is_over => Poll::Ready(None),
            None => Poll::Pending,
        }
    }
}

impl Sink<Message> for Wire {
    type Error = Cut;

    fn poll_ready(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), Cut>> {
        if self.0.lock().is_deaf {
            return Poll::Ready(Err(Cut));
        }
        if self.0.lock().down.len() < HOLDS {
            return Poll::Ready(Ok(()));
        }
        Poll::Pending
    }

    fn start_send(self: Pin<&mut Self>, message: Message) -> Result<(), Cut> {
        let mut ends = self.0.lock();
        if let Ok(
            Envelope::Ack(received)
            | Envelope::Data { received, .. }
            | Envelope::Resumed { received, .. },
        ) = Envelope::read(&message)
        {
            ends.told = ends.told.max(received);
        }
        ends.down.push_back(message);
        Ok(())
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), Cut>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), Cut>> {
        Poll::Ready(Ok(()))
    }
}

type Accepts = Pin<Box<dyn Future<Output = Result<SessionSocket<Wire>, Lost<Cut>>>>>;

/// A server's task for one connection, polled by hand.
pub enum Task {
    Accepts(Accepts),
    Serves(Box<SessionSocket<Wire>>),
    Done,
}

impl Task {
    pub fn new(sessions: &Sessions, pipe: &Pipe, user: &'static str) -> Self {
        let (sessions, wire) = (sessions.clone(), Wire(pipe.clone()));
        Self::Accepts(Box::pin(async move { sessions.accept(wire, user).await }))
    }

    /// The next message, or how it ended; `None` while there is nothing.
    pub fn poll(&mut self) -> Option<Result<Message, Option<Lost<Cut>>>> {
        self.poll_with(Waker::noop())
    }

    pub fn poll_with(&mut self, waker: &Waker) -> Option<Result<Message, Option<Lost<Cut>>>> {
        let context = &mut Context::from_waker(waker);
        if let Self::Accepts(accepts) = self {
            *self = match accepts.as_mut().poll(context) {
                Poll::Ready(Ok(socket)) => Self::Serves(Box::new(socket)),
                Poll::Ready(Err(lost)) => {
                    *self = Self::Done;
                    return Some(Err(Some(lost)));
                }
                Poll::Pending => return None,
            };
            return None;
        }
        let Self::Serves(socket) = self else {
            return None;
        };
        match Pin::new(&mut **socket).poll_next(context) {
            Poll::Ready(Some(Ok(message))) => Some(Ok(message)),
            Poll::Ready(ended) => {
                *self = Self::Done;
                Some(Err(ended.and_then(Result::err)))
            }
            Poll::Pending => None,
        }
    }

    pub fn socket(&self) -> Option<&SessionSocket<Wire>> {
        match self {
            Self::Serves(socket) => Some(socket),
            _ => None,
        }
    }
}
