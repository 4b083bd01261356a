//! Is a scenario that is worse the same in everything else?

mod by_hand;

use std::time::Duration;

use becalm_sim::scenario::Distribution;
use becalm_sim::scenario::{Arrivals, Effect, Scenario, Trigger};
use becalm_sim::verdict::{calm, longer, louder};
use by_hand::{eager, hung, unhung};

fn secs(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

#[test]
fn a_calm_scenario_has_no_triggers_and_nothing_else_is_changed() {
    assert_eq!(calm(&hung(500.0, &eager())), unhung(500.0, &eager()));
}

#[test]
fn longer_triggers_keep_their_order_and_the_time_after_them() {
    let loss = |from| Trigger::new(secs(from), secs(1.0), Effect::Loss { share: 0.5 });
    let scenario = hung(500.0, &eager()).trigger(loss(13.0));
    let twice = longer(&scenario, 2.0);
    let times =
        |of: &Scenario| -> Vec<_> { of.triggers.iter().map(|it| (it.from, it.length)).collect() };
    let expected = [(secs(10.0), secs(4.0)), (secs(16.0), secs(2.0))];
    assert_eq!(times(&twice), expected);
    // 26 s lie between the last trigger's end and that of the run.
    assert_eq!(twice.horizon, secs(44.0));
    let mut same = twice.clone();
    same.triggers.clone_from(&scenario.triggers);
    same.horizon = scenario.horizon;
    assert_eq!(same, scenario);
    assert_eq!(longer(&scenario, 1.0), scenario);
    assert_eq!(
        longer(&unhung(500.0, &eager()), 2.0),
        unhung(500.0, &eager())
    );
}

#[test]
fn a_longer_deploy_has_each_instance_down_for_longer() {
    let deploy = |each, pause| Effect::Deploy {
        service: "orders".into(),
        each: secs(each),
        pause: secs(pause),
    };
    let trigger = Trigger::new(secs(10.0), secs(6.0), deploy(2.0, 1.0));
    let longer = longer(&unhung(500.0, &eager()).trigger(trigger), 1.5);
    assert_eq!(longer.triggers[0].effect, deploy(3.0, 1.5));
    assert_eq!(longer.triggers[0].length, secs(9.0));
}

fn louder_arrivals(arrivals: Arrivals, factor: f64) -> Arrivals {
    let mut scenario = unhung(500.0, &eager());
    scenario.populations[0].arrivals = arrivals;
    louder(&scenario, factor).populations.remove(0).arrivals
}

#[test]
fn a_louder_scenario_has_so_many_times_as_many_first_tries() {
    assert_eq!(
        louder(&hung(200.0, &eager()), 3.0),
        hung(600.0, &eager()),
        "nothing else is changed"
    );
    let constant = louder_arrivals(Arrivals::Constant(7.0), 2.0);
    assert_eq!(constant, Arrivals::Constant(14.0));
    let bursty = |factor| Arrivals::Bursty {
        rate: 10.0 * factor,
        burst_rate: 100.0 * factor,
        burst: secs(1.0),
        pause: secs(9.0),
    };
    assert_eq!(louder_arrivals(bursty(1.0), 2.0), bursty(2.0));
    let closed = |seconds| Arrivals::Closed {
        think: Distribution::Exponential(secs(seconds)),
    };
    assert_eq!(
        louder_arrivals(closed(8.0), 4.0),
        closed(2.0),
        "they think shorter"
    );
}

/// Played twice as fast a trace would be over in half of the time: it begins again.
#[test]
fn a_louder_trace_is_played_faster_and_again_until_its_end() {
    let seconds = [1.0, 2.0, 10.0];
    let trace = Arrivals::Trace(seconds.map(secs).into());
    let Arrivals::Trace(times) = louder_arrivals(trace.clone(), 2.0) else {
        panic!("it stays a trace")
    };
    let twice = [0.5, 1.0, 5.0, 5.5, 6.0, 10.0].map(secs);
    assert!(times.iter().eq(twice));
    let Arrivals::Trace(times) = louder_arrivals(trace, 0.5) else {
        panic!("it stays a trace")
    };
    // The third would be after the end.
    assert!(times.iter().eq([2.0, 4.0].map(secs)));
}
