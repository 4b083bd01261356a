//! Can a scenario be run?

use std::time::Duration;

use becalm::Policy;

use super::endless::is_endless;
use super::range::{
    LONGEST, MOST, count, factor, limit, patience, policy, rate, require, share, time,
};
use super::{
    Arrivals, Discipline, Effect, InvalidScenario, Population, Routing, Scenario, Service, Sharing,
    Trigger,
};

const MOST_BUCKETS: u128 = 2_000_000;

/// By which shares that are written with two digits may miss their sum of 1.
const ROUNDED: f64 = 0.015;

impl Scenario {
    /// Checks that the scenario can be run.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong, with its remedy.
    pub fn validate(&self) -> Result<(), InvalidScenario> {
        if self.horizon.is_zero() || self.horizon > LONGEST {
            return Err(InvalidScenario::Horizon);
        }
        let buckets = self.horizon.as_nanos().checked_div(self.bucket.as_nanos());
        if buckets.is_none_or(|buckets| buckets > MOST_BUCKETS) || self.bucket > self.horizon {
            return Err(InvalidScenario::Bucket);
        }
        let services = || self.services.iter().map(|service| &service.name);
        unique(services())?;
        unique(self.populations.iter().map(|population| &population.name))?;
        for population in &self.populations {
            self.check_population(population)?;
        }
        for service in &self.services {
            self.check_service(service)?;
        }
        self.check_cycles()?;
        for trigger in &self.triggers {
            self.check_trigger(trigger)?;
        }
        time("the network", "delay", &self.network.delay)?;
        share("the network", "loss", self.network.loss)
    }

    fn check_population(&self, population: &Population) -> Result<(), InvalidScenario> {
        let of = &population.name;
        self.service_named(of, &population.target)?;
        self.check_sharing(of, population.sharing, &population.target)?;
        count(of, "clients", population.clients)?;
        patience(of, population.timeout)?;
        let shares = || population.variants.iter().map(|variant| variant.share);
        let sum: f64 = shares().sum();
        require(!shares().any(|share| share < 0.0), || {
            InvalidScenario::Share {
                of: of.clone(),
                field: "share of a variant",
            }
        })?;
        require((sum - 1.0).abs() < ROUNDED, || InvalidScenario::Variants {
            of: of.clone(),
            sum,
        })?;
        for variant in &population.variants {
            self.check_policy(of, &variant.policy)?;
        }
        match &population.arrivals {
            Arrivals::Poisson(per_second) | Arrivals::Constant(per_second) => {
                rate(of, "rate", *per_second)
            }
            Arrivals::Bursty {
                rate: between,
                burst_rate,
                burst,
                pause,
            } => {
                factor(of, "rate", *between)?;
                rate(of, "burst rate", *burst_rate)?;
                for (field, mean) in [("burst", burst), ("pause", pause)] {
                    // Shorter phases would be more events than the calls in them.
                    let least = Duration::from_micros(1);
                    require(*mean >= least, || InvalidScenario::Time {
                        of: of.clone(),
                        field,
                    })?;
                    limit(of, field, Some(*mean))?;
                }
                Ok(())
            }
            Arrivals::Trace(recorded) => {
                let times = recorded.times();
                require(times.is_sorted(), || InvalidScenario::Trace(of.clone()))?;
                limit(of, "recorded calls", times.last().copied())?;
                let is_heard = recorded.at(0).is_some_and(|first| first < self.horizon);
                require(is_heard, || InvalidScenario::NoCalls(of.clone()))
            }
            Arrivals::Closed { think } => time(of, "think time", think),
        }
    }

    fn check_sharing(
        &self,
        of: &str,
        sharing: Sharing,
        service: &str,
    ) -> Result<(), InvalidScenario> {
        let mut named = self.services.iter().filter(|it| it.name == service);
        let is_routed =
            sharing != Sharing::PerShard || named.all(|it| it.routing == Routing::ByKey);
        require(is_routed, || InvalidScenario::Shards {
            of: of.to_owned(),
            service: service.to_owned(),
        })
    }

    fn check_service(&self, service: &Service) -> Result<(), InvalidScenario> {
        let of = &service.name;
        count(of, "instances", service.instances)?;
        require(service.workers > 0, || InvalidScenario::Count {
            of: of.clone(),
            field: "workers",
        })?;
        time(of, "service time", &service.time)?;
        limit(of, "cost of a refusal", Some(service.refusal))?;
        share(of, "failures", service.failures)?;
        if let Some(law) = service.scalability {
            share(of, "contention", law.contention)?;
            share(of, "coherency", law.coherency)?;
        }
        if let Discipline::CoDel { target, interval } = service.discipline {
            limit(of, "target", Some(target))?;
            limit(of, "interval", Some(interval))?;
            require(!interval.is_zero(), || InvalidScenario::Time {
                of: of.clone(),
                field: "interval",
            })?;
        }
        if let Some(accepted) = service.limit {
            rate(of, "limit", accepted.rate)?;
            // Below one whole token nothing would ever be accepted.
            let is_burst = accepted.burst >= 1.0 && accepted.burst.is_finite();
            require(is_burst, || InvalidScenario::Rate {
                of: of.clone(),
                field: "burst",
            })?;
        }
        if let Some(cache) = &service.cache {
            share(of, "hit rate", cache.hot)?;
            limit(of, "lifetime of an entry", cache.ttl)?;
            let holds = (1..=MOST).contains(&cache.keys) && cache.ttl != Some(Duration::ZERO);
            require(holds, || InvalidScenario::Cache(of.clone()))?;
        }
        for downstream in &service.calls {
            self.service_named(of, &downstream.service)?;
            self.check_sharing(of, downstream.sharing, &downstream.service)?;
            count(of, "fan-out", downstream.fan_out)?;
            patience(of, downstream.timeout)?;
            self.check_policy(of, &downstream.policy)?;
        }
        Ok(())
    }

    fn check_policy(&self, of: &str, of_calls: &Policy) -> Result<(), InvalidScenario> {
        policy(of, of_calls)?;
        let ends = !is_endless(of_calls, &self.network.delay);
        require(ends, || InvalidScenario::Endless(of.to_owned()))
    }

    /// Takes out services that call nobody, until none is left or each calls another.
    fn check_cycles(&self) -> Result<(), InvalidScenario> {
        let mut left: Vec<&Service> = self.services.iter().collect();
        loop {
            let is_left = |name: &str| left.iter().any(|service| service.name == name);
            let calling: Vec<&Service> = left
                .iter()
                .copied()
                .filter(|service| service.calls.iter().any(|call| is_left(&call.service)))
                .collect();
            match calling.first() {
                None => return Ok(()),
                Some(service) if calling.len() == left.len() => {
                    return Err(InvalidScenario::Cycle(service.name.clone()));
                }
                Some(_) => left = calling,
            }
        }
    }

    fn check_trigger(&self, trigger: &Trigger) -> Result<(), InvalidScenario> {
        const TRIGGER: &str = "a trigger";
        limit(TRIGGER, "beginning", Some(trigger.from))?;
        limit(TRIGGER, "length", Some(trigger.length))?;
        match &trigger.effect {
            Effect::Capacity {
                service,
                share: left,
            } => {
                self.service_named(TRIGGER, service)?;
                share(TRIGGER, "capacity", *left)?;
                // Less is a hang.
                require(*left >= 1e-6, || InvalidScenario::Share {
                    of: TRIGGER.to_owned(),
                    field: "capacity",
                })
            }
            Effect::Hang { service } | Effect::Down { service } | Effect::CacheLoss { service } => {
                self.service_named(TRIGGER, service)
            }
            Effect::Latency { service, added } => {
                limit(TRIGGER, "added latency", Some(*added))?;
                self.service_named(TRIGGER, service)
            }
            Effect::Failures {
                service,
                share: failing,
            } => {
                share(TRIGGER, "failures", *failing)?;
                self.service_named(TRIGGER, service)
            }
            Effect::Load {
                population,
                factor: times,
            } => {
                factor(TRIGGER, "factor", *times)?;
                let mut names = self.populations.iter().map(|population| &population.name);
                known(TRIGGER, population, names.any(|name| name == population))
            }
            Effect::Deploy {
                service,
                each,
                pause,
            } => {
                limit(TRIGGER, "time of each instance", Some(*each))?;
                limit(TRIGGER, "pause", Some(*pause))?;
                self.service_named(TRIGGER, service)
            }
            Effect::Loss { share: lost } => share(TRIGGER, "loss", *lost),
        }
    }

    fn service_named(&self, of: &str, name: &str) -> Result<(), InvalidScenario> {
        let is_known = self.services.iter().any(|service| service.name == name);
        known(of, name, is_known)
    }
}

fn known(of: &str, name: &str, is_known: bool) -> Result<(), InvalidScenario> {
    require(is_known, || InvalidScenario::Unknown {
        of: of.to_owned(),
        name: name.to_owned(),
    })
}

fn unique<'a>(names: impl Iterator<Item = &'a String>) -> Result<(), InvalidScenario> {
    let mut names: Vec<_> = names.collect();
    names.sort();
    let twice = names.windows(2).find(|pair| pair[0] == pair[1]);
    match twice {
        Some(pair) => Err(InvalidScenario::Duplicate(pair[0].clone())),
        None => Ok(()),
    }
}
