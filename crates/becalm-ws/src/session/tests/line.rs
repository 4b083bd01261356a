//! A client by hand, and what it knows.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Wake;

use becalm::rng::Seed;
use becalm::time::FakeSleeper;
use tokio_tungstenite::tungstenite::Message;

use super::network::{Cut, Pipe, Task};
use crate::session::envelope::{Envelope, Hello};
use crate::session::{Began, Cold, Lost, SessionHandle, SessionId, SessionSettings, Sessions};

/// A client by hand, and the server's task for its connection.
pub struct Line {
    pub pipe: Pipe,
    pub task: Task,
}

/// What a client knows of its session.
#[derive(Clone, Copy)]
pub struct Known {
    pub id: SessionId,
    pub epoch: u64,
}

impl Line {
    pub fn new(sessions: &Sessions, user: &'static str, hello: Hello) -> Self {
        let pipe = Pipe::default();
        let task = Task::new(sessions, &pipe, user);
        let mut line = Self { pipe, task };
        assert!(line.say(&Envelope::Hello(hello)).is_none());
        line
    }

    /// A new session, confirmed.
    pub fn fresh(sessions: &Sessions, user: &'static str) -> (Self, Known) {
        let mut line = Self::new(sessions, user, Hello::new(10_000, 10_000));
        let Some(Envelope::Cold {
            why: Cold::New,
            id,
            epoch,
            ..
        }) = line.hear()
        else {
            panic!("no answer");
        };
        assert!(line.say(&Envelope::Ack(0)).is_none());
        (line, Known { id, epoch })
    }

    /// Says it, and gives what the server's application is given.
    pub fn say(&mut self, said: &Envelope) -> Option<Result<Message, Option<Lost<Cut>>>> {
        self.pipe.lock().at_server.push_back(said.write());
        self.task.poll()
    }

    pub fn sends(&mut self, number: u64) -> Option<Message> {
        let message = number.to_string().into();
        self.say(&Envelope::Data {
            number,
            received: 0,
            message,
        })?
        .ok()
    }

    /// What the server has said.
    pub fn hear(&mut self) -> Option<Envelope> {
        let said = self.pipe.lock().down.pop_front()?;
        Envelope::read(&said).ok()
    }

    pub fn closed_with(&self) -> Option<u16> {
        match self.pipe.lock().down.pop_front()? {
            Message::Close(frame) => frame.map(|frame| frame.code.into()),
            _ => None,
        }
    }

    pub fn began(&self) -> Began {
        self.task.socket().expect("an answer").began()
    }

    pub fn handle(&self) -> SessionHandle {
        self.task.socket().expect("an answer").handle()
    }

    /// The wire is over, and the server's application leaves.
    pub fn ends(mut self) {
        self.pipe.lock().is_over = true;
        assert!(self.task.poll().is_some_and(|ended| ended.is_err()));
    }
}

impl Known {
    pub fn again(self, dial: u32) -> Hello {
        Hello {
            id: Some(self.id),
            epoch: self.epoch,
            dial,
            ..Hello::new(10_000, 10_000)
        }
    }
}

pub fn settings(clock: &FakeSleeper) -> SessionSettings {
    SessionSettings::default()
        .sleeper(Arc::new(clock.clone()))
        .seed(Seed::fixed(7))
}

#[derive(Default)]
pub struct Flag(pub AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}
