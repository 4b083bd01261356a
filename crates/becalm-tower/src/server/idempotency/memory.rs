//! How are answers kept in the memory of a process, within bounds?

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use becalm::time::{Instant, Sleeper, StdSleeper};

use super::answer::Answer;
use super::name::{Fingerprint, Name};
use super::store::{Claim, Store};

/// Keeps answers in memory, for a service of one process. Its clones are one store.
///
/// It holds at most [`entries`](Self::entries) operations and [`bytes`](Self::bytes) of answers. Where a new one
/// needs room, the answer that was given the longest ago is [forgotten early](Self::forgotten_early), and its
/// repetition would run again; so choose bounds that hold the answers of the time in which clients
/// repeat. Operations that run are never forgotten: where they alone fill the store, new ones get 503.
///
/// Everything in it is lost with the process: see [`Store`].
#[derive(Debug, Clone)]
pub struct MemoryStore {
    entries: usize,
    bytes: usize,
    expiry: Duration,
    clock: Arc<dyn Sleeper>,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    entries: HashMap<Name, Entry>,
    /// The finished ones, by age.
    finished: VecDeque<(Instant, Name)>,
    bytes: usize,
    forgotten_early: u64,
}

#[derive(Debug)]
struct Entry {
    fingerprint: Fingerprint,
    /// `None` while it runs.
    answer: Option<Arc<Answer>>,
}

impl MemoryStore {
    /// A store for 10,000 operations and 64 MiB of answers, which are kept for a day.
    pub fn new() -> Self {
        Self {
            entries: 10_000,
            bytes: 64 << 20,
            expiry: Duration::from_secs(24 * 3600),
            clock: Arc::new(StdSleeper::new()),
            state: Arc::default(),
        }
    }

    /// Sets how many operations it holds, those that run and those that have ended. Default 10,000; below 1
    /// is 1.
    #[must_use]
    pub fn entries(mut self, entries: usize) -> Self {
        self.entries = entries.max(1);
        self
    }

    /// Sets how many bytes the answers may take, headers and bodies. Default 64 MiB. An answer that is longer by
    /// itself is kept without its body.
    #[must_use]
    pub fn bytes(mut self, bytes: usize) -> Self {
        self.bytes = bytes;
        self
    }

    /// Sets how long answers are kept. Default a day, as at Stripe. Publish it: a client that repeats later has its
    /// request done anew (draft-ietf-httpapi-idempotency-key-header-07, section 2.3).
    #[must_use]
    pub fn expiry(mut self, expiry: Duration) -> Self {
        self.expiry = expiry;
        self
    }

    /// Sets the clock. Default: the process's own.
    #[must_use]
    pub fn clock(mut self, clock: impl Sleeper) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// How many answers had to make room before their time.
    pub fn forgotten_early(&self) -> u64 {
        self.state().forgotten_early
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing in between leaves it half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl Store for MemoryStore {
    type Held = Name;

    async fn claim(&self, name: Name, fingerprint: Fingerprint) -> Claim<Name> {
        let now = self.clock.now();
        let mut state = self.state();
        state.expire(now);
        if let Some(entry) = state.entries.get(&name) {
            return Claim::Taken {
                fingerprint: entry.fingerprint,
                answer: entry.answer.clone(),
            };
        }
        if state.entries.len() >= self.entries && !state.forget_oldest() {
            return Claim::Unavailable;
        }
        let answer = None;
        let entry = Entry {
            fingerprint,
            answer,
        };
        state.entries.insert(name, entry);
        Claim::Held(name)
    }

    async fn complete(&self, held: Name, mut answer: Answer) {
        if answer.size() > self.bytes {
            answer = Answer::new(answer.status, http::HeaderMap::new(), None);
        }
        let size = answer.size();
        let expires = self.clock.now().after(self.expiry);
        let mut state = self.state();
        while state.bytes + size > self.bytes && state.forget_oldest() {}
        if let Some(entry) = state.entries.get_mut(&held) {
            entry.answer = Some(Arc::new(answer));
            state.finished.push_back((expires, held));
            state.bytes += size;
        }
    }

    async fn release(&self, held: Name) {
        self.state().entries.remove(&held);
    }
}

impl State {
    fn expire(&mut self, now: Instant) {
        while self.finished.front().is_some_and(|(at, _)| *at <= now) {
            self.remove_oldest();
        }
    }

    /// False where there is none that has ended.
    fn forget_oldest(&mut self) -> bool {
        let has_gone = self.remove_oldest();
        self.forgotten_early += u64::from(has_gone);
        has_gone
    }

    fn remove_oldest(&mut self) -> bool {
        let Some((_, name)) = self.finished.pop_front() else {
            return false;
        };
        let answer = self.entries.remove(&name).and_then(|entry| entry.answer);
        self.bytes -= answer.map_or(0, |answer| answer.size());
        true
    }
}
