//! What does the server say to a client that it has let in?

use std::error::Error;

use becalm_ws::Message;
use futures_util::{Sink, SinkExt, Stream, StreamExt};

use super::Hall;
use crate::ws::numbered::{Answer, Guest, Sent};
use crate::ws::tally::Tally;

/// How a connection begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    /// Without a session.
    Alone,
    /// With a new session.
    New,
    /// With the session that was there before.
    Resumed,
}

/// Applies what comes and answers, until the connection ends.
pub async fn converse<S, E>(mut wire: S, guest: Guest, begin: Begin, hall: &Hall)
where
    S: Stream<Item = Result<Message, E>> + Sink<Message, Error = E> + Unpin,
    E: Error + Send + Sync + 'static,
{
    let _there = There::enters(&hall.tally);
    let mut cut = hall.cut.subscribe();
    let applied = apply_all(&mut wire, guest, begin, hall);
    // An error is the end of the connection, or of the file that the drill has removed at its end.
    tokio::select! {
        _ = applied => (),
        _ = cut.changed() => (),
    }
}

/// Why a conversation ends early.
type Ended = Box<dyn Error + Send + Sync>;

async fn apply_all<S, E>(wire: &mut S, guest: Guest, begin: Begin, hall: &Hall) -> Result<(), Ended>
where
    S: Stream<Item = Result<Message, E>> + Sink<Message, Error = E> + Unpin,
    E: Error + Send + Sync + 'static,
{
    if begin != Begin::Resumed {
        let last = hall.journal.read(guest.client)?.last;
        wire.feed(binary(Answer::Welcome(last))).await?;
        for number in guest.answered + 1..=last {
            wire.feed(binary(Answer::Applied(number))).await?;
        }
        wire.flush().await?;
    }
    while let Some(message) = wire.next().await {
        let Message::Binary(bytes) = message? else {
            continue;
        };
        let is_ours = |sent: &Sent| begin != Begin::Alone || sent.dial == guest.dial;
        let sent = Sent::of(&bytes).filter(is_ours);
        let mut entry = hall.journal.read(guest.client)?;
        let Some(sent) = sent.filter(|sent| sent.number <= entry.last + 1) else {
            continue; // what came before it is lost
        };
        // One that was applied before is applied again, as by a server that does not look: the two then differ.
        entry.last = entry.last.max(sent.number);
        entry.applied += 1;
        hall.journal.write(guest.client, entry)?;
        wire.send(binary(Answer::Applied(sent.number))).await?;
    }
    Ok(())
}

fn binary(answer: Answer) -> Message {
    Message::binary(answer.bytes())
}

/// A connection that is there, however it ends.
struct There<'a>(&'a Tally);

impl<'a> There<'a> {
    fn enters(tally: &'a Tally) -> Self {
        tally.enters();
        Self(tally)
    }
}

impl Drop for There<'_> {
    fn drop(&mut self) {
        self.0.leaves();
    }
}
