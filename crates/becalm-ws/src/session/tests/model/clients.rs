//! What do the clients do? They send, dial, are cut, and read: as the stream, one message and then the next, or ahead, as the sink.

use std::collections::VecDeque;

use becalm::time::Sleeper;
use tokio_tungstenite::tungstenite::{Message, protocol::WebSocketConfig};

use super::super::network::{Pipe, Task};
use super::servers::Connection;
use super::{WINDOW, World};
use crate::outbox::{Outbox, Overflow, Refused};
use crate::session::envelope::Envelope;
use crate::session::{Cold, Resume, Resuming, SessionId, Taken};

/// How many bytes wait for room in a window; one message more waits for room among these.
const OUTBOX: usize = 1_000;

pub struct Client {
    pub session: Resuming,
    pub user: &'static str,
    pub pipe: Option<Pipe>,
    pub outbox: Outbox,
    /// Come, and not given to the application yet.
    pub arrived: VecDeque<Message>,
    /// The session, as the client knows.
    pub id: Option<SessionId>,
    has_answer: bool,
    numbers: u64,
    /// The first number that was sent since the last session was lost.
    new_from: u64,
}

impl Client {
    pub fn new(user: &'static str) -> Self {
        let of = Resume::default().window(WINDOW);
        Self {
            session: Resuming::new(of, &WebSocketConfig::default()),
            user,
            pipe: None,
            outbox: Outbox::new(OUTBOX, usize::MAX, Overflow::Wait),
            arrived: VecDeque::new(),
            id: None,
            has_answer: false,
            numbers: 0,
            new_from: 0,
        }
    }
}

fn number(message: &Message) -> u64 {
    let words = message.to_text().unwrap();
    words.split(' ').nth(2).unwrap().parse().unwrap()
}

impl Client {
    /// What has come and was not given comes again, unless the session is over.
    pub fn loses_connection(&mut self) {
        self.session.disconnected();
        if self.session.id().is_some() {
            self.arrived.clear();
        }
    }
}

impl World {
    pub fn client_sends(&mut self, who: usize) {
        let number = self.clients[who].numbers;
        self.clients[who].numbers += 1;
        let message = self.message(number, &format!("client {who}"));
        let outbox = &mut self.clients[who].outbox;
        // Who has given the sink one message more waits until it is taken.
        if outbox.beyond.is_none() {
            if let Err(Refused::Full(message)) = outbox.push(message) {
                outbox.beyond = Some(message);
            }
        }
        self.client_polls(who);
    }

    pub fn dials(&mut self, who: usize) {
        let client = &mut self.clients[who];
        if client.pipe.is_some() || client.session.holds_rest() {
            return;
        }
        self.dials += 1;
        let pipe = Pipe::new(self.dials);
        client.pipe = Some(pipe.clone());
        client.session.connected();
        client.has_answer = false;
        self.connections.push(Connection {
            task: Task::new(&self.sessions, &pipe, client.user),
            pipe,
            user: client.user,
            id: None,
        });
        self.client_polls(who);
    }

    /// What is on its way to the server may arrive all the same, and much later.
    pub fn client_is_cut(&mut self, who: usize) {
        let client = &mut self.clients[who];
        if client.pipe.take().is_some() {
            client.loses_connection();
        }
    }

    /// The application is given what has come.
    pub fn client_fetches(&mut self, who: usize) {
        let now = self.clock.now();
        let client = &mut self.clients[who];
        while let Some(message) = client.session.hand_over(now) {
            assert_eq!(client.arrived.pop_front().as_ref(), Some(&message));
            let truth = client.id.and_then(|id| self.truths.get_mut(&id));
            truth.unwrap().down.gives(&message);
        }
        assert!(client.arrived.is_empty(), "what has come is lost");
    }

    /// The client writes, and reads all that is there, or as far ahead as it does for its sink.
    pub fn client_polls(&mut self, who: usize) {
        let now = self.clock.now();
        let is_ahead = self.draw(2) == 0;
        while let Some(pipe) = self.clients[who].pipe.clone() {
            if !is_ahead {
                self.client_fetches(who);
            }
            let client = &mut self.clients[who];
            if let Some(Err(Refused::Full(message))) = client
                .outbox
                .beyond
                .take()
                .map(|beyond| client.outbox.push(beyond))
            {
                client.outbox.beyond = Some(message);
            }
            let session = &client.session;
            if let Some(message) = client.outbox.pop_if(|next| session.has_room(next)) {
                assert!(
                    number(&message) >= client.new_from,
                    "it was sent to another session"
                );
                let id = client.id.expect("an open session has a name");
                self.truths
                    .get_mut(&id)
                    .unwrap()
                    .up
                    .sent
                    .push(message.clone());
                client.session.push(message);
            }
            let written = client.session.next(now);
            let has_written = written.is_some();
            pipe.lock().up.extend(written);
            let reads = client.session.reads(is_ahead);
            let came = reads.then(|| pipe.lock().at_client.pop_front()).flatten();
            match &came {
                Some(came) if came.is_binary() => self.client_takes(who, came),
                // The server has closed it.
                Some(_) => self.client_is_cut(who),
                None if has_written => (),
                None => return,
            }
        }
    }

    fn client_takes(&mut self, who: usize, came: &Message) {
        let client = &mut self.clients[who];
        let taken = client.session.take(came);
        match taken.expect("the server keeps the rules") {
            Taken::Arrived => {
                assert!(client.has_answer, "a message came before the answer");
                if let Ok(Envelope::Data { message, .. }) = Envelope::read(came) {
                    client.arrived.push_back(message);
                }
            }
            Taken::Resumed => {
                client.has_answer = true;
                assert_eq!(client.session.id(), client.id);
            }
            Taken::Cold {
                why,
                is_first,
                unconfirmed,
                unsent,
            } => {
                client.has_answer = true;
                assert!(client.arrived.is_empty(), "what came before is lost");
                assert_eq!(is_first, client.id.is_none());
                assert!(!is_first || why == Cold::New);
                if let Some(old) = client.id {
                    let (waiting, beyond) = client.outbox.take_out();
                    let waits = unsent.len() + waiting.len() + usize::from(beyond.is_some());
                    self.reached.beyond += usize::from(waits > 2);
                    self.truths[&old]
                        .up
                        .gives_up(&[unconfirmed, unsent.clone()].concat());
                    // What no connection was given goes over the new session, and nothing else.
                    let carried: Vec<_> = unsent.into_iter().chain(waiting).collect();
                    let first = carried.first().or(beyond.as_ref()).map(number);
                    client.new_from = first.unwrap_or(client.numbers);
                    client.outbox.put_back(carried, beyond);
                }
                client.id = client.session.id();
            }
            Taken::Confirmed => (),
            Taken::Ended => {
                self.reached.rest += usize::from(!client.arrived.is_empty());
                self.client_is_cut(who);
            }
        }
    }
}
