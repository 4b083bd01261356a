//! Does a verdict hang on the horizon? A run that ends too soon is told as such, and never as metastable.

mod drawn;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use becalm::{Budget, Policy};
use becalm_sim::record::{Recording, Stopped};
use becalm_sim::scenario::Scenario;
use becalm_sim::study::{Plan, Verdict};
use becalm_sim::tune::{Space, tune};
use becalm_sim::verdict::{Brief, Ruling, Runs, Thoroughness, rule, study_with};
use becalm_sim::world;
use drawn::{Drawn, any_scenario, seconds};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// Rules on drawn services.
trait Ruled {
    fn ruled(&self, after: u64, each: u32) -> Ruling;
    fn small(&self, after: u64, each: u32) -> Ruling;
    fn small_for(&self, after: Duration, each: u32) -> Ruling;
}

impl Ruled for Drawn {
    fn ruled(&self, after: u64, each: u32) -> Ruling {
        ruled(&self.scenario(after), each)
    }

    /// At a quarter of its size.
    fn small(&self, after: u64, each: u32) -> Ruling {
        self.small_for(seconds(after), each)
    }

    fn small_for(&self, after: Duration, each: u32) -> Ruling {
        let mut small = Self {
            load: self.load / 4.0,
            ..self.clone()
        }
        .scenario(0);
        small.services[0].workers = 1;
        small.horizon = small.triggers_end() + after;
        ruled(&small, each)
    }
}

fn ruled(scenario: &Scenario, each: u32) -> Ruling {
    let plan = Plan::default();
    let run: fn(&Scenario, u64) -> Recording = world::run;
    rule(scenario, &Runs::new(run, &plan), each)
}

/// What waits when the hang ends is served at the rate that load leaves: 40 a second of 320.
fn slow() -> Drawn {
    Drawn {
        load: 160.0,
        queue: None,
        timeout_ms: 250,
        policy: Policy::default().attempts(1),
        hang_ms: 2_000,
    }
}

#[test]
fn s4_a_queue_that_still_shrinks_is_too_short_and_the_horizon_that_it_says_is_enough() {
    let ruling = slow().ruled(3, 5);
    assert_eq!(ruling.verdict, Verdict::TooShort, "{}", ruling.evidence);
    let needs = ruling.later.and_then(|it| it.needs).expect("a horizon");
    for words in [
        "The runs end too soon to say: in 5 of 5 runs the service is not back 3.0 s after the trigger",
        "in 5 of 5 runs that go on it comes back, typically ",
        &format!("Make the horizon at least {} s.", needs.as_secs()),
    ] {
        assert!(
            ruling.evidence.contains(words),
            "{words}: {}",
            ruling.evidence
        );
    }
    let enough = needs.saturating_sub(seconds(12)).as_secs();
    let ruling = slow().ruled(enough, 5);
    assert!(ruling.verdict.is_back(), "{}", ruling.evidence);
    let ruling = slow().ruled(4 * enough, 5);
    assert!(ruling.verdict.is_back(), "{}", ruling.evidence);
}

/// Of 20 s of hang there is what is served in 80 s.
#[test]
fn s4_a_run_that_goes_on_and_is_still_not_back_is_too_short_while_its_queue_shrinks() {
    let slower = Drawn {
        hang_ms: 20_000,
        ..slow()
    };
    let ruling = slower.ruled(3, 5);
    assert_eq!(ruling.verdict, Verdict::TooShort, "{}", ruling.evidence);
    let words = "and at the end it is still on its way";
    assert!(ruling.evidence.contains(words), "{}", ruling.evidence);
    let needs = ruling.later.and_then(|it| it.needs).expect("a horizon");
    let ruling = slower.ruled(needs.as_secs() - 30, 5);
    assert!(ruling.verdict.is_back(), "{}", ruling.evidence);
}

/// What waits after three minutes of hang is served in twelve.
#[test]
fn s4_where_no_horizon_up_to_ten_minutes_is_enough_none_is_asked_for() {
    let hopeless = Drawn {
        hang_ms: 180_000,
        ..slow()
    };
    let ruling = hopeless.small(3, 3);
    assert_eq!(ruling.verdict, Verdict::TooShort, "{}", ruling.evidence);
    let later = ruling.later.expect("runs went on");
    assert_eq!(later.needs, None);
    let words = format!("Runs of up to {} s do not show it", later.horizon.as_secs());
    assert!(ruling.evidence.contains(&words), "{}", ruling.evidence);
    assert!(later.horizon >= seconds(400), "{:?}", later.horizon);
}

/// Services near their capacity, whose queues shrink slowly.
#[test]
fn s4_the_horizon_that_is_asked_for_is_enough() {
    let near = |it: Drawn, share: f64, after| {
        (
            Drawn {
                load: 200.0 * share,
                ..it
            },
            after,
        )
    };
    let near = (any_scenario(), 0.8_f64..1.0, 3_u64..13).prop_map(move |it| near(it.0, it.1, it.2));
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let (mut asked, mut hopeless) = (0, 0);
    for _ in 0..40 {
        let (drawn, after) = near.new_tree(&mut runner).expect("a case").current();
        let ruling = drawn.small(after, 3);
        if ruling.verdict != Verdict::TooShort {
            continue;
        }
        let later = ruling.later.expect("runs went on");
        let Some(needs) = later.needs else {
            hopeless += 1;
            assert!(
                ruling.evidence.contains("Runs of up to "),
                "{}",
                ruling.evidence
            );
            continue;
        };
        asked += 1;
        let after = needs.saturating_sub(drawn.scenario(0).triggers_end());
        let enough = drawn.small_for(after, 3);
        let (verdict, evidence) = (enough.verdict, enough.evidence);
        assert_ne!(verdict, Verdict::TooShort, "{needs:?} {evidence} {drawn:?}");
    }
    println!("a horizon was asked for {asked} times, and none {hopeless} times");
    assert!(asked >= 5, "too little was asked: {asked}");
}

#[test]
fn s4_a_storm_is_metastable_however_short_and_however_long_its_runs_are() {
    let policy = Policy::fixed(Duration::ZERO).budget(Budget::None);
    let storm = Drawn {
        queue: Some(200),
        policy,
        ..slow()
    };
    for after in [3, 12, 60] {
        let ruling = storm.ruled(after, 5);
        assert_eq!(ruling.verdict, Verdict::Metastable, "{}", ruling.evidence);
    }
}

/// What is worse is asked about for as long as it takes.
#[test]
fn s4_a_stable_service_is_no_vulnerable_one_because_of_a_short_horizon() {
    let quick = Drawn {
        load: 60.0,
        queue: Some(50),
        ..slow()
    };
    let verdicts = [3, 10, 40].map(|after| quick.ruled(after, 5).verdict);
    assert_eq!(verdicts, [Verdict::Stable; 3]);
}

#[test]
fn s4_where_the_horizon_is_the_studys_choice_it_takes_as_long_as_it_needs() {
    let plan = Plan::default();
    let candidates = [becalm_sim::catalogue::Candidate::new("own", slow().policy)];
    let study = |goes_on: bool| {
        let build = |policy: &Policy| {
            let mut scenario = slow().scenario(3).under(policy);
            scenario.goes_on = goes_on;
            scenario
        };
        let run: fn(&Scenario, u64) -> Recording = world::run;
        let thorough = Thoroughness::QUICK;
        study_with(run, &Brief::default(), thorough, &candidates, &plan, build).expect("small")
    };
    let asked = study(false);
    assert_eq!(asked.contenders[0].verdict, Some(Verdict::TooShort));
    let needs = asked.contenders[0]
        .value("needed_horizon_s")
        .expect("a figure");
    assert!(needs > 15.0, "{needs}");
    let chosen = study(true);
    assert!(chosen.contenders[0].verdict.is_some_and(Verdict::is_back));
    assert!(chosen.answer.contains("The runs are "), "{}", chosen.answer);
    assert_eq!(chosen.contenders[0].value("needed_horizon_s"), None);
}

/// How many run at once decides nothing.
#[test]
fn s4_runs_that_go_on_and_find_no_room_beside_others_are_made_again() {
    let scenario = slow().scenario(3);
    let was_crowded = AtomicBool::new(false);
    let run = |longer: &Scenario, seed| {
        let is_longer = longer.horizon > scenario.horizon;
        if is_longer && !was_crowded.swap(true, Ordering::Relaxed) {
            let mut crowded = Recording::default();
            crowded.stopped = Some(Stopped::Crowded);
            return crowded;
        }
        world::run(longer, seed)
    };
    let ruling = rule(&scenario, &Runs::new(run, &Plan::default()), 5);
    assert!(was_crowded.into_inner());
    assert_eq!(ruling, slow().ruled(3, 5));
}

/// What waits after a minute of hang is served in two and a half: runs that go on for a minute are too short as well.
#[test]
fn s4_tune_takes_as_long_as_a_study_where_the_horizon_is_its_choice() {
    let hung = Drawn {
        load: 36.0,
        hang_ms: 60_000,
        ..slow()
    };
    let build = |policy: &Policy| {
        let mut scenario = hung.scenario(3).under(policy).any_horizon();
        scenario.services[0].workers = 1;
        scenario
    };
    let mut plan = Plan::default();
    (plan.runs, plan.is_quick) = (Some(3), true);
    let candidates = [becalm_sim::catalogue::Candidate::new(
        "own",
        hung.policy.clone(),
    )];
    let run: fn(&Scenario, u64) -> Recording = world::run;
    let (brief, quick) = (Brief::default(), Thoroughness::QUICK);
    let study = study_with(run, &brief, quick, &candidates, &plan, build).expect("small");
    assert!(study.contenders[0].verdict.is_some_and(Verdict::is_back));
    let space = Space::default().policies(1);
    let tuning = tune(&brief, &space, &hung.policy, &plan, build).expect("small");
    assert_eq!(tuning.ruled.given, study.contenders[0].verdict);
    assert_eq!(tuning.ruled.needs, None, "{:?}", tuning.reasons);
}

/// Of 1 500 runs, each of which is left out once.
#[test]
fn s3_figures_take_time_that_grows_with_the_runs_and_not_with_their_square() {
    let one = world::run(&slow().scenario(20), 1);
    let run = |_: &Scenario, _| one.clone();
    let mut plan = Plan::default();
    (plan.runs, plan.is_quick) = (Some(1_500), true);
    let candidates = [becalm_sim::catalogue::Candidate::new("own", slow().policy)];
    let build = |policy: &Policy| slow().scenario(20).under(policy);
    let (brief, quick) = (Brief::default(), Thoroughness::QUICK);
    let begun = Instant::now();
    let study = study_with(run, &brief, quick, &candidates, &plan, build).expect("small");
    assert!(study.contenders[0].value("latency_p99_ms").is_some());
    let took = begun.elapsed();
    assert!(took < seconds(40), "{took:?}");
}

/// Of 10 drawn services none may; of 80 (`scripts/prove horizons`) one: a storm that chance ends after minutes.
#[test]
fn s4_a_longer_horizon_never_makes_a_metastable_service_a_stable_one_or_the_reverse() {
    let config = Config::default();
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let cases: u32 =
        std::env::var("BECALM_HORIZONS").map_or(10, |it| it.parse().expect("a number"));
    let (mut seen, mut off) = ([0_u32; 4], Vec::new());
    for _ in 0..cases {
        let drawn = any_scenario()
            .new_tree(&mut runner)
            .expect("a scenario")
            .current();
        let verdicts = [3, 8, 20, 80].map(|after| drawn.ruled(after, 3).verdict);
        for verdict in verdicts {
            let at = match verdict {
                Verdict::Stable | Verdict::Vulnerable => 0,
                Verdict::TooShort => 1,
                Verdict::Metastable => 2,
                _ => 3,
            };
            seen[at] += 1;
        }
        let has = |wanted| verdicts.contains(&wanted);
        if has(Verdict::Metastable) && has(Verdict::Stable) {
            off.push((verdicts, drawn));
        }
    }
    println!("{seen:?} of {cases}, off: {off:#?}");
    assert!(off.len() * 50 <= cases as usize, "{off:#?}");
    assert!(
        seen.iter().take(3).all(|it| *it > 0),
        "nothing was asked: {seen:?}"
    );
}
