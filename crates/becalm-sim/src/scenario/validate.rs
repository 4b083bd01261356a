//! Can a scenario be run? Refused with the name of the field and the remedy.

use std::fmt;
use std::time::Duration;

use becalm::{InvalidPolicy, Policy};

use crate::engine::Distribution;

use super::{Arrivals, Discipline, Effect, Population, Scenario, Service, Trigger};

/// Why a scenario is refused. Every sentence names the field and the remedy.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum InvalidScenario {
    /// The horizon is zero, or longer than ten years.
    Horizon,
    /// The bucket is zero, or there would be more than ten million.
    Bucket,
    /// Two populations, or two services, have one name.
    Duplicate(String),
    /// Nothing has the name that is referred to: where, and which.
    Unknown {
        /// Who refers to it.
        of: String,
        /// The name.
        name: String,
    },
    /// A share is not from 0 to 1, or (capacity) is 0.
    Share {
        /// Whose.
        of: String,
        /// The field.
        field: &'static str,
    },
    /// A rate or factor is negative or not a number, or zero where it must not be.
    Rate {
        /// Whose.
        of: String,
        /// The field.
        field: &'static str,
    },
    /// A count is zero, or too large.
    Count {
        /// Whose.
        of: String,
        /// The field.
        field: &'static str,
    },
    /// A time has no meaning: above ten years, the ends of an interval in the wrong order, nothing to
    /// draw from, or zero where it must not be.
    Time {
        /// Whose.
        of: String,
        /// The field.
        field: &'static str,
    },
    /// A population has no variants, or none that has a share.
    Variants(String),
    /// Recorded calls are not in order.
    Trace(String),
    /// A service calls itself, directly or through others.
    Cycle(String),
    /// A cache has no keys.
    Cache(String),
    /// A policy is refused.
    Policy {
        /// Whose.
        of: String,
        /// Why.
        why: InvalidPolicy,
    },
}

impl fmt::Display for InvalidScenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Horizon => f.write_str("the horizon must be above zero and at most ten years"),
            Self::Bucket => f.write_str(
                "the bucket must be above zero and at least a ten-millionth of the horizon",
            ),
            Self::Duplicate(name) => write!(f, "the name {name} is used twice; rename one"),
            Self::Unknown { of, name } => {
                write!(
                    f,
                    "{of} refers to {name}, which is not there; add it or correct the name"
                )
            }
            Self::Share { of, field } => {
                write!(
                    f,
                    "the {field} of {of} must be from 0 to 1, and a capacity above 0"
                )
            }
            Self::Rate { of, field } => {
                write!(
                    f,
                    "the {field} of {of} must be a number above 0 and at most 1e9 (a factor may be 0)"
                )
            }
            Self::Count { of, field } => {
                write!(f, "the {field} of {of} must be from 1 to 50000000")
            }
            Self::Time { of, field } => write!(
                f,
                "the {field} of {of} must be at most ten years, from the shorter to the longer, and \
                 above zero where something is repeated"
            ),
            Self::Variants(of) => {
                write!(
                    f,
                    "the variants of {of} must have shares from 0 up, one of them above 0"
                )
            }
            Self::Trace(of) => write!(f, "the recorded calls of {of} must be in order; sort them"),
            Self::Cycle(of) => {
                write!(
                    f,
                    "{of} calls itself through its calls; take one of the calls out"
                )
            }
            Self::Cache(of) => write!(f, "the cache of {of} must have keys from 1 to 50000000"),
            Self::Policy { of, why } => write!(f, "a policy of {of} is refused: {why}"),
        }
    }
}

impl std::error::Error for InvalidScenario {}

/// Beyond it nanoseconds in 64 bits would not do for sums.
const LONGEST: Duration = Duration::from_secs(10 * 366 * 86_400);
const MOST: u32 = 50_000_000;
const MOST_BUCKETS: u128 = 10_000_000;

impl Scenario {
    /// Whether it can be run.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong, with its remedy.
    pub fn validate(&self) -> Result<(), InvalidScenario> {
        if self.horizon.is_zero() || self.horizon > LONGEST {
            return Err(InvalidScenario::Horizon);
        }
        let buckets = self.horizon.as_nanos().checked_div(self.bucket.as_nanos());
        if buckets.is_none_or(|buckets| buckets > MOST_BUCKETS) {
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
        count(of, "clients", population.clients)?;
        patience(of, population.timeout)?;
        let shares = || population.variants.iter().map(|variant| variant.share);
        let sum: f64 = shares().sum();
        if !(shares().all(|share| share >= 0.0) && sum > 0.0 && sum.is_finite()) {
            return Err(InvalidScenario::Variants(of.clone()));
        }
        for variant in &population.variants {
            policy(of, &variant.policy)?;
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
                    if *mean < Duration::from_micros(1) {
                        return Err(InvalidScenario::Time {
                            of: of.clone(),
                            field,
                        });
                    }
                    limit(of, field, Some(*mean))?;
                }
                Ok(())
            }
            Arrivals::Trace(times) => {
                if !times.is_sorted() {
                    return Err(InvalidScenario::Trace(of.clone()));
                }
                limit(of, "recorded calls", times.last().copied())
            }
            Arrivals::Closed { think } => time(of, "think time", think),
        }
    }

    fn check_service(&self, service: &Service) -> Result<(), InvalidScenario> {
        let of = &service.name;
        count(of, "instances", service.instances)?;
        if service.workers == 0 {
            return Err(InvalidScenario::Count {
                of: of.clone(),
                field: "workers",
            });
        }
        time(of, "service time", &service.time)?;
        limit(of, "cost of a refusal", Some(service.refusal))?;
        share(of, "failures", service.failures)?;
        if let Discipline::CoDel { target, interval } = service.discipline {
            limit(of, "target", Some(target))?;
            limit(of, "interval", Some(interval))?;
            if interval.is_zero() {
                return Err(InvalidScenario::Time {
                    of: of.clone(),
                    field: "interval",
                });
            }
        }
        if let Some(accepted) = service.limit {
            rate(of, "limit", accepted.rate)?;
            // Below one whole token nothing would ever be accepted.
            if !(accepted.burst >= 1.0 && accepted.burst.is_finite()) {
                return Err(InvalidScenario::Rate {
                    of: of.clone(),
                    field: "burst",
                });
            }
        }
        if let Some(cache) = &service.cache {
            share(of, "hit rate", cache.hot)?;
            limit(of, "lifetime of an entry", cache.ttl)?;
            if cache.keys == 0 || cache.keys > MOST || cache.ttl == Some(Duration::ZERO) {
                return Err(InvalidScenario::Cache(of.clone()));
            }
        }
        for downstream in &service.calls {
            self.service_named(of, &downstream.service)?;
            count(of, "fan-out", downstream.fan_out)?;
            patience(of, downstream.timeout)?;
            policy(of, &downstream.policy)?;
        }
        Ok(())
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
                if *left < 1e-6 {
                    return Err(InvalidScenario::Share {
                        of: TRIGGER.to_owned(),
                        field: "capacity",
                    });
                }
                Ok(())
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
    if is_known {
        return Ok(());
    }
    Err(InvalidScenario::Unknown {
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

fn share(of: &str, field: &'static str, share: f64) -> Result<(), InvalidScenario> {
    if (0.0..=1.0).contains(&share) {
        return Ok(());
    }
    let of = of.to_owned();
    Err(InvalidScenario::Share { of, field })
}

fn rate(of: &str, field: &'static str, rate: f64) -> Result<(), InvalidScenario> {
    // At more than one a nanosecond time would stand still.
    if rate > 0.0 && rate <= 1e9 {
        return Ok(());
    }
    let of = of.to_owned();
    Err(InvalidScenario::Rate { of, field })
}

fn factor(of: &str, field: &'static str, factor: f64) -> Result<(), InvalidScenario> {
    if factor == 0.0 {
        return Ok(());
    }
    rate(of, field, factor)
}

fn count(of: &str, field: &'static str, count: u32) -> Result<(), InvalidScenario> {
    if (1..=MOST).contains(&count) {
        return Ok(());
    }
    let of = of.to_owned();
    Err(InvalidScenario::Count { of, field })
}

fn limit(of: &str, field: &'static str, time: Option<Duration>) -> Result<(), InvalidScenario> {
    if time.is_none_or(|time| time <= LONGEST) {
        return Ok(());
    }
    let of = of.to_owned();
    Err(InvalidScenario::Time { of, field })
}

/// Without any, attempts would follow each other in no time.
fn patience(of: &str, timeout: Option<Duration>) -> Result<(), InvalidScenario> {
    if timeout.is_none_or(|time| time > Duration::ZERO && time <= LONGEST) {
        return Ok(());
    }
    let of = of.to_owned();
    let field = "timeout";
    Err(InvalidScenario::Time { of, field })
}

fn policy(of: &str, policy: &Policy) -> Result<(), InvalidScenario> {
    policy.validate().map_err(|why| InvalidScenario::Policy {
        of: of.to_owned(),
        why,
    })
}

fn time(of: &str, field: &'static str, times: &Distribution) -> Result<(), InvalidScenario> {
    let is_short = |time: &Duration| *time <= LONGEST;
    let is_valid = match times {
        Distribution::Constant(time) | Distribution::Exponential(time) => is_short(time),
        Distribution::Uniform(low, high) => low <= high && is_short(high),
        Distribution::Lognormal { median, sigma } => {
            is_short(median) && (0.0..=10.0).contains(sigma)
        }
        Distribution::Bimodal {
            fast,
            slow,
            slow_share,
        } => is_short(fast) && is_short(slow) && (0.0..=1.0).contains(slow_share),
        Distribution::Empirical(times) => !times.is_empty() && times.iter().all(is_short),
    };
    if is_valid {
        return Ok(());
    }
    let of = of.to_owned();
    Err(InvalidScenario::Time { of, field })
}
