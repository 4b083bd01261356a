//! Do the same inputs give the same recommendation, in whatever order the policies are named? Over 200 simulated services.

use std::collections::BTreeMap;
use std::time::Duration;

use becalm::{Budget, Jitter, Policy};
use becalm_sim::catalogue::Candidate;
use becalm_sim::scenario::{
    Arrivals, Distribution, Downstream, Effect, Population, Scenario, Service, Trigger,
};
use becalm_sim::study::{Contender, Plan, Verdict, choice};
use becalm_sim::verdict::{Brief, study};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A service, often behind another one, to which something happens; and policies of its clients.
#[derive(Debug, Clone)]
struct Drawn {
    workers: u32,
    /// The share of the capacity that first tries need.
    load: f64,
    queue: Option<u32>,
    patience: Duration,
    /// What the service in front does with its calls, where there is one.
    tier: Option<Policy>,
    trigger: Option<(Effect, Duration)>,
    is_closed: bool,
    policies: Vec<Candidate>,
    turn: usize,
}

/// How long one request takes.
const WORK: Duration = millis(250);

impl Drawn {
    fn scenario(&self, policy: &Policy) -> Scenario {
        let rate = self.load * f64::from(self.workers) / WORK.as_secs_f64();
        let think = Duration::from_secs_f64(4.0 / rate);
        let arrivals = if self.is_closed {
            Arrivals::Closed {
                think: Distribution::Exponential(think),
            }
        } else {
            Arrivals::Poisson(rate)
        };
        let mut orders = Service::new("orders", self.workers, Distribution::Exponential(WORK));
        orders.queue = self.queue;
        let target = if self.tier.is_some() {
            "front"
        } else {
            "orders"
        };
        let clients = Population::new("users", target, arrivals, policy.clone());
        let mut scenario = Scenario::new("drawn", millis(24_000)).service(orders);
        if let Some(policy) = &self.tier {
            let mut call = Downstream::new("orders", policy.clone());
            call.timeout = Some(self.patience / 2);
            let front = Service::new("front", 64, Distribution::Constant(millis(1)));
            scenario = scenario.service(front.calls(call));
        }
        scenario = scenario.population(clients.clients(4).timeout(self.patience));
        match &self.trigger {
            Some((effect, length)) => {
                scenario.trigger(Trigger::new(millis(10_000), *length, effect.clone()))
            }
            None => scenario,
        }
    }

    /// All that is found out about each of these policies, by its name; and the one to take, with those that are as good.
    fn told(&self, policies: &[Candidate]) -> (BTreeMap<String, Contender>, String, Vec<String>) {
        let mut plan = Plan::default();
        (plan.is_quick, plan.runs) = (true, Some(2));
        let build = |policy: &Policy| self.scenario(policy);
        let study = study(&Brief::default(), policies, &plan, build).expect("small");
        let choice = choice(&study.contenders).expect("verdicts");
        let equals = choice.equals.iter().map(|it| it.name.clone()).collect();
        let best = choice.best.0.name.clone();
        let each = study.contenders.into_iter();
        let each = each.map(|it| (it.name.clone(), it)).collect();
        (each, best, equals)
    }

    /// The policies in another order.
    fn turned(&self) -> Vec<Candidate> {
        let mut turned = self.policies.clone();
        turned.rotate_left(self.turn % self.policies.len());
        turned.reverse();
        if turned == self.policies {
            turned.swap(0, 1);
        }
        turned
    }
}

fn any_policy() -> impl Strategy<Value = Policy> {
    let jitter = prop_oneof![Just(Jitter::None), Just(Jitter::Full), Just(Jitter::Equal)];
    let budget = prop_oneof![
        Just(Budget::None),
        Just(Policy::default().budget),
        Just(Budget::first_tries(0.3)),
        Just(Budget::ratio(0.5)),
    ];
    (1_u32..5, 0_u64..400, jitter, budget).prop_map(|(attempts, base, jitter, budget)| {
        let policy = Policy::default().attempts(attempts).base(millis(base));
        policy.jitter(jitter).budget(budget)
    })
}

fn any_trigger() -> impl Strategy<Value = (Effect, Duration)> {
    let service = || "orders".to_owned();
    let effect = prop_oneof![
        Just(Effect::Hang { service: service() }),
        Just(Effect::Down { service: service() }),
        (0.1..0.8).prop_map(move |share| Effect::Capacity {
            service: service(),
            share
        }),
        (0.3..1.0).prop_map(move |share| Effect::Failures {
            service: service(),
            share
        }),
        (2.0..6.0).prop_map(|factor| Effect::Load {
            population: "users".to_owned(),
            factor
        }),
    ];
    (effect, (500_u64..5_000).prop_map(millis))
}

/// Two to four policies of one to four kinds, so that some are the same under several names.
fn any_policies() -> impl Strategy<Value = Vec<Candidate>> {
    const NAMES: [&str; 4] = ["full", "own", "calm", "a;b"];
    let kinds = prop::collection::vec(any_policy(), 1..5);
    (kinds, prop::collection::vec(0_usize..4, 2..5), 0_usize..4).prop_map(|(kinds, at, skip)| {
        let names = NAMES.iter().cycle().skip(skip);
        let kind = |at: usize| kinds[at % kinds.len()].clone();
        let each = names
            .zip(at)
            .map(|(name, at)| Candidate::new(*name, kind(at)));
        each.collect()
    })
}

fn any_case() -> impl Strategy<Value = Drawn> {
    let service = (1_u32..4, 0.2..1.1, prop::option::weighted(0.7, 3_u32..40));
    let around = (
        (500_u64..3_500).prop_map(millis),
        prop::option::weighted(0.4, any_policy()),
        prop::option::weighted(0.9, any_trigger()),
        prop::bool::weighted(0.2),
    );
    (service, around, any_policies(), 0_usize..4).prop_map(|(service, around, policies, turn)| {
        let (workers, load, queue) = service;
        let (patience, tier, trigger, is_closed) = around;
        Drawn {
            workers,
            load,
            queue,
            patience,
            tier,
            trigger,
            is_closed,
            policies,
            turn,
        }
    })
}

/// A quarter of the cases, each a sequence of its own.
fn the_order_decides_nothing(quarter: u8) {
    const CASES: u32 = 50;
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[quarter; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let (mut ties, mut verdicts) = (0, BTreeMap::<Verdict, u32>::new());
    for _ in 0..CASES {
        let drawn = any_case().new_tree(&mut runner).expect("a case").current();
        let (each, best, equals) = drawn.told(&drawn.policies);
        let (again, other, told) = drawn.told(&drawn.turned());
        assert_eq!((&other, &told), (&best, &equals), "{drawn:?}");
        for (name, it) in &again {
            let first = &each[name];
            assert_eq!(it.verdict, first.verdict, "{name}: {drawn:?}");
            assert_eq!(it.evidence, first.evidence, "{name}: {drawn:?}");
            assert_eq!(it.figures, first.figures, "{name}: {drawn:?}");
        }
        // What is the same under another name is as good, and told.
        let of_best = drawn.policies.iter().find(|it| it.name == best);
        let of_best = &of_best.expect("one of them").policy;
        for same in drawn.policies.iter().filter(|it| it.policy == *of_best) {
            let is_told = same.name == best || equals.contains(&same.name);
            assert!(is_told, "{}: {best} {equals:?} of {drawn:?}", same.name);
        }
        ties += u32::from(equals.len() >= 2);
        for contender in each.values() {
            *verdicts
                .entry(contender.verdict.expect("a bound"))
                .or_default() += 1;
        }
    }
    println!("ties of three and more: {ties}; {verdicts:?}");
    assert!(ties >= 8, "ties of three and more: {ties}");
    assert!(verdicts.len() >= 4, "{verdicts:?}");
}

#[test]
fn s2_the_order_of_the_policies_decides_nothing_for_the_first_50_services() {
    the_order_decides_nothing(1);
}

#[test]
fn s2_the_order_of_the_policies_decides_nothing_for_the_second_50_services() {
    the_order_decides_nothing(2);
}

#[test]
fn s2_the_order_of_the_policies_decides_nothing_for_the_third_50_services() {
    the_order_decides_nothing(3);
}

#[test]
fn s2_the_order_of_the_policies_decides_nothing_for_the_last_50_services() {
    the_order_decides_nothing(4);
}
