//! A thousand random schedules of faults, against a model that knows what has to come out.
//!
//! The client is its core, the servers' sessions and sockets are the real ones, the network and the clock are the test's. Checked at each
//! step: what an application is given within a session is what was sent in it, in order, each once; nothing comes before
//! the word whether a session goes on; that word is the right one; what is given up is told, and nothing else is; the
//! bounds hold. And at the end, when nothing fails any more, all has arrived.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use becalm::rng::{Random, Seed, SplitMix64};
use becalm::time::{FakeSleeper, Instant, Sleeper};
use tokio_tungstenite::tungstenite::{Message, protocol::WebSocketConfig};

use super::network::{Pipe, Task};
use crate::session::envelope::Envelope;
use crate::session::{
    Began, Cold, Gone, Resume, Resuming, SessionHandle, SessionId, SessionSettings, Sessions, Taken,
};

const WINDOW: usize = 2_000;
const BYTES: usize = 6_000;
const AGE: Duration = Duration::from_secs(60);
const PER_USER: usize = 2;
const USERS: [&str; 3] = ["ada", "ada", "bob"];

/// What a session must bring: by direction, what was sent in it and how much of that was given.
#[derive(Debug, Default)]
struct Truth {
    up: Way,
    down: Way,
    user: &'static str,
    /// The connection that came last, and when that was lost.
    connection: usize,
    dial: u32,
    detached: Option<(u64, Instant)>,
    is_known: bool,
    over: Option<Cold>,
}

impl Truth {
    fn is_new(&self) -> bool {
        self.connection == 0
    }
}

#[derive(Debug, Default)]
struct Way {
    sent: Vec<Message>,
    given: usize,
}

impl Way {
    fn gives(&mut self, message: &Message) {
        assert_eq!(
            self.sent.get(self.given),
            Some(message),
            "message {}",
            self.given + 1
        );
        self.given += 1;
    }

    /// What one side gives up is the end of what was sent, and all before it was given.
    fn gives_up(&self, messages: &[Message]) {
        assert!(
            self.sent.ends_with(messages),
            "{messages:?} of {:?}",
            self.sent
        );
        let confirmed = self.sent.len() - messages.len();
        assert!(
            confirmed <= self.given,
            "{confirmed} were confirmed and {} given",
            self.given
        );
    }
}

struct Client {
    session: Resuming,
    user: &'static str,
    pipe: Option<Pipe>,
    outbox: Vec<Message>,
    /// The session, as the client knows.
    id: Option<SessionId>,
    has_answer: bool,
    numbers: u64,
}

struct Connection {
    pipe: Pipe,
    task: Task,
    user: &'static str,
    id: Option<SessionId>,
}

struct World {
    random: SplitMix64,
    clock: FakeSleeper,
    sessions: Sessions,
    gone: Arc<Mutex<Vec<Gone>>>,
    clients: Vec<Client>,
    connections: Vec<Connection>,
    truths: HashMap<SessionId, Truth>,
    handles: HashMap<SessionId, SessionHandle>,
    /// Of an epoch that has passed.
    bygone: HashSet<SessionId>,
    tickets: u64,
    dials: usize,
    began: HashMap<Began, u64>,
    /// By this server.
    resumed: u64,
}

fn settings(clock: &FakeSleeper, seed: u64, gone: &Arc<Mutex<Vec<Gone>>>) -> Sessions {
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
    fn new(seed: u64) -> Self {
        let (clock, gone) = (FakeSleeper::new(), Arc::default());
        let client = |user| Client {
            session: Resuming::new(
                Resume::default().window(WINDOW),
                &WebSocketConfig::default(),
            ),
            user,
            pipe: None,
            outbox: Vec::new(),
            id: None,
            has_answer: false,
            numbers: 0,
        };
        Self {
            random: SplitMix64::new(seed),
            sessions: settings(&clock, seed, &gone),
            clock,
            gone,
            clients: USERS.map(client).into(),
            connections: Vec::new(),
            truths: HashMap::new(),
            handles: HashMap::new(),
            bygone: HashSet::new(),
            tickets: 0,
            dials: 0,
            began: HashMap::new(),
            resumed: 0,
        }
    }

    fn draw(&mut self, below: usize) -> usize {
        usize::try_from(self.random.next_u64() % below as u64).unwrap()
    }

    fn message(&mut self, number: u64, from: &str) -> Message {
        let length = self.draw(400);
        let text = format!("{from} {number} {}", "x".repeat(length));
        if number % 2 == 0 {
            text.into()
        } else {
            text.into_bytes().into()
        }
    }

    fn step(&mut self) {
        let who = self.draw(self.clients.len());
        match self.draw(100) {
            0..15 => self.client_sends(who),
            30..45 => self.server_sends(),
            45..70 => self.network_moves(),
            70..80 => self.dials(who),
            80..85 => self.client_is_cut(who),
            85..91 => self.server_hears_of_a_cut(),
            91..95 => {
                let millis = self.draw(2_000) as u64;
                self.clock.advance(Duration::from_millis(millis));
            }
            95 if self.draw(4) == 0 => {
                let secs = self.draw(70) as u64;
                self.clock.advance(Duration::from_secs(secs));
                self.sessions.sweep();
            }
            96 if self.draw(2) == 0 => self.restarts(),
            97 if self.draw(12) == 0 => self.new_epoch(),
            // Somebody else has logged in.
            98 if self.draw(8) == 0 => {
                self.clients[who].user = if self.clients[who].user == "ada" {
                    "bob"
                } else {
                    "ada"
                };
                self.client_is_cut(who);
            }
            99 if self.draw(6) == 0 => self.session_ends(),
            _ => self.client_polls(who),
        }
        self.server_polls();
        self.hear();
        self.check();
    }

    fn client_sends(&mut self, who: usize) {
        let number = self.clients[who].numbers;
        self.clients[who].numbers += 1;
        let message = self.message(number, &format!("client {who}"));
        self.clients[who].outbox.push(message);
        self.client_polls(who);
    }

    fn dials(&mut self, who: usize) {
        let client = &mut self.clients[who];
        if client.pipe.is_some() {
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
    fn client_is_cut(&mut self, who: usize) {
        let client = &mut self.clients[who];
        if client.pipe.take().is_some() {
            client.session.disconnected();
        }
    }

    fn server_hears_of_a_cut(&mut self) {
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
                    client.session.disconnected();
                }
            }
        }
    }

    /// The youngest connections, and with them some that their clients have left already.
    fn network_moves(&mut self) {
        for _ in 0..3 {
            let young = self.connections.len().min(6);
            if young == 0 {
                return;
            }
            let which = self.connections.len() - 1 - self.draw(young);
            let (up, down) = (self.draw(6), self.draw(6));
            self.connections[which].pipe.let_go(up, down);
        }
        for who in 0..self.clients.len() {
            self.client_polls(who);
        }
    }

    fn server_sends(&mut self) {
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
    fn restarts(&mut self) {
        for connection in std::mem::take(&mut self.connections) {
            drop(connection.task);
            self.loses(connection.id, connection.pipe.number);
            self.hear();
        }
        for client in &mut self.clients {
            if client.pipe.take().is_some() {
                client.session.disconnected();
            }
        }
        if self.draw(4) == 0 {
            let seed = self.random.next_u64();
            self.gone = Arc::default();
            self.sessions = settings(&self.clock, seed, &self.gone);
            self.forget_all();
            self.resumed = 0;
        }
    }

    fn new_epoch(&mut self) {
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

    fn session_ends(&mut self) {
        let mut ids: Vec<_> = self.handles.keys().copied().collect();
        ids.sort();
        if !ids.is_empty() {
            let id = ids[self.draw(ids.len())];
            self.handles[&id].end();
        }
    }

    /// The client writes, and reads all that is there.
    fn client_polls(&mut self, who: usize) {
        let now = self.clock.now();
        while let Some(pipe) = self.clients[who].pipe.clone() {
            let client = &mut self.clients[who];
            let next = client.outbox.first();
            if next.is_some_and(|next| client.session.has_room(next)) {
                let message = client.outbox.remove(0);
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
            let came = { pipe.lock().at_client.pop_front() };
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
        let now = self.clock.now();
        let client = &mut self.clients[who];
        let taken = client.session.take(came);
        match taken.expect("the server keeps the rules") {
            Taken::Arrived => {
                assert!(client.has_answer, "a message came before the answer");
                let message = client.session.hand_over(now).expect("it has arrived");
                let id = client.id.unwrap();
                self.truths.get_mut(&id).unwrap().down.gives(&message);
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
                assert_eq!(is_first, client.id.is_none());
                assert!(!is_first || why == Cold::New);
                if let Some(old) = client.id {
                    self.truths[&old]
                        .up
                        .gives_up(&[unconfirmed, unsent].concat());
                    client.outbox.clear();
                }
                client.id = client.session.id();
            }
            Taken::Confirmed => (),
            Taken::Ended => self.client_is_cut(who),
        }
    }

    fn server_polls(&mut self) {
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
    fn hear(&mut self) {
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

    fn check(&self) {
        let counts = self.sessions.counts();
        assert!(counts.bytes <= BYTES, "{counts:?}");
        let kept: usize = self
            .handles
            .values()
            .map(SessionHandle::unconfirmed_bytes)
            .sum();
        assert_eq!(counts.bytes, kept + 1024 * counts.detached);
        assert_eq!(counts.attached + counts.detached, self.handles.len());
        for user in ["ada", "bob"] {
            let waits = |handle: &&SessionHandle| handle.user() == user && !handle.is_attached();
            assert!(self.handles.values().filter(waits).count() <= PER_USER);
        }
        assert_eq!(counts.resumed, self.resumed);
    }

    /// Nothing fails any more.
    fn heal(&mut self) {
        (0..self.clients.len()).for_each(|who| self.client_is_cut(who));
        for connection in &self.connections {
            connection.pipe.lock().is_over = true;
        }
        for _ in 0..200 {
            for who in 0..self.clients.len() {
                self.dials(who);
                self.client_polls(who);
            }
            for connection in &self.connections {
                connection.pipe.let_go(99, 99);
            }
            self.server_polls();
            self.hear();
            self.clock.advance(Duration::from_millis(100));
        }
        self.check();
        for client in &self.clients {
            assert!(client.outbox.is_empty());
            let truth = &self.truths[&client.id.expect("a session")];
            assert_eq!(truth.over, None);
            assert_eq!(
                (truth.up.given, truth.down.given),
                (truth.up.sent.len(), truth.down.sent.len())
            );
        }
        let kept: usize = self
            .handles
            .values()
            .filter(|handle| handle.is_attached())
            .map(SessionHandle::unconfirmed_bytes)
            .sum();
        assert_eq!(kept, 0, "all was confirmed");
    }
}

#[test]
fn a_thousand_schedules_of_faults_lose_nothing_and_give_nothing_twice() {
    let mut began = HashMap::<Began, u64>::new();
    let mut given = 0;
    for seed in 0..1_000 {
        let mut world = World::new(seed);
        let run = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for _ in 0..300 {
                world.step();
            }
            world.heal();
        }));
        assert!(run.is_ok(), "schedule {seed}");
        for (how, times) in world.began {
            *began.entry(how).or_default() += times;
        }
        given += world
            .truths
            .values()
            .map(|truth| truth.up.given + truth.down.given)
            .sum::<usize>();
    }
    // The schedules reach what they are to try.
    for how in [
        Cold::New,
        Cold::Unknown,
        Cold::Expired,
        Cold::Evicted,
        Cold::WrongUser,
        Cold::Epoch,
        Cold::Superseded,
        Cold::Ended,
    ] {
        assert!(began[&Began::Cold(how)] > 20, "{how:?} of {began:?}");
    }
    assert!(
        began[&Began::Resumed] > 5_000 && given > 50_000,
        "{began:?}, {given}"
    );
}
