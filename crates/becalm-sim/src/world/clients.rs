//! When do clients call, and what do they make of the end?

use becalm::{Scope, StopReason};

use crate::engine::Distribution;
use crate::record::Began;
use crate::scenario::Arrivals;

use super::arrivals::{NEVER, OpenLoop};
use super::ceiling::STRIDE;
use super::event::Kind;
use super::progress::World;
use super::state::{PopulationState, Source};
use super::trace::Tracer;

/// The least time between two calls of a closed-loop client, in nanoseconds: without it one that
/// thinks no time would call a service that refuses at once for ever, at one instant.
const SHORTEST_THOUGHT: u64 = 1000;

impl<T: Tracer> World<'_, T> {
    pub(super) fn make_clients(&mut self, seed: u64) {
        let scenario = self.plan.scenario;
        for (index, population) in (0..).zip(&scenario.populations) {
            let name = &population.name;
            let mut state = PopulationState {
                arrivals: OpenLoop::new(Self::stream(seed, 1, name, 0)),
                generation: 0,
                streams: (0..population.clients)
                    .map(|client| Self::stream(seed, 2, name, client))
                    .collect(),
                parked: Vec::new(),
            };
            let first = state.arrivals.first(&population.arrivals);
            self.populations.push(state);
            self.schedule(first, Kind::Call, index, 0);
            if let Arrivals::Closed { .. } = population.arrivals {
                for client in 0..population.clients {
                    self.think(index, client);
                }
            }
        }
    }

    /// An open-loop call is due, and the next is set.
    pub(super) fn call_is_due(&mut self, population: u32, generation: u32) {
        let scenario = self.plan.scenario;
        let of = &scenario.populations[population as usize];
        let state = &mut self.populations[population as usize];
        if state.generation != generation {
            return;
        }
        let copies = match of.arrivals {
            Arrivals::Trace(_) => state.arrivals.copies(),
            _ => 1,
        };
        let next = state.arrivals.following(&of.arrivals, self.now);
        self.schedule_next_call(population, next);
        for copy in 0..copies {
            if copy % STRIDE == STRIDE - 1 && self.is_over() {
                return;
            }
            let client = match of.clients {
                1 => 0,
                clients => {
                    let random = &mut self.populations[population as usize].arrivals.stream;
                    u32::try_from(random.below(u64::from(clients))).unwrap_or(0)
                }
            };
            self.begin_call(population, client);
        }
    }

    #[inline]
    pub(super) fn schedule_next_call(&mut self, population: u32, at: u64) {
        let generation = self.populations[population as usize].generation;
        self.schedule(at, Kind::Call, population, generation);
    }

    /// The load changes.
    pub(super) fn load(&mut self, population: u32, factor: f64) {
        let of = &self.plan.scenario.populations[population as usize];
        let state = &mut self.populations[population as usize];
        if let Some(next) = state.arrivals.change(&of.arrivals, factor, self.now) {
            state.generation = (state.generation + 1) & 0xffff;
            self.schedule_next_call(population, next);
        }
        if factor > 0.0 {
            let parked = std::mem::take(&mut self.populations[population as usize].parked);
            for client in parked {
                self.think(population, client);
            }
        }
    }

    /// A client thinks, if its loop is closed.
    #[inline(always)]
    fn think(&mut self, population: u32, client: u32) {
        let plan = self.plan;
        let of = &plan.scenario.populations[population as usize];
        if let Arrivals::Closed { think } = &of.arrivals {
            self.think_so_long(population, client, think);
        }
    }

    /// A closed-loop client thinks. Under a load factor it thinks for so many times less, from the
    /// next thought on; at 0, until that is over.
    fn think_so_long(&mut self, population: u32, client: u32, think: &Distribution) {
        let state = &mut self.populations[population as usize];
        let factor = state.arrivals.factor();
        if factor <= 0.0 {
            state.parked.push(client);
            return;
        }
        let Some(random) = state.streams.get_mut(client as usize) else {
            return;
        };
        let thought = drawn(think, random, factor).max(SHORTEST_THOUGHT);
        let at = self.now.saturating_add(thought).min(NEVER - 1);
        self.schedule(at, Kind::Think, client, population);
    }

    /// A client calls.
    #[inline(always)]
    pub(super) fn begin_call(&mut self, population: u32, client: u32) {
        self.events += 1;
        self.population_tallies[population as usize].calls += 1;
        let plan = self.plan;
        let (line, shared) = plan.of_client(population, client);
        let options = &plan.lines[line].options;
        let source = Source::Client { population, client };
        self.begin(source, line, shared, options, Scope::NONE);
    }

    /// A client's call has ended.
    #[inline]
    pub(super) fn client_call_ended(
        &mut self,
        population: u32,
        client: u32,
        began: Began,
        ended: Result<(), StopReason>,
    ) {
        let tally = &mut self.population_tallies[population as usize];
        match ended {
            Ok(()) => tally.success(began, self.now),
            Err(reason) => tally.stop(began, reason),
        }
        self.think(population, client);
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]
fn drawn(think: &Distribution, random: &mut crate::engine::Stream, factor: f64) -> u64 {
    let thought = think.draw(random);
    if (factor - 1.0).abs() < f64::EPSILON {
        return thought;
    }
    (thought as f64 / factor) as u64
}
