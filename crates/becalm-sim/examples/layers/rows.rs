//! What goes wrong below three layers that retry, and what comes of it?

use std::time::Duration;

use becalm::Policy;
use becalm_sim::record::{Recording, total};
use becalm_sim::scenario::Distribution;
use becalm_sim::scenario::{
    Arrivals, Downstream, Effect, Population, Scenario, Service, Stale, Trigger,
};
use becalm_sim::world;

/// Calls of users per second.
const LOAD: f64 = 500.0;
/// The work of a request at the bottom, and how many fit in: 60 % of the capacity.
const WORK: Duration = Duration::from_millis(60);
const WORKERS: u32 = 5;
const INSTANCES: u32 = 10;
/// Requests that wait at each instance of the bottom.
const QUEUE: u32 = 20;
/// The time-outs of an attempt from A to B, from B to C, from C to D.
const TIMEOUTS: [u64; 3] = [1875, 750, 300];
/// How long the bottom is overloaded, and by how much more load than usual.
const OVERLOAD: Duration = Duration::from_secs(10);
const OVERLOADED: f64 = 1.1 / 0.6;
/// When what lasts for a time begins.
const FROM: Duration = Duration::from_secs(10);

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Row {
    BottomFails,
    EveryLayerFails,
    BottomHangs(u64),
    BottomOverloaded,
    OneRefuses,
    OneIsSilent,
    MappedToPermanent,
    FiveInSequence,
}

pub const ROWS: [Row; 9] = [
    Row::BottomFails,
    Row::EveryLayerFails,
    Row::BottomHangs(2),
    Row::BottomHangs(30),
    Row::BottomOverloaded,
    Row::OneRefuses,
    Row::OneIsSilent,
    Row::MappedToPermanent,
    Row::FiveInSequence,
];

/// What came of it.
#[derive(Debug, Clone, Copy)]
pub struct Outcome {
    /// The share of calls that succeeded, in per cent.
    pub succeeded: f64,
    /// Work at the bottom for each call that succeeded, in milliseconds.
    pub work: f64,
    /// Requests at the bottom for each that would come without retries, while the row's trouble
    /// lasts.
    pub amplification: f64,
}

impl Row {
    pub fn title(self) -> String {
        match self {
            Self::BottomFails => "the bottom fails 10 %".into(),
            Self::EveryLayerFails => "every layer fails 10 %".into(),
            Self::BottomHangs(seconds) => format!("the bottom hangs for {seconds} s"),
            Self::BottomOverloaded => "the bottom is overloaded 1.1 times for 10 s".into(),
            Self::OneRefuses => "one of ten instances is refused by what it calls".into(),
            Self::OneIsSilent => "one of ten instances hears nothing of what it calls".into(),
            Self::MappedToPermanent => {
                "a handler maps the errors below to a permanent one, 10 %".into()
            }
            Self::FiveInSequence => "five calls in sequence, 10 % fail".into(),
        }
    }

    fn horizon(self) -> Duration {
        Duration::from_secs(match self {
            Self::BottomHangs(30) => 100,
            _ => 40,
        })
    }

    /// A calls B, B calls C, C calls D; each of the three retries under this policy.
    pub fn scenario(self, policy: &Policy) -> Scenario {
        let arrivals = Arrivals::Poisson(LOAD);
        let users = Population::new("users", "A", arrivals, Policy::default().attempts(1));
        let mut scenario = Scenario::new("layers", self.horizon()).population(users);
        for ((caller, called), timeout) in ["A", "B", "C"].iter().zip(["B", "C", "D"]).zip(TIMEOUTS)
        {
            let mut call = Downstream::new(called, policy.clone());
            call.timeout = Some(Duration::from_millis(timeout));
            call.propagates = true;
            match (self, *caller) {
                (Self::OneRefuses, "C") => call.refused_from = 1,
                (Self::OneIsSilent, "C") => call.silent_from = 1,
                (Self::MappedToPermanent, "B" | "C") => call.fails_for_good = true,
                (Self::FiveInSequence, "C") => call.fan_out = 5,
                _ => (),
            }
            let time = Distribution::Constant(Duration::from_millis(1));
            let mut service = Service::new(*caller, Service::UNLIMITED, time).calls(call);
            service.instances = INSTANCES;
            if self == Self::EveryLayerFails && *caller != "A" {
                service.failures = 0.1;
            }
            scenario = scenario.service(service);
        }
        let workers = WORKERS * if self == Self::FiveInSequence { 5 } else { 1 };
        let mut bottom = Service::new("D", workers, Distribution::Exponential(WORK));
        bottom.instances = INSTANCES;
        bottom.stale = Stale::Served;
        bottom.queue = Some(QUEUE);
        let fails = [
            Self::BottomFails,
            Self::EveryLayerFails,
            Self::MappedToPermanent,
            Self::FiveInSequence,
        ];
        if fails.contains(&self) {
            bottom.failures = 0.1;
        }
        let effect = match self {
            Self::BottomHangs(seconds) => Some((
                Duration::from_secs(seconds),
                Effect::Hang {
                    service: "D".into(),
                },
            )),
            Self::BottomOverloaded => Some((
                OVERLOAD,
                Effect::Load {
                    population: "users".into(),
                    factor: OVERLOADED,
                },
            )),
            _ => None,
        };
        scenario = scenario.service(bottom);
        match effect {
            Some((length, effect)) => scenario.trigger(Trigger::new(FROM, length, effect)),
            None => scenario,
        }
    }

    /// One run.
    pub fn outcome(self, policy: &Policy, seed: u64) -> Outcome {
        self.measured(&world::run(&self.scenario(policy), seed))
    }

    #[expect(clippy::cast_precision_loss)] // far below 2^52
    fn measured(self, recording: &Recording) -> Outcome {
        let users = &recording.populations[0];
        let bottom = recording.services.last().expect("four services");
        let all = |counts: &[u32]| total(counts) as f64;
        let (from, to) = match self {
            Self::BottomOverloaded => (FROM, FROM + OVERLOAD),
            Self::BottomHangs(seconds) => (FROM, FROM + Duration::from_secs(seconds)),
            _ => (Duration::ZERO, self.horizon()),
        };
        let at = |time: Duration| {
            let bucket = time.as_nanos() / recording.bucket.as_nanos();
            usize::try_from(bucket).unwrap_or(usize::MAX)
        };
        let within = |counts: &[u32]| all(&counts[at(from)..at(to).min(counts.len())]);
        let each = if self == Self::FiveInSequence {
            5.0
        } else {
            1.0
        };
        let ended = all(&users.calls) - users.under_way as f64;
        Outcome {
            succeeded: 100.0 * all(&users.succeeded) / ended,
            work: WORK.as_secs_f64() * 1e3 * all(&bottom.served) / (all(&users.succeeded) * each),
            amplification: within(&bottom.arrived) / (within(&users.calls) * each),
        }
    }
}
