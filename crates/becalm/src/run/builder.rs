//! What does a retrier need besides its policy? All of it optional.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::Retrier;
use super::core::{Core, Host};
use crate::budget::RetryBudget;
use crate::observe::Observer;
use crate::policy::{InvalidPolicy, Policy};
use crate::rng::Seed;
use crate::shared::{Given, Shared, registry};
use crate::time::{Sleeper, default_sleeper};

/// Builds a retrier: see [`Policy::builder`].
#[derive(Debug)]
#[must_use = "a builder does nothing until `build`"]
pub struct RetrierBuilder {
    policy: Policy,
    sleeper: Option<Arc<dyn Sleeper>>,
    tick: Option<Duration>,
    observer: Option<Arc<dyn Observer>>,
    seed: Seed,
    budget: Option<Arc<dyn RetryBudget>>,
    name: String,
    counts_demand: bool,
}

impl Policy {
    /// Makes a retrier of this policy, with a full budget of its own.
    ///
    /// # Errors
    ///
    /// An invalid policy is refused, naming the field and the remedy.
    pub fn retrier(self) -> Result<Retrier, InvalidPolicy> {
        self.builder().build()
    }

    /// Begins a retrier whose clock, observer, randomness, budget or name you set first.
    pub fn builder(self) -> RetrierBuilder {
        RetrierBuilder {
            policy: self,
            sleeper: None,
            tick: None,
            observer: None,
            seed: Seed::entropy(),
            budget: None,
            name: String::new(),
            counts_demand: false,
        }
    }
}

impl RetrierBuilder {
    /// Sets the clock and timer. Default: tokio's with the feature `tokio`, otherwise the standard
    /// library's.
    pub fn sleeper(mut self, sleeper: impl Sleeper) -> Self {
        self.sleeper = Some(Arc::new(sleeper));
        self
    }

    /// Sets the timer's tick, to which delays are rounded at random. Default: the sleeper's own.
    pub fn timer_tick(mut self, tick: Duration) -> Self {
        self.tick = Some(tick);
        self
    }

    /// Sets the observer, which is told what happens. Default: none, at no cost.
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// Sets where the seeds of failing calls come from. Default: the operating system's entropy.
    pub fn seed(mut self, seed: Seed) -> Self {
        self.seed = seed;
        self
    }

    /// A budget object in place of the policy's: one of your own kind, or one that several
    /// retriers share.
    pub fn retry_budget(mut self, budget: Arc<dyn RetryBudget>) -> Self {
        self.budget = Some(budget);
        self
    }

    /// Names the dependency in events and metrics. Use few names. Default: empty.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Counts what is asked of the dependency, for [`Retrier::demand`]. Default off: it costs every
    /// call some nanoseconds.
    pub fn count_demand(mut self) -> Self {
        self.counts_demand = true;
        self
    }

    /// Makes the retrier.
    ///
    /// # Errors
    ///
    /// An invalid policy is refused, naming the field and the remedy.
    pub fn build(self) -> Result<Retrier, InvalidPolicy> {
        let sleeper = self.sleeper.unwrap_or_else(default_sleeper);
        let tick = self.tick.unwrap_or_else(|| sleeper.granularity());
        let given = Given {
            tick,
            clock: sleeper.clock(),
            made: sleeper.now(),
            budget: self.budget,
            is_observed: self.observer.is_some(),
        };
        let mut shared = Shared::with(self.policy, given)?;
        if self.counts_demand {
            shared = shared.counting_demand();
        }
        let shared = Arc::new(shared);
        registry::register(&shared);
        let host = Arc::new(Host {
            sleeper,
            observer: self.observer,
            seed: self.seed,
            name: self.name,
            warned: AtomicBool::new(false),
        });
        Ok(Retrier::new(Core { shared, host }))
    }
}
