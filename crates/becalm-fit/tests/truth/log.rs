//! Logs of known truth, from a simulation of their own: workers, one queue or several, clients that leave and come again.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use becalm::rng::{Random, SplitMix64};
use becalm_fit::{Ended, Fit, Fitted, Options, Request};
use becalm_sim::scenario::Distribution;

/// A service and its clients.
#[derive(Debug, Clone)]
pub struct Truth {
    pub name: String,
    /// Each with its own queue; requests go to one at random.
    pub pools: u32,
    /// Of each pool.
    pub workers: u32,
    pub time: Distribution,
    /// Of the capacity, one after the other, each for the same time.
    pub loads: Vec<f64>,
    pub seconds: f64,
    pub queue: Option<u32>,
    pub timeout: Option<Duration>,
    /// The time of the last half is so many times that of the first.
    pub slower: f64,
    /// Retries after a failure.
    pub retries: Option<Retries>,
    /// So many come at once, on average; as likely fewer as more.
    pub batch: u32,
    /// Beside the load, this many users, each of whom thinks for this many seconds, on average, when it is answered, and asks again.
    pub users: u32,
    pub think: f64,
    pub seed: u64,
}

#[derive(Debug, Clone, Copy)]
pub struct Retries {
    pub attempts: u32,
    pub base: Duration,
    pub multiplier: f64,
    /// U(share x ceiling, ceiling).
    pub least: f64,
    /// Whether all attempts of a call have one id.
    pub has_ids: bool,
    /// So many clients, who ask for one of so many things.
    pub clients: u64,
    pub targets: u64,
}

impl Truth {
    pub fn new(name: &str, workers: u32, time: Distribution, load: f64) -> Self {
        Self {
            name: name.into(),
            pools: 1,
            workers,
            time,
            loads: vec![load],
            seconds: 60.0,
            queue: None,
            timeout: None,
            slower: 1.0,
            retries: None,
            batch: 1,
            users: 0,
            think: 0.0,
            seed: 1,
        }
    }

    /// Requests per second.
    pub fn capacity(&self) -> f64 {
        f64::from(self.workers * self.pools) / self.time.mean()
    }

    pub fn fit(&self) -> Fitted {
        fit(&self.log(), Options::default())
    }

    /// Its log, in the order of ends.
    pub fn log(&self) -> Vec<Request> {
        let mut log = Simulation::of(self).run();
        log.sort_by_key(Request::end);
        log
    }
}

pub fn fit(log: &[Request], options: Options) -> Fitted {
    let mut fit = Fit::new(options);
    for request in log {
        fit.push(*request);
    }
    fit.finish()
}

/// A moment of a day, in microseconds since 1970, which is no whole second.
pub const BEGIN: i64 = 1_790_000_000_123_457;

struct Simulation<'a> {
    truth: &'a Truth,
    random: SplitMix64,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    sequence: u64,
    pools: Vec<Pool>,
    log: Vec<Request>,
    attempts: Vec<Attempt>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    First,
    User,
    Begin { call: u64, number: u32 },
    Served { pool: usize, attempt: usize },
    Left { attempt: usize },
}

struct Pool {
    busy: u32,
    waiting: VecDeque<usize>,
}

struct Attempt {
    call: u64,
    number: u32,
    start: u64,
    is_of_user: bool,
    is_over: bool,
}

impl<'a> Simulation<'a> {
    fn of(truth: &'a Truth) -> Self {
        Self {
            truth,
            random: SplitMix64::new(truth.seed),
            events: BinaryHeap::new(),
            sequence: 0,
            pools: (0..truth.pools)
                .map(|_| Pool {
                    busy: 0,
                    waiting: VecDeque::new(),
                })
                .collect(),
            log: Vec::new(),
            attempts: Vec::new(),
        }
    }

    fn unit(&mut self) -> f64 {
        ((self.random.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    fn at(&mut self, time: u64, event: Event) {
        self.sequence += 1;
        self.events.push(Reverse((time, self.sequence, event)));
    }

    fn run(mut self) -> Vec<Request> {
        let mut calls = 0;
        if self.truth.loads[0] > 0.0 {
            self.at(0, Event::First);
        }
        for _ in 0..self.truth.users {
            let after = self.unit() * self.truth.think * 2e6;
            self.at(after as u64, Event::User);
        }
        while let Some(Reverse((now, _, event))) = self.events.pop() {
            match event {
                Event::First => {
                    let share = now as f64 / 1e6 / self.truth.seconds;
                    if share < 1.0 {
                        let load =
                            self.truth.loads[(share * self.truth.loads.len() as f64) as usize];
                        let batch = self.truth.batch;
                        let gap =
                            -self.unit().ln() / (load * self.truth.capacity()) * f64::from(batch);
                        self.at(now + (gap * 1e6) as u64, Event::First);
                        let together = match batch {
                            1 => 1,
                            batch => 1 + self.random.next_u64() % (2 * u64::from(batch) - 1),
                        };
                        for _ in 0..together {
                            calls += 1;
                            self.begin(now, calls, 1, false);
                        }
                    }
                }
                Event::User if (now as f64) < self.truth.seconds * 1e6 => {
                    calls += 1;
                    self.begin(now, calls, 1, true);
                }
                Event::User => {}
                Event::Begin { call, number } => self.begin(now, call, number, false),
                Event::Served { pool, attempt } => {
                    if !self.attempts[attempt].is_over {
                        self.over(now, attempt, Ended::Answered(200));
                    }
                    self.pools[pool].busy -= 1;
                    if let Some(next) = self.pools[pool].waiting.pop_front() {
                        self.serve(now, pool, next);
                    }
                }
                Event::Left { attempt } => {
                    // The service goes on all the same.
                    if !self.attempts[attempt].is_over {
                        self.over(now, attempt, Ended::Abandoned);
                    }
                }
            }
        }
        self.log
    }

    fn begin(&mut self, now: u64, call: u64, number: u32, is_of_user: bool) {
        let attempt = self.attempts.len();
        self.attempts.push(Attempt {
            call,
            number,
            start: now,
            is_of_user,
            is_over: false,
        });
        let pool = (self.random.next_u64() % u64::from(self.truth.pools)) as usize;
        if self.pools[pool].busy < self.truth.workers {
            self.serve(now, pool, attempt);
        } else if self
            .truth
            .queue
            .is_some_and(|it| self.pools[pool].waiting.len() >= it as usize)
        {
            return self.over(now + 150, attempt, Ended::Answered(503));
        } else {
            self.pools[pool].waiting.push_back(attempt);
        }
        if let Some(timeout) = self.truth.timeout {
            let late = (self.unit() * 1000.0) as u64;
            self.at(
                now + timeout.as_micros() as u64 + late,
                Event::Left { attempt },
            );
        }
    }

    fn serve(&mut self, now: u64, pool: usize, attempt: usize) {
        self.pools[pool].busy += 1;
        let is_late = now as f64 / 1e6 > self.truth.seconds / 2.0;
        let slower = if is_late { self.truth.slower } else { 1.0 };
        let mut stream = self.random.clone();
        let time = draw(&self.truth.time, &mut stream) * slower;
        self.random = stream;
        self.at(
            now + (time * 1e6).round().max(1.0) as u64,
            Event::Served { pool, attempt },
        );
    }

    fn over(&mut self, now: u64, attempt: usize, ended: Ended) {
        let Attempt {
            call,
            number,
            start,
            is_of_user,
            ..
        } = self.attempts[attempt];
        self.attempts[attempt].is_over = true;
        let retries = self.truth.retries;
        let (client, target, id) = retries.map_or((0, 0, 0), |it| {
            let mixed = call.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
            (
                1 + mixed % it.clients,
                1 + (mixed >> 20) % it.targets,
                if it.has_ids { call } else { 0 },
            )
        });
        self.log.push(Request {
            start: BEGIN + start as i64,
            duration: now - start,
            ended,
            client,
            target,
            id,
            upstream: 0,
            at_upstream: None,
        });
        if is_of_user {
            let after = -self.unit().ln() * self.truth.think * 1e6;
            self.at(now + after as u64, Event::User);
        }
        let has_failed = ended != Ended::Answered(200);
        if let Some(it) = retries.filter(|it| has_failed && number < it.attempts) {
            let ceiling = it.base.as_secs_f64() * it.multiplier.powi(number as i32 - 1);
            let delay = ceiling * (it.least + (1.0 - it.least) * self.unit());
            self.at(
                now + (delay * 1e6) as u64,
                Event::Begin {
                    call,
                    number: number + 1,
                },
            );
        }
    }
}

/// A service time, in seconds.
pub fn draw(time: &Distribution, random: &mut SplitMix64) -> f64 {
    let mut unit = || ((random.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
    match time {
        Distribution::Constant(time) => time.as_secs_f64(),
        Distribution::Exponential(mean) => -mean.as_secs_f64() * unit().ln(),
        Distribution::Uniform(low, high) => {
            low.as_secs_f64() + (high.as_secs_f64() - low.as_secs_f64()) * unit()
        }
        Distribution::Lognormal { median, sigma } => {
            // G. E. P. Box, M. E. Muller, 1958.
            let normal = (-2.0 * unit().ln()).sqrt() * (std::f64::consts::TAU * unit()).cos();
            median.as_secs_f64() * (sigma * normal).exp()
        }
        Distribution::Bimodal {
            fast,
            slow,
            slow_share,
        } => {
            if unit() < *slow_share {
                slow.as_secs_f64()
            } else {
                fast.as_secs_f64()
            }
        }
        other => unreachable!("{other:?}"),
    }
}
