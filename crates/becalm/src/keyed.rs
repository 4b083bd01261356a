//! How does each host, shard or tenant get state of its own, without end and without a burst for each
//! new name?
//!
//! A bounded map from keys to shared state. Keys past the bound share one value, the *overflow*,
//! which has no breaker: one of them that is down must not stop the others. A new key takes the
//! place of another if that one is in nobody's hands and either idle, which is as good as new, or
//! *stale*: nobody has asked for it for long. What a stale one owes is carried over to the new key.
//! So whatever keys come and go, there are never more than bound + 1 states, and nothing that one
//! owes is forgotten: churning keys mint no bursts, and keys that failed once and never come back
//! keep nobody out.

use std::borrow::Borrow;
use std::boxed::Box;
use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;
use std::vec::Vec;

use crate::sync::{AtomicU64, Ordering};
use crate::time::Instant;

/// State that can be thrown away when it is as good as new, or when nobody asks for it any more.
pub trait Idle {
    /// Whether a new one would behave no differently from now on: a budget that is full, and of
    /// which no retry and no call is running.
    fn is_idle(&self, now: Instant) -> bool;

    /// Whether it must be kept, however long ago it was asked for: a call is running in it, or
    /// somebody has set it by hand.
    fn is_in_use(&self) -> bool;

    /// This new state takes the place of `stale`, which is thrown away: what that one owed, this one
    /// owes from now on.
    fn inherit(&self, stale: &Self, now: Instant);

    /// Makes this state fit for all keys past the bound together: it drops what would judge one of
    /// them by the answers of another.
    #[must_use]
    fn for_all_others(self) -> Self
    where
        Self: Sized,
    {
        self
    }
}

/// One value for each key, up to a bound.
///
/// A known key takes a read lock, a look into a map and a look at the clock; a caller that keeps the
/// `Arc` of a key pays none of them.
///
/// ```
/// use becalm::{Breaker, Keyed, Policy, Retrier};
///
/// let policy = Policy::default().breaker(Breaker::consecutive(5));
/// policy.validate()?;
/// let hosts: Keyed<String, Retrier> = Keyed::new(1000, move |host| {
///     let name = host.map_or("other hosts", String::as_str);
///     policy.clone().builder().name(name).build().expect("it was validated")
/// });
/// let host = hosts.get("10.0.0.7");
/// assert!(host.retry_blocking(|_| Ok::<_, std::io::Error>(17)).is_ok());
/// # Ok::<(), becalm::policy::InvalidPolicy>(())
/// ```
pub struct Keyed<K, V> {
    bound: usize,
    stale_after: Duration,
    overflow: Arc<V>,
    entries: RwLock<Entries<K, V>>,
}

/// Makes the value of a key, or of the overflow.
type Make<K, V> = dyn Fn(Option<&K>) -> V + Send + Sync;

/// As many entries as are looked at for one that may go, each time a new key comes: so that a flood of
/// new keys costs each of them the same.
const LOOKED_AT: usize = 8;

/// The default budget refills within an hour.
const STALE_AFTER: Duration = Duration::from_secs(60 * 60);

/// How exactly it is known when a key was last asked for: a busy one is written once a second.
const ASKED_WITHIN: u64 = 1_000_000_000;

impl<K, V> Keyed<K, V>
where
    K: Eq + Hash + Clone,
    V: Idle,
{
    /// Makes an empty map of at most `bound` keys. `make` makes the value of a key, and with `None` the one
    /// that keys past the bound share; with a bound of 0 they all do.
    pub fn new(bound: usize, make: impl Fn(Option<&K>) -> V + Send + Sync + 'static) -> Self {
        Self {
            overflow: Arc::new(make(None).for_all_others()),
            bound,
            stale_after: STALE_AFTER,
            entries: RwLock::new(Entries {
                make: Box::new(make),
                values: Vec::new(),
                places: HashMap::new(),
                hand: 0,
            }),
        }
    }

    /// Sets after how long a key that nobody asks for may lose its place to another, whatever its state.
    /// Default one hour, in which the default budget refills.
    #[must_use]
    pub fn stale_after(mut self, unasked: Duration) -> Self {
        self.stale_after = unasked;
        self
    }

    /// The value of this key at `now`; a new one, or the [overflow](Self::overflow), if it is not
    /// known. For retriers there is [`get`](Self::get), which reads their clock.
    ///
    /// Returns the same value as long as somebody holds it; otherwise as long as it is neither idle
    /// nor [stale](Self::stale_after).
    pub fn get_at<Q>(&self, key: &Q, now: Instant) -> Arc<V>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ToOwned<Owned = K> + ?Sized,
    {
        if let Some(known) = self.read().get(key, now) {
            return known;
        }
        self.insert(key.to_owned(), now)
    }

    /// A key that was not known a moment ago.
    #[cold]
    fn insert(&self, key: K, now: Instant) -> Arc<V> {
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = entries.get(&key, now) {
            return known;
        }
        // Made before anything changes: should that panic, the map is as it was.
        if entries.values.len() < self.bound {
            let value = Arc::new((entries.make)(Some(&key)));
            entries.push(Entry::new(key, Arc::clone(&value), now));
            return value;
        }
        let Some(place) = entries.find_place(now, self.stale_after) else {
            return Arc::clone(&self.overflow);
        };
        let value = Arc::new((entries.make)(Some(&key)));
        value.inherit(&entries.values[place].value, now);
        let old = entries.replace(place, Entry::new(key, Arc::clone(&value), now));
        drop(entries);
        // Without the lock: what it ends with may ask for a key of its own.
        drop(old);
        value
    }

    /// Makes the values of new keys so from here on. What is there goes on: it is handed to `go_on`, with
    /// the value that would be made in its place.
    pub(crate) fn replace_maker(
        &self,
        make: impl Fn(Option<&K>) -> V + Send + Sync + 'static,
        go_on: impl Fn(&V, V),
    ) {
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        // Made before anything changes: should that panic, the map is as it was.
        let others = make(None).for_all_others();
        let keys = entries.values.iter().map(|entry| &entry.key);
        let values: Vec<_> = keys.map(|key| make(Some(key))).collect();
        go_on(&self.overflow, others);
        for (entry, new) in entries.values.iter().zip(values) {
            go_on(&entry.value, new);
        }
        let old = std::mem::replace(&mut entries.make, Box::new(make));
        drop(entries);
        drop(old);
    }
}

impl<K, V> Keyed<K, V> {
    /// What keys past the bound share.
    pub fn overflow(&self) -> &Arc<V> {
        &self.overflow
    }

    /// Keys with a value of their own.
    pub fn len(&self) -> usize {
        self.read().values.len()
    }

    /// Whether no key has a value of its own.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Keys that can have a value of their own.
    pub const fn bound(&self) -> usize {
        self.bound
    }

    /// Looks at every key and its value, and at the overflow last, without a key. New keys wait
    /// meanwhile.
    pub fn for_each(&self, mut look: impl FnMut(Option<&K>, &Arc<V>)) {
        for entry in &self.read().values {
            look(Some(&entry.key), &entry.value);
        }
        look(None, &self.overflow);
    }

    fn read(&self) -> RwLockReadGuard<'_, Entries<K, V>> {
        // A panic in `make` leaves the map as it was.
        self.entries.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for Keyed<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.read();
        let values = entries.values.iter();
        let values: Vec<_> = values.map(|entry| (&entry.key, &entry.value)).collect();
        f.debug_struct("Keyed")
            .field("bound", &self.bound)
            .field("overflow", &self.overflow)
            .field("values", &values)
            .finish_non_exhaustive()
    }
}

struct Entries<K, V> {
    make: Box<Make<K, V>>,
    values: Vec<Entry<K, V>>,
    /// Where in `values` a key is.
    places: HashMap<K, usize>,
    /// Where the search for a place goes on.
    hand: usize,
}

struct Entry<K, V> {
    key: K,
    value: Arc<V>,
    /// When it was last asked for, in nanoseconds.
    asked: AtomicU64,
}

impl<K, V> Entry<K, V> {
    fn new(key: K, value: Arc<V>, now: Instant) -> Self {
        Self {
            key,
            value,
            asked: AtomicU64::new(now.as_nanos()),
        }
    }
}

impl<K: Eq + Hash + Clone, V: Idle> Entries<K, V> {
    fn get<Q>(&self, key: &Q, now: Instant) -> Option<Arc<V>>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let entry = self.values.get(*self.places.get(key)?)?;
        let asked = entry.asked.load(Ordering::Relaxed);
        if now.as_nanos().saturating_sub(asked) >= ASKED_WITHIN {
            entry.asked.store(now.as_nanos(), Ordering::Relaxed);
        }
        Some(Arc::clone(&entry.value))
    }

    fn push(&mut self, entry: Entry<K, V>) {
        self.places.insert(entry.key.clone(), self.values.len());
        self.values.push(entry);
    }

    /// The place of an entry that nobody holds, and that is as good as new or was not asked for
    /// lately.
    fn find_place(&mut self, now: Instant, stale_after: Duration) -> Option<usize> {
        for _ in 0..LOOKED_AT.min(self.values.len()) {
            let place = self.hand;
            self.hand = (self.hand + 1) % self.values.len();
            let entry = &mut self.values[place];
            let asked = Instant::from_nanos(entry.asked.load(Ordering::Relaxed));
            let is_stale = now.since(asked) > stale_after;
            // Nobody else holds it, nor can take it from here meanwhile: the lock is ours.
            let may_go = Arc::get_mut(&mut entry.value)
                .is_some_and(|value| value.is_idle(now) || is_stale && !value.is_in_use());
            if may_go {
                return Some(place);
            }
        }
        None
    }

    fn replace(&mut self, place: usize, entry: Entry<K, V>) -> Entry<K, V> {
        let key = entry.key.clone();
        let old = std::mem::replace(&mut self.values[place], entry);
        self.places.remove(&old.key);
        self.places.insert(key, place);
        old
    }
}
