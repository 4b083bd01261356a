//! What do becalm in becalm tell each other? The scope of the attempt, in the environment.
//!
//! So layers add and do not multiply: the inner one retries while the outer one is at its first
//! attempt, and the outer one's time is the inner one's deadline. For as long as the outer one is there.

use std::env;
use std::task::Waker;
use std::time::Duration;

use becalm::run::{Engine, Step};
use becalm::time::{Instant, Sleeper, StdSleeper};
use becalm::{Retrier, Scope};

use crate::run::above::SCOPE;
use crate::run::unix::holder::Holder;

/// The becalm above, if there is one.
#[derive(Debug, Clone, Default)]
pub struct Above {
    scope: Option<String>,
    /// `None` where it does not say who it is: it counts for ever.
    holder: Option<Holder>,
    has_gone: bool,
}

impl Above {
    /// What the environment tells; nothing of one that has gone.
    pub fn of_environment() -> Self {
        let holder = Holder::of_environment();
        if holder.as_ref().is_some_and(Holder::is_gone) {
            return Self::default();
        }
        Self {
            scope: env::var(SCOPE).ok(),
            holder,
            has_gone: false,
        }
    }

    /// Whether there is one.
    pub fn is_there(&self) -> bool {
        self.scope.is_some()
    }

    /// Looks whether it has gone since.
    pub fn has_gone(&mut self) -> bool {
        self.has_gone |= self.is_there() && self.holder.as_ref().is_some_and(Holder::is_gone);
        self.has_gone
    }

    /// A call in its scope.
    pub fn begin<'r>(&self, retrier: &'r Retrier, now: Instant) -> Engine<&'r Retrier> {
        let begin = || Engine::builder(retrier).begin();
        match &self.scope {
            Some(text) => Scope::decode(text, now, StdSleeper::new().clock()).enter(begin),
            None => begin(),
        }
    }
}

/// A call in no scope, with what is left of the time and of the attempts; its first attempt is that which runs.
pub fn begin_anew(
    retrier: &Retrier,
    left: Option<Duration>,
    before: u32,
) -> Option<Engine<&Retrier>> {
    let attempts = retrier.policy().attempts.saturating_sub(before).max(1);
    let builder = Engine::builder(retrier).attempts(attempts);
    let mut engine = match left {
        Some(left) => builder.deadline(left).begin(),
        None => builder.begin(),
    };
    match engine.step(Waker::noop(), &mut |_| ()) {
        Step::Start(_) => Some(engine),
        _ => None,
    }
}

/// What the command of this attempt is told.
pub fn scope_of(engine: &Engine<&Retrier>, number: u32, now: Instant) -> Option<String> {
    let header = engine
        .scope_of(number)
        .encode(now, StdSleeper::new().clock())?;
    Some(header.to_string())
}
