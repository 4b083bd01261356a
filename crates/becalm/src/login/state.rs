//! What is known of a login, and when may the next begin?

use core::fmt;
use core::time::Duration;
use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};

use tokio::time::Instant;

use super::NoLogin;

/// The longest time of a login, where none is set.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// The most logins in any [`PERIOD`].
const LOGINS: usize = 10;
pub(super) const PERIOD: Duration = Duration::from_secs(10);

/// How long after its time limit a login has to end.
const GRACE: Duration = Duration::from_secs(1);

/// The longest pause between logins that bring nothing.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

pub(super) struct State<V> {
    pub time_limit: Duration,
    pub latest: Latest<V>,
    /// Why the last login has brought nothing.
    pub error: Option<NoLogin>,
    is_running: bool,
    /// When the last logins began.
    began: VecDeque<Instant>,
    /// Logins that brought nothing, or what was refused, since a value was accepted.
    in_vain: u32,
    /// No login begins before.
    paused_until: Option<Instant>,
    /// Dials that run with what no server has accepted yet.
    pub proving: usize,
}

/// What the last login has brought.
#[derive(Clone)]
pub struct Latest<V> {
    /// How many logins have ended.
    round: u64,
    /// The last value that one has brought. It stays when the server refuses it, since that may take it again.
    pub value: Option<V>,
    /// The server has accepted it.
    is_accepted: bool,
    /// The server has refused it.
    pub(super) is_refused: bool,
}

impl<V> Latest<V> {
    /// How many logins have ended.
    pub fn round(&self) -> u64 {
        self.round
    }

    /// Whether the server has accepted it.
    pub fn is_accepted(&self) -> bool {
        self.is_accepted
    }
}

/// A login that is waited for.
pub(super) struct Wait {
    /// It is the first that waits who begins it.
    pub begins: bool,
    /// The server has refused what there is.
    pub renews: bool,
    pub round: u64,
    pub limit: Duration,
    /// Until it has ended, or its runtime is not driven any more.
    pub left: Duration,
}

impl<V> State<V> {
    pub fn new() -> Self {
        Self {
            time_limit: TIME_LIMIT,
            latest: Latest {
                round: 0,
                value: None,
                is_accepted: false,
                is_refused: false,
            },
            error: None,
            is_running: false,
            began: VecDeque::new(),
            in_vain: 0,
            paused_until: None,
            proving: 0,
        }
    }

    /// Whether there is a value that was not refused.
    pub fn has_some(&self) -> bool {
        self.latest.value.is_some() && !self.latest.is_refused
    }

    /// Whether a login runs, or may begin since there is none of use.
    pub fn is_awaited(&self, now: Instant) -> bool {
        self.is_running || (!self.has_some() && self.may_begin(now))
    }

    /// Whether the server has said what it thinks of the value.
    pub fn is_proved(&self) -> bool {
        self.latest.is_accepted || self.latest.is_refused
    }

    /// When a login may begin; `None` if it may at any time.
    pub fn may_begin_at(&self) -> Option<Instant> {
        let first = self.began.front().filter(|_| self.began.len() == LOGINS);
        self.paused_until.max(first.map(|first| *first + PERIOD))
    }

    fn may_begin(&self, now: Instant) -> bool {
        self.may_begin_at().is_none_or(|at| now >= at)
    }

    /// The login that runs, or one that begins if it may.
    pub fn log_in(&mut self, now: Instant) -> Option<Wait> {
        let begins = !self.is_running;
        if begins {
            if !self.may_begin(now) {
                return None;
            }
            self.begin(now);
        }
        let began = self.began.back();
        let runs = began.map_or(Duration::ZERO, |began| now - *began);
        Some(Wait {
            begins,
            renews: self.latest.is_refused,
            round: self.latest.round,
            limit: self.time_limit,
            left: self.time_limit.saturating_add(GRACE).saturating_sub(runs),
        })
    }

    fn begin(&mut self, now: Instant) {
        self.is_running = true;
        if self.began.len() == LOGINS {
            self.began.pop_front();
        }
        self.began.push_back(now);
    }

    /// Ends the login of this round, unless it has ended: whether it has not.
    pub fn end(&mut self, round: u64, ended: Result<V, NoLogin>, now: Instant) -> bool {
        if !self.is_running || self.latest.round != round {
            return false;
        }
        self.is_running = false;
        self.latest.round += 1;
        match ended {
            Ok(value) => {
                self.error = None;
                self.latest.value = Some(value);
                (self.latest.is_accepted, self.latest.is_refused) = (false, false);
            }
            // Without another, the one that was refused stays: the server may take it again.
            Err(error) => {
                self.error = Some(error);
                self.was_in_vain(now);
            }
        }
        true
    }

    /// The server has accepted these: whether that is news.
    pub fn accepted(&mut self, these: &Latest<V>) -> bool {
        let is_news = self.latest.round == these.round && !self.latest.is_accepted;
        if is_news {
            self.latest.is_accepted = true;
            if these.is_refused {
                self.latest.is_refused = false; // it takes again what it has refused
            }
            (self.in_vain, self.paused_until) = (0, None);
        }
        is_news
    }

    /// The server has refused these: whether there are others, or a login may bring some.
    pub fn refused(&mut self, these: &Latest<V>, now: Instant) -> bool {
        if self.latest.round == these.round && !self.latest.is_refused {
            let was_accepted = self.latest.is_accepted;
            (self.latest.is_refused, self.latest.is_accepted) = (true, false);
            if !was_accepted {
                self.was_in_vain(now);
            }
        }
        let may_begin = !these.is_refused && self.may_begin(now);
        self.has_some() || self.is_running || may_begin
    }

    fn was_in_vain(&mut self, now: Instant) {
        // The second follows at once, for a token that was about to end; then they become rarer.
        let pause = self.in_vain.checked_sub(1).map(|doublings| {
            let longest = Duration::from_secs(1 << doublings.min(10)).min(LONGEST_PAUSE);
            longest.mul_f64(0.5 + 0.5 * unit(self.latest.round))
        });
        self.paused_until = pause.map(|pause| now + pause);
        self.in_vain = self.in_vain.saturating_add(1);
    }
}

/// From 0 to 1, by the standard library's entropy: clients whose logins fail together come back apart.
#[expect(clippy::cast_precision_loss, reason = "53 bits")]
fn unit(round: u64) -> f64 {
    (RandomState::new().hash_one(round) >> 11) as f64 / (1_u64 << 53) as f64
}

/// Without its value.
impl<V> fmt::Debug for Latest<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut latest = f.debug_struct("Latest");
        latest.field("round", &self.round).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logins_in_vain_become_rarer_until_an_answer_accepts_one() {
        let mut state = State::<()>::new();
        let began = Instant::now();
        let fails = |state: &mut State<()>, now| {
            state.begin(now);
            assert!(state.end(state.latest.round, Err(NoLogin::TooLate), now));
            state
                .paused_until
                .map_or(Duration::ZERO, |until| until - now)
        };
        for times in 0..2 {
            let mut now = began + 1000 * PERIOD * times;
            for longest in [0, 1, 2, 4, 8, 16, 30, 30] {
                assert!(state.may_begin(now));
                let (pause, longest) = (fails(&mut state, now), Duration::from_secs(longest));
                assert!(
                    (longest / 2..=longest).contains(&pause),
                    "{pause:?} of {longest:?}"
                );
                now += pause;
                let early = now
                    .checked_sub(Duration::from_millis(1))
                    .expect("an instant");
                assert_eq!(state.may_begin(early), pause.is_zero());
            }
            fails(&mut state, now);
            assert!(!state.may_begin(now));
            state.begin(now);
            assert!(state.end(state.latest.round, Ok(()), now));
            let these = state.latest.clone();
            assert!(!state.may_begin(now) && state.accepted(&these));
            assert!(state.may_begin(now));
        }
    }

    #[test]
    fn a_value_that_is_refused_at_once_is_a_login_in_vain_and_one_that_has_ended_is_not() {
        for was_accepted in [false, true] {
            let mut state = State::new();
            let now = Instant::now();
            let mut may_help = Vec::new();
            for _ in 0..3 {
                state.begin(now);
                assert!(state.end(state.latest.round, Ok(()), now));
                let these = state.latest.clone();
                assert_eq!(was_accepted && state.accepted(&these), was_accepted);
                may_help.push(state.refused(&these, now));
            }
            // The second follows at once.
            assert_eq!(may_help, [true, was_accepted, was_accepted]);
        }
    }
}
