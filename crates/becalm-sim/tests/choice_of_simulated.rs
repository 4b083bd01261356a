//! Do the same inputs give the same recommendation, in whatever order the policies are named? Over simulated services.

use std::time::Duration;

use becalm::{Budget, Jitter, Policy};
use becalm_sim::catalogue::Candidate;
use becalm_sim::scenario::{
    Arrivals, Distribution, Effect, Population, Scenario, Service, Trigger,
};
use becalm_sim::study::{Plan, Study, choice};
use becalm_sim::verdict::{Brief, study};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// 20 requests per second can be served; a hang for some time, or none.
#[derive(Debug, Clone)]
struct Drawn {
    load: f64,
    queue: u32,
    hang_ms: u64,
    policies: Vec<Candidate>,
    turn: usize,
}

impl Drawn {
    fn scenario(&self, policy: &Policy) -> Scenario {
        let time = Distribution::Exponential(Duration::from_millis(50));
        let arrivals = Arrivals::Poisson(self.load);
        let clients = Population::new("users", "orders", arrivals, policy.clone());
        let hang = Effect::Hang {
            service: "orders".into(),
        };
        let from = Duration::from_secs(4);
        let hang = Trigger::new(from, Duration::from_millis(self.hang_ms), hang);
        Scenario::new("drawn", Duration::from_secs(12))
            .service(Service::new("orders", 1, time).queue(self.queue))
            .population(clients.clients(3).timeout(Duration::from_millis(300)))
            .trigger(hang)
    }

    fn study(&self, policies: &[Candidate]) -> Study {
        let mut plan = Plan::default();
        plan.is_quick = true;
        plan.runs = Some(2);
        study(&Brief::default(), policies, &plan, |policy| {
            self.scenario(policy)
        })
        .expect("small")
    }
}

/// The policy to take, and those that are as good.
fn told(study: &Study) -> (String, Vec<String>) {
    let choice = choice(&study.contenders).expect("verdicts");
    let equals = choice.equals.iter().map(|it| it.name.clone());
    (choice.best.0.name.clone(), equals.collect())
}

fn any_policy() -> impl Strategy<Value = Policy> {
    let base = (0_u64..400).prop_map(Duration::from_millis);
    let jitter = prop_oneof![Just(Jitter::None), Just(Jitter::Full), Just(Jitter::Equal)];
    let budget = prop_oneof![
        Just(Budget::None),
        Just(Policy::default().budget),
        Just(Budget::first_tries(0.3)),
        Just(Budget::ratio(0.5)),
    ];
    (1_u32..5, base, jitter, budget).prop_map(|(attempts, base, jitter, budget)| {
        let policy = Policy::default().attempts(attempts).base(base);
        policy.jitter(jitter).budget(budget)
    })
}

/// Two to five policies of one to three kinds, so that some are the same under several names.
fn any_case() -> impl Strategy<Value = Drawn> {
    const NAMES: [&str; 5] = ["full", "own", "calm", "yours", "a;b"];
    let kinds = prop::collection::vec(any_policy(), 1..4);
    let places = prop::collection::vec(0_usize..3, 2..6);
    (
        5.0..21.0,
        3_u32..40,
        300_u64..3_000,
        kinds,
        places,
        1_usize..5,
    )
        .prop_map(|(load, queue, hang_ms, kinds, places, turn)| {
            let policies = NAMES.iter().zip(places);
            let policies =
                policies.map(|(name, at)| Candidate::new(*name, kinds[at % kinds.len()].clone()));
            Drawn {
                load,
                queue,
                hang_ms,
                policies: policies.collect(),
                turn,
            }
        })
}

#[test]
fn s2_of_200_simulated_services_the_order_of_the_policies_decides_nothing() {
    const CASES: u32 = 200;
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let (mut ties, mut verdicts) = (0, std::collections::BTreeMap::new());
    for _ in 0..CASES {
        let drawn = any_case().new_tree(&mut runner).expect("a case").current();
        let study = drawn.study(&drawn.policies);
        let expected = told(&study);
        let mut turned = drawn.policies.clone();
        let turn = drawn.turn % turned.len();
        turned.rotate_left(turn);
        turned.reverse();
        assert_eq!(told(&drawn.study(&turned)), expected, "{drawn:?}");
        // And the same figures in each other order.
        let mut contenders = study.contenders;
        for _ in 0..contenders.len() {
            contenders.rotate_left(1);
            let choice = choice(&contenders).expect("verdicts");
            assert_eq!(choice.best.0.name, expected.0, "{drawn:?}");
        }
        // What is the same under another name is as good, and told.
        let best = drawn.policies.iter().find(|it| it.name == expected.0);
        let best = &best.expect("one of them").policy;
        for same in drawn.policies.iter().filter(|it| it.policy == *best) {
            let is_told = same.name == expected.0 || expected.1.contains(&same.name);
            assert!(is_told, "{}: {expected:?} of {drawn:?}", same.name);
        }
        ties += u32::from(expected.1.len() >= 2);
        let verdict = choice(&contenders).expect("verdicts").best.1;
        *verdicts.entry(verdict).or_insert(0) += 1;
    }
    println!("ties of three and more: {ties}; {verdicts:?}");
    assert!(
        ties >= 20 && verdicts.len() >= 3,
        "too little was asked: {ties} {verdicts:?}"
    );
}
