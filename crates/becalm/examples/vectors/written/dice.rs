//! What happens in a history? It is drawn from the seed and the history's number.

use becalm::rng::{Random, SplitMix64};

pub struct Dice(SplitMix64);

impl Dice {
    pub fn of(seed: u64, history: u64) -> Self {
        let start = SplitMix64::new(seed).next_u64();
        Self(SplitMix64::new(start.wrapping_add(history)))
    }

    /// A number below this one, which is small.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0.next_u64() % end
    }

    pub fn one_in(&mut self, odds: u64) -> bool {
        self.below(odds) == 0
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        let at = self.0.next_u64() % from.len() as u64;
        &from[usize::try_from(at).expect("an index")]
    }

    /// A word of random bits for the decision: at the ends more often than by chance.
    pub fn bits(&mut self) -> u64 {
        match self.below(16) {
            0 => 0,
            1 => u64::MAX,
            _ => self.0.next_u64(),
        }
    }
}
