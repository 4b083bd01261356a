//! Does a run that ends once it is certain say what it would say at its end?

mod drawn;

use std::sync::Mutex;
use std::time::Duration;

use becalm::{Breaker, Budget, Bulkhead, Hedge, Policy, Throttle};
use becalm_sim::catalogue::{Parameters, find};
use becalm_sim::record::Recording;
use becalm_sim::scenario::Scenario;
use becalm_sim::study::Plan;
use becalm_sim::verdict::{Runner, Runs, judge, longer, louder};
use becalm_sim::world::{self, Ceiling, Looks, Sight};
use drawn::{any_scenario, seconds};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// Makes each run twice: until it is certain, and whole.
#[derive(Default)]
struct Twice {
    ceiling: Ceiling,
    seen: Mutex<Seen>,
}

/// Runs that were certain to come back and that were certain not to: how many, and how many of them were wrong.
#[derive(Debug, Default, Clone, Copy)]
struct Seen {
    back: [u32; 2],
    down: [u32; 2],
    open: u32,
    /// Events of both kinds of runs.
    events: [u64; 2],
}

impl Runner for &Twice {
    fn run(&self, scenario: &Scenario, seed: u64) -> Recording {
        world::run(scenario, seed)
    }

    fn run_until(&self, scenario: &Scenario, seed: u64, looks: &Looks<'_>) -> Option<Recording> {
        let early = world::run_until(scenario, seed, &self.ceiling, looks);
        let whole = world::run(scenario, seed);
        let holds = judge(scenario, &whole).holds();
        let mut told = self.seen.lock().expect("no test panics with it");
        told.events[0] += early.events;
        told.events[1] += whole.events;
        match early.certain {
            None => {
                assert_eq!(early, whole, "a look changed the run");
                told.open += 1;
            }
            Some(is_back) => {
                let of = if is_back {
                    &mut told.back
                } else {
                    &mut told.down
                };
                of[0] += 1;
                of[1] += u32::from(is_back != holds);
                is_beginning(&early, &whole);
            }
        }
        Some(early)
    }
}

/// What was counted until then is what the whole run counted.
fn is_beginning(early: &Recording, whole: &Recording) {
    for (early, whole) in early.populations.iter().zip(&whole.populations) {
        assert!(!early.calls.is_empty() && whole.calls.starts_with(&early.calls));
        assert!(whole.attempts.starts_with(&early.attempts));
        assert!(whole.failed.starts_with(&early.failed));
    }
    for (early, whole) in early.services.iter().zip(&whole.services) {
        assert!(whole.arrived.starts_with(&early.arrived));
        assert!(whole.queue.starts_with(&early.queue));
    }
}

impl Twice {
    fn ask(&self, scenario: &Scenario, runs: u32) {
        let plan = Plan::default();
        Runs::new(self, &plan).back(scenario, 0, 0..runs);
    }

    fn seen(self) -> Seen {
        self.seen.into_inner().expect("no test panics with it")
    }
}

/// Of 40 drawn services here, of 800 by `scripts/prove horizons`.
#[test]
fn s4_a_run_that_is_certain_says_what_it_would_say_at_its_end() {
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let cases: u32 = std::env::var("BECALM_CERTAIN").map_or(40, |it| it.parse().expect("a number"));
    let each = (any_scenario(), 0_u8..8, 1_u64..60, 5_u64..40);
    let twice = Twice::default();
    for _ in 0..cases {
        let (mut drawn, guard, longest, after) =
            each.new_tree(&mut runner).expect("a case").current();
        drawn.policy = drawn.policy.cap(seconds(longest));
        drawn.policy = match guard {
            0 => drawn.policy.breaker(Breaker::default()),
            1 => drawn.policy.throttle(Throttle::default()),
            2 => drawn.policy.rate(becalm::rate::AdaptiveRate::default()),
            3 => drawn.policy.bulkhead(Bulkhead::calls(20)),
            4 => drawn.policy.hedge(Hedge::after(Duration::from_millis(100))),
            _ => drawn.policy,
        };
        twice.ask(&drawn.scenario(after), 4);
    }
    let seen = twice.seen();
    println!("{seen:?}");
    let [certain, wrong] = [0, 1].map(|at| seen.back[at] + seen.down[at]);
    assert!(
        seen.back[0] >= cases && seen.down[0] >= cases / 8,
        "{seen:?}"
    );
    assert!(wrong * 100 <= certain, "{seen:?}");
}

/// The entries that are searched, at loads and lengths on both sides of what they survive.
#[test]
fn s4_the_catalogue_is_as_certain() {
    let twice = Twice::default();
    for name in ["metastable", "tiers", "trigger"] {
        let entry = find(name).expect("an entry");
        let build = entry.scenario().expect("a scenario");
        let parameters = Parameters::of(entry.parameters);
        for policy in [Policy::default(), storm()] {
            let scenario = build(&parameters, &policy);
            for factor in [0.5, 2.0] {
                twice.ask(&longer(&scenario, factor), 2);
                twice.ask(&louder(&scenario, f64::midpoint(factor, 1.0)), 2);
            }
        }
    }
    let seen = twice.seen();
    println!("{seen:?}");
    assert_eq!((seen.back[1], seen.down[1]), (0, 0), "{seen:?}");
    assert!(seen.back[0] >= 5 && seen.down[0] >= 5, "{seen:?}");
    assert!(4 * seen.events[0] <= 3 * seen.events[1], "{seen:?}");
}

/// Three attempts, at once, whatever happens.
fn storm() -> Policy {
    Policy::fixed(Duration::ZERO)
        .attempts(4)
        .budget(Budget::None)
}

/// At the end of a shorter scenario a run leaves what a run of that one does, and goes on as if nobody had looked.
#[test]
fn s4_a_run_that_goes_on_leaves_what_the_shorter_one_does() {
    for name in ["metastable", "cache", "tiers"] {
        let entry = find(name).expect("an entry");
        let build = entry.scenario().expect("a scenario");
        let shorter = build(&Parameters::of(entry.parameters), &storm());
        let mut longer = shorter.clone();
        longer.horizon += seconds(7);
        let at_end = Mutex::new(None);
        let look = |sight: &Sight<'_>| {
            *at_end.lock().expect("no test panics with it") = Some(sight.recording.clone());
            None
        };
        let looks = Looks::at_end_of(shorter.horizon, &look);
        let whole = world::run_until(&longer, 5, &Ceiling::default(), &looks);
        let at_end = at_end.into_inner().expect("no test panics with it");
        assert_eq!(at_end, Some(world::run(&shorter, 5)), "{name}");
        let unseen = world::run(&longer, 5);
        assert_eq!(whole.events, unseen.events, "{name}");
        assert_eq!(whole.services, unseen.services, "{name}");
        assert_eq!(whole.populations[0].calls, unseen.populations[0].calls);
        assert!(judge(&longer, &whole).holds() == judge(&longer, &unseen).holds());
    }
}
