//! What do the calls of one client share, where there are millions of clients? A word, until one of them fails.
//!
//! A call that succeeds at once leaves no more behind than a deposit in its client's budget, as long as neither a guard nor
//! another kind of budget looks at calls. So such successes are counted, and the state is made at the first
//! failure: it hears of the successes then, which is what it would have heard before. Any other state is made at the first call.

use std::cell::OnceCell;

use becalm::budget::Budgets;
use becalm::policy::Mode;
use becalm::shared::Shared;
use becalm::support::Unheld;
use becalm::{Policy, Scope, call::CallOptions, time::Instant};

/// The states that are made: they stay where they are.
#[derive(Debug)]
pub(super) struct Made(Vec<OnceCell<Box<[OnceCell<Shared>]>>>);

/// States of a block.
const BLOCK: usize = 32;

impl Made {
    /// Room for the states of this number of owners.
    pub fn of(owners: usize) -> Self {
        let blocks = 0..owners.div_ceil(BLOCK);
        Self(blocks.map(|_| OnceCell::new()).collect())
    }

    /// The state of this number, made if it is not there.
    #[inline]
    fn get(&self, number: usize, make: impl FnOnce() -> Shared) -> &Shared {
        let block = || (0..BLOCK).map(|_| OnceCell::new()).collect();
        self.0[number / BLOCK].get_or_init(block)[number % BLOCK].get_or_init(make)
    }
}

/// For each owner a word: how many of its calls have succeeded, or the number of its state.
#[derive(Debug)]
pub(super) struct Owners {
    words: Vec<u32>,
    made: u32,
}

/// From here on a word is the number of a state.
const MADE: u32 = 1 << 31;

impl Owners {
    pub fn of(owners: usize) -> Self {
        Self {
            words: vec![0; owners],
            made: 0,
        }
    }

    /// How many states are made.
    pub fn made(&self) -> u32 {
        self.made
    }

    /// Whether this one has a state, and not a count of successes.
    #[inline]
    pub fn has_state(&self, owner: usize) -> bool {
        self.words[owner] >= MADE
    }

    /// A call has succeeded that another state than its owner's has begun; false if that needs the state.
    #[inline]
    pub fn count_success(&mut self, owner: usize) -> bool {
        let word = &mut self.words[owner];
        let counts = *word < MADE - 1;
        *word += u32::from(counts);
        counts
    }

    /// The state of an owner, made if it has none, as a twin of a fresh one.
    #[inline(always)]
    pub fn state<'a>(&mut self, owner: usize, made: &'a Made, fresh: &Shared) -> &'a Shared {
        match self.words[owner].checked_sub(MADE) {
            Some(number) => made.get(number as usize, || fresh.twin()),
            None => self.make(owner, made, fresh),
        }
    }

    #[cold]
    fn make<'a>(&mut self, owner: usize, made: &'a Made, fresh: &Shared) -> &'a Shared {
        let word = &mut self.words[owner];
        let successes = std::mem::replace(word, MADE + self.made);
        let state = made.get(self.made as usize, || fresh.twin());
        self.made += 1;
        for _ in 0..successes {
            succeed(state);
        }
        state
    }
}

/// A call succeeds at once: when is not looked at.
fn succeed(state: &Shared) {
    let now = Instant::ZERO;
    let call = Unheld::begin(state, &CallOptions::new(), Scope::NONE, now);
    debug_assert!(call.is_some(), "such a policy looks at no success");
    if let Some(call) = call {
        call.succeeded(state, now);
    }
}

/// Whether a success leaves no more behind than a deposit.
pub(super) fn only_deposits(policy: &Policy) -> bool {
    let has_guard = policy.throttle.is_some()
        || policy.rate.is_some()
        || policy.hedge.is_some()
        || policy.bulkhead.is_some()
        || policy.breaker.is_some();
    !has_guard && policy.mode == Mode::Enforce && Budgets::new(policy.budget).is_plain()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use becalm::Budget;

    use super::*;

    #[test]
    fn s3_a_state_that_is_made_late_has_heard_of_every_success() {
        let policy = Policy::default().budget(Budget::ratio(0.5));
        assert!(only_deposits(&policy));
        let fresh = Shared::new(policy, Duration::ZERO).expect("a valid policy");
        let (made, mut owners) = (Made::of(40), Owners::of(40));
        let early = fresh.twin();
        for _ in 0..100 {
            assert!(owners.count_success(39));
            succeed(&early);
        }
        assert_eq!((owners.made(), owners.has_state(39)), (0, false));
        let late = owners.state(39, &made, &fresh);
        let now = Instant::from_nanos(2_000_000_000);
        let of = |state: &Shared| state.budget_gauges(now).collect::<Vec<_>>();
        assert_eq!(of(late), of(&early));
        // A burst follows the successes.
        assert!(of(late)[0].most > 2.0 * of(&fresh)[0].most, "{late:?}");
        assert_eq!((owners.made(), owners.has_state(39)), (1, true));
        let again = owners.state(39, &made, &fresh);
        assert!(std::ptr::eq(late, again));
    }

    #[test]
    fn a_policy_that_looks_at_calls_has_its_state_from_the_first() {
        let of = |budget| Policy::default().budget(budget);
        assert!(only_deposits(&of(Budget::None)));
        for budget in [Budget::first_tries(0.1), Budget::concurrency(0.2, 3)] {
            assert!(!only_deposits(&of(budget)), "{budget:?}");
        }
        let observes = of(Budget::default()).mode(Mode::Observe);
        let breaker = of(Budget::default()).breaker(becalm::Breaker::default());
        assert!(!only_deposits(&observes) && !only_deposits(&breaker));
    }
}
