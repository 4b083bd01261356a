//! Which sessions are there, whose turn is it to go, and may a connection go on with one?

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

use becalm::rng::Random;
use becalm::time::Instant;

#[cfg(feature = "server")]
use super::envelope::HEAD;
use super::envelope::Hello;
use super::settings::SessionSettings;
use super::slot::{Due, Inner, Slot};
use super::{Began, Cold, Counts, Gone, SessionId};
use crate::wakers::Wakers;

/// Counted for a session that waits for a connection, besides its messages.
const EACH: usize = 1024;

/// So long a name of its user is in that.
const NAME: usize = 256;

/// So many sessions that are over are remembered, to say why.
const REMEMBERED: usize = 4096;

/// The sessions of a server, in memory; clones are one.
///
/// ```no_run
/// # async fn run(listener: tokio::net::TcpListener) -> Result<(), Box<dyn std::error::Error>> {
/// use becalm_ws::session::{Began, SessionSettings};
/// use futures_util::{SinkExt, StreamExt};
///
/// let sessions = SessionSettings::default().open();
/// loop {
///     let (stream, _) = listener.accept().await?;
///     let sessions = sessions.clone();
///     tokio::spawn(async move {
///         let upgraded = tokio_tungstenite::accept_async(stream).await.ok()?;
///         let mut socket = sessions.accept(upgraded, "who the login says").await.ok()?;
///         if let Began::Cold(_) = socket.began() {
///             socket.send("all that stands".into()).await.ok()?;
///         }
///         while let Some(Ok(message)) = socket.next().await {
///             socket.send(message).await.ok()?;
///         }
///         Some(())
///     });
/// }
/// # }
/// ```
#[derive(Clone)]
pub struct Sessions {
    pub(super) shared: Arc<Shared>,
}

pub(super) struct Shared {
    pub settings: SessionSettings,
    directory: Mutex<Directory>,
    /// What all sessions keep. Moved before a message is kept, and after it is not.
    pub(super) bytes: Arc<AtomicUsize>,
    /// What has come to all sessions, and was not given to the application.
    pub(super) ahead: Arc<AtomicUsize>,
    /// Those who wait for room among all.
    pub(super) starved: Mutex<Vec<Waker>>,
    pub(super) starving: AtomicUsize,
    /// Connections are about to be closed.
    leaves: AtomicBool,
}

/// Locked before a slot, never after it.
struct Directory {
    epoch: u64,
    slots: HashMap<SessionId, Arc<Slot>>,
    /// Those that wait for a connection, the longest first, and since when.
    detached: BTreeMap<u64, (Instant, Arc<Slot>)>,
    of_user: HashMap<Arc<str>, VecDeque<u64>>,
    tickets: u64,
    remembered: HashMap<SessionId, Cold>,
    remembered_order: VecDeque<SessionId>,
    counts: Counts,
    /// What all sessions keep, and what has come to them.
    bytes: Arc<AtomicUsize>,
    ahead: Arc<AtomicUsize>,
    /// Over, and nobody was told yet.
    gone: Vec<Gone>,
    /// To be woken when nothing is locked.
    wakes: Vec<Waker>,
}

/// What a connection has come to have.
pub(super) struct Attached {
    pub slot: Arc<Slot>,
    pub connection: u64,
    pub began: Began,
    pub epoch: u64,
    pub received: u64,
}

impl SessionSettings {
    /// Sessions of a new epoch, in memory.
    pub fn open(&self) -> Sessions {
        Sessions::new(self.clone())
    }
}

impl Sessions {
    fn new(settings: SessionSettings) -> Self {
        let (bytes, ahead) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let directory = Directory {
            epoch: settings.seed.stream().next_u64(),
            slots: HashMap::new(),
            detached: BTreeMap::new(),
            of_user: HashMap::new(),
            tickets: 0,
            remembered: HashMap::new(),
            remembered_order: VecDeque::new(),
            counts: Counts::default(),
            bytes: Arc::clone(&bytes),
            ahead: Arc::clone(&ahead),
            gone: Vec::new(),
            wakes: Vec::new(),
        };
        let shared = Arc::new(Shared {
            settings,
            directory: Mutex::new(directory),
            bytes,
            ahead,
            starved: Mutex::default(),
            starving: AtomicUsize::new(0),
            leaves: AtomicBool::new(false),
        });
        Self { shared }
    }

    /// Whether there is such a session: for an admission that lets those first who come back, by the header
    /// [`HEADER`](super::HEADER). It says nothing of whose it is, nor whether others name it, too.
    pub fn holds(&self, id: SessionId) -> bool {
        self.shared.lock().slots.contains_key(&id)
    }

    /// Ends all sessions, as where their state stands no more: each begins cold, with [`Cold::Epoch`].
    pub fn begin_epoch(&self) {
        let epoch = self.shared.settings.seed.stream().next_u64();
        self.shared.change(|directory, _| {
            directory.epoch = epoch;
            let slots: Vec<_> = directory.slots.values().cloned().collect();
            for slot in slots {
                directory.end(&slot, Cold::Epoch);
            }
        });
    }

    /// How long the longest message of a client is on the wire.
    #[cfg(feature = "server")]
    pub(crate) fn longest_in_envelope(&self) -> usize {
        let longest = usize::try_from(self.shared.settings.longest).unwrap_or(usize::MAX);
        longest.saturating_add(HEAD)
    }

    /// What has come is confirmed at once from now on: each connection may be closed by what is below it, and nothing is said after that.
    #[cfg(any(feature = "server", test))]
    pub(crate) fn leave(&self) {
        self.shared.leaves.store(true, Ordering::Release);
    }

    /// Gives up what has waited too long. Every connection that comes or goes does so too: call it where none may for hours.
    pub fn sweep(&self) {
        self.shared.change(|_, _| ());
    }

    /// How often sessions were resumed, and what is kept.
    pub fn counts(&self) -> Counts {
        let directory = self.shared.lock();
        let detached = directory.detached.len();
        Counts {
            detached,
            attached: directory.slots.len() - detached,
            bytes: self.shared.bytes.load(Ordering::Relaxed),
            ..directory.counts
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Directory> {
        self.directory
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// When to confirm alone what has come.
    pub fn due(&self) -> Due {
        let leaves = self.leaves.load(Ordering::Acquire);
        Due {
            window: self.settings.window,
            after: if leaves {
                Duration::ZERO
            } else {
                self.settings.confirm_after
            },
        }
    }

    pub fn slot(&self, id: SessionId) -> Option<Arc<Slot>> {
        self.lock().slots.get(&id).cloned()
    }

    /// Gives up what is too old, does this, and then, with nothing locked, wakes and tells those whom it concerns.
    fn change<R>(&self, change: impl FnOnce(&mut Directory, Instant) -> R) -> R {
        let now = self.settings.sleeper.now();
        let (result, wakes, gone) = {
            let mut directory = self.lock();
            directory.expire(self.settings.age, now);
            let result = change(&mut directory, now);
            let wakes = std::mem::take(&mut directory.wakes);
            (result, wakes, std::mem::take(&mut directory.gone))
        };
        wakes.into_iter().for_each(Waker::wake);
        self.wake_starved();
        if let Some(observer) = &self.settings.observer {
            for gone in &gone {
                observer(gone);
            }
        }
        result
    }

    /// Gives this connection the session that it names, or a new one.
    pub fn attach(&self, hello: &Hello, user: &str, wakers: &Arc<Wakers>) -> Attached {
        self.change(|directory, _| {
            let (began, slot) = match directory.find(hello, user) {
                Ok(slot) => {
                    directory.resume(&slot, hello, wakers);
                    (Began::Resumed, slot)
                }
                Err(why) => {
                    let user = directory.name_of(user);
                    let id = directory.new_id(&self.settings);
                    let slot = Arc::new(Slot::new(id, user, hello, Arc::clone(wakers)));
                    directory.slots.insert(id, Arc::clone(&slot));
                    (Began::Cold(why), slot)
                }
            };
            directory.counts.count(began);
            let inner = slot.lock();
            let (connection, received) = (inner.connection, inner.ledger.received());
            drop(inner);
            Attached {
                slot,
                connection,
                began,
                epoch: directory.epoch,
                received,
            }
        })
    }

    /// The connection is gone: its session waits for another, if the client knows of it.
    pub fn detach(&self, slot: &Arc<Slot>, connection: u64) {
        self.change(|directory, now| {
            let Ok(mut inner) = slot.of(connection) else {
                return;
            };
            inner.wakers = None;
            if !inner.is_known {
                drop(inner);
                return directory.end(slot, Cold::Unknown);
            }
            directory.detach(slot, &mut inner, now);
            drop(inner);
            let of_user = &directory.of_user[&slot.user];
            if of_user.len() > self.settings.per_user {
                directory.evict(of_user[0]);
            }
            while self.bytes.load(Ordering::SeqCst) > self.settings.bytes {
                if !directory.evict_oldest() {
                    break;
                }
            }
        });
    }

    pub fn end(&self, slot: &Arc<Slot>, why: Cold) {
        self.change(|directory, _| directory.end(slot, why));
    }

    /// Makes room for these bytes, at the cost of the session that has waited longest for a connection; or lets this task know
    /// when there is some.
    pub fn reserve(&self, bytes: usize, waker: Option<&Waker>) -> bool {
        let is_reserved = || {
            let most = self.settings.bytes;
            let more = |kept: usize| kept.checked_add(bytes).filter(|kept| *kept <= most);
            let moved = self
                .bytes
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, more);
            moved.is_ok()
        };
        while !is_reserved() {
            let is_evicted = self.change(|directory, _| directory.evict_oldest());
            if !is_evicted {
                let Some(waker) = waker else {
                    return false;
                };
                self.starve(waker);
                // Freed between the two.
                return is_reserved();
            }
        }
        true
    }
}

impl Directory {
    /// The session that goes on, or why there is none.
    fn find(&mut self, hello: &Hello, user: &str) -> Result<Arc<Slot>, Cold> {
        let id = hello.id.ok_or(Cold::New)?;
        if hello.epoch != self.epoch {
            return Err(Cold::Epoch);
        }
        let Some(slot) = self.slots.get(&id).cloned() else {
            let why = self.remembered.get(&id).copied();
            return Err(why.unwrap_or(Cold::Unknown));
        };
        if *slot.user != *user {
            return Err(Cold::WrongUser);
        }
        let judged = slot.lock().judge(hello);
        match judged {
            Ok(()) => Ok(slot),
            Err(Cold::Superseded) => Err(Cold::Superseded),
            Err(why) => {
                self.end(&slot, why);
                Err(why)
            }
        }
    }

    fn resume(&mut self, slot: &Arc<Slot>, hello: &Hello, wakers: &Arc<Wakers>) {
        let mut inner = slot.lock();
        self.leave(&slot.user, &mut inner);
        self.forget_arrived(&mut inner);
        let (freed, old) = inner.resume(hello, Arc::clone(wakers));
        self.free(freed);
        self.wakes.extend(inner.take_waiting());
        self.wakes.extend(old.map(Waker::from));
    }

    /// It waits for a connection from now on.
    fn detach(&mut self, slot: &Arc<Slot>, inner: &mut Inner, now: Instant) {
        self.tickets += 1;
        inner.ticket = Some(self.tickets);
        self.detached.insert(self.tickets, (now, Arc::clone(slot)));
        let tickets = self.of_user.entry(Arc::clone(&slot.user)).or_default();
        tickets.push_back(self.tickets);
        self.bytes.fetch_add(waits(&slot.user), Ordering::SeqCst);
        self.forget_arrived(inner);
    }

    /// It waits for no connection any more.
    fn leave(&mut self, user: &Arc<str>, inner: &mut Inner) {
        let Some(ticket) = inner.ticket.take() else {
            return;
        };
        self.detached.remove(&ticket);
        if let Some(tickets) = self.of_user.get_mut(user) {
            tickets.retain(|other| *other != ticket);
            if tickets.is_empty() {
                self.of_user.remove(user);
            }
        }
        self.free(waits(user));
    }

    fn free(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::SeqCst);
    }

    /// What has come and was not given to the application comes again with the next connection.
    fn forget_arrived(&self, inner: &mut Inner) {
        let ahead = inner.ledger.inbox_bytes();
        self.ahead.fetch_sub(ahead, Ordering::SeqCst);
        inner.ledger.forget_arrived();
    }

    fn evict(&mut self, ticket: u64) {
        let slot = self.detached.get(&ticket).map(|(_, slot)| Arc::clone(slot));
        slot.inspect(|slot| self.end(slot, Cold::Evicted));
    }

    /// Whether there was one.
    fn evict_oldest(&mut self) -> bool {
        let oldest = self.detached.first_key_value().map(|(ticket, _)| *ticket);
        oldest.inspect(|oldest| self.evict(*oldest)).is_some()
    }

    fn expire(&mut self, age: Duration, now: Instant) {
        while let Some((_, (since, slot))) = self.detached.first_key_value() {
            if since.after(age) > now {
                break;
            }
            let slot = Arc::clone(slot);
            self.end(&slot, Cold::Expired);
        }
    }

    /// It is over.
    fn end(&mut self, slot: &Arc<Slot>, why: Cold) {
        let mut inner = slot.lock();
        if inner.over.is_some() {
            return;
        }
        inner.over = Some(why);
        self.leave(&slot.user, &mut inner);
        self.free(inner.ledger.bytes());
        self.forget_arrived(&mut inner);
        let (unconfirmed, unsent) = inner.ledger.take_kept();
        self.wakes.extend(inner.take_waiting());
        self.wakes.extend(inner.wakers.take().map(Waker::from));
        let is_known = inner.is_known;
        drop(inner);
        self.slots.remove(&slot.id);
        if is_known {
            self.remember(slot.id, why);
        }
        self.gone.push(Gone {
            id: slot.id,
            user: Arc::clone(&slot.user),
            why,
            unconfirmed,
            unsent,
        });
    }

    fn remember(&mut self, id: SessionId, why: Cold) {
        if self.remembered_order.len() == REMEMBERED {
            let oldest = self.remembered_order.pop_front();
            oldest.map(|oldest| self.remembered.remove(&oldest));
        }
        self.remembered.insert(id, why);
        self.remembered_order.push_back(id);
    }

    /// One name for all sessions of a user that wait.
    fn name_of(&self, user: &str) -> Arc<str> {
        let known = self.of_user.get_key_value(user);
        known.map_or_else(|| user.into(), |(name, _)| Arc::clone(name))
    }

    fn new_id(&self, settings: &SessionSettings) -> SessionId {
        let mut id = SessionId::draw(&settings.seed);
        // Only where a test draws the same twice.
        while self.slots.contains_key(&id) || self.remembered.contains_key(&id) {
            id = SessionId::from_u128(id.as_u128().wrapping_add(1).max(1)).unwrap_or(id);
        }
        id
    }
}

/// What a session of this user takes while it waits.
fn waits(user: &str) -> usize {
    EACH + user.len().saturating_sub(NAME)
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions")
            .field("settings", &self.shared.settings)
            .field("counts", &self.counts())
            .finish_non_exhaustive()
    }
}
