//! What happens between two attempts? A person is told, a hook runs, and becalm waits.

use becalm::time::Instant;

use super::ended::Ended;
use super::environment::Environment;
use super::retry::Course;
use crate::run::unix::hooks;

impl Course<'_> {
    /// Waits until then. The hook runs within the wait; if it needs longer, the attempt is later.
    pub(super) fn wait(&mut self, until: Instant) {
        let Some(ended) = self.last.take() else {
            return self.host.wait_until(until, |_| None);
        };
        let delay = self.engine.delay();
        let line = self
            .run
            .progress
            .waiting(ended.number, ended.cause(), delay);
        if let Some(hook) = &self.run.hooks.on_retry {
            let reason = match ended.seen.matched {
                Some(_) => "output",
                None => ended.ending.as_str(),
            };
            let environment = Environment {
                delay: Some(delay),
                ..self.afterwards(&ended, reason)
            };
            let mut terms = self.run.hooks.terms(self.host.now());
            terms.own.attempt_timeout = terms.attempt_timeout;
            terms.own.deadline = self.own_deadline;
            terms.deadline = self.engine.deadline();
            hooks::run(hook, &environment, self.host, terms);
        }
        self.host.wait_until(until, |left| line.tick(left));
        line.finish();
        self.last = Some(ended);
    }

    /// What hooks are told.
    pub(super) fn afterwards<'e>(&self, ended: &Ended, reason: &'e str) -> Environment<'e> {
        let now = self.host.now();
        Environment {
            attempt: ended.number,
            attempts: self.run.attempts,
            last_exit: Some(ended.ending.code()),
            remaining: self.engine.deadline().map(|deadline| deadline.since(now)),
            hint_file: None,
            scope: None,
            holder: None,
            delay: None,
            reason: Some(reason),
        }
    }
}
