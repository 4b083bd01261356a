//! How does each host, shard or tenant get state of its own, without end and without a burst for each
//! new name?
//!
//! A bounded map from keys to shared state. Keys past the bound share one value, the *overflow*. A
//! new key takes the place of another only if that one's state is idle: as full as a new one, and in
//! nobody's hands. So whatever keys come and go, there are never more than bound + 1 states, and none
//! is made new while another still owes something: churning keys mint no bursts.

use std::borrow::Borrow;
use std::boxed::Box;
use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::vec::Vec;

use crate::breaker::CircuitBreaker;
use crate::budget::{Budgets, RatioBudget, RetryBudget};
use crate::time::Instant;

/// State that can be thrown away when it is as good as new.
pub trait Idle {
    /// Whether a new one would behave no differently from now on: a budget that is full, and of
    /// which no retry and no call is under way.
    fn is_idle(&self, now: Instant) -> bool;
}

impl Idle for RatioBudget {
    fn is_idle(&self, now: Instant) -> bool {
        self.fill(now) >= 1.0
    }
}

impl Idle for Budgets {
    fn is_idle(&self, now: Instant) -> bool {
        self.fill(now) >= 1.0 && !self.has_calls()
    }
}

/// Closed, without a failure in its window, and so long after it was open that nothing is left of
/// that.
impl Idle for CircuitBreaker {
    fn is_idle(&self, now: Instant) -> bool {
        self.is_as_new(now)
    }
}

/// One value for each key, up to a bound.
///
/// A known key takes a read lock and a look into a map; a caller that keeps the `Arc` of a key pays not
/// even that.
///
/// ```
/// use becalm::budget::{Budgets, RetryBudget};
/// use becalm::{Budget, Instant, Keyed};
///
/// let hosts: Keyed<String, Budgets> = Keyed::new(1000, |_| Budgets::new(Budget::ratio(0.1)));
/// let budget = hosts.get("api.example.com", Instant::ZERO);
/// budget.deposit(Instant::ZERO);
/// assert_eq!(hosts.len(), 1);
/// ```
pub struct Keyed<K, V> {
    make: Box<Make<K, V>>,
    bound: usize,
    overflow: Arc<V>,
    entries: RwLock<Entries<K, V>>,
}

/// Makes the value of a key, or of the overflow.
type Make<K, V> = dyn Fn(Option<&K>) -> V + Send + Sync;

/// As many entries as are looked at for an idle one, each time a new key comes: so that a flood of
/// new keys costs each of them the same.
const LOOKED_AT: usize = 8;

impl<K, V> Keyed<K, V>
where
    K: Eq + Hash + Clone,
    V: Idle,
{
    /// An empty map of at most `bound` keys. `make` makes the value of a key, and with `None` the one
    /// that keys past the bound share; with a bound of 0 they all do.
    pub fn new(bound: usize, make: impl Fn(Option<&K>) -> V + Send + Sync + 'static) -> Self {
        Self {
            overflow: Arc::new(make(None)),
            make: Box::new(make),
            bound,
            entries: RwLock::new(Entries::default()),
        }
    }

    /// The value of this key; a new one, or the [overflow](Self::overflow), if it is not known.
    ///
    /// Returns the same value as long as somebody holds it, and as long as it is not idle.
    pub fn get<Q>(&self, key: &Q, now: Instant) -> Arc<V>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ToOwned<Owned = K> + ?Sized,
    {
        if let Some(known) = self.read().get(key) {
            return known;
        }
        self.insert(key.to_owned(), now)
    }

    /// A key that was not known a moment ago.
    #[cold]
    fn insert(&self, key: K, now: Instant) -> Arc<V> {
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = entries.get(&key) {
            return known;
        }
        if entries.values.len() < self.bound {
            // Made first: should that panic, the map is as it was.
            let value = Arc::new((self.make)(Some(&key)));
            entries.push(key, Arc::clone(&value));
            return value;
        }
        let Some(place) = entries.find_idle(now) else {
            return Arc::clone(&self.overflow);
        };
        let value = Arc::new((self.make)(Some(&key)));
        entries.replace(place, key, Arc::clone(&value));
        value
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
        for (key, value) in &self.read().values {
            look(Some(key), value);
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
        f.debug_struct("Keyed")
            .field("bound", &self.bound)
            .field("overflow", &self.overflow)
            .field("values", &self.read().values)
            .finish_non_exhaustive()
    }
}

struct Entries<K, V> {
    values: Vec<(K, Arc<V>)>,
    /// Where in `values` a key is.
    places: HashMap<K, usize>,
    /// Where the search for an idle one goes on.
    hand: usize,
}

impl<K, V> Default for Entries<K, V> {
    fn default() -> Self {
        Self {
            values: Vec::new(),
            places: HashMap::new(),
            hand: 0,
        }
    }
}

impl<K: Eq + Hash + Clone, V: Idle> Entries<K, V> {
    fn get<Q>(&self, key: &Q) -> Option<Arc<V>>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let place = self.places.get(key)?;
        self.values.get(*place).map(|(_, value)| Arc::clone(value))
    }

    fn push(&mut self, key: K, value: Arc<V>) {
        self.places.insert(key.clone(), self.values.len());
        self.values.push((key, value));
    }

    /// The place of an entry that nobody holds and that is as good as new.
    fn find_idle(&mut self, now: Instant) -> Option<usize> {
        for _ in 0..LOOKED_AT.min(self.values.len()) {
            let place = self.hand;
            self.hand = (self.hand + 1) % self.values.len();
            // Nobody else holds it, nor can take it from here meanwhile: the lock is ours.
            let (_, value) = &mut self.values[place];
            if Arc::get_mut(value).is_some_and(|value| value.is_idle(now)) {
                return Some(place);
            }
        }
        None
    }

    fn replace(&mut self, place: usize, key: K, value: Arc<V>) {
        let (old, _) = std::mem::replace(&mut self.values[place], (key.clone(), value));
        self.places.remove(&old);
        self.places.insert(key, place);
    }
}
