//! What is said on a new connection, before any message, and last of all?

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use futures_core::Stream;
use futures_sink::Sink;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, frame::coding::CloseCode};

use super::directory::{Attached, Shared};
use super::envelope::{Envelope, Hello};
use super::{Began, Cold, Lost, ProtocolError, SessionSocket, Sessions};

impl Sessions {
    /// Waits for the client's first word, and answers it: with the session that it names, or a new one. `user` is who has
    /// logged in; a session is nobody else's.
    ///
    /// # Errors
    ///
    /// There was no connection in the end.
    pub async fn accept<S, E>(&self, mut wire: S, user: &str) -> Result<SessionSocket<S>, Lost<E>>
    where
        S: Stream<Item = Result<Message, E>> + Sink<Message, Error = E> + Unpin,
    {
        let sleeper = &self.shared.settings.sleeper;
        let until = sleeper.now().after(self.shared.settings.patience);
        let mut cut = sleeper.sleep_until(until);
        let hello = poll_fn(|context| match poll_hello(&mut wire, context) {
            Poll::Pending => cut.as_mut().poll(context).map(|()| Err(Lost::NoHello)),
            ready @ Poll::Ready(_) => ready,
        });
        match hello.await {
            Ok(hello) => {
                let mut socket = SessionSocket::new(wire, &hello, user, &self.shared);
                poll_fn(|context| socket.poll_answer(context)).await?;
                Ok(socket)
            }
            Err(Lost::Protocol(error)) => {
                say_goodbye(&mut wire, &Lost::Protocol(error));
                Err(Lost::Protocol(error))
            }
            Err(lost) => Err(lost),
        }
    }
}

fn poll_hello<S, E>(wire: &mut S, context: &mut Context<'_>) -> Poll<Result<Hello, Lost<E>>>
where
    S: Stream<Item = Result<Message, E>> + Unpin,
{
    loop {
        let message = match ready!(Pin::new(&mut *wire).poll_next(context)) {
            Some(Ok(message)) => message,
            Some(Err(error)) => return Poll::Ready(Err(Lost::Wire(error))),
            None => return Poll::Ready(Err(Lost::NoHello)),
        };
        if message.is_text() || message.is_binary() {
            let read = match Envelope::read(&message) {
                Ok(Envelope::Hello(hello)) => Ok(hello),
                Ok(_) => Err(Lost::Protocol(ProtocolError::OutOfPlace)),
                Err(error) => Err(Lost::Protocol(error)),
            };
            return Poll::Ready(read);
        }
    }
}

/// Says why, as far as the wire takes it at once: the peer may be long gone.
pub(super) fn say_goodbye<S, E>(wire: &mut S, lost: &Lost<E>)
where
    S: Sink<Message, Error = E> + Unpin,
{
    let frame = |code, reason: String| {
        let reason = reason.into();
        Message::Close(Some(CloseFrame { code, reason }))
    };
    let mut words = Vec::new();
    match lost {
        Lost::Protocol(error) => {
            // ASCII, and at most 123 bytes (RFC 6455, section 5.5).
            let reason = error.to_string().chars().take(123).collect();
            words.push(frame(CloseCode::Protocol, reason));
        }
        Lost::Unconfirmed => {
            words.push(frame(
                CloseCode::Away,
                "nothing was confirmed in time".into(),
            ));
        }
        Lost::TakenOver => words.push(frame(
            CloseCode::Away,
            "another connection has the session".into(),
        )),
        Lost::Over(why) => {
            words.push(Envelope::End.write());
            // After a new epoch a client is to come back; after a logout it is not.
            let code = match why {
                Cold::Ended => CloseCode::Normal,
                _ => CloseCode::Away,
            };
            words.push(frame(code, why.to_string()));
        }
        _ => return,
    }
    let context = &mut Context::from_waker(Waker::noop());
    for word in words {
        if !matches!(
            Pin::new(&mut *wire).poll_ready(context),
            Poll::Ready(Ok(()))
        ) {
            return;
        }
        let _ = Pin::new(&mut *wire).start_send(word);
    }
    let _ = Pin::new(wire).poll_flush(context);
}

pub(super) fn answer(attached: &Attached, shared: &Shared) -> Message {
    let longest = shared.settings.longest;
    let window = u32::try_from(shared.settings.window).unwrap_or(u32::MAX);
    let answer = match attached.began {
        Began::Resumed => Envelope::Resumed {
            longest,
            window,
            received: attached.received,
        },
        Began::Cold(why) => Envelope::Cold {
            why,
            longest,
            window,
            id: attached.slot.id,
            epoch: attached.epoch,
        },
    };
    answer.write()
}
