//! What goes wrong at this moment?
//!
//! Triggers that overlap on one service add up: shares of capacity are multiplied (a hang leaves
//! none), latencies are added, failures and losses are independent of each other, load factors are
//! multiplied, and an instance is up when no trigger keeps it down.

use crate::scenario::Effect;

use super::event::Kind;
use super::plan::nanos;
use super::progress::World;
use super::trace::Tracer;

impl<T: Tracer> World<'_, T> {
    pub(super) fn make_triggers(&mut self) {
        for (index, trigger) in (0..).zip(&self.plan.scenario.triggers) {
            let from = nanos(trigger.from);
            self.schedule(from, Kind::Begins, index, 0);
        }
    }

    /// A trigger begins, or is over.
    pub(super) fn trigger(&mut self, index: u32, begins: bool) {
        let scenario = self.plan.scenario;
        let trigger = &scenario.triggers[index as usize];
        self.triggers.is_on[index as usize] = begins;
        if begins {
            let ends = self.now.saturating_add(nanos(trigger.length));
            self.schedule(ends, Kind::Ends, index, 0);
        }
        match &trigger.effect {
            Effect::Capacity { service, .. } | Effect::Hang { service } => self.speed(service),
            Effect::Down { service } => self.down(service, begins),
            Effect::Latency { service, .. } => self.latency(service),
            Effect::Failures { service, .. } => self.failures(service),
            Effect::Load { population, .. } => self.loads(population),
            Effect::CacheLoss { service } => self.cache_loss(service, begins),
            Effect::Deploy { .. } if begins => self.deploy(index, 0),
            Effect::Deploy { .. } => (),
            Effect::Loss { .. } => self.losses(),
        }
    }

    fn service_at(&self, name: &str) -> Option<usize> {
        let services = &self.plan.scenario.services;
        services.iter().position(|service| service.name == name)
    }

    fn speed(&mut self, name: &str) {
        let effects = self.triggers.on(self.plan.scenario);
        let speed: f64 = effects
            .map(|effect| match effect {
                Effect::Capacity { service, share } if service == name => *share,
                Effect::Hang { service } if service == name => 0.0,
                _ => 1.0,
            })
            .product();
        if let Some(target) = self.service_at(name) {
            self.set_speed(target, speed);
        }
    }

    fn down(&mut self, name: &str, begins: bool) {
        let Some(target) = self.service_at(name) else {
            return;
        };
        for instance in 0..self.plan.scenario.services[target].instances {
            self.take_down(target, instance, begins);
        }
    }

    fn take_down(&mut self, target: usize, instance: u32, begins: bool) {
        let state = &mut self.services[target].instances[instance as usize];
        if begins {
            state.down += 1;
            self.lose(target, instance);
        } else {
            state.down = state.down.saturating_sub(1);
        }
    }

    fn latency(&mut self, name: &str) {
        let effects = self.triggers.on(self.plan.scenario);
        let added = effects
            .map(|effect| match effect {
                Effect::Latency { service, added } if service == name => nanos(*added),
                _ => 0,
            })
            .fold(0, u64::saturating_add);
        if let Some(target) = self.service_at(name) {
            self.services[target].latency = added;
        }
    }

    fn failures(&mut self, name: &str) {
        let Some(target) = self.service_at(name) else {
            return;
        };
        let effects = self.triggers.on(self.plan.scenario);
        let succeeding: f64 = effects
            .map(|effect| match effect {
                Effect::Failures { service, share } if service == name => 1.0 - share,
                _ => 1.0,
            })
            .product();
        let own = self.plan.scenario.services[target].failures;
        self.services[target].failures = 1.0 - (1.0 - own) * succeeding;
    }

    fn loads(&mut self, name: &str) {
        let effects = self.triggers.on(self.plan.scenario);
        let factor: f64 = effects
            .map(|effect| match effect {
                Effect::Load { population, factor } if population == name => *factor,
                _ => 1.0,
            })
            .product();
        let mut populations = (0..).zip(&self.plan.scenario.populations);
        let found = populations.find(|(_, population)| population.name == name);
        if let Some((index, _)) = found {
            self.load(index, factor);
        }
    }

    fn losses(&mut self) {
        let effects = self.triggers.on(self.plan.scenario);
        let arriving: f64 = effects
            .map(|effect| match effect {
                Effect::Loss { share } => 1.0 - share,
                _ => 1.0,
            })
            .product();
        let own = self.plan.scenario.network.loss;
        self.loss = 1.0 - (1.0 - own) * arriving;
    }

    fn cache_loss(&mut self, name: &str, begins: bool) {
        let target = self.service_at(name);
        let cache = target.and_then(|target| self.services[target].cache.as_mut());
        if let (true, Some(cache)) = (begins, cache) {
            cache.clear();
        }
    }

    /// The next step of a deploy: an even one takes an instance down, the odd one after it brings it
    /// back.
    pub(super) fn deploy(&mut self, index: u32, step: u32) {
        let trigger = &self.plan.scenario.triggers[index as usize];
        let Effect::Deploy {
            service,
            each,
            pause,
        } = &trigger.effect
        else {
            return;
        };
        let Some(target) = self.service_at(service) else {
            return;
        };
        let instance = step / 2;
        if instance >= self.plan.scenario.services[target].instances {
            return;
        }
        let ends = nanos(trigger.from).saturating_add(nanos(trigger.length));
        let is_down = step % 2 == 0;
        if is_down && self.now >= ends {
            return;
        }
        self.take_down(target, instance, is_down);
        let next = self
            .now
            .saturating_add(nanos(if is_down { *each } else { *pause }));
        let next = if is_down { next.min(ends) } else { next };
        self.schedule(next, Kind::Deploy, index, step + 1);
    }
}
