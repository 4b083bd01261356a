//! How is a connection counted while it is there, and told when it is to leave?

use std::future::poll_fn;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};

use becalm::time::{Instant, Sleep};
use becalm_admission::Advice;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, frame::coding::CloseCode};

use super::Server;
use super::accepted::Working;
use super::admit::{Admitted, Resumption};
use super::door::Held;
use super::places::OfOne;
use super::registry::{Counted, Hearer};

/// A connection of a server, for as long as this is there. A [`Socket`](super::Socket) has one inside; who has a WebSocket of
/// another library keeps one beside it.
///
/// ```no_run
/// # async fn run<S: futures_util::Sink<String> + Unpin>(mut connection: becalm_ws::server::Connection, mut socket: S) {
/// use futures_util::SinkExt;
///
/// connection.ready(); // logged in
/// let farewell = connection.farewell().await; // beside the reading, in a `select!`
/// let _ = socket.send(format!("close 1012 {}", farewell.advice)).await;
/// # }
/// ```
#[derive(Debug)]
pub struct Connection {
    server: Server,
    /// In a box, since it is soon gone, and the connection stays.
    held: Mutex<Option<Box<Entered>>>,
    leaving: Leaving,
    /// The code of the first Close in either direction.
    code: Option<u16>,
    /// Where an HTTP server writes the 101: until it has.
    coming: Option<Counted>,
    _working: Option<Working>,
    _of_one: Option<OfOne>,
    _counted: Counted,
}

/// What a connection is told when it is to leave: close it with 1012 and this advice as the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Farewell {
    /// When to come back, with a ticket.
    pub advice: Advice,
    /// When it must be gone.
    pub(crate) until: Instant,
}

impl Farewell {
    /// The close frame that says so.
    pub fn frame(&self) -> CloseFrame {
        CloseFrame {
            code: CloseCode::Restart,
            reason: self.advice.to_string().into(),
        }
    }
}

/// What it holds until it is ready.
type Entered = (Held, Option<Resumption>);

enum Leaving {
    /// It listens for a drain, once it is polled.
    Unasked(Option<Hearer>),
    /// It has a turn.
    At(Box<(Sleep, Option<Farewell>)>),
}

impl Connection {
    pub(crate) fn new(admitted: Admitted) -> Self {
        let Admitted {
            server,
            held,
            resumption,
            of_one,
            coming,
            working,
        } = admitted;
        let counted = server.registry().active();
        Self {
            server,
            held: Mutex::new(Some(Box::new((held, resumption)))),
            leaving: Leaving::Unasked(None),
            code: None,
            coming,
            _working: working,
            _of_one: of_one,
            _counted: counted,
        }
    }

    /// Says that the client is ready, the login and all that is costly done: its permit is another's. One that is dropped
    /// before counts as gone.
    pub fn ready(&self) {
        let held = self
            .held
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(held) = held {
            held.0.ready();
        }
    }

    /// Ready, once, when the server drains and it is this connection's turn. Wait for it from the 101 on. It can be dropped and
    /// called again.
    pub async fn farewell(&mut self) -> Farewell {
        poll_fn(|context| self.poll_farewell(context)).await
    }

    /// What [`farewell`](Self::farewell) polls.
    pub fn poll_farewell(&mut self, context: &mut Context<'_>) -> Poll<Farewell> {
        self.has_come();
        loop {
            match &mut self.leaving {
                Leaving::Unasked(hearer) => {
                    let registry = self.server.registry();
                    if !registry.is_draining() {
                        let waker = context.waker();
                        match hearer {
                            Some(hearer) => hearer.set(waker),
                            None => *hearer = Some(registry.hearer(waker)),
                        }
                    }
                    let plan = registry.is_draining().then(|| registry.drains());
                    let Some(plan) = plan.flatten() else {
                        return Poll::Pending;
                    };
                    let (closes, wait) = plan.turn(self.server.registry().next_turn());
                    // Sealed when it is told, since its moment is written on it.
                    let farewell = Farewell {
                        advice: Advice::new(wait),
                        until: plan.ends,
                    };
                    let timer = self.server.sleeper().sleep_until(closes);
                    self.leaving = Leaving::At(Box::new((timer, Some(farewell))));
                }
                Leaving::At(at) => {
                    let (timer, farewell) = &mut **at;
                    let is_due = farewell.is_some() && timer.as_mut().poll(context).is_ready();
                    let Some(farewell) = farewell.take_if(|_| is_due) else {
                        return Poll::Pending;
                    };
                    let slot = self.server.now().after(farewell.advice.delay);
                    let ticket = self.server.ticket_at(slot);
                    return Poll::Ready(Farewell {
                        advice: farewell.advice.ticket(ticket),
                        until: farewell.until,
                    });
                }
            }
        }
    }

    /// Says with which code it is closed, by whichever side: the first counts (RFC 6455 section 7.1.5). Without one it
    /// counts as 1006.
    pub fn closed_with(&mut self, code: u16) {
        self.code.get_or_insert(code);
    }

    /// It is open.
    pub(crate) fn has_come(&mut self) {
        self.coming = None;
    }

    pub(crate) fn server(&self) -> &Server {
        &self.server
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.server.counters().closed(self.code.unwrap_or(1006));
    }
}

impl std::fmt::Debug for Leaving {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Unasked(_) => "Unasked",
            Self::At(_) => "At",
        })
    }
}
