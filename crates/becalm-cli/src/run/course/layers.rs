//! What do becalm in becalm tell each other? The scope of the attempt, in the environment.
//!
//! So layers add and do not multiply: the inner one retries while the outer one is at its first
//! attempt, and the outer one's time is the inner one's deadline.

use std::env;

use becalm::time::{Instant, Sleeper, StdSleeper};
use becalm::{Retrier, Scope, run::Engine};

use crate::run::above::SCOPE;

/// A call in the scope that becalm was started in.
pub fn begin(retrier: &Retrier, now: Instant) -> Engine<&Retrier> {
    let begin = || Engine::builder(retrier).begin();
    match env::var(SCOPE) {
        Ok(text) => Scope::decode(text, now, StdSleeper::new().clock()).enter(begin),
        Err(_) => begin(),
    }
}

/// What the command of this attempt is told.
pub fn scope_of(engine: &Engine<&Retrier>, number: u32, now: Instant) -> Option<String> {
    let header = engine
        .scope_of(number)
        .encode(now, StdSleeper::new().clock())?;
    Some(header.to_string())
}
