//! What do the servers do? They send, close, end sessions, drain, die, and are restarted with their sessions or without.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use becalm::rng::{Random, Seed};
use becalm::time::{FakeSleeper, Sleeper};
use futures_sink::Sink;
use tokio_tungstenite::tungstenite::Message;

use super::super::network::{HOLDS, Pipe, Task};
use super::clients::Client;
use super::truth::Truth;
use super::{AGE, BYTES, PER_USER, WINDOW, World};
use crate::session::envelope::Envelope;
use crate::session::{Began, Cold, Gone, Lost, SessionId, SessionSettings, Sessions};

pub struct Connection {
    pub pipe: Pipe,
    pub task: Task,
    pub user: &'static str,
    pub id: Option<SessionId>,
}

pub fn settings(clock: &FakeSleeper, seed: u64, gone: &Arc<Mutex<Vec<Gone>>>) -> Sessions {
    let gone = Arc::clone(gone);
    SessionSettings::default()
        .window(WINDOW)
        .bytes(BYTES)
        .age(AGE)
        .per_user(PER_USER)
        .sleeper(Arc::new(clock.clone()))
        .seed(Seed::fixed(seed))
        .observer(move |over| {
            gone.lock().unwrap().push(Gone {
                id: over.id,
                user: Arc::clone(&over.user),
                why: over.why,
                unconfirmed: over.unconfirmed.clone(),
                unsent: over.unsent.clone(),
            });
        })
        .open()
}

impl World {
    pub fn server_hears_of_a_cut(&mut self) {
        if !self.connections.is_empty() {
            let which = self.draw(self.connections.len());
            let pipe = self.connections[which].pipe.clone();
            pipe.lock().is_over = true;
            let is_its = |client: &&mut Client| {
                client
                    .pipe
                    .as_ref()
                    .is_some_and(|own| own.number == pipe.number)
            };
            // Its other end hears of it, too, unless it is half open.
            if self.random.next_u64() % 2 == 0 {
                if let Some(client) = self.clients.iter_mut().find(is_its) {
                    client.pipe = None;
                    client.loses_connection();
                }
            }
        }
    }

    pub fn server_sends(&mut self) {
        let mut ids: Vec<_> = self.handles.keys().copied().collect();
        ids.sort();
        if ids.is_empty() {
            return;
        }
        let id = ids[self.draw(ids.len())];
        let number = self.truths[&id].down.sent.len() as u64;
        let message = self.message(number, "server");
        let handle = self.handles[&id].clone();
        // Whom it drives out is checked before it is taken.
        let taken = handle.try_send(message.clone());
        if taken.is_ok() {
            let truth = self.truths.get_mut(&id).unwrap();
            assert_eq!(truth.over, None);
            truth.down.sent.push(message);
        }
    }

    /// The server is started again: with its sessions, or without.
    pub fn restarts(&mut self) {
        for connection in std::mem::take(&mut self.connections) {
            drop(connection.task);
            self.loses(connection.id, connection.pipe.number);
            self.hear();
        }
        for client in &mut self.clients {
            if client.pipe.take().is_some() {
                client.loses_connection();
            }
        }
        if self.draw(4) == 0 {
            self.begins_anew();
        }
    }

    fn begins_anew(&mut self) {
        let seed = self.random.next_u64();
        self.gone = Arc::default();
        self.sessions = settings(&self.clock, seed, &self.gone);
        self.forget_all();
        self.resumed = 0;
    }

    /// What is below the sessions closes each connection, and then their server is gone with them.
    pub fn drains(&mut self) {
        self.sessions.leave();
        let given: Vec<_> = self
            .connections
            .iter()
            .map(|one| self.has_given(one))
            .collect();
        for connection in &self.connections {
            connection.pipe.lock().leaves = true;
        }
        self.server_polls();
        for (connection, given) in self.connections.iter().zip(given) {
            let ends = connection.pipe.lock();
            // Where the way is free all is confirmed that was given before.
            if let (Some(given), Some((told, held))) = (given, ends.closed) {
                if held < HOLDS {
                    assert!(told >= given, "{given} were given and {told} confirmed");
                    self.reached.drained += usize::from(given > 0);
                }
            }
            drop(ends);
            connection.pipe.let_go(99, 99);
        }
        for who in 0..self.clients.len() {
            self.client_polls(who);
        }
        for connection in std::mem::take(&mut self.connections) {
            drop(connection.task);
            self.loses(connection.id, connection.pipe.number);
        }
        self.hear();
        self.begins_anew();
    }

    /// How many messages the application was given over a session that this connection has.
    fn has_given(&self, connection: &Connection) -> Option<u64> {
        let truth = &self.truths[&connection.id?];
        let has_it = truth.over.is_none() && truth.connection == connection.pipe.number;
        let is_there = matches!(connection.task, Task::Serves(_));
        (has_it && is_there).then_some(truth.up.given as u64)
    }

    /// The application gives a message to a connection's sink, and closes that.
    pub fn server_feeds_and_closes(&mut self) {
        if self.connections.is_empty() {
            return;
        }
        let which = self.draw(self.connections.len());
        let Some(id) = self.connections[which].id else {
            return;
        };
        let number = self.truths[&id].down.sent.len() as u64;
        let message = self.message(number, "server");
        let given = self.has_given(&self.connections[which]);
        let connection = &mut self.connections[which];
        let Task::Serves(socket) = &mut connection.task else {
            return;
        };
        let context = &mut Context::from_waker(Waker::noop());
        let mut socket = Pin::new(&mut **socket);
        let is_over = self.truths[&id].over.is_some();
        let is_fed = socket.as_mut().start_send(message.clone()).is_ok();
        assert!(is_fed || is_over);
        match socket.poll_close(context) {
            Poll::Ready(Ok(())) if is_fed => {
                self.truths.get_mut(&id).unwrap().down.sent.push(message);
            }
            Poll::Ready(Ok(())) => (),
            Poll::Ready(Err(Lost::Refused(refused))) => {
                assert_eq!(refused.into_message(), message);
                self.reached.given_back += 1;
            }
            closed => panic!("{closed:?}"),
        }
        let told = connection.pipe.lock().told;
        assert!(given.is_none_or(|given| told >= given), "{given:?} {told}");
        connection.pipe.lock().down.push_back(Message::Close(None));
        connection.task = Task::Done;
        let pipe = connection.pipe.number;
        self.loses(Some(id), pipe);
        self.hear();
    }

    pub fn new_epoch(&mut self) {
        self.sessions.begin_epoch();
        self.hear();
        self.forget_all();
    }

    fn forget_all(&mut self) {
        self.bygone.extend(self.truths.keys());
        self.handles.clear();
        for truth in self.truths.values_mut() {
            truth.over.get_or_insert(Cold::Epoch);
        }
    }

    pub fn session_ends(&mut self) {
        let mut ids: Vec<_> = self.handles.keys().copied().collect();
        ids.sort();
        if !ids.is_empty() {
            let id = ids[self.draw(ids.len())];
            self.handles[&id].end();
        }
    }

    pub fn server_polls(&mut self) {
        let mut which = 0;
        while which < self.connections.len() {
            let expected = self.expected(which);
            let polled = self.connections[which].task.poll();
            let is_new = self.notice_answer(which, expected);
            let connection = &self.connections[which];
            let (id, number) = (connection.id, connection.pipe.number);
            let has_confirmed = connection.pipe.lock().read > 1;
            let truth = id.and_then(|id| self.truths.get_mut(&id));
            if let Some(truth) = truth.filter(|truth| truth.connection == number) {
                truth.is_known |= has_confirmed;
                if let Some(Ok(message)) = &polled {
                    assert_eq!(truth.over, None);
                    truth.up.gives(message);
                }
            } else {
                assert!(
                    !matches!(polled, Some(Ok(_))),
                    "an old connection gives a message"
                );
            }
            match polled {
                None if is_new => (),
                None => which += 1,
                Some(Ok(_)) => (),
                Some(Err(lost)) => {
                    let broke = matches!(lost, Some(crate::session::Lost::Protocol(_)));
                    assert!(!broke, "{lost:?}");
                    self.loses(id, number);
                }
            }
            self.hear();
        }
    }

    /// A connection of this session is gone: if it was the last one, the session waits from now on.
    fn loses(&mut self, id: Option<SessionId>, number: usize) {
        let now = self.clock.now();
        self.tickets += 1;
        let truth = id.and_then(|id| self.truths.get_mut(&id));
        if let Some(truth) = truth.filter(|truth| truth.connection == number) {
            if truth.over.is_none() {
                truth.detached.get_or_insert((self.tickets, now));
            }
        }
    }

    /// How the connection has to begin, by the hello that it reads next, and that one's number.
    fn expected(&self, which: usize) -> Option<(Began, u32)> {
        let connection = &self.connections[which];
        if connection.id.is_some() {
            return None;
        }
        let ends = connection.pipe.lock();
        let Ok(Envelope::Hello(hello)) = Envelope::read(ends.at_server.front()?) else {
            return None;
        };
        let Some(id) = hello.id else {
            return Some((Began::Cold(Cold::New), 1));
        };
        let truth = &self.truths[&id];
        let is_old = truth
            .detached
            .is_some_and(|(_, since)| since.after(AGE) <= self.clock.now());
        let why = match truth.over {
            _ if self.bygone.contains(&id) => Cold::Epoch,
            Some(_) if !truth.is_known => Cold::Unknown,
            Some(why) => why,
            None if is_old => Cold::Expired,
            None if truth.user != connection.user => Cold::WrongUser,
            None if hello.dial <= truth.dial => Cold::Superseded,
            None => return Some((Began::Resumed, hello.dial)),
        };
        Some((Began::Cold(why), 1))
    }

    /// Whether the server has answered just now.
    fn notice_answer(&mut self, which: usize, expected: Option<(Began, u32)>) -> bool {
        let connection = &mut self.connections[which];
        let Some(socket) = connection.task.socket().filter(|_| connection.id.is_none()) else {
            return false;
        };
        let (id, began) = (socket.id(), socket.began());
        let (expected, dial) = expected.expect("a hello");
        if began == Began::Cold(Cold::Stuck) {
            assert_eq!(expected, Began::Resumed);
        } else {
            assert_eq!(began, expected);
        }
        *self.began.entry(began).or_default() += 1;
        connection.id = Some(id);
        self.handles.insert(id, socket.handle());
        let truth = self.truths.entry(id).or_insert_with(|| Truth {
            user: connection.user,
            ..Truth::default()
        });
        assert_eq!(
            truth.is_new(),
            began != Began::Resumed,
            "an id was drawn twice"
        );
        self.resumed += u64::from(began == Began::Resumed);
        truth.is_known |= began == Began::Resumed;
        truth.connection = connection.pipe.number;
        truth.dial = dial;
        truth.detached = None;
        true
    }

    /// What the server has told of sessions that are over.
    pub fn hear(&mut self) {
        let gone = std::mem::take(&mut *self.gone.lock().unwrap());
        for gone in gone {
            self.handles.remove(&gone.id);
            let Some(truth) = self.truths.get(&gone.id) else {
                continue;
            };
            let all = [gone.unconfirmed, gone.unsent].concat();
            truth.down.gives_up(&all);
            let oldest = self
                .truths
                .values()
                .filter(|other| other.over.is_none())
                .filter_map(|other| other.detached)
                .min();
            let of_user = self
                .truths
                .values()
                .filter(|other| other.over.is_none() && other.user == truth.user);
            let oldest_of_user = of_user.filter_map(|other| other.detached).min();
            match gone.why {
                Cold::Expired => {
                    let (_, since) = truth.detached.expect("it has waited");
                    assert!(since.after(AGE) <= self.clock.now());
                }
                Cold::Evicted => assert!(
                    truth.detached.is_some()
                        && (truth.detached == oldest || truth.detached == oldest_of_user),
                    "{:?} went, and {oldest:?} was the oldest",
                    truth.detached
                ),
                Cold::Unknown => assert!(!truth.is_known && truth.up.given == 0),
                Cold::Ended | Cold::Epoch | Cold::Stuck => (),
                why => panic!("{why:?}"),
            }
            let truth = self.truths.get_mut(&gone.id).unwrap();
            truth.over = Some(gone.why);
            truth.detached = None;
        }
    }
}
