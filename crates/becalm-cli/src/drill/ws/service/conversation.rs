//! What does the server say to a client that it has let in?

use becalm_ws::Message;
use becalm_ws::tungstenite::Error;
use futures_util::{Sink, SinkExt, Stream, StreamExt};

use super::Hall;
use crate::drill::ws::numbered::{Answer, Guest, Sent};
use crate::drill::ws::tally::Tally;

/// Applies what comes and answers, until the connection ends. Tells whether anything came.
pub async fn converse<S>(mut wire: S, guest: Guest, hall: &Hall) -> bool
where
    S: Stream<Item = Result<Message, Error>> + Sink<Message, Error = Error> + Unpin,
{
    let _there = There::enters(&hall.tally);
    let mut has_heard = false;
    // An error is the end of the connection, or of the file that the drill has removed at its end.
    let _ = apply_all(&mut wire, guest, hall, &mut has_heard).await;
    has_heard
}

/// Why a conversation ends early.
type Ended = Box<dyn std::error::Error + Send + Sync>;

async fn apply_all<S>(
    wire: &mut S,
    guest: Guest,
    hall: &Hall,
    has_heard: &mut bool,
) -> Result<(), Ended>
where
    S: Stream<Item = Result<Message, Error>> + Sink<Message, Error = Error> + Unpin,
{
    let mut entry = hall.journal.read(guest.client)?;
    wire.feed(binary(Answer::Welcome(entry.last))).await?;
    for number in guest.answered + 1..=entry.last {
        wire.feed(binary(Answer::Applied(number))).await?;
    }
    wire.flush().await?;
    while let Some(message) = wire.next().await {
        let Message::Binary(bytes) = message? else {
            continue;
        };
        *has_heard = true;
        let sent = Sent::of(&bytes).filter(|sent| sent.dial == guest.dial);
        let Some(sent) = sent.filter(|sent| sent.number == entry.last + 1) else {
            continue;
        };
        entry.last = sent.number;
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
