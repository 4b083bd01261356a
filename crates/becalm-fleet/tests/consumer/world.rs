//! A queue, its consumers and the dependency that their handlers call, in steps of a millisecond.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::time::Duration;

use becalm::rng::SplitMix64;
use becalm::time::Instant;
use becalm::{Failure, StopReason};
use becalm_fleet::consumer::{Consume, Consumer, Delivery, OrderKeys, Running, Settle, Take, Turn};

/// What happens to a queue. All times in milliseconds.
#[derive(Debug, Clone)]
pub struct World {
    pub consume: Consume,
    /// Whether each failure is charged, as where attempts are counted for each message alone.
    pub is_ladder: bool,
    pub consumers: usize,
    /// How many handlers of a consumer run at once.
    pub concurrency: usize,
    /// How long a handler takes.
    pub handling: u64,
    /// When nothing succeeds.
    pub outages: Vec<Range<u64>>,
    pub messages: Vec<Message>,
    pub until: u64,
    pub seed: u64,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Message {
    pub published: u64,
    /// Its handler fails whatever happens.
    pub is_poison: bool,
    /// Only where there is one consumer.
    pub key: Option<u8>,
}

/// What has become of a message.
#[derive(Debug, Clone, Default)]
pub struct History {
    pub deliveries: Vec<u64>,
    pub failed_at: Option<u64>,
    pub failed: u32,
    pub charged_at: Vec<u64>,
    pub ended: Option<(u64, Result<(), StopReason>)>,
}

impl History {
    pub fn is_handled(&self) -> bool {
        matches!(self.ended, Some((_, Ok(()))))
    }

    pub fn is_dead(&self) -> bool {
        matches!(self.ended, Some((_, Err(_))))
    }
}

struct Worker {
    machine: Consumer,
    /// Until when, which message.
    running: Vec<(u64, usize, Running)>,
}

impl Worker {
    /// When something ends, or a pause.
    fn wakes(&self, now: Instant) -> Option<u64> {
        let pause = match self.machine.next(now) {
            Take::NotBefore(until) => Some(until.as_nanos().div_ceil(1_000_000)),
            _ => None,
        };
        self.running.iter().map(|it| it.0).chain(pause).min()
    }
}

struct Queue {
    waiting: VecDeque<usize>,
    delayed: BTreeMap<u64, Vec<usize>>,
    order: OrderKeys<u8>,
    histories: Vec<History>,
}

fn at(millis: u64) -> Instant {
    Instant::from_nanos(millis * 1_000_000)
}

impl World {
    pub fn run(&self) -> Vec<History> {
        let mut random = SplitMix64::new(self.seed);
        let machine = || Consumer::new(self.consume.clone()).expect("valid settings");
        let workers = (0..self.consumers).map(|_| Worker {
            machine: machine(),
            running: Vec::new(),
        });
        let mut workers: Vec<_> = workers.collect();
        let mut queue = Queue {
            waiting: VecDeque::new(),
            delayed: BTreeMap::new(),
            order: OrderKeys::new(10_000),
            histories: vec![History::default(); self.messages.len()],
        };
        let mut published = (0..self.messages.len()).collect::<Vec<_>>();
        published.sort_by_key(|it| self.messages[*it].published);
        let mut published = VecDeque::from(published);
        let mut now = 0;
        while now < self.until {
            while let Some(next) = published.front() {
                if self.messages[*next].published > now {
                    break;
                }
                queue.waiting.extend(published.pop_front());
            }
            let later = queue.delayed.split_off(&(now + 1));
            let due = std::mem::replace(&mut queue.delayed, later);
            queue.waiting.extend(due.into_values().flatten());
            for worker in &mut workers {
                let (done, running) = worker.running.drain(..).partition(|it| it.0 <= now);
                worker.running = running;
                let done: Vec<_> = done;
                for (_, message, running) in done {
                    self.end(worker, &mut queue, message, running, now, &mut random);
                }
                self.begin(worker, &mut queue, now);
            }
            let to_come = published.front().map(|it| self.messages[*it].published);
            let due = queue.delayed.keys().next().copied();
            let busy = workers.iter().filter_map(|it| it.wakes(at(now)));
            match busy.chain(to_come).chain(due).min() {
                Some(next) => now = next.max(now + 1),
                None => break,
            }
        }
        queue.histories
    }

    fn begin(&self, worker: &mut Worker, queue: &mut Queue, now: u64) {
        while worker.running.len() < self.concurrency {
            let take = worker.machine.next(at(now));
            if !matches!(take, Take::Any | Take::One) {
                break;
            }
            let Some(message) = queue.waiting.pop_front() else {
                break;
            };
            if let Some(key) = self.messages[message].key {
                assert_eq!(self.consumers, 1);
                match queue.order.begin(key, message as u64) {
                    Turn::Now => {}
                    Turn::Held => continue,
                    other => panic!("{other:?}"),
                }
            }
            let history = &mut queue.histories[message];
            history.deliveries.push(now);
            let delivery = Delivery::default()
                .failed(history.failed)
                .charged(u32::try_from(history.charged_at.len()).expect("few"))
                .age(Duration::from_millis(
                    now - self.messages[message].published,
                ))
                .since_failed(history.failed_at.map(|at| Duration::from_millis(now - at)));
            let Some(running) = worker.machine.begin(delivery, at(now)) else {
                panic!("{take:?}");
            };
            assert_eq!(running.is_probe(), take == Take::One);
            let probes = worker.running.iter().filter(|it| it.2.is_probe());
            assert!(
                probes.count() == 0,
                "two probes at once, or others beside one"
            );
            worker.running.push((now + self.handling, message, running));
        }
    }

    fn end(
        &self,
        worker: &mut Worker,
        queue: &mut Queue,
        message: usize,
        running: Running,
        now: u64,
        random: &mut SplitMix64,
    ) {
        let is_down = self.outages.iter().any(|outage| outage.contains(&now));
        let settle = if is_down || self.messages[message].is_poison {
            let failure = Failure::transient();
            worker.machine.failed(running, at(now), &failure, random)
        } else {
            worker.machine.succeeded(running, at(now))
        };
        let history = &mut queue.histories[message];
        let (delay, is_charged) = match settle {
            Settle::Later { delay, charged } => (delay, charged),
            Settle::Pause { delay, .. } => (delay, false),
            Settle::Ack => return self.over(queue, message, now, Ok(())),
            Settle::Dead { reason } => return self.over(queue, message, now, Err(reason)),
            other => panic!("{other:?}"),
        };
        assert!(history.ended.is_none());
        history.failed_at = Some(now);
        history.failed += 1;
        if self.is_ladder && history.failed >= self.consume.policy.attempts {
            return self.over(queue, message, now, Err(StopReason::AttemptsExhausted));
        }
        if is_charged {
            history.charged_at.push(now);
        }
        let due = now + 1 + u64::try_from(delay.as_millis()).expect("it is short");
        queue.delayed.entry(due).or_default().push(message);
    }

    fn over(&self, queue: &mut Queue, message: usize, now: u64, how: Result<(), StopReason>) {
        let before = queue.histories[message].ended.replace((now, how));
        assert_eq!(before, None, "it ends twice");
        if let Some(key) = self.messages[message].key {
            let next = queue.order.done(&key, message as u64);
            queue
                .waiting
                .extend(next.map(|next| usize::try_from(next).expect("a place")));
        }
    }
}
