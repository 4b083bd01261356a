//! What is a scenario as a whole?

use std::mem;
use std::time::Duration;

use becalm::Policy;

use super::arrivals::Arrivals;
use super::population::{Population, Sharing, Variant};
use super::service::{Downstream, Service};
use super::trigger::Trigger;
use crate::engine::Distribution;

/// A world (clients, services, triggers) and how long a run lasts.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Scenario {
    /// What it is called.
    pub name: String,
    /// How long a run lasts.
    pub horizon: Duration,
    /// Whether a study may make runs longer where they are too short to say what comes of the triggers, since no
    /// file and no flag sets the horizon. Default no.
    pub goes_on: bool,
    /// The step in which everything is counted. Default 100 ms.
    pub bucket: Duration,
    /// Who calls.
    pub populations: Vec<Population>,
    /// Who is called: a graph, by name. Cycles are refused.
    pub services: Vec<Service>,
    /// What goes wrong, and when.
    pub triggers: Vec<Trigger>,
    /// What lies between any two of them.
    pub network: Network,
}

/// Delay and loss of every message, one way.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Network {
    /// How long a message takes, one way. Default 0.
    pub delay: Distribution,
    /// The share of messages that never arrive, each way. Default 0.
    pub loss: f64,
}

impl Default for Network {
    fn default() -> Self {
        Self {
            delay: Distribution::Constant(Duration::ZERO),
            loss: 0.0,
        }
    }
}

impl Scenario {
    /// Makes an empty world whose runs last this long, counted in steps of 100 ms.
    pub fn new(name: impl Into<String>, horizon: Duration) -> Self {
        Self {
            name: name.into(),
            horizon,
            goes_on: false,
            bucket: Duration::from_millis(100),
            populations: Vec::new(),
            services: Vec::new(),
            triggers: Vec::new(),
            network: Network::default(),
        }
    }

    /// Adds a service.
    #[must_use]
    pub fn service(mut self, service: Service) -> Self {
        self.services.push(service);
        self
    }

    /// Adds a population.
    #[must_use]
    pub fn population(mut self, population: Population) -> Self {
        self.populations.push(population);
        self
    }

    /// Adds a trigger.
    #[must_use]
    pub fn trigger(mut self, trigger: Trigger) -> Self {
        self.triggers.push(trigger);
        self
    }

    /// The scenario with this horizon.
    pub(crate) fn until(&self, horizon: Duration) -> Self {
        Self {
            horizon,
            ..self.clone()
        }
    }

    /// The scenario with all its clients under this policy. What its services ask of each other keeps
    /// its own.
    #[must_use]
    pub fn under(&self, policy: &Policy) -> Self {
        let mut scenario = self.clone();
        for population in &mut scenario.populations {
            population.variants = vec![Variant {
                policy: policy.clone(),
                share: 1.0,
            }];
        }
        scenario
    }

    /// The scenario with all its clients behind layers that each retry, the outermost first. The clients have the first policy;
    /// of each other a client has a layer to itself, which queues nothing and takes no time. None of them knows of the others.
    #[must_use]
    pub fn behind(&self, layers: &[Policy]) -> Self {
        let Some((outermost, inner)) = layers.split_first() else {
            return self.clone();
        };
        let mut scenario = self.under(outermost);
        for population in &mut scenario.populations {
            for (at, policy) in inner.iter().enumerate().rev() {
                let name = format!("layer {} of {}", at + 2, population.name);
                let below = mem::replace(&mut population.target, name.clone());
                let mut call = Downstream::new(below, policy.clone());
                call.timeout = population.timeout;
                call.sharing = population.sharing;
                if population.sharing == Sharing::PerShard {
                    // The innermost alone calls what has shards.
                    population.sharing = Sharing::PerClient;
                }
                let time = Distribution::Constant(Duration::ZERO);
                let mut layer = Service::new(name, Service::UNLIMITED, time).calls(call);
                layer.instances = population.clients;
                scenario.services.push(layer);
            }
        }
        scenario
    }

    /// Chooses the horizon, where nobody asked for one: a minute, 45 s after the last trigger and all recorded calls at least. A
    /// study may make it [longer](Self::goes_on).
    #[must_use]
    pub fn any_horizon(mut self) -> Self {
        const LEAST: Duration = Duration::from_secs(60);
        const AFTER: Duration = Duration::from_secs(45);
        let recorded = self.populations.iter().filter_map(|it| match &it.arrivals {
            Arrivals::Trace(recorded) => recorded.times().last().copied(),
            _ => None,
        });
        let last = recorded.max().unwrap_or_default();
        self.horizon = LEAST
            .max(last)
            .max(self.triggers_end().saturating_add(AFTER));
        self.goes_on = true;
        self
    }

    /// When the last trigger is over; zero without triggers.
    pub fn triggers_end(&self) -> Duration {
        let ends = self
            .triggers
            .iter()
            .map(|trigger| trigger.from.saturating_add(trigger.length));
        ends.max().unwrap_or_default()
    }
}
