//! When does a message come, if it does?

use crate::engine::Stream;

use super::arrivals::NEVER;
use super::progress::World;
use super::state::Source;
use super::trace::Tracer;

impl<T: Tracer> World<'_, T> {
    /// How long a message of this call takes, in nanoseconds; `None` for one that is lost. The
    /// chance is the caller's, both ways.
    #[inline]
    pub(super) fn message(&mut self, source: Source) -> Option<u64> {
        match self.plan.delay {
            Some(delay) if self.loss <= 0.0 => Some(delay),
            _ => self.drawn_message(source),
        }
    }

    fn drawn_message(&mut self, source: Source) -> Option<u64> {
        let delay = &self.plan.scenario.network.delay;
        let loss = self.loss;
        let random = self.random_of(source);
        if loss > 0.0 && random.chance(loss) {
            return None;
        }
        // Long tails saturate; the sum with the present time must not.
        Some(delay.draw(random).min(NEVER / 2))
    }

    /// The stream of the caller.
    #[inline]
    pub(super) fn random_of(&mut self, source: Source) -> &mut Stream {
        match source {
            Source::Client { population, client } => {
                &mut self.populations[population as usize].streams[client as usize]
            }
            Source::Job {
                service, instance, ..
            } => &mut self.services[service as usize].instances[instance as usize].stream,
        }
    }
}
