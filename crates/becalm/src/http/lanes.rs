//! On which connections does an attempt go that follows a time-out? On others than those that were silent.
//!
//! A connection that carries many requests may be dead without a word: a proxy forwards nothing any more, and nobody closes. Clients
//! that multiplex send attempt after attempt on it. A lane is a client with connections of its own. There is a current one, which
//! everybody takes, and at most one beside it, which is made for the first attempt that needs it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::attempt::Attempt;

/// How long a lane beside the current one serves again after its last use, before another is made; and the least time between two
/// current lanes that are given up.
const SHORT: Duration = Duration::from_secs(10);

/// The lanes to one server.
pub struct Lanes<C> {
    make: Box<dyn Fn() -> Option<C> + Send + Sync>,
    state: Mutex<State<C>>,
}

struct State<C> {
    current: Lane<C>,
    spare: Option<Lane<C>>,
    /// How many were made.
    made: u64,
    /// When the current one took the place of another.
    left: Option<Instant>,
}

struct Lane<C> {
    id: u64,
    client: C,
    /// When, while it was beside another.
    used: Instant,
    /// How many requests have begun.
    begun: u64,
    /// The latest of them that was answered.
    answered: u64,
    doubt: Option<Doubt>,
}

/// A request ended without an answer, and none that began later was answered.
struct Doubt {
    cut: u64,
    /// How many had begun then. What begins later is the proof.
    since: u64,
}

impl<C> Lane<C> {
    fn new(id: u64, client: C) -> Self {
        Self {
            id,
            client,
            used: Instant::now(),
            begun: 0,
            answered: 0,
            doubt: None,
        }
    }

    const fn is_doubted(&self) -> bool {
        self.doubt.is_some()
    }
}

impl<C: Clone> Lanes<C> {
    /// Lanes of which `current` is the first and this function makes all others. `None` where it cannot.
    pub fn new(current: C, make: impl Fn() -> Option<C> + Send + Sync + 'static) -> Arc<Self> {
        let state = State {
            current: Lane::new(0, current),
            spare: None,
            made: 1,
            left: None,
        };
        Arc::new(Self {
            make: Box::new(make),
            state: Mutex::new(state),
        })
    }

    /// The current client, and which lane it is.
    pub fn current(&self) -> (u64, C) {
        let current = &self.state().current;
        (current.id, current.client.clone())
    }

    /// A request begins, which is this attempt.
    pub fn begin(self: &Arc<Self>, attempt: Option<&Attempt>) -> (Trip<C>, C) {
        let mut state = self.state();
        let is_current = attempt.is_none_or(|it| it.timeouts() == 0 || state.stays(it));
        if !is_current && !state.has_spare() {
            // Others go on meanwhile.
            drop(state);
            let client = (self.make)();
            state = self.state();
            if !state.has_spare() {
                state.spare = client.map(|client| state.lane(client));
            }
        }
        let lane = state.take(is_current);
        lane.begun += 1;
        let trip = Trip {
            lanes: Arc::clone(self),
            lane: lane.id,
            number: lane.begun,
            is_answered: false,
        };
        (trip, lane.client.clone())
    }
}

impl<C> Lanes<C> {
    fn state(&self) -> MutexGuard<'_, State<C>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C> State<C> {
    /// Whether an attempt of a call of which some have timed out goes on the current lane.
    fn stays(&self, attempt: &Attempt) -> bool {
        let timeouts = attempt.timeouts();
        if timeouts == 1 {
            // What was cut began before others left its lane, and that lane is left; or its lane has answered what began later.
            let most = attempt.timeout().unwrap_or_default() + SHORT;
            let was_left = self.left.is_some_and(|left| left.elapsed() < most);
            return was_left || !self.current.is_doubted();
        }
        match &self.spare {
            Some(spare) if spare.is_doubted() => !self.current.is_doubted() || timeouts % 2 == 0,
            _ => false,
        }
    }

    /// Whether there is a lane beside the current one that was in use not long ago.
    fn has_spare(&self) -> bool {
        let spare = self.spare.as_ref();
        spare.is_some_and(|spare| spare.used.elapsed() <= SHORT)
    }

    /// The current lane, or the one beside it if there is any.
    fn take(&mut self, is_current: bool) -> &mut Lane<C> {
        match &mut self.spare {
            Some(spare) if !is_current => {
                spare.used = Instant::now();
                spare
            }
            _ => &mut self.current,
        }
    }

    fn lane(&mut self, client: C) -> Lane<C> {
        self.made += 1;
        Lane::new(self.made - 1, client)
    }

    /// From now on everybody takes this lane. What runs on the one before runs on.
    fn leave_for(&mut self, lane: Lane<C>) {
        self.current = lane;
        self.left = Some(Instant::now());
    }

    fn was_left(&self) -> bool {
        self.left.is_some_and(|left| left.elapsed() < SHORT)
    }

    fn find(&mut self, id: u64) -> Option<&mut Lane<C>> {
        if self.current.id == id {
            return Some(&mut self.current);
        }
        self.spare.as_mut().filter(|spare| spare.id == id)
    }

    fn answered(&mut self, id: u64, number: u64) {
        let Some(lane) = self.find(id) else { return };
        lane.answered = lane.answered.max(number);
        lane.doubt.take_if(|doubt| doubt.cut < number);
        if self.current.id != id && self.current.is_doubted() && !self.was_left() {
            if let Some(spare) = self.spare.take() {
                self.leave_for(spare);
            }
        }
    }

    /// Whether all should leave the current lane, and there is no other yet.
    fn unanswered(&mut self, id: u64, number: u64) -> bool {
        let Some(lane) = self.find(id) else {
            return false;
        };
        if lane.answered > number {
            return false;
        }
        let Some(doubt) = &lane.doubt else {
            lane.doubt = Some(Doubt {
                cut: number,
                since: lane.begun,
            });
            return false;
        };
        // What began after the doubt has no answer either.
        let is_silent = doubt.since < number;
        if !is_silent || !self.may_leave(id) {
            return false;
        }
        match self.spare.take_if(|spare| !spare.is_doubted()) {
            Some(spare) => self.leave_for(spare),
            None => return true,
        }
        false
    }

    fn may_leave(&self, id: u64) -> bool {
        id == self.current.id && !self.was_left()
    }
}

/// A request on a lane. Dropped without [`answered`](Self::answered), it had no answer.
pub struct Trip<C> {
    lanes: Arc<Lanes<C>>,
    lane: u64,
    number: u64,
    is_answered: bool,
}

impl<C> Trip<C> {
    /// On which lane.
    pub const fn lane(&self) -> u64 {
        self.lane
    }

    /// The server has answered.
    pub fn answered(&mut self) {
        self.is_answered = true;
        self.lanes.state().answered(self.lane, self.number);
    }
}

impl<C> Drop for Trip<C> {
    fn drop(&mut self) {
        if self.is_answered {
            return;
        }
        let wants_another = self.lanes.state().unanswered(self.lane, self.number);
        if !wants_another || std::thread::panicking() {
            return;
        }
        let Some(client) = (self.lanes.make)() else {
            return;
        };
        let mut state = self.lanes.state();
        if state.may_leave(self.lane) {
            let lane = state.lane(client);
            state.leave_for(lane);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn attempt(timeouts: u32) -> Attempt {
        Attempt::new(timeouts + 1, u64::MAX, u64::MAX, None).after_timeouts(timeouts)
    }

    fn lanes() -> Arc<Lanes<()>> {
        Lanes::new((), || Some(()))
    }

    #[test]
    fn who_is_cut_goes_elsewhere_and_the_others_when_that_answers() {
        let lanes = lanes();
        drop(lanes.begin(Some(&attempt(0))));
        let (mut beside, ()) = lanes.begin(Some(&attempt(1)));
        let (other, ()) = lanes.begin(Some(&attempt(0)));
        assert_eq!((beside.lane(), other.lane()), (1, 0));
        beside.answered();
        assert_eq!(lanes.begin(None).0.lane(), 1);
        // Whoever was cut on the one that was left is elsewhere already.
        drop(other);
        assert_eq!(lanes.begin(Some(&attempt(1))).0.lane(), 1);
    }

    #[test]
    fn an_answer_to_what_came_later_proves_that_the_lane_lives_and_one_to_what_came_before_does_not()
     {
        for (is_later, expected) in [(true, 0), (false, 1)] {
            let lanes = lanes();
            let begin = || lanes.begin(Some(&attempt(0))).0;
            let (slow, mut other);
            if is_later {
                (slow, other) = (begin(), begin());
            } else {
                other = begin();
                slow = begin();
            }
            other.answered();
            drop(slow);
            assert_eq!(lanes.begin(Some(&attempt(1))).0.lane(), expected);
        }
    }

    #[test]
    fn of_two_in_a_row_without_an_answer_the_second_is_the_proof_and_not_of_two_at_once() {
        let lanes = lanes();
        let both = [(); 2].map(|()| lanes.begin(None));
        drop(both);
        let (second, ()) = lanes.begin(None);
        assert_eq!(second.lane(), 0);
        drop(second);
        assert_eq!(lanes.begin(None).0.lane(), 1);
    }

    #[test]
    fn a_client_that_cannot_be_made_leaves_the_current_one() {
        let lanes = Lanes::new((), || None);
        for timeouts in [0, 1, 2, 0, 0] {
            let (trip, ()) = lanes.begin(Some(&attempt(timeouts)));
            assert_eq!(trip.lane(), 0);
        }
    }

    proptest! {
        #[test]
        fn whatever_happens_in_ten_seconds_makes_two_lanes_at_most(
            steps in proptest::collection::vec((0..4_u32, 0..8_usize, any::<bool>()), 1..200),
        ) {
            let lanes = lanes();
            let mut run = Vec::new();
            for (timeouts, at, is_answered) in steps {
                run.push(lanes.begin(Some(&attempt(timeouts))).0);
                if at < run.len() {
                    let mut trip = run.swap_remove(at);
                    if is_answered {
                        trip.answered();
                    }
                }
                prop_assert!(lanes.state().made <= 3);
            }
        }
    }
}
