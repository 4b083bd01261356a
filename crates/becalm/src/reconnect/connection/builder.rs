//! How is a shared connection dialled, checked and paced?

use core::fmt;
use core::time::Duration;
use std::sync::{Arc, Mutex};

use crate::classify::Failure;
use crate::policy::InvalidPolicy;
use crate::rng::Seed;
use crate::time::{Everybody, Sleeper, default_sleeper};

use super::super::machine::Reconnector;
use super::super::{Pacer, Reconnect};
use super::SharedConnection;
use super::work::{Core, Dialler, IdleCheck, State};

/// The settings of a [`SharedConnection`].
#[must_use = "settings do nothing until they are built"]
pub struct Builder<C, E> {
    reconnect: Reconnect,
    dial: Arc<Dialler<C, E>>,
    check: Option<IdleCheck<C>>,
    pacer: Option<Pacer>,
    sleeper: Arc<dyn Sleeper>,
    seed: Seed,
}

impl<C, E> Builder<C, E> {
    pub(super) fn new<F>(reconnect: Reconnect, dial: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<C, (Failure, E)>> + Send + 'static,
    {
        Self {
            reconnect,
            dial: Arc::new(move || Box::pin(dial())),
            check: None,
            pacer: None,
            sleeper: default_sleeper(),
            seed: Seed::entropy(),
        }
    }

    /// Checks a connection before it is handed out that nobody has asked for during this time, once for all who wait:
    /// `false` means that it is lost. Default: never. A firewall between forgets idle connections and says nothing.
    ///
    /// A check takes no longer than the policy's `attempt_timeout`.
    pub fn check<F>(
        mut self,
        idle: Duration,
        check: impl Fn(C) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = bool> + Send + 'static,
    {
        self.check = Some(IdleCheck {
            idle,
            check: Arc::new(move |connection| Box::pin(check(connection))),
        });
        self
    }

    /// Sets the pacer that its dials share with others. Default: none.
    pub fn pacer(mut self, pacer: Pacer) -> Self {
        self.pacer = Some(pacer);
        self
    }

    /// Sets the clock and the timer. Default: tokio's with the feature `tokio`, otherwise std's.
    pub fn sleeper(mut self, sleeper: impl Sleeper) -> Self {
        self.sleeper = Arc::new(sleeper);
        self
    }

    /// Sets where the draws of its delays come from. Default: the operating system's entropy.
    pub fn seed(mut self, seed: Seed) -> Self {
        self.seed = seed;
        self
    }

    /// The connection. It is dialled when it is first wanted.
    ///
    /// # Errors
    ///
    /// The policy is invalid.
    pub fn build(self) -> Result<SharedConnection<C, E>, InvalidPolicy> {
        let (attempt_timeout, rest) = {
            let policy = &self.reconnect.policy;
            (policy.attempt_timeout, policy.cap)
        };
        let machine = Reconnector::new(self.reconnect, self.seed.stream(), self.sleeper.now())?;
        let core = Core {
            dial: self.dial,
            check: self.check,
            pacer: self.pacer,
            sleeper: self.sleeper,
            attempt_timeout,
            rest,
            state: Mutex::new(State::new(machine)),
            waiting: Everybody::new(),
        };
        Ok(SharedConnection {
            core: Arc::new(core),
        })
    }
}

impl<C, E> fmt::Debug for Builder<C, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut settings = f.debug_struct("Builder");
        settings.field("reconnect", &self.reconnect);
        settings.finish_non_exhaustive()
    }
}
