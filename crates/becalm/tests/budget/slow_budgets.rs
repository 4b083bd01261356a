//! Every kind of budget as one would write it down: slow, and obviously right.

use std::time::Duration;

use becalm::budget::{Kind, Ratio, Tokens};
use becalm::{Budget, Class, Failure, Hint};

/// A budget as one would write it down. What a withdrawal took is a number of its own making.
pub trait Reference {
    fn first_try(&mut self, _now: Duration) {}
    fn deposit(&mut self) {}
    fn call_ended(&mut self) {}
    fn failed(&mut self, _failure: &Failure) {}
    fn withdraw(&mut self, now: Duration, failure: &Failure) -> Option<u64>;
    fn refund(&mut self, taken: u64);
    fn spent(&mut self, _taken: u64) {}
    fn succeeded(&mut self, _last: Option<u64>) {}
    /// What is left, in millionths.
    fn left(&mut self, now: Duration) -> u64;
    fn kind(&self) -> Kind;
}

struct Bucket {
    config: Tokens,
    tokens: u32,
}

impl Bucket {
    fn add(&mut self, tokens: u32) {
        self.tokens = (self.tokens + tokens).min(self.config.capacity);
    }
}

impl Reference for Bucket {
    fn withdraw(&mut self, _: Duration, failure: &Failure) -> Option<u64> {
        let cost = if failure.class == Class::Throttled {
            self.config.throttled_cost
        } else {
            self.config.cost
        };
        if cost > self.tokens {
            return None;
        }
        self.tokens -= cost;
        Some(cost.into())
    }

    fn refund(&mut self, taken: u64) {
        self.add(u32::try_from(taken).unwrap());
    }

    fn succeeded(&mut self, last: Option<u64>) {
        match last {
            None => self.add(self.config.clean_success),
            Some(cost) if self.config.refund_last => self.refund(cost),
            Some(_) => {}
        }
    }

    fn left(&mut self, _: Duration) -> u64 {
        u64::from(self.tokens) * 1_000_000
    }

    fn kind(&self) -> Kind {
        Kind::Tokens
    }
}

/// As gRFC A6 has it, in thousandths.
struct Throttle {
    most: i64,
    ratio: i64,
    tokens: i64,
}

impl Reference for Throttle {
    fn failed(&mut self, failure: &Failure) {
        if failure.class != Class::Permanent || failure.hint == Some(Hint::Stop) {
            self.tokens = (self.tokens - 1000).max(0);
        }
    }

    fn withdraw(&mut self, _: Duration, _: &Failure) -> Option<u64> {
        (2 * self.tokens > self.most).then_some(0)
    }

    fn refund(&mut self, _: u64) {}

    fn succeeded(&mut self, _: Option<u64>) {
        self.tokens = (self.tokens + self.ratio).min(self.most);
    }

    fn left(&mut self, _: Duration) -> u64 {
        u64::try_from(self.tokens).unwrap() * 1000
    }

    fn kind(&self) -> Kind {
        Kind::Grpc
    }
}

/// Everything that happened, by slice, as far as it is not forgotten.
struct Log {
    share: u64,
    reserve: u64,
    slice: Duration,
    slices: u128,
    first_tries: Vec<u128>,
    retries: Vec<u128>,
    kind: Kind,
}

impl Log {
    fn slice(&self, now: Duration) -> u128 {
        now.as_nanos() / self.slice.as_nanos()
    }

    fn forget(&mut self, now: Duration) {
        let (slice, slices) = (self.slice(now), self.slices);
        let is_live = |number: &u128| number + slices > slice;
        self.first_tries.retain(is_live);
        self.retries.retain(is_live);
    }
}

impl Reference for Log {
    fn first_try(&mut self, now: Duration) {
        self.first_tries.push(self.slice(now));
    }

    fn withdraw(&mut self, now: Duration, _: &Failure) -> Option<u64> {
        (self.left(now) >= 1_000_000).then(|| {
            self.retries.push(self.slice(now));
            u64::try_from(self.slice(now)).unwrap()
        })
    }

    fn refund(&mut self, taken: u64) {
        let counted = self.retries.iter().position(|n| *n == taken.into());
        counted.map(|index| self.retries.swap_remove(index));
    }

    fn left(&mut self, now: Duration) -> u64 {
        self.forget(now);
        let room = self.share * self.first_tries.len() as u64 + self.reserve;
        // Whole retries, as they are counted.
        (room / 1_000_000).saturating_sub(self.retries.len() as u64) * 1_000_000
    }

    fn kind(&self) -> Kind {
        self.kind
    }
}

struct Slots {
    share: u64,
    floor: u64,
    calls: u64,
    retries: u64,
}

impl Reference for Slots {
    fn first_try(&mut self, _: Duration) {
        self.calls += 1;
    }

    fn call_ended(&mut self) {
        self.calls -= 1;
    }

    fn withdraw(&mut self, now: Duration, _: &Failure) -> Option<u64> {
        (self.left(now) > 0).then(|| {
            self.retries += 1;
            0
        })
    }

    fn refund(&mut self, _: u64) {
        self.retries -= 1;
    }

    fn spent(&mut self, _: u64) {
        self.retries -= 1;
    }

    fn succeeded(&mut self, last: Option<u64>) {
        if last.is_some() {
            self.retries -= 1;
        }
    }

    fn left(&mut self, _: Duration) -> u64 {
        let limit = (self.share * self.calls / 1_000_000).max(self.floor);
        limit.saturating_sub(self.retries) * 1_000_000
    }

    fn kind(&self) -> Kind {
        Kind::Concurrency
    }
}

/// The ratio budget has a model of its own; here it takes part in `all_of`. In millionths.
struct Share {
    kind: Kind,
    ratio: u64,
    burst: u64,
    balance: u64,
}

impl Share {
    fn of(kind: Kind, ratio: Ratio) -> Self {
        let burst = millionths(ratio.held());
        Self {
            kind,
            ratio: millionths(ratio.ratio),
            burst,
            balance: burst,
        }
    }

    fn add(&mut self, micros: u64) {
        self.balance = (self.balance + micros).min(self.burst);
    }
}

impl Reference for Share {
    fn first_try(&mut self, _: Duration) {
        if self.kind == Kind::FirstTries {
            self.add(self.ratio);
        }
    }

    fn deposit(&mut self) {
        if self.kind == Kind::Ratio {
            self.add(self.ratio);
        }
    }

    fn withdraw(&mut self, _: Duration, _: &Failure) -> Option<u64> {
        self.balance = self.balance.checked_sub(1_000_000)?;
        Some(0)
    }

    fn refund(&mut self, _: u64) {
        self.add(1_000_000);
    }

    fn left(&mut self, _: Duration) -> u64 {
        self.balance
    }

    fn kind(&self) -> Kind {
        self.kind
    }
}

/// The references of a configuration, in the order in which the kinds are asked.
pub fn references(config: Budget) -> Vec<Box<dyn Reference>> {
    config.kinds().map(reference).collect()
}

fn reference(kind: Budget) -> Box<dyn Reference> {
    match kind {
        Budget::Ratio(ratio) => Box::new(Share::of(Kind::Ratio, ratio)),
        Budget::FirstTries(ratio) => Box::new(Share::of(Kind::FirstTries, ratio)),
        Budget::Tokens(config) => {
            let tokens = config.capacity;
            Box::new(Bucket { config, tokens })
        }
        Budget::Grpc(grpc) => {
            let most = i64::from(grpc.max_tokens) * 1000;
            Box::new(Throttle {
                most,
                ratio: i64::try_from(millionths(grpc.token_ratio) / 1000).unwrap(),
                tokens: most,
            })
        }
        Budget::Concurrency(concurrency) => Box::new(Slots {
            share: millionths(concurrency.share),
            floor: concurrency.floor.into(),
            calls: 0,
            retries: 0,
        }),
        Budget::PerMinute(per_minute) => Box::new(Log {
            share: 0,
            reserve: u64::from(per_minute.retries) * 1_000_000,
            slice: Duration::from_secs(1),
            slices: 61,
            first_tries: Vec::new(),
            retries: Vec::new(),
            kind: Kind::PerMinute,
        }),
        Budget::Window(window) => Box::new(Log {
            share: millionths(window.share),
            reserve: millionths(window.floor_per_second * window.ttl.as_secs_f64()),
            slice: window.ttl / 10,
            slices: 10,
            first_tries: Vec::new(),
            retries: Vec::new(),
            kind: Kind::Window,
        }),
        other => panic!("{other} has no reference"),
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub fn millionths(number: f64) -> u64 {
    (number * 1e6).round() as u64
}
