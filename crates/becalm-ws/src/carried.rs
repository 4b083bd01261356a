//! What goes over a session that begins anew? What no connection was given, unless the application says otherwise.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use tokio_tungstenite::tungstenite::Message;

use crate::Event;
use crate::handle::Shared;
use crate::session::Cold;
use crate::settings::Settings;

/// Whether it is the application's, and no control frame of the connection.
pub(crate) fn is_data(message: &Message) -> bool {
    message.is_text() || message.is_binary()
}

/// Tells of a session that begins anew after another: what that had sent and not confirmed, what is dropped, and the reason. What is
/// left waits before all that is sent from now on.
///
/// A hook that panics is asked no more: what is left to be decided is told as dropped. Then the panic goes on.
pub(crate) fn begins_anew(
    client: &Settings,
    shared: &Shared,
    why: Cold,
    unconfirmed: &[Message],
    unsent: Vec<Message>,
) {
    let tells = || {
        for message in unconfirmed {
            client.tell(Event::Unconfirmed(message));
        }
    };
    let mut panicked = catch_unwind(AssertUnwindSafe(tells)).err();
    let (waiting, beyond) = shared.lock().outbox.take_out();
    // Nothing is locked: the application may send something more.
    let mut is_carried = |message: &Message| {
        if !is_data(message) || panicked.is_some() {
            return !is_data(message);
        }
        let asks = || (client.carries)(why, message);
        let asked = catch_unwind(AssertUnwindSafe(asks));
        asked.unwrap_or_else(|panic| {
            panicked = Some(panic);
            false
        })
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
    if let Some(panic) = panicked {
        resume_unwind(panic);
    }
}
