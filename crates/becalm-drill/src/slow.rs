//! Which requests take long although the service is well?

use std::time::Duration;

use becalm::rng::{Random, SplitMix64};

/// One request of every so many, at a random place among them: the share is exact, the moment is
/// not to be foreseen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slow {
    /// Of how many requests one is slow: from 1.
    pub every: u32,
    /// The time that it takes.
    pub time: Duration,
    /// Where in each group it stands follows from this.
    pub seed: u64,
}

impl Slow {
    /// Whether the request with this number, from 0, is slow.
    pub fn hits(self, number: u64) -> bool {
        let every = u64::from(self.every.max(1));
        let group = number / every;
        let mut random = SplitMix64::new(self.seed.wrapping_add(group));
        random.next_u64() % every == number % every
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_every_group_is_slow_and_not_always_the_same() {
        let slow = Slow {
            every: 40,
            time: Duration::from_millis(400),
            seed: 7,
        };
        let mut places = Vec::new();
        for group in 0..100 {
            let hit: Vec<_> = (0..40).filter(|it| slow.hits(group * 40 + it)).collect();
            assert_eq!(hit.len(), 1, "group {group}");
            places.extend(hit);
        }
        places.sort_unstable();
        places.dedup();
        assert!(places.len() > 25, "{places:?}");
    }
}
