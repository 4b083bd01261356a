//! What does a breaker's state look like in one atomic word, and its time in another?
//!
//! The state word decides: every change of state is one exchange of it, and its epoch grows by one,
//! so nobody who looked before decides after. The time is told behind it, by the one who changed
//! the state, with the low bits of the epoch for which it holds; until it is told, nothing is due.

use super::State;
use crate::time::Instant;

/// Epochs are compared and counted in 24 bits: what is running for 16 million changes of state
/// would be taken for new.
pub(super) const EPOCH_MASK: u32 = (1 << 24) - 1;

/// kind 2 | epoch 24 | level 6 | running probes 16 | successes 16, from the low end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Word {
    pub kind: State,
    pub epoch: u32,
    /// How often in a row it has opened: 0 if that is forgotten, at most 63.
    pub level: u8,
    /// While half-open.
    pub probing: u16,
    /// While half-open.
    pub succeeded: u16,
}

const CLOSED: u64 = 0;
const KIND: u64 = 3;
/// By the number that stands for each.
const KINDS: [State; 4] = [State::Closed, State::Open, State::HalfOpen, State::Isolated];

impl Word {
    pub(super) const START: Self = Self::unpack(0);

    /// The epoch, if this word is of a closed breaker: all that the closed path looks at.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "masked")]
    pub(super) const fn closed_epoch(bits: u64) -> Option<u32> {
        if bits & KIND == CLOSED {
            Some((bits >> 2) as u32 & EPOCH_MASK)
        } else {
            None
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "masked")]
    pub(super) const fn unpack(bits: u64) -> Self {
        Self {
            kind: KINDS[(bits & KIND) as usize],
            epoch: (bits >> 2) as u32 & EPOCH_MASK,
            level: (bits >> 26) as u8 & 63,
            probing: (bits >> 32) as u16,
            succeeded: (bits >> 48) as u16,
        }
    }

    pub(super) const fn pack(self) -> u64 {
        self.kind as u64
            | (self.epoch as u64) << 2
            | (self.level as u64) << 26
            | (self.probing as u64) << 32
            | (self.succeeded as u64) << 48
    }

    /// The next epoch, in this state.
    pub(super) const fn next(self, kind: State, level: u8) -> Self {
        Self {
            kind,
            epoch: (self.epoch + 1) & EPOCH_MASK,
            level: if level > 63 { 63 } else { level },
            probing: 0,
            succeeded: 0,
        }
    }
}

/// When something is due: 55 bits of the time in units of 512 ns, rounded up so that nothing is
/// early, and 9 bits of the epoch for which it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Due(pub u64);

const UNIT_BITS: u32 = 9;
const TIME_BITS: u32 = 55;
const TIME: u64 = (1 << TIME_BITS) - 1;

impl Due {
    pub(super) const fn new(epoch: u32, at: Instant) -> Self {
        let units = at.as_nanos().div_ceil(1 << UNIT_BITS);
        let units = if units > TIME { TIME } else { units };
        Self((epoch as u64) << TIME_BITS | units)
    }

    /// The time, if it holds for this epoch.
    pub(super) const fn of(self, epoch: u32) -> Option<Instant> {
        if self.0 >> TIME_BITS == epoch as u64 & 0x1ff {
            Some(self.any())
        } else {
            None
        }
    }

    /// The time, for whichever epoch it was told.
    pub(super) const fn any(self) -> Instant {
        Instant::from_nanos((self.0 & TIME) << UNIT_BITS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_word() -> impl Strategy<Value = Word> {
        let kind = prop_oneof![
            Just(State::Closed),
            Just(State::Open),
            Just(State::HalfOpen),
            Just(State::Isolated),
        ];
        (kind, 0..=EPOCH_MASK, 0..64_u8, any::<u16>(), any::<u16>()).prop_map(
            |(kind, epoch, level, probing, succeeded)| Word {
                kind,
                epoch,
                level,
                probing,
                succeeded,
            },
        )
    }

    proptest! {
        #[test]
        fn a_word_is_unpacked_as_it_was_packed(word in any_word()) {
            prop_assert_eq!(Word::unpack(word.pack()), word);
            let closed = (word.kind == State::Closed).then_some(word.epoch);
            prop_assert_eq!(Word::closed_epoch(word.pack()), closed);
        }

        #[test]
        fn a_time_is_told_to_its_epoch_never_early_and_at_most_a_unit_late(
            epoch in 0..=EPOCH_MASK, nanos: u64,
        ) {
            let due = Due::new(epoch, Instant::from_nanos(nanos));
            let told = due.of(epoch).expect("its epoch").as_nanos();
            let last = TIME << UNIT_BITS;
            prop_assert!(told >= nanos.min(last) && told - nanos.min(last) < 512, "{told}");
            prop_assert_eq!(due.of(epoch ^ 1), None);
            prop_assert_eq!(due.of(epoch.wrapping_add(256)), None);
        }
    }

    #[test]
    fn the_epoch_after_the_last_is_the_first() {
        let last = Word {
            epoch: EPOCH_MASK,
            probing: 3,
            ..Word::START
        };
        let next = last.next(State::Open, 200);
        assert_eq!((next.epoch, next.level, next.probing), (0, 63, 0));
    }
}
