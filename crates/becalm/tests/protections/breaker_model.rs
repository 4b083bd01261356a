//! Does the lock-free breaker behave, step by step, like the one that is written in the manual?

use std::time::Duration;

use becalm::breaker::{Breaker, CircuitBreaker, Outcome, Permit, Span, State, Trip};
use becalm::rng::{Random, SplitMix64};
use becalm::time::Instant;
use proptest::prelude::*;

/// The slow one, obviously right: it keeps every call of the closed state.
#[derive(Debug)]
struct Model {
    config: Breaker,
    state: State,
    /// Grows with every change of state: permits of an earlier period are ignored.
    period: u64,
    /// Of the closed state: when, and whether it failed.
    calls: Vec<(u64, bool)>,
    open_until: u64,
    /// How many openings in a row.
    level: u32,
    remembered_until: u64,
    probing: u32,
    succeeded: u32,
    given_up: u64,
}

#[derive(Debug, Clone, Copy)]
struct ModelPermit {
    period: u64,
    probe: bool,
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).expect("short")
}

impl Model {
    fn new(config: Breaker) -> Self {
        Self {
            config,
            state: State::Closed,
            period: 0,
            calls: Vec::new(),
            open_until: 0,
            level: 0,
            remembered_until: 0,
            probing: 0,
            succeeded: 0,
            given_up: 0,
        }
    }

    fn go(&mut self, state: State) {
        self.state = state;
        self.period += 1;
        self.calls.clear();
        (self.probing, self.succeeded) = (0, 0);
    }

    fn admit(&mut self, now: u64) -> Option<ModelPermit> {
        let given_up = now + nanos(self.config.open_max);
        match self.state {
            State::Closed => {}
            State::Open if now < self.open_until => return None,
            State::Open => self.go(State::HalfOpen),
            State::HalfOpen if self.probing < self.config.probes => {}
            State::HalfOpen if now < self.given_up => return None,
            State::HalfOpen => {
                let succeeded = self.succeeded;
                self.go(State::HalfOpen);
                self.succeeded = succeeded;
            }
            _ => return None, // isolated
        }
        let probe = self.state == State::HalfOpen;
        if probe {
            self.probing += 1;
            self.given_up = given_up;
            self.remembered_until = given_up;
        }
        Some(ModelPermit {
            period: self.period,
            probe,
        })
    }

    fn record(&mut self, permit: ModelPermit, outcome: Outcome, now: u64, took: u64) {
        if permit.period != self.period {
            return;
        }
        let slow = self.config.slow.is_some_and(|slow| took >= nanos(slow));
        let failed = match outcome {
            _ if slow => true,
            Outcome::Success => false,
            Outcome::Failure => true,
            Outcome::Cancelled => {
                if permit.probe {
                    self.probing -= 1;
                }
                return;
            }
        };
        match (permit.probe, failed) {
            (true, true) => self.open(now),
            (true, false) => {
                self.probing -= 1;
                self.succeeded += 1;
                if self.succeeded == self.config.successes {
                    self.go(State::Closed);
                }
            }
            (false, failed) => {
                self.calls.push((now, failed));
                if self.trips(now) {
                    self.open(now);
                }
            }
        }
    }

    fn trips(&self, now: u64) -> bool {
        let (share, window) = match self.config.trip {
            Trip::Consecutive(failures) => {
                let row = self.calls.iter().rev().take_while(|(_, failed)| *failed);
                return row.count() >= failures as usize;
            }
            Trip::Share { share, window } => (share, window),
            _ => unreachable!("no other kind"),
        };
        let lately: Vec<bool> = match window {
            Span::Time(time) => {
                let slice = nanos(time) / 10;
                let is_in = |at: u64| now / slice - at / slice < 10;
                let calls = self.calls.iter().filter(|(at, _)| is_in(*at));
                calls.map(|(_, failed)| *failed).collect()
            }
            Span::Calls(length) => {
                let covered = covered(self.calls.len(), length as usize);
                let from = self.calls.len() - covered;
                self.calls[from..]
                    .iter()
                    .map(|(_, failed)| *failed)
                    .collect()
            }
            _ => unreachable!("no other span"),
        };
        let failed = lately.iter().filter(|failed| **failed).count();
        #[expect(clippy::cast_sign_loss, clippy::cast_possible_truncation)]
        let millionths = (share * 1e6).round() as usize;
        lately.len() >= self.config.min_calls as usize
            && failed * 1_000_000 >= millionths * lately.len()
    }

    fn open(&mut self, now: u64) {
        let remembered = self.state == State::HalfOpen || now < self.remembered_until;
        self.level = if remembered { self.level + 1 } else { 1 };
        let mut open = nanos(self.config.open);
        for _ in 1..self.level {
            open = (open * 2).min(nanos(self.config.open_max));
        }
        self.go(State::Open);
        self.open_until = (now + open).div_ceil(512) * 512;
        self.remembered_until = self.open_until;
    }
}

/// How many of the last calls a window of calls covers after so many: slices are filled one after
/// the other, each a tenth, the tenth last one is forgotten as a whole.
fn covered(calls: usize, length: usize) -> usize {
    let count = length.min(10);
    let mut slices: Vec<usize> = Vec::new();
    let mut left = calls;
    while left > 0 {
        let number = slices.len();
        let size = (number + 1) * length / count - number * length / count;
        slices.push(size.min(left));
        left -= size.min(left);
    }
    slices.iter().rev().take(count).sum()
}

/// One breaker of each, and the calls that are under way.
struct Pair {
    model: Model,
    real: CircuitBreaker,
    under_way: Vec<(ModelPermit, Permit)>,
    now: u64,
    changes: usize,
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Admit,
    /// Of the call under way that this picks.
    Record(u64, Outcome, u64),
    Pass(u64),
    ForceOpen,
    ForceClose,
    Isolate,
    EndIsolation,
}

impl Pair {
    fn new(config: Breaker) -> Self {
        Self {
            model: Model::new(config),
            real: CircuitBreaker::new(config).expect("valid"),
            under_way: Vec::new(),
            now: 0,
            changes: 0,
        }
    }

    fn step(&mut self, step: Step) {
        let (model, real, now) = (&mut self.model, &self.real, self.now);
        let at = Instant::from_nanos(now);
        let before = (model.state, model.period);
        let told = match step {
            Step::Admit => {
                let expected = real.would_admit(at).is_ok();
                let permit = real.admit(|| at);
                assert_eq!(permit.is_ok(), expected);
                match (model.admit(now), permit) {
                    (Some(slow), Ok(permit)) => {
                        assert_eq!(permit.is_probe(), slow.probe);
                        let told = permit.transition();
                        self.under_way.push((slow, permit));
                        told
                    }
                    (None, Err(refused)) => {
                        let until = refused.until.map(Instant::as_nanos);
                        match model.state {
                            State::Open => assert_eq!(until, Some(model.open_until)),
                            State::HalfOpen => assert!(until > Some(now)),
                            _ => assert_eq!(until, None),
                        }
                        None
                    }
                    (slow, fast) => panic!("the model says {slow:?}, the breaker {fast:?}"),
                }
            }
            Step::Record(pick, outcome, took) => {
                if self.under_way.is_empty() {
                    return;
                }
                let index = usize::try_from(pick).expect("64 bits") % self.under_way.len();
                let (slow, permit) = self.under_way.swap_remove(index);
                model.record(slow, outcome, now, took);
                real.record(permit, outcome, || at, Duration::from_nanos(took), || 0)
            }
            Step::Pass(nanos) => {
                self.now += nanos;
                return;
            }
            Step::ForceOpen => {
                if matches!(model.state, State::Closed | State::HalfOpen) {
                    model.open(now);
                }
                real.force_open(at, || 0)
            }
            Step::ForceClose => {
                if model.state != State::Closed {
                    model.go(State::Closed);
                    model.level = 0;
                }
                real.force_close()
            }
            Step::Isolate => {
                if model.state != State::Isolated {
                    model.go(State::Isolated);
                }
                real.isolate()
            }
            Step::EndIsolation => {
                if model.state == State::Isolated {
                    model.go(State::HalfOpen);
                    model.given_up = u64::MAX;
                }
                real.end_isolation()
            }
        };
        let changed = before.0 != model.state;
        assert_eq!(
            told.is_some(),
            changed,
            "{told:?} from {before:?} to {:?}",
            model.state
        );
        if let Some(told) = told {
            assert_eq!((told.from, told.to), (before.0, model.state));
            let open_for = told.open_for.map(|open| now + nanos(open));
            assert_eq!(
                open_for,
                (model.state == State::Open).then_some(model.open_until)
            );
            self.changes += 1;
        }
        let due = model.state == State::Open && now >= model.open_until;
        let state = if due { State::HalfOpen } else { model.state };
        assert_eq!(real.state(at), state);
    }
}

/// A random step of a dependency that fails in `failing` of 100 calls.
fn any_step_of(random: &mut SplitMix64, failing: u64, pause: u64) -> Step {
    let bits = random.next_u64();
    let detail = random.next_u64();
    match bits % 1000 {
        0..=399 => Step::Admit,
        400..=799 => {
            let outcome = match detail % 100 {
                97.. => Outcome::Cancelled,
                low if low < failing => Outcome::Failure,
                _ => Outcome::Success,
            };
            // One in 50 is slow.
            let took = if bits % 50 == 0 {
                20_000_000
            } else {
                1_000_000
            };
            Step::Record(bits >> 32, outcome, took)
        }
        800..=993 => Step::Pass(detail % (1 + pause) / (1 + detail % 7)),
        994 => Step::Pass(20 * pause),
        995 => Step::ForceOpen,
        996 => Step::ForceClose,
        997 => Step::Isolate,
        _ => Step::EndIsolation,
    }
}

const MILLIS: Duration = Duration::from_millis(1);

fn configs() -> Vec<Breaker> {
    let base = |breaker: Breaker| breaker.open(20 * MILLIS).open_max(200 * MILLIS).jitter(0.0);
    vec![
        base(Breaker::consecutive(1)).successes(1),
        base(Breaker::consecutive(4)).probes(3).successes(5),
        base(Breaker::consecutive(3)).slow(15 * MILLIS),
        base(Breaker::share(0.5, Span::Calls(1))),
        base(Breaker::share(0.4, Span::Calls(7))),
        base(Breaker::share(0.5, Span::Calls(10))).min_calls(4),
        base(Breaker::share(0.3, Span::Calls(19))).slow(15 * MILLIS),
        base(Breaker::share(0.5, Span::Calls(37)))
            .min_calls(37)
            .probes(2),
        base(Breaker::share(0.35, Span::Calls(100))).min_calls(30),
        base(Breaker::share(0.5, Span::Time(100 * MILLIS))).min_calls(5),
        base(Breaker::share(0.3, Span::Time(1000 * MILLIS))).probes(4),
        base(Breaker::share(0.4, Span::Time(47 * MILLIS)))
            .min_calls(3)
            .slow(15 * MILLIS),
    ]
}

/// Each configuration 85 000 steps, in fair and in foul weather: a million in all.
#[test]
fn over_a_million_random_steps_it_equals_a_breaker_that_remembers_every_call() {
    let mut random = SplitMix64::new(11);
    let mut steps = 0;
    for config in configs() {
        let mut pair = Pair::new(config);
        for round in 0..85 {
            let failing = [2, 30, 60, 95, 10][round % 5];
            // Up to a millisecond between steps, now and then much more.
            let pause = [1_000_000, 5_000_000, 300_000][round % 3];
            for _ in 0..1000 {
                pair.step(any_step_of(&mut random, failing, pause));
                steps += 1;
            }
        }
        assert!(
            pair.changes > 100,
            "{config} changed {} times",
            pair.changes
        );
    }
    assert!(steps >= 1_000_000);
}

fn any_config() -> impl Strategy<Value = Breaker> {
    let span = prop_oneof![
        (1..60_u32).prop_map(Span::Calls),
        (10..2000_u32).prop_map(|millis| Span::Time(millis * MILLIS)),
    ];
    let trip = prop_oneof![
        (1..6_u32).prop_map(Breaker::consecutive),
        (1..=1_000_000_u32, span)
            .prop_map(|(share, span)| Breaker::share(f64::from(share) / 1e6, span)),
    ];
    (
        trip,
        1..30_u32,
        proptest::option::of(1..30_u32),
        1..50_u32,
        1..4_u32,
        1..5_u32,
    )
        .prop_map(|(breaker, min, slow, open, probes, successes)| {
            let mut breaker = breaker
                .min_calls(min.min(breaker.min_calls))
                .open(open * MILLIS)
                .open_max(10 * open * MILLIS)
                .jitter(0.0)
                .probes(probes)
                .successes(successes);
            breaker.slow = slow.map(|millis| millis * MILLIS);
            breaker
        })
}

fn any_step() -> impl Strategy<Value = Step> {
    let outcome = prop_oneof![
        4 => Just(Outcome::Failure),
        4 => Just(Outcome::Success),
        1 => Just(Outcome::Cancelled),
    ];
    let took = prop_oneof![Just(0), 0..40_000_000_u64];
    prop_oneof![
        30 => Just(Step::Admit),
        30 => (any::<u64>(), outcome, took).prop_map(|(pick, outcome, took)| Step::Record(pick, outcome, took)),
        10 => (0..10_000_000_u64).prop_map(Step::Pass),
        2 => (0..100_000_000_000_u64).prop_map(Step::Pass),
        1 => Just(Step::ForceOpen),
        1 => Just(Step::ForceClose),
        1 => Just(Step::Isolate),
        2 => Just(Step::EndIsolation),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn any_breaker_equals_its_model_over_any_history(
        config in any_config(), steps in proptest::collection::vec(any_step(), 1..400),
    ) {
        let mut pair = Pair::new(config);
        for step in steps {
            pair.step(step);
        }
    }
}
