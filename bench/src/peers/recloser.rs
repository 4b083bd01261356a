//! recloser: a breaker around a function, over a window of a number of calls.

use std::sync::Arc;
use std::time::Duration;

use recloser::Error;

use crate::operation::{Outcome, reply};
use crate::peers::Breaker;

/// A breaker that opens at half of the window.
#[derive(Clone)]
pub struct Recloser(Arc<recloser::Recloser>);

impl Recloser {
    /// Over this many calls.
    pub fn count(window: usize) -> Self {
        let breaker = recloser::Recloser::custom()
            .error_rate(0.5)
            .closed_len(window)
            .open_wait(Duration::from_secs(30))
            .build();
        Self(Arc::new(breaker))
    }
}

impl Breaker for Recloser {
    #[inline]
    fn call(&mut self, request: Outcome) -> Option<Outcome> {
        match self.0.call(|| reply(request)) {
            Ok(value) => Some(Ok(value)),
            Err(Error::Inner(error)) => Some(Err(error)),
            Err(Error::Rejected) => None,
        }
    }
}
