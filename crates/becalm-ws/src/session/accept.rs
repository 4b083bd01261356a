//! Which session does a new connection get?

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use futures_sink::Sink;
use tokio_tungstenite::tungstenite::Message;

use super::envelope::{Envelope, Hello};
use super::first_and_last::say_goodbye;
use super::{Lost, ProtocolError, SessionSocket, Sessions};

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
