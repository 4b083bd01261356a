//! Is anything broken at this moment?

use std::sync::{Mutex, PoisonError};

use becalm::rng::{Random, SplitMix64};
use tokio::sync::watch;

use crate::fault::spec::Fault;

/// One fault, which is begun and lifted.
pub struct Gate {
    fault: Fault,
    /// How often it was begun or lifted: odd while it is in force.
    turns: watch::Sender<u64>,
    draws: Mutex<SplitMix64>,
}

impl Gate {
    /// Nothing is broken.
    pub fn new(fault: Fault, seed: u64) -> Self {
        Self {
            fault,
            turns: watch::Sender::new(0),
            draws: Mutex::new(SplitMix64::new(seed)),
        }
    }

    pub fn begin(&self) {
        self.turns.send_modify(|turns| *turns |= 1);
    }

    pub fn lift(&self) {
        self.turns.send_modify(|turns| *turns += *turns & 1);
    }

    /// What is broken now.
    pub fn now(&self) -> Option<Fault> {
        (*self.turns.borrow() & 1 == 1).then_some(self.fault)
    }

    /// Waits until what is broken now is lifted.
    pub async fn lifted(&self) {
        let mut turns = self.turns.subscribe();
        let now = *turns.borrow();
        if now & 1 == 1 {
            let _ = turns.wait_for(|turns| *turns != now).await;
        }
    }

    /// Whether the next of the requests is one of this share.
    pub fn loses(&self, share: f64) -> bool {
        let mut draws = self.draws.lock().unwrap_or_else(PoisonError::into_inner);
        // 53 bits, as many as a double holds: from 0 to below 1.
        #[expect(clippy::cast_precision_loss)] // none is lost
        let place = (draws.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        place < share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_waits_for_a_lift_hears_of_it_even_if_another_fault_follows_at_once() {
        let gate = Gate::new(Fault::Hold, 0);
        gate.lifted().await;
        gate.lift();
        assert_eq!(gate.now(), None);
        gate.begin();
        gate.begin();
        assert_eq!(gate.now(), Some(Fault::Hold));
        let again = async {
            tokio::task::yield_now().await;
            gate.lift();
            gate.begin();
        };
        tokio::join!(gate.lifted(), again);
        assert_eq!(gate.now(), Some(Fault::Hold));
    }

    #[test]
    fn a_share_is_lost_and_the_same_one_with_the_same_seed() {
        let drawn = |seed| {
            let gate = Gate::new(Fault::Reset, seed);
            (0..10_000).map(|_| gate.loses(0.3)).collect::<Vec<_>>()
        };
        let lost = drawn(7).iter().filter(|it| **it).count();
        assert!((2_800..3_200).contains(&lost), "{lost}");
        assert_eq!(drawn(7), drawn(7));
        assert_ne!(drawn(7), drawn(8));
        assert!(Gate::new(Fault::Reset, 1).loses(1.0));
    }
}
