//! What goes over a session that begins anew? What no connection was given, unless the application says otherwise.

use std::sync::Arc;

use tokio_tungstenite::tungstenite::Message;

use crate::Event;
use crate::handle::Shared;
use crate::session::Cold;
use crate::teller::Teller;

/// Whether it is the application's, and no control frame of the connection.
pub(crate) fn is_data(message: &Message) -> bool {
    message.is_text() || message.is_binary()
}

/// Tells of a session that begins anew after another: what that had sent and not confirmed, what is dropped, and the reason. What is
/// left waits before all that is sent from now on.
///
/// A hook that panics is asked no more: what is left to be decided is told as dropped.
pub(crate) fn begins_anew(
    client: &mut Teller,
    shared: &Shared,
    why: Cold,
    unconfirmed: &[Message],
    unsent: Vec<Message>,
) {
    for message in unconfirmed {
        client.tell(Event::Unconfirmed(message));
    }
    let (waiting, beyond) = shared.lock().outbox.take_out();
    // Nothing is locked: the application may send something more.
    let asks = Arc::clone(&client.carries);
    let mut has_panicked = false;
    let mut is_carried = |message: &Message| {
        if !is_data(message) {
            return true;
        }
        if has_panicked {
            return false;
        }
        let carried = client.caught(|| asks(why, message));
        has_panicked = carried.is_none();
        carried.unwrap_or(false)
    };
    let (carried, mut dropped): (Vec<_>, Vec<_>) =
        unsent.into_iter().chain(waiting).partition(&mut is_carried);
    let (beyond, last) = match beyond {
        Some(message) if !is_carried(&message) => (None, Some(message)),
        beyond => (beyond, None),
    };
    dropped.extend(last);
    shared.lock().outbox.put_back(carried, beyond);
    for message in &dropped {
        client.tell(Event::Dropped(message));
    }
    shared.has_room();
    client.tell(Event::Cold(why));
}
