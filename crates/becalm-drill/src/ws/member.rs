//! What does one client of the drill do? It sends numbers, and sends again what was not applied when its connection is another one.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use becalm_ws::session::Cold;
use becalm_ws::tungstenite::Error;
use becalm_ws::{Ended, Event, Handle, Message};

use super::journal::Entry;
use super::numbered::{Answer, Guest, Sent};
use super::tally::{Count, Tally};
use super::told::Report;

/// Numbers that may be on their way: a client that is not answered waits with the next.
const WINDOW: u64 = 32;

/// One client.
#[derive(Debug)]
pub struct Member {
    client: u32,
    resumes: bool,
    tally: Arc<Tally>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    link: Link,
    /// When it dialled.
    dials: Vec<Duration>,
    /// The server has said what it has, on the connection that there is or in the session.
    is_welcome: bool,
    sent: u64,
    answered: u64,
    /// Answers that came out of turn.
    lost: u64,
    doubled: u64,
    two_live: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Link {
    #[default]
    None,
    Dialling,
    Open,
}

impl State {
    fn dial(&self) -> u32 {
        u32::try_from(self.dials.len()).unwrap_or(u32::MAX)
    }
}

impl Member {
    /// One that keeps a session, or none.
    pub fn new(client: u32, resumes: bool, tally: Arc<Tally>) -> Self {
        Self {
            client,
            resumes,
            tally,
            state: Mutex::default(),
        }
    }

    /// What it says of itself at a dial that has begun.
    pub fn guest(&self) -> Guest {
        let state = self.state();
        Guest {
            client: self.client,
            dial: state.dial(),
            answered: state.answered,
        }
    }

    /// Counts what happens to its socket.
    pub fn observes(&self, event: &Event<'_>) {
        let mut state = self.state();
        match event {
            Event::Dials(_) => {
                state.two_live += u32::from(state.link != Link::None);
                state.link = Link::Dialling;
                let now = self.tally.clock.now();
                state.dials.push(now);
                self.tally.add(Count::Dial);
            }
            Event::Opened => {
                state.two_live += u32::from(state.link == Link::Open);
                state.link = Link::Open;
                self.tally.add(Count::Opened);
                self.tally.enters();
            }
            Event::Ended(ended) => {
                // A session takes what is sent meanwhile.
                state.is_welcome &= self.resumes;
                if std::mem::take(&mut state.link) == Link::Open {
                    self.tally.leaves();
                    self.tally.add(Count::Lost);
                } else {
                    self.tally.add(failed(ended));
                }
            }
            Event::GaveUp(_) => self.tally.add(Count::GaveUp),
            Event::Resumed => self.tally.add(Count::Resumed),
            Event::Cold(Cold::New) => (),
            // What waited is dropped. The server's welcome says what it has.
            Event::Cold(_) => {
                state.is_welcome = false;
                self.tally.add(Count::Cold);
            }
            _ => (),
        }
    }

    /// It is time for another number.
    pub fn beat(&self, handle: &Handle) {
        let mut state = self.state();
        if state.sent - state.answered >= WINDOW {
            return;
        }
        state.sent += 1;
        if state.is_welcome {
            send(handle, state.dial(), state.sent);
        }
    }

    /// The server says something.
    pub fn hears(&self, message: &Message, handle: &Handle) {
        let mut state = self.state();
        match Answer::of(&message.clone().into_data()) {
            Some(Answer::Welcome(last)) => {
                state.is_welcome = true;
                for number in last + 1..=state.sent {
                    send(handle, state.dial(), number);
                }
            }
            Some(Answer::Applied(number)) if number == state.answered + 1 => {
                state.answered = number;
            }
            Some(Answer::Applied(number)) if number <= state.answered => state.doubled += 1,
            Some(Answer::Applied(_)) | None => state.lost += 1,
        }
    }

    /// Whether all that it has sent is answered, or it has nobody to ask.
    pub fn is_settled(&self) -> bool {
        let state = self.state();
        state.link != Link::Open || state.sent == state.answered
    }

    /// What it has come to, beside what the server has applied; dials are counted from this moment on.
    pub fn report(&self, entry: Entry, since: Duration) -> Report {
        let state = self.state();
        let is_open = state.link == Link::Open;
        let unanswered = if is_open {
            state.sent - state.answered
        } else {
            0
        };
        let dials = state.dials.iter().filter(|at| **at >= since).count();
        Report {
            open: u32::from(is_open),
            full_since: None,
            dials: dials as u64,
            most_dials: u32::try_from(dials).unwrap_or(u32::MAX),
            lost: state.lost + unanswered + state.answered.saturating_sub(entry.last),
            doubled: state.doubled + entry.applied.saturating_sub(entry.last),
            two_live: state.two_live,
            messages: state.answered,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The outbox takes it: it is far smaller than its bound.
fn send(handle: &Handle, dial: u32, number: u64) {
    let sent = Sent { dial, number };
    let _ = handle.try_send(Message::binary(sent.bytes()));
}

/// Why a dial has failed.
fn failed(ended: &Ended) -> Count {
    match ended {
        Ended::TooLate => Count::TimedOut,
        Ended::Handshake(error) => match &**error {
            Error::Io(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
                Count::Unconnected
            }
            Error::Http(answer) if answer.status().as_u16() == 503 => Count::Refused,
            _ => Count::Broken,
        },
        _ => Count::Broken,
    }
}
