//! What does the word of an event mean? A kind, an index, and a generation.

/// What happens. The index is given with each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A population's next open-loop call is due: population, generation of its arrivals.
    Call,
    /// A closed-loop client has thought enough: client, population.
    Think,
    /// A call asks to start: its wait is over. Call, generation.
    Timer,
    /// A guard has woken a call: call, generation.
    Woken,
    /// The first time-out of a lane is due: lane.
    Lane,
    /// A time-out that no lane had a place for: request, generation.
    GiveUp,
    /// A hedge is due: call, generation.
    Hedge,
    /// A request comes to its service: request, generation.
    Arrive,
    /// A worker is done: request, generation.
    Served,
    /// An answer comes to its caller: request, generation.
    Answer,
    /// A trigger begins: trigger.
    Begins,
    /// A trigger is over: trigger.
    Ends,
    /// The next step of a deploy: trigger, step.
    Deploy,
}

const KINDS: [Kind; 13] = [
    Kind::Call,
    Kind::Think,
    Kind::Timer,
    Kind::Woken,
    Kind::Lane,
    Kind::GiveUp,
    Kind::Hedge,
    Kind::Arrive,
    Kind::Served,
    Kind::Answer,
    Kind::Begins,
    Kind::Ends,
    Kind::Deploy,
];

/// Bits of a generation: one that has gone round while an event was pending would be taken for
/// the old one, after 67 million uses of one place.
pub(super) const GENERATION_BITS: u32 = 26;
const GENERATION: u64 = (1 << GENERATION_BITS) - 1;

/// Kind in 6 bits, index in 32, generation in 26.
#[inline]
pub(super) fn word(kind: Kind, index: u32, generation: u32) -> u64 {
    (kind as u64) << 58 | u64::from(index) << GENERATION_BITS | u64::from(generation) & GENERATION
}

/// The three parts of a word; `None` for one that was not made here.
#[inline]
#[expect(clippy::cast_possible_truncation)] // cut to what each part has
pub(super) fn parts(word: u64) -> Option<(Kind, u32, u32)> {
    let kind = KINDS.get((word >> 58) as usize)?;
    let index = (word >> GENERATION_BITS) as u32;
    Some((*kind, index, (word & GENERATION) as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_keeps_its_parts() {
        for (place, kind) in KINDS.into_iter().enumerate() {
            assert_eq!(kind as usize, place);
            for index in [0, 7, u32::MAX] {
                for generation in [0, 5, (1 << GENERATION_BITS) - 1] {
                    let word = word(kind, index, generation);
                    assert_eq!(parts(word), Some((kind, index, generation)));
                }
            }
        }
        assert_eq!(parts(u64::MAX), None);
    }
}
