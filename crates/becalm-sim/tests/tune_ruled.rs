//! Are the verdicts that `tune` tells those of a study, on the recommended and on the given policy?

use std::time::Duration;

use becalm::{Budget, Policy};
use becalm_sim::catalogue::Candidate;
use becalm_sim::scenario::{
    Arrivals, Distribution, Effect, Population, Scenario, Service, Trigger,
};
use becalm_sim::study::Plan;
use becalm_sim::tune::{Space, Tuned, tune};
use becalm_sim::verdict::{Brief, study};

/// A service that can serve 50 requests a second gets `load` a second.
fn scenario(load: f64, policy: &Policy) -> Scenario {
    let time = Distribution::Exponential(Duration::from_millis(20));
    let arrivals = Arrivals::Poisson(load);
    let clients = Population::new("users", "orders", arrivals, policy.clone());
    let effect = Effect::Hang {
        service: "orders".into(),
    };
    let (from, length) = (Duration::from_secs(5), Duration::from_secs(1));
    Scenario::new("orders", Duration::from_secs(15))
        .service(Service::new("orders", 1, time).queue(40))
        .population(clients.timeout(Duration::from_millis(300)))
        .trigger(Trigger::new(from, length, effect))
}

#[test]
fn s4_both_verdicts_are_those_of_a_study_of_the_same_policy() {
    let mut plan = Plan::default();
    (plan.runs, plan.is_quick) = (Some(3), true);
    let eager = Policy::fixed(Duration::ZERO).budget(Budget::None);
    let (mut differ, mut kept) = (0, 0);
    for (load, given) in [
        (15.0, eager.clone()),
        (25.0, eager.clone()),
        (35.0, eager),
        (30.0, Policy::default().attempts(1)),
        (47.0, Policy::default()),
    ] {
        let build = |policy: &Policy| scenario(load, policy);
        let brief = Brief::default();
        let space = Space::default().policies(6);
        let tuning = tune(&brief, &space, &given, &plan, build).expect("small");
        let verdict = |tuned: &Tuned| {
            let candidate = Candidate::new("it", tuned.policy.clone());
            let candidate = candidate.with(tuned.changes.iter().cloned());
            let study = study(&brief, &[candidate], &plan, build).expect("small");
            study.contenders[0].verdict
        };
        let right = (verdict(&tuning.recommended), verdict(&tuning.given));
        let ruled = (tuning.ruled.recommended, tuning.ruled.given);
        assert_eq!(ruled, right, "{load}: {:?}", tuning.reasons);
        differ += u32::from(right.0 != right.1);
        kept += u32::from(tuning.recommended.policy == given);
    }
    assert!(differ >= 2 && kept >= 1, "{differ} differ, {kept} are kept");
}
