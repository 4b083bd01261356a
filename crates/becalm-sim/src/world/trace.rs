//! What did each call go through? For tests that replay it elsewhere.

use std::marker::PhantomData;

use becalm::rng::Random;
use becalm::{StopReason, call::Decision, classify::Verdict, time::Instant};

use crate::engine::Stream;

/// One step of one call, with all that it was decided on.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Traced {
    /// The number of the call in the run, from 0, in the order in which calls began.
    pub call: u64,
    /// Who makes it.
    pub caller: Caller,
    /// The virtual time, on the clock of the call's shared state.
    pub now: Instant,
    /// What happened.
    pub step: Step,
    /// The random bits that were drawn for it.
    pub bits: Vec<u64>,
}

/// Who makes a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Caller {
    /// A client of a population.
    Client {
        /// Which population, in the order of the scenario.
        population: u32,
        /// Which of its clients.
        client: u32,
    },
    /// An instance of a service, for a request that it works on.
    Instance {
        /// Which service, in the order of the scenario.
        service: u32,
        /// Which of its instances.
        instance: u32,
        /// Which of the service's calls.
        downstream: u32,
    },
}

/// What happened to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// It began.
    Began,
    /// It asked to start an attempt: the attempt's number is its own.
    Started(u32),
    /// It asked to start an attempt, and waits: for this instant, or to be woken.
    Waits(Instant),
    /// It asked to start an attempt, and was refused: the call is over.
    Refused(StopReason),
    /// A hedge was due: its number, if it was let start.
    Hedged(Option<u32>),
    /// The attempt of this number came to this, and this was decided.
    Decided(u32, Verdict, Decision),
    /// Its deadline cut it: the call is over.
    Cut,
    /// The caller that wanted it has gone: the call is over.
    Cancelled,
}

/// Whether anybody listens.
pub(super) trait Tracer {
    const IS_ON: bool;
    fn trace(&mut self, traced: Traced);
}

/// Nobody does, at no cost.
pub(super) struct Silent;

impl Tracer for Silent {
    const IS_ON: bool = false;

    fn trace(&mut self, _: Traced) {}
}

/// Somebody does.
pub(super) struct Told<'t>(pub &'t mut dyn FnMut(Traced));

impl Tracer for Told<'_> {
    const IS_ON: bool = true;

    fn trace(&mut self, traced: Traced) {
        (self.0)(traced);
    }
}

/// A stream whose draws are written down where somebody listens.
pub(super) struct Draws<'d, T> {
    pub stream: &'d mut Stream,
    pub bits: &'d mut Vec<u64>,
    pub listener: PhantomData<T>,
}

impl<T: Tracer> Random for Draws<'_, T> {
    #[inline]
    fn next_u64(&mut self) -> u64 {
        let bits = self.stream.next_u64();
        if T::IS_ON {
            self.bits.push(bits);
        }
        bits
    }
}
