//! Who calls?

use std::time::Duration;

use becalm::{Operation, Policy, throttle::Priority};

use super::Arrivals;

/// Clients of one kind.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Population {
    /// What it is called.
    pub name: String,
    /// How many clients (processes). Each open-loop call comes from one of them, at random. Default
    /// 1.
    pub clients: u32,
    /// The service that it calls.
    pub target: String,
    /// When its calls begin.
    pub arrivals: Arrivals,
    /// Its policies with the share of clients that have each: several for a policy that is deployed
    /// in part. Not empty.
    pub variants: Vec<Variant>,
    /// Whose the budget, the breaker and the other shared state are. Default
    /// [`Sharing::PerClient`].
    pub sharing: Sharing,
    /// When a client gives an attempt up, if its policy has no attempt timeout. Default none.
    pub timeout: Option<Duration>,
    /// How soon its calls are shed. Default critical.
    pub priority: Priority,
    /// What repeating one of its calls would do. Default idempotent.
    pub operation: Operation,
}

/// A policy, and which share of the clients have it.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    /// Decides about their retries.
    pub policy: Policy,
    /// The share of clients, from 0 to 1. Those of a population add up to 1, to a hundredth.
    pub share: f64,
}

/// Which clients share the state of a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sharing {
    /// Each client has its own, as processes do.
    #[default]
    PerClient,
    /// All clients of the population with one policy share it, as the threads of one process or
    /// behind a fleet-wide budget.
    Shared,
    /// Each client has one for each shard of the service that it calls: for each instance of one that is
    /// routed by key. What a shard's failures open is closed for the others.
    PerShard,
}

impl Population {
    /// Makes a population of one client that calls this service under this policy.
    pub fn new(
        name: impl Into<String>,
        target: impl Into<String>,
        arrivals: Arrivals,
        policy: Policy,
    ) -> Self {
        Self {
            name: name.into(),
            clients: 1,
            target: target.into(),
            arrivals,
            variants: vec![Variant { policy, share: 1.0 }],
            sharing: Sharing::default(),
            timeout: None,
            priority: Priority::default(),
            operation: Operation::Idempotent,
        }
    }

    /// Sets how many clients there are.
    #[must_use]
    pub fn clients(mut self, clients: u32) -> Self {
        self.clients = clients;
        self
    }

    /// Sets when a client gives an attempt up, if its policy has no attempt timeout.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets which clients share the state of a policy.
    #[must_use]
    pub fn sharing(mut self, sharing: Sharing) -> Self {
        self.sharing = sharing;
        self
    }

    /// Sets how soon its calls are shed.
    #[must_use]
    pub fn priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }

    /// Gives all clients this policy.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.variants = vec![Variant { policy, share: 1.0 }];
        self
    }
}
