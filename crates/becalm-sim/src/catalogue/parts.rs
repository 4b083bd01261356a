//! What are the worlds of several scenarios made of?

use std::time::Duration;

use becalm::Policy;

use super::Parameters;
use super::asked::count;
use crate::engine::Distribution;
use crate::scenario::{Arrivals, Limit, Population, Service};

/// Clients of the only service. All of them together make the calls of the parameter `load`.
pub(super) fn callers(parameters: &Parameters, policy: &Policy) -> Population {
    let calls = Arrivals::Poisson(parameters.number("load"));
    Population::new("clients", "service", calls, policy.clone())
}

/// A service without a bound. Each request takes this time.
pub(super) fn unbounded(name: impl Into<String>, time: Duration) -> Service {
    Service::new(name, Service::UNLIMITED, Distribution::Constant(time))
}

/// A service that accepts requests up to this rate per second. A refusal costs it nothing.
pub(super) fn limited(rate: f64, time: Duration) -> Service {
    let mut service = unbounded("service", time);
    service.limit = Some(Limit {
        rate,
        // A tenth of a second's worth: enough that what chance leaves unused is not lost.
        burst: (rate / 10.0).max(1.0),
    });
    service
}

/// A service with the workers and the queue of the parameters, and their time on average.
pub(super) fn bounded(name: &str, parameters: &Parameters) -> Service {
    let time = Distribution::Exponential(parameters.duration("service-time"));
    Service::new(name, count(parameters, "workers"), time).queue(count(parameters, "queue"))
}
