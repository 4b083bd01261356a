//! How are a few of many kept, so that each of the many is as likely?

use becalm::rng::{Random, SplitMix64};

/// At most so many of all that were added, drawn with a fixed seed (Vitter: *Random Sampling with a Reservoir*, 1985).
#[derive(Debug, Clone)]
pub struct Sample {
    kept: Vec<u64>,
    added: u64,
    random: SplitMix64,
}

const MOST: usize = 4096;

impl Default for Sample {
    fn default() -> Self {
        Self {
            kept: Vec::new(),
            added: 0,
            random: SplitMix64::new(1),
        }
    }
}

impl Sample {
    /// Adds a number.
    pub fn add(&mut self, number: u64) {
        self.added += 1;
        if self.kept.len() < MOST {
            self.kept.push(number);
            return;
        }
        let drawn = (u128::from(self.random.next_u64()) * u128::from(self.added)) >> 64;
        if let Some(kept) = usize::try_from(drawn)
            .ok()
            .and_then(|at| self.kept.get_mut(at))
        {
            *kept = number;
        }
    }

    /// How many were added.
    pub const fn added(&self) -> u64 {
        self.added
    }

    /// Those that are kept, in order.
    pub fn sorted(&self) -> Vec<u64> {
        let mut sorted = self.kept.clone();
        sorted.sort_unstable();
        sorted
    }
}

/// The number that this share of the sorted ones does not exceed; 0 of none.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]
pub fn quantile(sorted: &[u64], share: f64) -> u64 {
    let rank = (sorted.len() as f64 * share).ceil() as usize;
    let at = rank.saturating_sub(1).min(sorted.len().saturating_sub(1));
    sorted.get(at).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_as_likely_to_be_kept() {
        let mut sample = Sample::default();
        for number in 1..=100_000 {
            sample.add(number);
        }
        let sorted = sample.sorted();
        assert_eq!((sample.added(), sorted.len()), (100_000, MOST));
        assert!(quantile(&sorted, 0.5).abs_diff(50_000) < 3_000);
        assert_eq!(quantile(&[], 0.5), 0);
        assert_eq!(quantile(&[7], 0.0), 7);
    }
}
