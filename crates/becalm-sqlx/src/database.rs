//! Which policies do the transactions of one database share?

use std::time::Duration;

use std::sync::Arc;

use becalm::{Policy, Retrier, preset::Preset};
use sqlx::postgres::PgConnectOptions;

use crate::limit::ServersLimit;
use crate::outage::Outage;
use crate::pool::{Manager, Pool};
use crate::settings::{Isolation, Resolve, Settings};
use crate::source::Source;

/// Transactions on one database: a pool, who repeats what an outage has ended, and who repeats what a conflict has.
///
/// Make one for each database and share it, since its budget bounds the retries of all transactions together. Clones share it.
///
/// ```no_run
/// # fn run() -> Result<(), sqlx::Error> {
/// use becalm_sqlx::Database;
///
/// let shop = Database::new("postgres://shop@db/shop".parse()?); // dials when the first transaction wants it
/// let larger = Database::builder("postgres://shop@db/shop".parse()?).connections(40).build();
/// # let _ = (shop, larger);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Database<S = Pool> {
    pub(crate) source: S,
    pub(crate) outages: Retrier,
    pub(crate) conflicts: Retrier,
    pub(crate) limit: ServersLimit,
    pub(crate) outage: Arc<Outage>,
    pub(crate) settings: Settings,
}

impl Database {
    /// Over a [pool](crate::pool) of ten connections to this server, whose dials are paced, by the defaults of [`Builder`]. None is dialled
    /// before it is wanted.
    pub fn new(server: PgConnectOptions) -> Self {
        Self::builder(server).build()
    }

    /// As [`new`](Self::new), with what you set first.
    pub fn builder(server: PgConnectOptions) -> Builder {
        Database::builder_over(Manager::new(server).pool(10))
    }
}

impl<S: Source> Database<S> {
    /// Over sqlx's pool, a [pool](crate::pool) that you have set up, or another source, by the defaults of [`Builder`].
    pub fn over(source: S) -> Self {
        Self::builder_over(source).build()
    }

    /// As [`over`](Self::over), with what you set first.
    pub fn builder_over(source: S) -> Builder<S> {
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
/// | [`connections`](Self::connections) | 10 |
/// | [`patience`](Self::patience) | 30 s, as the pools' |
/// | [`outages`](Self::outages) | full jitter from 50 ms, 4 attempts, a 10 % budget |
/// | [`conflicts`](Self::conflicts) | the preset `contention`: full jitter from 40 ms x 4 to 2 s, 20 attempts, no budget |
/// | [`isolation`](Self::isolation) | the server's own, `default_transaction_isolation` |
/// | [`resolve`](Self::resolve) | [`Resolve::Stop`] |
/// | [`deadline`](Self::deadline) | that of `outages`: none |
#[derive(Debug)]
#[must_use = "settings do nothing until they are built"]
pub struct Builder<S = Pool> {
    source: S,
    outages: Option<Retrier>,
    conflicts: Option<Retrier>,
    settings: Settings,
}

impl Builder {
    /// Sets how many connections the pool has at most.
    pub fn connections(self, connections: usize) -> Self {
        self.source.resize(connections);
        self
    }
}

impl<S: Source> Builder<S> {
    /// Sets for how long a call waits for a server that is away, starts or is full, since it last had a connection, where no deadline leaves
    /// less. It costs nothing of the budget, and no further attempt; one of all who wait asks for the server, at growing intervals. Then
    /// each attempt that is left looks for a second, and is charged.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.settings.patience = patience;
        self
    }

    /// Sets who repeats what an outage has ended. Its attempts are whole transactions with their conflicts resolved,
    /// and the attempt timeout of its policy bounds all of that, but for the wait for a server that is known to be away (to become so, one attempt may take its time). What is lost
    /// together takes one token of its budget.
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
            outage: Arc::new(Outage::new()),
            settings: self.settings,
        }
    }
}
