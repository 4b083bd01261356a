//! What has an attempt failed with when all of its copies have?

use core::time::Duration;

use crate::classify::{Class, Effect, Failure};
use crate::hint::Hint;

/// The failure of an attempt of which one copy failed `ago`, and the last one now.
///
/// What either says against a retry holds: permanent before throttled before transient, of unknown
/// effect if either is, and never earlier than either server allowed. A delay that was named `ago`
/// has run since.
#[must_use]
pub fn joined(earlier: Failure, ago: Duration, last: Failure) -> Failure {
    let class = match (earlier.class, last.class) {
        (Class::Permanent, _) | (_, Class::Permanent) => Class::Permanent,
        (Class::Throttled, _) | (_, Class::Throttled) => Class::Throttled,
        (Class::Transient, Class::Transient) => Class::Transient,
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
    }
}

/// What is left of a hint after this time.
fn later(hint: Hint, ago: Duration) -> Hint {
    match hint {
        Hint::AtLeast(delay) => Hint::AtLeast(delay.saturating_sub(ago)),
        Hint::Exactly(delay) => Hint::Exactly(delay.saturating_sub(ago)),
        Hint::Stop | Hint::Below(_) => hint,
    }
}

/// The longer one; of two that are as long, the one that spreads.
fn stricter(one: Hint, other: Hint) -> Hint {
    match (one, other) {
        (Hint::Stop, _) | (_, Hint::Stop) => Hint::Stop,
        (Hint::Below(_), other) | (other, Hint::Below(_)) => other,
        (Hint::AtLeast(a), Hint::AtLeast(b)) => Hint::AtLeast(a.max(b)),
        (Hint::Exactly(a), Hint::Exactly(b)) => Hint::Exactly(a.max(b)),
        (Hint::AtLeast(at_least), Hint::Exactly(exactly))
        | (Hint::Exactly(exactly), Hint::AtLeast(at_least)) => {
            if exactly > at_least {
                Hint::Exactly(exactly)
            } else {
                Hint::AtLeast(at_least)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AGO: Duration = Duration::from_secs(1);

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
            assert_eq!(joined(one, AGO, other), both);
            assert_eq!(joined(other, AGO, one), both);
        }
    }

    #[test]
    fn no_retry_comes_earlier_than_any_server_allowed() {
        let (at_least, exactly) = (|n| Some(Hint::AtLeast(s(n))), |n| Some(Hint::Exactly(s(n))));
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
            (Some(Hint::Stop), at_least(5), Some(Hint::Stop)),
            (at_least(5), Some(Hint::Stop), Some(Hint::Stop)),
            (Some(Hint::Stop), None, Some(Hint::Stop)),
        ] {
            let of = |hint| Failure {
                hint,
                ..Failure::transient()
            };
            assert_eq!(joined(of(earlier), AGO, of(last)).hint, hint);
        }
    }
}
