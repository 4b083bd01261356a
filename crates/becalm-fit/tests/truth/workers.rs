//! Services by a generator of their own: each worker is a moment from which on it is free, and a request takes the one that is free
//! first.

use becalm::rng::{Random, SplitMix64};
use becalm_fit::{Ended, Request};

use crate::log::BEGIN;

/// A log, and what is true of the service that wrote it.
pub struct Other {
    pub name: String,
    pub log: Vec<Request>,
    /// `None`: it has no one number of them.
    pub workers: Option<u32>,
    /// Requests per second, where it can do least.
    pub capacity: f64,
    /// And where it can do most.
    pub most: f64,
    /// The highest load that lasts, in requests per second.
    pub rate: f64,
    /// Service times, in seconds.
    pub times: Vec<f64>,
}

/// What happens in a log, in seconds since its beginning.
#[derive(Debug, Clone, Copy, Default)]
pub struct Visit {
    pub at: f64,
    pub end: f64,
    pub status: u16,
    pub target: u64,
    pub upstream: u32,
    pub client: u64,
}

pub struct Chance(pub SplitMix64);

impl Chance {
    pub fn unit(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.unit().ln()
    }

    pub fn below(&mut self, most: usize) -> usize {
        (self.0.next_u64() % most as u64) as usize
    }

    /// Moments at a rate that changes, up to this one.
    pub fn moments(&mut self, seconds: f64, most: f64, rate: impl Fn(f64) -> f64) -> Vec<f64> {
        let (mut at, mut all) = (0.0, Vec::new());
        loop {
            at += self.exponential(1.0 / most);
            if at >= seconds {
                return all;
            }
            if self.unit() * most < rate(at) {
                all.push(at);
            }
        }
    }
}

/// Workers with one queue: each is free from this moment on.
pub struct Workers(pub Vec<f64>);

impl Workers {
    pub fn new(number: u32) -> Self {
        Self(vec![0.0; number as usize])
    }

    /// When a request that comes then begins to be served, and by whom.
    pub fn next(&self, at: f64) -> (f64, usize) {
        let free = self.0.iter().copied().zip(0..);
        let (free, nth) = free.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
        (free.max(at), nth)
    }

    pub fn serve(&mut self, at: f64, time: f64) -> f64 {
        let (begun, nth) = self.next(at);
        self.0[nth] = begun + time;
        begun + time
    }

    /// None of them begins with anything from here to there.
    pub fn stop(&mut self, until: f64) {
        for free in &mut self.0 {
            *free = free.max(until);
        }
    }

    pub fn found(&self, at: f64) -> usize {
        self.0.iter().filter(|it| **it > at).count()
    }
}

pub fn answered(at: f64, end: f64) -> Visit {
    Visit {
        at,
        end,
        status: 200,
        ..Visit::default()
    }
}

/// In the order of ends.
pub fn told(mut visits: Vec<Visit>) -> Vec<Request> {
    visits.sort_by(|a, b| a.end.total_cmp(&b.end));
    let each = visits.into_iter().map(|it| {
        let [at, end] = [it.at, it.end].map(|it| (it * 1e6) as i64);
        Request {
            start: BEGIN + at,
            duration: (end - at).unsigned_abs().max(1),
            ended: match it.status {
                499 => Ended::Abandoned,
                status => Ended::Answered(status),
            },
            client: it.client,
            target: it.target,
            id: 0,
            upstream: it.upstream,
            at_upstream: None,
        }
    });
    each.collect()
}

/// A service and the moments at which it is asked.
pub struct Plain {
    pub workers: u32,
    pub load: f64,
    pub seconds: f64,
    pub chance: Chance,
    pub time: fn(&mut Chance) -> f64,
    /// Of half a million: their mean is nearer to the true one than any log tells it.
    pub times: Vec<f64>,
}

impl Plain {
    pub fn new(workers: u32, load: f64, time: fn(&mut Chance) -> f64, seed: u64) -> Self {
        let mut other = Chance(SplitMix64::new(seed + 77_000));
        let times = (0..500_000).map(|_| time(&mut other)).collect();
        Self {
            workers,
            load,
            seconds: 90.0,
            chance: Chance(SplitMix64::new(seed)),
            time,
            times,
        }
    }

    pub fn mean(&self) -> f64 {
        self.times.iter().sum::<f64>() / self.times.len() as f64
    }

    pub fn capacity(&self) -> f64 {
        f64::from(self.workers) / self.mean()
    }

    pub fn moments(&mut self) -> Vec<f64> {
        let rate = self.load * self.capacity();
        self.chance.moments(self.seconds, rate, |_| rate)
    }

    pub fn draw(&mut self) -> f64 {
        (self.time)(&mut self.chance)
    }

    pub fn other(self, name: &str, log: Vec<Request>) -> Other {
        Other {
            name: format!("{name} at {}", self.load),
            log,
            workers: Some(self.workers),
            capacity: self.capacity(),
            most: self.capacity(),
            rate: self.load * self.capacity(),
            times: self.times,
        }
    }

    /// As it is.
    pub fn visits(&mut self) -> Vec<Visit> {
        let mut workers = Workers::new(self.workers);
        let each = self.moments().into_iter();
        each.map(|at| {
            let time = self.draw();
            answered(at, workers.serve(at, time))
        })
        .collect()
    }
}
