//! A thousand random schedules of faults, against a model that knows what has to come out.
//!
//! The client is its core, the servers' sessions and sockets are the real ones, the network and the clock are the test's. Checked at each
//! step: what an application is given within a session is what was sent in it, in order, each once; nothing comes before
//! the word whether a session goes on; that word is the right one; what is given up is told, and nothing else is; the
//! bounds hold. And at the end, when nothing fails any more, all has arrived.

mod clients;
mod servers;
mod truth;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use becalm::rng::{Random, SplitMix64};
use becalm::time::FakeSleeper;
use tokio_tungstenite::tungstenite::Message;

use clients::Client;
use servers::{Connection, settings};
use truth::Truth;

use crate::session::{Began, Cold, Gone, SessionHandle, SessionId, Sessions};

const WINDOW: usize = 2_000;
const BYTES: usize = 6_000;
const AGE: Duration = Duration::from_secs(60);
const PER_USER: usize = 2;
const USERS: [&str; 3] = ["ada", "ada", "bob"];

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
    reached: Reached,
}

/// How often it came to what is rare.
#[derive(Debug, Default)]
struct Reached {
    /// An end behind messages that the application was not given yet.
    rest: usize,
    /// A drain with messages that were not confirmed yet.
    drained: usize,
    /// A close with a message that was fed to a full window.
    given_back: usize,
    /// A session that was lost with a message waiting for room in the outbox.
    beyond: usize,
}

impl World {
    fn new(seed: u64) -> Self {
        let (clock, gone) = (FakeSleeper::new(), Arc::default());
        Self {
            random: SplitMix64::new(seed),
            sessions: settings(&clock, seed, &gone),
            clock,
            gone,
            clients: USERS.map(Client::new).into(),
            connections: Vec::new(),
            truths: HashMap::new(),
            handles: HashMap::new(),
            bygone: HashSet::new(),
            tickets: 0,
            dials: 0,
            began: HashMap::new(),
            resumed: 0,
            reached: Reached::default(),
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
            0..22 => self.client_sends(who),
            22..25 => self.client_fetches(who),
            25 => self.server_feeds_and_closes(),
            26 if self.draw(8) == 0 => self.drains(),
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
                self.client_fetches(who);
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
            assert!(client.outbox.is_empty() && client.outbox.beyond.is_none());
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
    let (mut given, mut reached) = (0, Reached::default());
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
        reached.rest += world.reached.rest;
        reached.drained += world.reached.drained;
        reached.given_back += world.reached.given_back;
        reached.beyond += world.reached.beyond;
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
    let Reached {
        rest,
        drained,
        given_back,
        beyond,
    } = reached;
    for often in [rest, drained, given_back, beyond] {
        assert!(often > 20, "{reached:?}");
    }
    assert!(
        began[&Began::Resumed] > 5_000 && given > 50_000,
        "{began:?}, {given}"
    );
}
