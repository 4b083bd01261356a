//! Are calls slow when they are, and not before or after?

mod worlds;

use std::time::Duration;

use becalm::Policy;
use becalm_sim::catalogue::Candidate;
use becalm_sim::record::Endings;
use becalm_sim::scenario::Distribution;
use becalm_sim::scenario::{Arrivals, Effect, Scenario, Service};
use becalm_sim::study::{ChartKind, Plan};
use becalm_sim::verdict::{Brief, ByPhase, judge, study};
use becalm_sim::world::run;
use worlds::{attempts, constant, impatient, in_ms, ms, named, once, secs, trigger, world};

fn by_phase(scenario: &Scenario) -> ByPhase {
    assert_eq!(scenario.validate(), Ok(()));
    judge(scenario, &run(scenario, 1)).by_phase
}

fn quantiles(of: &Endings) -> [f64; 2] {
    [0.5, 0.99].map(|share| in_ms(of.latency.quantile(share)))
}

fn near(got: [f64; 2], right: [f64; 2], tolerance: f64) -> bool {
    let mut pairs = got.iter().zip(right);
    pairs.all(|(got, right)| (got / right - 1.0).abs() < tolerance)
}

/// M/M/1: the time in the system is exponential with rate mu - lambda (Kleinrock 1975, sec. 3.2), so
/// that ln 2 and ln 100 over it are its median and its 99th percentile.
#[test]
fn each_phase_has_the_latency_of_its_own_load() {
    let service = Service::new("service", 1, Distribution::Exponential(ms(1)));
    let load = Effect::Load {
        population: named("clients"),
        factor: 1.4,
    };
    let scenario = world(secs(180), service, Arrivals::Poisson(500.0), once());
    let found = by_phase(&scenario.trigger(trigger(secs(60), secs(60), load)));
    // Relaxation times of 12 and 37 ms at rates of 500 and 300 a second: some 2500 and 800
    // independent readings, of which quantiles deviate by at most 4.3 % and 7.6 %.
    let right = |rate: f64| [693.1 / rate, 4605.2 / rate];
    let (before, during) = (quantiles(&found.before), quantiles(&found.during));
    assert!(near(before, right(500.0), 0.17), "{before:?}");
    assert!(near(during, right(300.0), 0.3), "{during:?}");
    let recovered = quantiles(&found.recovered);
    assert!(near(recovered, right(500.0), 0.17), "{recovered:?}");
    // Goodput never left.
    assert_eq!(found.recovering, Endings::default());
}

/// A worker that needs 1 ms and hangs from 10 s to 12 s, and a call each 2 ms. One that comes x s
/// into the hang has 500 x before it, and is done 2 - x/2 s after it came; one that comes y s after it
/// is done after 1 - y/2, until nobody waits at 14 s.
fn hung(policy: Policy, timeout: Duration) -> Scenario {
    hung_from(secs(10), policy, timeout)
}

fn hung_from(from: Duration, policy: Policy, timeout: Duration) -> Scenario {
    let service = Service::new("service", 1, constant(1));
    let hang = Effect::Hang {
        service: named("service"),
    };
    impatient(
        secs(20),
        service,
        Arrivals::Constant(500.0),
        policy,
        timeout,
    )
    .trigger(trigger(from, secs(2), hang))
}

/// What a bucket of a histogram allows.
const EXACT: f64 = 0.017;

#[test]
fn calls_count_where_they_began() {
    let found = by_phase(&hung(once(), secs(10)));
    assert!(near(quantiles(&found.before), [1.0, 1.0], EXACT));
    let during = quantiles(&found.during);
    assert!(near(during, [1500.0, 1990.0], EXACT), "{during:?}");
    assert_eq!(found.during.latency.len(), 1000);
    for endings in [&found.before, &found.during, &found.recovered] {
        assert_eq!(endings.given_up(), Some(0.0));
    }
}

#[test]
fn what_is_slow_until_goodput_is_back_is_apart_from_what_is_after() {
    let found = by_phase(&hung(once(), ms(600)));
    assert_eq!(found.before.given_up(), Some(0.0));
    // From 2 ms on; the last second before the hang is in no phase.
    assert_eq!(found.before.latency.len(), 4499);
    assert_eq!(found.during.given_up(), Some(1.0));
    assert_eq!(found.during.latency.quantile(0.5), None);
    // From 12.8 s on calls are in time, and 13 s is the end of the half second in which that is.
    let recovering = &found.recovering;
    assert_eq!(recovering.gave_up + recovering.latency.len(), 500);
    assert!(recovering.gave_up.abs_diff(400) <= 2, "{recovering:?}");
    let slow = quantiles(recovering);
    assert!(near(slow, [550.0, 599.0], EXACT), "{slow:?}");
    // Up to 18.4 s, since a call that begins later may not end: 2700, of which the first 500 wait.
    assert_eq!(found.recovered.latency.len(), 2700);
    let after = quantiles(&found.recovered);
    assert!(near(after, [1.0, 474.0], EXACT), "{after:?}");
    assert_eq!(found.recovered.given_up(), Some(0.0));
}

#[test]
fn what_never_comes_back_is_never_recovered() {
    let found = by_phase(&hung(attempts(4, ms(0)), ms(600)));
    assert_eq!(found.recovered, Endings::default());
    assert_eq!(found.recovering.given_up(), Some(1.0));
    // Those from 12 s to 17.6 s have had the time for four attempts.
    assert_eq!(found.recovering.gave_up, 2800);
}

#[test]
fn phases_begin_with_the_trigger_wherever_that_is() {
    let found = by_phase(&hung_from(ms(10_200), once(), secs(10)));
    // From 2 ms to 9.2 s, and from there to the hang no phase.
    assert_eq!(found.before.latency.len(), 4599);
    assert_eq!(found.during.latency.len(), 1000);
    let during = quantiles(&found.during);
    assert!(near(during, [1500.0, 1990.0], EXACT), "{during:?}");
}

#[test]
fn a_study_has_both_quantiles_and_leaves_out_the_calls_under_way() {
    let mut plan = Plan::default();
    plan.is_quick = true;
    plan.runs = Some(1);
    let own = Candidate::new(named("own"), once());
    let study = study(&Brief::default(), &[own], &plan, |policy| {
        hung(policy.clone(), ms(600))
    });
    let study = study.unwrap();
    let contender = &study.contenders[0];
    let value = |id: &str| {
        let found = contender.figures.iter().find(|it| it.id == id);
        found.and_then(|it| it.value).expect("a value")
    };
    let recovered = ["p50", "p99"].map(|it| value(&format!("latency_recovered_{it}_ms")));
    assert!(near(recovered, [1.0, 474.0], EXACT), "{recovered:?}");
    for (charts, lines) in [(&contender.charts, 2), (&study.charts, 1)] {
        let chart = charts
            .iter()
            .find(|it| it.id == "latency")
            .expect("a chart");
        let ChartKind::Lines(of) = &chart.kind else {
            panic!("lines");
        };
        assert_eq!(of.len(), lines);
        for (name, points) in of {
            let (last, _) = points[points.len() - 1];
            assert!(last < 18.39, "{name}: {last}");
        }
    }
}
