//! Whom does a process ask for a retry?

use becalm::budget::{Budgets, RatioBudget, RetryBudget};
use becalm::rng::{Random, SplitMix64};
use becalm::time::Instant;
use becalm::{Budget, Failure};
use becalm_fleet::budget::{Exchanges, FleetBudget};

use super::{Budgeting, Processes};
use crate::engine::Stream;

/// One process.
pub(super) struct Process {
    pub random: Stream,
    pub purse: Purse,
    /// How often it has been born.
    pub life: u32,
    /// When its exchanges are looked at next.
    pub looks: u64,
    pub was_alone: bool,
}

/// What bounds its retries.
pub(super) enum Purse {
    Fleet(Box<(FleetBudget, Exchanges)>),
    Own(Box<Budgets>),
    /// The bucket of the run.
    Ideal,
}

impl Process {
    pub fn of(processes: &Processes, budgeting: Budgeting, seed: u64, index: u32) -> Self {
        let mut process = Self {
            random: Stream::of(seed, index.into()),
            purse: Purse::Ideal,
            life: 0,
            looks: u64::MAX,
            was_alone: false,
        };
        process.purse = process.born(processes, budgeting, 0);
        process
    }

    fn born(&mut self, processes: &Processes, budgeting: Budgeting, now: u64) -> Purse {
        match budgeting {
            Budgeting::Fleet => {
                let Ok(budget) = FleetBudget::new(processes.fleet) else {
                    return Purse::Ideal; // the processes are valid
                };
                let random = SplitMix64::new(self.random.next_u64());
                let exchanges = budget.exchanges(random, Instant::from_nanos(now));
                Purse::Fleet(Box::new((budget, exchanges)))
            }
            Budgeting::Own => {
                let ratio = processes.fleet.ratio();
                let own = Budget::ratio(ratio.ratio)
                    .burst(processes.own_burst)
                    .floor_per_second(0.0);
                Purse::Own(Box::new(Budgets::new(own)))
            }
            Budgeting::Ideal => Purse::Ideal,
        }
    }

    /// It is killed, and begins anew.
    pub fn crash(&mut self, processes: &Processes, budgeting: Budgeting, now: u64) {
        self.life += 1;
        self.looks = u64::MAX;
        self.purse = self.born(processes, budgeting, now);
    }

    pub fn withdraw(&self, ideal: &RatioBudget, now: u64) -> bool {
        let now = Instant::from_nanos(now);
        let failure = Failure::transient();
        match &self.purse {
            Purse::Fleet(fleet) => fleet.0.withdraw(now, &failure),
            Purse::Own(own) => own.withdraw(now, &failure),
            Purse::Ideal => ideal.withdraw(now),
        }
        .is_some()
    }

    pub fn deposit(&self, ideal: &RatioBudget, now: u64) {
        let now = Instant::from_nanos(now);
        match &self.purse {
            Purse::Fleet(fleet) => fleet.0.deposit(now),
            Purse::Own(own) => own.deposit(now),
            Purse::Ideal => ideal.deposit(),
        }
    }
}
