//! Which policies do the transactions of one database share?

use std::time::Duration;

use becalm::{Policy, Retrier, preset::Preset};

use crate::limit::ServersLimit;
use crate::settings::{Isolation, Resolve, Settings};
use crate::source::Source;

/// Transactions on one database: a pool, who repeats what an outage has ended, and who repeats what a conflict has.
///
/// Make one for each database and share it, since its budget bounds the retries of all transactions together. Clones share it.
#[derive(Debug, Clone)]
pub struct Database<S> {
    pub(crate) source: S,
    pub(crate) outages: Retrier,
    pub(crate) conflicts: Retrier,
    pub(crate) limit: ServersLimit,
    pub(crate) settings: Settings,
}

impl<S: Source> Database<S> {
    /// Over this pool, by the defaults of [`Builder`].
    pub fn new(source: S) -> Self {
        Self::builder(source).build()
    }

    /// Begins a database whose policies you set first.
    pub fn builder(source: S) -> Builder<S> {
        Builder {
            source,
            outages: None,
            conflicts: None,
            settings: Settings::default(),
        }
    }

    /// The pool.
    pub fn source(&self) -> &S {
        &self.source
    }
}

/// Builds a [`Database`].
///
/// | | default |
/// |---|---|
/// | [`outages`](Self::outages) | full jitter from 50 ms, 4 attempts, a 10 % budget |
/// | [`conflicts`](Self::conflicts) | the preset `contention`: full jitter from 40 ms x 4 to 2 s, 20 attempts, no budget |
/// | [`isolation`](Self::isolation) | the server's own, `default_transaction_isolation` |
/// | [`resolve`](Self::resolve) | [`Resolve::Stop`] |
/// | [`deadline`](Self::deadline) | that of `outages`: none |
#[derive(Debug)]
#[must_use = "settings do nothing until they are built"]
pub struct Builder<S> {
    source: S,
    outages: Option<Retrier>,
    conflicts: Option<Retrier>,
    settings: Settings,
}

impl<S: Source> Builder<S> {
    /// Sets who repeats what an outage has ended. Its attempts are whole transactions with their conflicts resolved,
    /// and the attempt timeout of its policy bounds all of that.
    pub fn outages(mut self, outages: Retrier) -> Self {
        self.outages = Some(outages);
        self
    }

    /// Sets who repeats what another transaction stood in the way of: for transactions of more than some milliseconds, with
    /// a base of five times their length and a cap of fifty. Let its policy [nest](becalm::scope::Nested::Allow).
    pub fn conflicts(mut self, conflicts: Retrier) -> Self {
        self.conflicts = Some(conflicts);
        self
    }

    /// Sets the isolation level of all transactions that set none.
    pub fn isolation(mut self, isolation: Isolation) -> Self {
        self.settings.isolation = Some(isolation);
        self
    }

    /// Sets what a lost answer to `COMMIT` leads to.
    pub fn resolve(mut self, resolve: impl Into<Resolve>) -> Self {
        self.settings.resolve = resolve.into();
        self
    }

    /// Sets the longest time of a transaction with all of its attempts and waits.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.settings.deadline = Some(deadline);
        self
    }

    /// The database.
    pub fn build(self) -> Database<S> {
        let outages = || Policy::exponential(Duration::from_millis(50));
        let conflicts = || {
            let preset = Preset::by_name("contention").map(Preset::policy);
            preset.unwrap_or_else(|_| unreachable!("it is one of becalm's"))
        };
        let named = |policy: Policy, name: &str| {
            let retrier = policy.builder().name(name).build();
            retrier.unwrap_or_else(|_| unreachable!("a valid policy"))
        };
        Database {
            source: self.source,
            outages: self.outages.unwrap_or_else(|| named(outages(), "postgres")),
            conflicts: self
                .conflicts
                .unwrap_or_else(|| named(conflicts(), "postgres, conflicts")),
            limit: ServersLimit::default(),
            settings: self.settings,
        }
    }
}
