//! How are answers kept in the memory of a process, within bounds?

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use becalm::time::{Sleeper, StdSleeper};

use super::answer::Answer;
use super::name::{Caller, Fingerprint, Name};
use super::shelf::{Bounds, Shelf, Until};
use super::store::{Claim, Store};

/// Keeps answers in memory, for a service of one process. Its clones are one store.
///
/// It holds at most [`entries`](Self::entries) operations and [`bytes`](Self::bytes) of answers, of all callers together. No caller
/// pushes out what another needs:
///
/// - For ten minutes (its [`promise`](Self::promise)) no answer is forgotten for another caller, however many of them there are. That is longer than clients repeat.
/// - Where the store is full, the oldest answer that is older than that is [forgotten early](Self::forgotten_early): of the caller that has most
///   answers, among those that have one so old. A repetition after that runs again.
/// - Where there is none so old, a caller that has its [`share`](Self::share) makes room by its own oldest answer. To others a new
///   operation gets 503: a 503 is repeated, and a second payment is not taken back. A store that made-up callers have filled takes new
///   operations again ten minutes later. Choose bounds that hold the operations of ten minutes.
/// - Where bytes are short, answers lose their bodies, from the caller that has most. A repetition is told that its operation is done.
/// - Answers under which nothing was done (400, 403, 404, 405 and their kin, or what gRPC says in their place) are kept for ten seconds, and make room first.
/// - Operations that run are never forgotten. A caller may have as many of them as all leave free.
///
/// Who the caller is, [`IdempotencyLayer::caller`](super::IdempotencyLayer::caller) says.
///
/// Everything in it is lost with the process: see [`Store`].
#[derive(Debug, Clone)]
pub struct MemoryStore {
    bounds: Bounds,
    /// `None`: a hundredth of the entries.
    share: Option<usize>,
    promise: Duration,
    expiry: Duration,
    clock: Arc<dyn Sleeper>,
    shelf: Arc<Mutex<Shelf>>,
}

impl MemoryStore {
    /// A store for 10,000 operations and 64 MiB of answers, which are kept for a day.
    pub fn new() -> Self {
        Self {
            bounds: Bounds {
                entries: 10_000,
                bytes: 64 << 20,
                share: 100,
            },
            share: None,
            promise: PROMISE,
            expiry: Duration::from_secs(24 * 3600),
            clock: Arc::new(StdSleeper::new()),
            shelf: Arc::default(),
        }
    }

    /// Sets how many operations it holds, those that run and those that have ended. Default 10,000; below 1
    /// is 1.
    #[must_use]
    pub fn entries(mut self, entries: usize) -> Self {
        self.bounds.entries = entries.max(1);
        self.with_share()
    }

    /// Sets from how many answers on a caller makes room by its own, where all others are promised. Each caller keeps as large a part of
    /// the bytes, whatever others send. Default: a hundredth of all, at least 1.
    #[must_use]
    pub fn share(mut self, answers: usize) -> Self {
        self.share = Some(answers);
        self.with_share()
    }

    /// Sets how many bytes the answers may take, bodies and headers with what their tables take. Default 64 MiB. An answer that is longer by
    /// itself is kept without its body. There are as many operations at most as this has KiB: what they take besides.
    #[must_use]
    pub fn bytes(mut self, bytes: usize) -> Self {
        self.bounds.bytes = bytes;
        self
    }

    /// Sets for how long an answer makes room for no other caller. Default ten minutes. Choose a time in which your clients have ended to
    /// repeat. A store that is full of younger ones answers new operations with 503.
    #[must_use]
    pub fn promise(mut self, promise: Duration) -> Self {
        self.promise = promise;
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

    /// How many answers had to make room before their time: they were forgotten, or lost their bodies.
    pub fn forgotten_early(&self) -> u64 {
        self.shelf().forgotten_early
    }

    fn with_share(mut self) -> Self {
        let entries = self.bounds.entries;
        self.bounds.share = self.share.unwrap_or(entries / 100).clamp(1, entries);
        self
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        // Nothing in between leaves it half done.
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

/// How long an answer makes room for no other caller: longer than clients repeat by themselves. SDKs end within a minute or two, and who
/// repeats by hand does so within minutes.
const PROMISE: Duration = Duration::from_secs(600);

/// How long an answer is kept under which nothing was done.
const BRIEF: Duration = Duration::from_secs(10);

impl Store for MemoryStore {
    type Held = Name;

    async fn claim(&self, name: Name, fingerprint: Fingerprint, caller: Caller) -> Claim<Name> {
        let mut kept = self.shelf();
        kept.expire(self.clock.now());
        if let Some((fingerprint, answer)) = kept.get(&name) {
            return Claim::Taken {
                fingerprint,
                answer,
            };
        }
        if kept.begin(name, fingerprint, caller, self.bounds) {
            Claim::Held(name)
        } else {
            Claim::Unavailable
        }
    }

    async fn complete(&self, held: Name, answer: Answer) {
        let kept = if answer.did_nothing() {
            self.expiry.min(BRIEF)
        } else {
            self.expiry
        };
        let now = self.clock.now();
        let until = Until {
            promised: now.after(self.promise),
            expires: now.after(kept),
        };
        self.shelf().end(held, answer, until, self.bounds);
    }

    async fn release(&self, held: Name) {
        self.shelf().release(&held);
    }

    fn address(&self) -> usize {
        Arc::as_ptr(&self.shelf).addr()
    }
}
