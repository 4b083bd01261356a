//! Do the closed forms of retries agree with sums and enumerations that know nothing of them?

use becalm::rng::{Random as _, SplitMix64};
use becalm_sim::oracle::{blip, cascade, flaky, layers, small_clients::SmallClients};

const EPSILON: f64 = 1e-12;

fn close(got: f64, expected: f64) -> bool {
    (got - expected).abs() <= EPSILON * expected.abs().max(1.0)
}

/// The probabilities that are asked about everywhere, both ends among them.
const PROBABILITIES: [f64; 7] = [0.0, 1e-9, 0.1, 0.5, 0.9, 1.0 - 1e-9, 1.0];

/// Beside a million calls that begin at random and draw their waits.
#[test]
fn a_blip_loses_and_asks_what_drawn_calls_do() {
    let ceilings = [0.1, 0.2, 0.4];
    let mut random = SplitMix64::new(3);
    for absence in [0.1, 0.25, 0.6, 1.5] {
        let (mut lost, mut retries) = (0.0, 0.0);
        let calls = 1_000_000;
        for _ in 0..calls {
            let mut left = absence * unit(&mut random);
            for ceiling in ceilings {
                if left > 0.0 {
                    retries += 1.0;
                    left -= ceiling * unit(&mut random);
                }
            }
            lost += f64::from(u8::from(left > 0.0));
        }
        let calls = f64::from(calls);
        let of_form = (
            blip::lost(&ceilings, absence),
            blip::retries(&ceilings, absence),
        );
        assert!(
            (of_form.0 - lost / calls).abs() < 0.0025,
            "{absence}: {of_form:?}"
        );
        assert!(
            (of_form.1 - retries / calls).abs() < 0.005,
            "{absence}: {of_form:?}"
        );
    }
    // No waits: all is lost. An absence below the first ceiling c: D^n / ((n + 1)! c1 c2 c3).
    assert!(close(blip::lost(&[], 1.0), 1.0));
    assert!(close(
        blip::lost(&ceilings, 0.1),
        1e-4 / (24.0 * 0.1 * 0.008)
    ));
    let longest = blip::ridden_out(&ceilings, 0.1, 5.0);
    assert!(close(longest * blip::retries(&ceilings, longest), 0.5));
    assert!(blip::lost(&ceilings, 0.0).is_nan());
}

fn unit(random: &mut SplitMix64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "53 bits")]
    let bits = (random.next_u64() >> 11) as f64;
    bits / 9_007_199_254_740_992.0
}

#[test]
fn attempts_and_success_are_the_sums_over_each_attempt() {
    for p in PROBABILITIES {
        for attempts in [1, 2, 4, 10, 100] {
            let mut reached = 1.0;
            let mut sum = 0.0;
            for _ in 0..attempts {
                sum += reached;
                reached *= p;
            }
            assert!(
                close(flaky::attempts_per_call(p, attempts), sum),
                "{p} {attempts}"
            );
            assert!(
                close(flaky::success(p, attempts), 1.0 - reached),
                "{p} {attempts}"
            );
        }
    }
}

#[test]
fn without_a_bound_a_call_makes_attempts_until_one_succeeds() {
    let unlimited = flaky::attempts_per_call(0.75, u32::MAX);
    assert!(close(unlimited, 4.0), "{unlimited}");
}

#[test]
fn the_budget_binds_only_what_asks_for_more() {
    assert!(close(flaky::budgeted(0.5, 4, 0.1), 1.1));
    assert!(close(
        flaky::budgeted(0.05, 4, 0.1),
        flaky::attempts_per_call(0.05, 4)
    ));
    assert!(close(flaky::budget_bound(0.1, 10.0, 20.0, 1000.0), 1.3));
}

#[test]
fn retries_that_successes_pay_for_are_the_fixed_point() {
    for ratio in [0.01, 0.1, 0.5] {
        for p in [0.0, 0.3, 0.9, 1.0] {
            let mut retries = 0.0;
            for _ in 0..200 {
                retries = ratio * (1.0 + retries) * (1.0 - p);
            }
            assert!(close(flaky::retries_paid_by_successes(ratio, p), retries));
        }
    }
    assert!(flaky::retries_paid_by_successes(2.0, 0.1).is_infinite());
}

/// Runs nested layers over the outcomes that are given as bits, and tells whether the call
/// succeeded. A request makes `fan_out` calls, all of them whatever becomes of the others.
fn request(layers: u32, attempts: u32, fan_out: u32, outcomes: &mut impl FnMut() -> bool) -> bool {
    if layers == 0 {
        return outcomes();
    }
    let mut all = true;
    for _ in 0..fan_out {
        all &= (0..attempts).any(|_| request(layers - 1, attempts, fan_out, outcomes));
    }
    all
}

/// Attempts at the bottom, by running the layers over each sequence of outcomes.
fn enumerated(p: f64, attempts: u32, layers: u32, fan_out: u32) -> f64 {
    let longest = (attempts * fan_out).pow(layers);
    let mut mean = 0.0;
    for outcomes in 0_u32..1 << longest {
        let mut used = 0;
        request(layers, attempts, fan_out, &mut || {
            used += 1;
            outcomes >> (used - 1) & 1 == 1
        });
        // What comes after the last attempt is the same whatever it is.
        let succeeded = f64::from(outcomes.count_ones());
        let failed = f64::from(longest) - succeeded;
        mean += f64::from(used) * (1.0 - p).powf(succeeded) * p.powf(failed);
    }
    mean
}

#[test]
fn layers_multiply_as_running_them_does() {
    for p in [0.0, 0.2, 0.5, 0.9, 1.0] {
        for (attempts, depth, fan_out) in [(2, 2, 1), (2, 3, 1), (4, 2, 1), (2, 2, 2), (1, 2, 3)] {
            let right = enumerated(p, attempts, depth, fan_out);
            let got = layers::with_fan_out(p, attempts, depth, fan_out);
            assert!(
                close(got, right),
                "{p} {attempts} {depth} {fan_out}: {got} {right}"
            );
            if fan_out == 1 {
                let got = layers::attempts_at_bottom(p, attempts, depth);
                assert!(close(got, right), "{p} {attempts} {depth}: {got} {right}");
            }
        }
    }
}

#[test]
fn the_published_multiples_come_out() {
    assert!(close(layers::attempts_at_bottom(1.0, 3, 5), 243.0));
    assert!(close(layers::attempts_at_bottom(1.0, 4, 3), 64.0));
    assert!(close(layers::with_fan_out(1.0, 4, 3, 1), 64.0));
    assert!(close(layers::added(1.0, 4, 3), 10.0));
    assert!(close(layers::added(0.5, 4, 1), 1.875) && close(layers::added(0.0, 4, 3), 1.0));
    assert!(close(layers::budgeted(0.1, 3), 1.331));
    // A nineteenth of the calls is paid for below: 20/19 attempts, 10/19 of the calls succeed; an
    // eighteenth above.
    assert!(close(
        layers::budgeted_by_successes(0.5, 4, 0.1, 2),
        10.0 / 9.0
    ));
    assert!(close(layers::budgeted_by_successes(1.0, 4, 0.1, 3), 1.0));
    let few = layers::budgeted_by_successes(0.01, 4, 0.1, 2);
    assert!(close(few, layers::attempts_at_bottom(0.01, 4, 2)), "{few}");
    assert!(close(layers::fan_out(5, 3), 125.0));
    assert!(close(layers::with_fan_out(1.0, 4, 2, 3), 144.0));
}

#[test]
fn deep_layers_stop_at_the_first_success() {
    let got = layers::attempts_at_bottom(0.75, 10, 400);
    assert!(close(got, 4.0), "{got}");
    assert!(layers::attempts_at_bottom(1.0, 10, 400).is_infinite());
}

/// Attempts per second, by following the first tries, first retries, second retries, and so on until
/// they settle.
fn settled(capacity: f64, first_tries: f64, attempts: usize) -> f64 {
    let mut rates = vec![first_tries; attempts];
    for _ in 0..20_000 {
        let all: f64 = rates.iter().sum();
        let refused = (1.0 - capacity / all).max(0.0);
        for generation in (1..attempts).rev() {
            rates[generation] = rates[generation - 1] * refused;
        }
    }
    rates.iter().sum()
}

#[test]
fn a_cascade_settles_where_following_each_retry_does() {
    for (capacity, first_tries) in [(10_000.0, 10_100.0), (100.0, 150.0), (100.0, 1000.0)] {
        for attempts in [1_u32, 2, 4, 10] {
            let right = settled(capacity, first_tries, attempts as usize);
            let got = cascade::attempts_per_second(capacity, first_tries, attempts);
            assert!(
                (got / right - 1.0).abs() < 1e-9,
                "{first_tries} {attempts}: {got} {right}"
            );
        }
    }
}

#[test]
fn a_cascade_has_its_ends() {
    assert!(close(cascade::attempts_per_second(100.0, 100.0, 4), 100.0));
    assert!(close(cascade::attempts_per_second(100.0, 40.0, 4), 40.0));
    assert!(close(cascade::attempts_per_second(0.0, 40.0, 4), 160.0));
    let nearly_none = cascade::attempts_per_second(1e-9, 40.0, 4);
    assert!((nearly_none - 160.0).abs() < 1e-6, "{nearly_none}");
    assert!(close(cascade::goodput(100.0, 150.0), 100.0));
    assert!(close(cascade::goodput(100.0, 50.0), 50.0));
}

#[test]
fn budgets_of_small_clients_bind_once_their_bursts_are_less_than_what_is_wanted() {
    let fleet = |clients| SmallClients {
        clients,
        first_tries: 1000.0,
        failures: 1.0,
        attempts: 4,
        ratio: 0.1,
        burst: 10.0,
    };
    assert!(close(fleet(1.0).retries_wanted(), 3000.0));
    assert!(fleet(299.0).is_bounded());
    assert!(!fleet(300.0).is_bounded());
    // 3000 tokens at the start are the 3000 wanted, and nothing is earned.
    assert!(close(fleet(300.0).amplification(), 4.0));
    assert!(close(fleet(100.0).amplification(), 2.0));
    assert!(close(fleet(300.0).shared_amplification(), 1.01));
    let mut half = fleet(1.0);
    half.failures = 0.5;
    // 15 of 16 calls succeed at the most.
    assert!(close(half.amplification(), 1.01 + 0.1 * 15.0 / 16.0));
}

#[test]
fn what_is_out_of_range_has_no_answer() {
    for wrong in [
        flaky::attempts_per_call(-0.1, 4),
        flaky::attempts_per_call(1.1, 4),
        flaky::attempts_per_call(f64::NAN, 4),
        flaky::attempts_per_call(0.5, 0),
        flaky::success(0.5, 0),
        flaky::budget_bound(0.1, 10.0, 1.0, 0.0),
        flaky::budgeted(f64::NAN, 4, 0.1),
        flaky::budgeted(0.5, 4, f64::NAN),
        flaky::retries_paid_by_successes(-1.0, 0.5),
        layers::attempts_at_bottom(0.5, 0, 2),
        layers::with_fan_out(0.5, 4, layers::MOST_LAYERS + 1, 1),
        layers::with_fan_out(2.0, 4, 0, 1),
        layers::budgeted(f64::INFINITY, 3),
        layers::budgeted_by_successes(0.5, 4, f64::NAN, 2),
        layers::budgeted_by_successes(0.5, 4, 0.1, layers::MOST_LAYERS + 1),
        cascade::attempts_per_second(100.0, 150.0, 0),
        cascade::attempts_per_second(-1.0, 150.0, 4),
        cascade::attempts_per_second(1.0, f64::INFINITY, 4),
        cascade::goodput(f64::NAN, 1.0),
    ] {
        assert!(wrong.is_nan(), "{wrong}");
    }
}
