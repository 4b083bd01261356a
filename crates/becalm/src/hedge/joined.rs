//! What has an attempt failed with when all of its copies have?

use core::time::Duration;

use crate::classify::{Class, Effect, Failure};
use crate::hint::Hint;

/// The failure of an attempt of which one copy failed `ago`, and the last one now.
///
/// What either says against a retry holds: permanent before throttled before transient, of unknown
/// effect if either is, and never earlier than either server allowed. A delay that was named `ago`
/// has run since. `class_of` knows the lists of the policy.
pub(crate) fn joined(
    earlier: Failure,
    ago: Duration,
    last: Failure,
    class_of: impl Fn(&Failure) -> Class,
) -> Failure {
    let cause = last.cause.or(earlier.cause);
    // What is permanent is so by its cause, too.
    let (one, other) = (class_of(&earlier), class_of(&last));
    let decides = if Against::of(one, &earlier) > Against::of(other, &last) {
        earlier
    } else {
        last
    };
    let (class, cause) = match (one, other) {
        (Class::Permanent, _) | (_, Class::Permanent) => (decides.class, decides.cause),
        (Class::Throttled, _) | (_, Class::Throttled) => (Class::Throttled, cause),
        (Class::Transient, Class::Transient) => (Class::Transient, cause),
    };
    let is_unsent = earlier.effect == Effect::Unsent && last.effect == Effect::Unsent;
    let hint = match (earlier.hint.map(|hint| later(hint, ago)), last.hint) {
        (Some(one), Some(other)) => Some(stricter(one, other)),
        (one, other) => one.or(other),
    };
    Failure {
        class,
        effect: if is_unsent {
            Effect::Unsent
        } else {
            Effect::Unknown
        },
        hint,
        cause,
        // One copy that was lost alone pays for the retry.
        loss: last.loss.filter(|_| earlier.loss == last.loss),
        healthy: earlier.healthy && last.healthy,
    }
}

/// What a failure says against a retry: what is said later outdoes what comes before it in this list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Against {
    /// Nothing that would end the call by itself.
    #[default]
    Nothing,
    /// The server forbids it.
    Forbidden,
    /// The policy does not list it.
    NotListed,
    /// It would fail again.
    Permanent,
}

impl Against {
    /// What this failure says, which the lists of the policy have in this class.
    pub fn of(listed: Class, failure: &Failure) -> Self {
        match (listed, failure.class, failure.hint) {
            (Class::Permanent, Class::Permanent, _) => Self::Permanent,
            (Class::Permanent, ..) => Self::NotListed,
            (.., Some(Hint::Stop)) => Self::Forbidden,
            _ => Self::Nothing,
        }
    }
}

/// What is left of a hint after this time.
fn later(hint: Hint, ago: Duration) -> Hint {
    match hint {
        Hint::AtLeast(delay) => Hint::AtLeast(delay.saturating_sub(ago)),
        Hint::Exactly(delay) => Hint::Exactly(delay.saturating_sub(ago)),
        Hint::Spread { after, over } => Hint::Spread {
            after: after.saturating_sub(ago),
            over: over.saturating_sub(ago.saturating_sub(after)),
        },
        Hint::Stop | Hint::Below(_) => hint,
    }
}

/// The one that allows nothing sooner; of two that begin together, the one that spreads further.
fn stricter(one: Hint, other: Hint) -> Hint {
    if rank(other) > rank(one) { other } else { one }
}

/// How strict a hint is: whether it forbids, whether it names a time, when it begins, how it spreads, how far.
fn rank(hint: Hint) -> (bool, bool, Duration, u8, Duration) {
    match hint {
        Hint::Stop => (true, true, Duration::ZERO, 0, Duration::ZERO),
        Hint::Below(_) => (false, false, Duration::ZERO, 0, Duration::ZERO),
        Hint::Exactly(delay) => (false, true, delay, 0, Duration::ZERO),
        Hint::AtLeast(delay) => (false, true, delay, 1, Duration::ZERO),
        Hint::Spread { after, over } => (false, true, after, 2, over),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::Cause;

    const AGO: Duration = Duration::from_secs(1);

    fn by_itself(failure: &Failure) -> Class {
        failure.class
    }

    fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn what_speaks_against_a_retry_holds_whoever_said_it() {
        let reset = Failure::transient();
        let refused = reset.unsent();
        let (busy, gone) = (Failure::throttled(), Failure::permanent());
        for (one, other, both) in [
            (reset, reset, reset),
            (refused, refused, refused),
            (refused, reset, reset),
            (reset, busy, busy),
            (busy.unsent(), refused, busy.unsent()),
            (gone, busy, gone),
        ] {
            assert_eq!(joined(one, AGO, other, by_itself), both);
            assert_eq!(joined(other, AGO, one, by_itself), both);
        }
    }

    /// A list that names 404 and not 503.
    #[test]
    fn what_is_not_listed_stays_so_beside_what_is() {
        let of = |status| Failure::transient().because(Cause::Status(status));
        let listed = |failure: &Failure| match failure.cause {
            Some(Cause::Status(503)) => Class::Permanent,
            _ => Class::Transient,
        };
        for (one, other) in [(of(503), of(404)), (of(404), of(503)), (of(503), of(503))] {
            assert_eq!(joined(one, AGO, other, listed).cause, of(503).cause);
        }
        let gone = Failure::permanent().because(Cause::Status(404));
        assert_eq!(joined(gone, AGO, of(404), listed).class, Class::Transient);
    }

    #[test]
    fn no_retry_comes_earlier_than_any_server_allowed() {
        let (at_least, exactly) = (|n| Some(Hint::AtLeast(s(n))), |n| Some(Hint::Exactly(s(n))));
        let spread = |after, over| {
            let (after, over) = (s(after), s(over));
            Some(Hint::Spread { after, over })
        };
        for (earlier, last, hint) in [
            (None, None, None),
            (at_least(5), None, at_least(4)),
            (exactly(5), None, exactly(4)),
            (at_least(1), None, at_least(0)),
            (None, at_least(5), at_least(5)),
            (at_least(5), at_least(3), at_least(4)),
            (at_least(5), at_least(6), at_least(6)),
            (exactly(5), exactly(3), exactly(4)),
            (exactly(5), at_least(3), exactly(4)),
            (exactly(5), at_least(4), at_least(4)),
            (at_least(5), exactly(5), exactly(5)),
            (at_least(7), exactly(5), at_least(6)),
            (spread(5, 9), None, spread(4, 9)),
            (spread(0, 9), None, spread(0, 8)),
            (spread(5, 9), at_least(4), spread(4, 9)),
            (spread(5, 9), at_least(5), at_least(5)),
            (spread(5, 9), spread(4, 7), spread(4, 9)),
            (exactly(5), spread(4, 7), spread(4, 7)),
            (spread(9, 9), Some(Hint::Stop), Some(Hint::Stop)),
            (Some(Hint::Stop), at_least(5), Some(Hint::Stop)),
            (at_least(5), Some(Hint::Stop), Some(Hint::Stop)),
            (Some(Hint::Stop), None, Some(Hint::Stop)),
        ] {
            let of = |hint| Failure {
                hint,
                ..Failure::transient()
            };
            assert_eq!(joined(of(earlier), AGO, of(last), by_itself).hint, hint);
        }
    }
}
