//! What does a server say first on a connection, and what last?

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use futures_sink::Sink;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, frame::coding::CloseCode};

use super::directory::{Attached, Shared};
use super::envelope::Envelope;
use super::{Began, Cold, Lost};

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
