//! Was what failed tried again, and does anything but a number of attempts say how often? Decided by attempts that failed, not by
//! calls: who is answered has nothing to try again.

use serde::Serialize;

use crate::fault::{Bucket, Seen};
use crate::staging::ENOUGH;
use crate::statistics::count;

/// What was seen until a moment, or between two.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Tries {
    pub attempts: u64,
    /// Attempts of calls that had one before.
    pub retries: u64,
    /// Attempts of which something came: an answer, or nothing until the client left.
    pub ended: u64,
    /// Of these, those that did not answer their call.
    pub failed: u64,
}

impl Tries {
    pub fn of(seen: &Seen) -> Self {
        let total = |of: fn(&Bucket) -> u32| seen.buckets.iter().map(of).map(u64::from).sum();
        let (attempts, calls, answers): (u64, u64, u64) = (
            total(|it| it.attempts),
            total(|it| it.calls),
            total(|it| it.answers),
        );
        let counts = &seen.counts;
        let ended = counts.answered + counts.broken + counts.left + counts.unreachable;
        Self {
            attempts,
            retries: attempts.saturating_sub(calls),
            ended,
            failed: ended.saturating_sub(answers),
        }
    }

    /// Attempts of which nothing had come.
    pub const fn running(&self) -> u64 {
        self.attempts.saturating_sub(self.ended)
    }

    const fn since(self, earlier: Self) -> Self {
        Self {
            attempts: self.attempts.saturating_sub(earlier.attempts),
            retries: self.retries.saturating_sub(earlier.retries),
            ended: self.ended.saturating_sub(earlier.ended),
            failed: self.failed.saturating_sub(earlier.failed),
        }
    }
}

/// What had been seen when the fault began, at its middle, when it was lifted, and at the end.
#[derive(Debug, Clone, Copy, Default)]
pub struct Moments {
    pub begun: Tries,
    pub middle: Tries,
    pub lifted: Tries,
    pub over: Tries,
}

/// What failed, and what was tried again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Retried {
    /// During the fault.
    fault: Tries,
    /// In its second half, when what a budget had saved is spent.
    second_half: Tries,
    /// Retries after the fault, but for as many as attempts failed there: they are of calls that failed during it.
    late: u64,
    /// Attempts of which nothing had come when it was lifted.
    running: u64,
}

/// What that shows of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    Nothing(Unseen),
    Single,
    Bounded,
    Unbounded,
}

/// Why nothing is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unseen {
    /// So few attempts failed in the second half of the fault.
    Few(u64),
    /// So few in a hundred failed that a budget would let all be tried again.
    Share(u64),
    /// The second half shows something else than the whole.
    Changing,
}

impl From<Moments> for Retried {
    fn from(moments: Moments) -> Self {
        let lifted = moments.lifted;
        let after = moments.over.since(lifted);
        Self {
            fault: lifted.since(moments.begun),
            second_half: lifted.since(moments.middle),
            late: after.retries.saturating_sub(after.failed),
            running: lifted.running(),
        }
    }
}

impl Retried {
    /// `is_tried_twice`: whether any call was. `usual`: the calls that come in half the time of the fault.
    pub fn shows(&self, is_tried_twice: bool, usual: f64) -> Shown {
        let Self {
            fault, second_half, ..
        } = self;
        if fault.failed >= ENOUGH && !is_tried_twice {
            return Shown::Single;
        }
        if self.is_silent(usual) {
            return Shown::Bounded;
        }
        if second_half.failed < ENOUGH {
            return Shown::Nothing(Unseen::Few(second_half.failed));
        }
        match (self.is_often(fault), self.is_often(second_half)) {
            (false, false) => Shown::Bounded,
            (true, true) if 3 * second_half.failed >= 2 * second_half.ended => Shown::Unbounded,
            (true, true) => {
                let share = 100 * second_half.failed / second_half.ended.max(1);
                Shown::Nothing(Unseen::Share(share))
            }
            _ => Shown::Nothing(Unseen::Changing),
        }
    }

    /// Whether a retry or more came to three attempts that failed. Two attempts of each call are one to two, more are more; a budget of
    /// 20 % is one to six where all fail, and one to four where two of three do.
    const fn is_often(&self, tries: &Tries) -> bool {
        3 * (tries.retries + self.late) >= tries.failed
    }

    /// Whether the client ceased to call, as behind a breaker: calls failed, then hardly any came, few were waiting, and few are tried
    /// again later. Hardly and few: up to a tenth, for probes.
    fn is_silent(&self, usual: f64) -> bool {
        self.fault.failed > 0
            && 10.0 * count(self.second_half.attempts) <= usual
            && 10 * self.running <= self.fault.failed
            && 3 * self.late < self.fault.failed
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::fault::Counts;

    fn tries(attempts: u64, retries: u64, ended: u64, failed: u64) -> Tries {
        Tries {
            attempts,
            retries,
            ended,
            failed,
        }
    }

    /// A fault in which all of so many calls are tried so often, and all that fails does at once.
    pub fn every(calls: u64, attempts: u64) -> Retried {
        let all = calls * attempts;
        Retried {
            fault: tries(all, all - calls, all, all),
            second_half: tries(all / 2, (all - calls) / 2, all / 2, all / 2),
            late: 0,
            running: 0,
        }
    }

    /// What a client of 100 calls a second shows in a fault of 2 s.
    fn shown(fault: Tries, second_half: Tries, late: u64, running: u64) -> Shown {
        let retried = Retried {
            fault,
            second_half,
            late,
            running,
        };
        retried.shows(true, 100.0)
    }

    #[test]
    fn who_had_nothing_to_try_again_shows_nothing() {
        // Held for less than its client waits: every call is answered at the lift.
        let held = Retried {
            fault: tries(200, 0, 0, 0),
            second_half: tries(100, 0, 0, 0),
            late: 0,
            running: 200,
        };
        assert_eq!(held.shows(false, 100.0), Shown::Nothing(Unseen::Few(0)));
        // One call at a time, each held for a second.
        let one = shown(tries(2, 1, 1, 1), tries(1, 1, 1, 1), 0, 1);
        assert_eq!(one, Shown::Nothing(Unseen::Few(1)));
        // Twenty at a time: the second attempts fail in the second half, and are not tried again.
        let twenty = shown(tries(60, 20, 40, 40), tries(20, 0, 20, 20), 0, 20);
        assert_eq!(twenty, Shown::Nothing(Unseen::Changing));
    }

    #[test]
    fn retries_that_come_after_the_fault_are_retries() {
        // They wait 1 s, and 2 s more before they try again.
        let late = shown(tries(200, 0, 100, 100), tries(100, 0, 100, 100), 100, 100);
        assert_eq!(late, Shown::Unbounded);
        // They fail at once, and try again after 5 s, when they call next.
        let patient = shown(tries(20, 0, 20, 20), tries(0, 0, 0, 0), 20, 0);
        assert_eq!(patient, Shown::Nothing(Unseen::Few(0)));
    }

    #[test]
    fn a_number_of_attempts_is_no_bound_however_small() {
        for attempts in 2..6 {
            assert_eq!(every(200, attempts).shows(true, 100.0), Shown::Unbounded);
        }
        assert_eq!(every(200, 1).shows(false, 100.0), Shown::Single);
    }

    #[test]
    fn a_budget_bounds_even_when_what_it_had_saved_goes_first() {
        let ten = shown(tries(230, 30, 230, 230), tries(110, 10, 110, 110), 0, 0);
        assert_eq!(ten, Shown::Bounded);
        let twenty = shown(tries(250, 50, 250, 250), tries(120, 20, 120, 120), 2, 0);
        assert_eq!(twenty, Shown::Bounded);
        // 30 calls, and the ten retries that it had saved: the half says what the whole does not.
        let saved = shown(tries(44, 14, 44, 44), tries(17, 2, 17, 17), 0, 0);
        assert_eq!(saved, Shown::Bounded);
        let more = shown(tries(46, 16, 46, 46), tries(17, 2, 17, 17), 0, 0);
        assert_eq!(more, Shown::Nothing(Unseen::Changing));
    }

    #[test]
    fn where_few_are_lost_a_budget_lets_all_be_tried_again() {
        let naive = shown(tries(250, 50, 250, 50), tries(125, 25, 125, 25), 0, 0);
        assert_eq!(naive, Shown::Nothing(Unseen::Share(20)));
        // A budget of 10 % where three in ten are lost.
        let ten = shown(tries(220, 20, 220, 66), tries(110, 10, 110, 33), 0, 0);
        assert_eq!(ten, Shown::Bounded);
    }

    #[test]
    fn who_ceases_to_call_is_bounded_however_few_calls_it_took() {
        for failed in [3, 10, 15] {
            let probes = tries(2, 0, 2, 2);
            let breaker = shown(tries(failed, 2, failed, failed), probes, 0, 0);
            assert_eq!(breaker, Shown::Bounded, "{failed}");
        }
        // The same by itself, but all come back later.
        let delayed = shown(tries(15, 0, 15, 15), tries(2, 0, 2, 2), 15, 0);
        assert_eq!(delayed, Shown::Nothing(Unseen::Few(2)));
    }

    #[test]
    fn what_failed_is_what_ended_without_the_answer_of_a_call() {
        let bucket = Bucket {
            calls: 6,
            good: 4,
            attempts: 10,
            answers: 4,
        };
        let counts = Counts {
            answered: 5,
            broken: 2,
            left: 1,
            unreachable: 1,
            ..Counts::default()
        };
        let seen = Seen {
            counts,
            buckets: vec![bucket],
            ..Seen::default()
        };
        let until = Tries::of(&seen);
        assert_eq!(until, tries(10, 4, 9, 5));
        assert_eq!(until.running(), 1);
        let over = tries(40, 20, 39, 20);
        let moments = Moments {
            middle: until,
            lifted: until,
            over,
            ..Moments::default()
        };
        let expected = Retried {
            fault: until,
            second_half: Tries::default(),
            late: 1,
            running: 1,
        };
        assert_eq!(Retried::from(moments), expected);
    }
}
