//! Do the closed forms of queues agree with direct sums, with the balance of the states and with
//! differential equations?

use becalm_sim::oracle::{erlang, finite_queue::FiniteQueue, scalability::SlowingQueue};
use becalm_sim::scenario::Scalability;

fn close(got: f64, expected: f64) -> bool {
    (got - expected).abs() <= 1e-10 * expected.abs().max(1e-3)
}

/// Erlang's B by its definition, the terms as logarithms so that nothing overflows.
fn blocked_by_definition(workers: u32, load: f64) -> f64 {
    let term = |k: u32| f64::from(k) * load.ln() - libm::lgamma(f64::from(k) + 1.0);
    let last = term(workers);
    1.0 / (0..=workers).map(|k| (term(k) - last).exp()).sum::<f64>()
}

#[test]
fn erlang_s_b_is_its_definition() {
    for (workers, load) in [
        (1, 0.5),
        (10, 5.0),
        (10, 20.0),
        (100, 90.0),
        (1000, 5095.0),
        (1000, 950.0),
    ] {
        let right = blocked_by_definition(workers, load);
        let got = erlang::blocked(workers, load);
        // The logarithms of the definition lose some ten digits of the argument's 5 to 6.
        assert!(
            (got / right - 1.0).abs() < 1e-9,
            "{workers} {load}: {got} {right}"
        );
    }
}

#[test]
fn erlang_s_published_values_come_out() {
    // Tables to four digits: 5 erlang on 10 trunks, and the same with delay.
    assert!((erlang::blocked(10, 5.0) - 0.0184).abs() < 5e-5);
    assert!((erlang::waiting(10, 5.0) - 0.0361).abs() < 5e-5);
    assert!((erlang::blocked(2, 1.0) - 0.2).abs() < 1e-12);
    assert!((erlang::waiting(2, 1.0) - 1.0 / 3.0).abs() < 1e-12);
}

#[test]
fn s8_workers_that_do_not_slow_each_other_down_are_the_finite_queue() {
    for (arrivals, workers, places) in [(80.0, 1, 10), (330.0, 3, 40), (2000.0, 12, 0)] {
        let plain = FiniteQueue {
            arrivals,
            served: 100.0,
            workers,
            places,
        };
        let slowing = SlowingQueue {
            arrivals,
            served: 100.0,
            workers,
            places,
            law: Scalability::default(),
        };
        let pairs = plain.states().into_iter().zip(slowing.states());
        assert!(pairs.into_iter().all(|(one, other)| close(other, one)));
    }
}

/// All workers are at work all the time: Gunther's law itself.
#[test]
fn s8_under_a_great_load_the_throughput_is_the_law_s() {
    let law = Scalability {
        contention: 0.05,
        coherency: 0.02,
    };
    for workers in [1, 7, 40] {
        let flooded = SlowingQueue {
            arrivals: 1e7,
            served: 100.0,
            workers,
            places: 100,
            law,
        };
        let n = f64::from(workers);
        let right = 100.0 * n / (1.0 + 0.05 * (n - 1.0) + 0.02 * n * (n - 1.0));
        let got = flooded.throughput();
        assert!((got / right - 1.0).abs() < 1e-3, "{workers}: {got} {right}");
    }
}

#[test]
fn the_wait_for_one_worker_is_that_of_a_single_queue() {
    for busy in [0.1, 0.5, 0.9, 0.99] {
        let right = busy / (100.0 - 100.0 * busy);
        assert!(close(erlang::mean_wait(1, 100.0 * busy, 100.0), right));
    }
    assert!(erlang::mean_wait(2, 200.0, 100.0).is_infinite());
}

#[test]
fn a_long_queue_waits_as_long_as_one_without_bounds() {
    for (workers, arrivals) in [(1, 80.0), (5, 400.0), (100, 9500.0)] {
        let queue = FiniteQueue {
            arrivals,
            served: 100.0,
            workers,
            places: 20_000,
        };
        // Little's law.
        let got = queue.mean_queue() / arrivals;
        let right = erlang::mean_wait(workers, arrivals, 100.0);
        assert!((got / right - 1.0).abs() < 1e-9, "{workers}: {got} {right}");
    }
}

#[test]
fn without_places_the_queue_refuses_what_erlang_s_b_does() {
    for (workers, load) in [(1, 0.5), (10, 20.0), (1000, 1100.0)] {
        let queue = FiniteQueue {
            arrivals: load * 10.0,
            served: 10.0,
            workers,
            places: 0,
        };
        assert!(close(queue.refused(), erlang::blocked(workers, load)));
    }
}

#[test]
fn the_states_are_in_balance_and_all_there() {
    for (workers, places, load) in [
        (1, 0, 2.0),
        (3, 7, 2.5),
        (3, 7, 30.0),
        (1000, 100_000, 1001.0),
        (1000, 100_000, 1.0),
        (2, 10, 1e200),
    ] {
        let queue = FiniteQueue {
            arrivals: load,
            served: 1.0,
            workers,
            places,
        };
        let states = queue.states();
        assert_eq!(states.len(), (workers + places + 1) as usize);
        assert!(close(states.iter().sum(), 1.0));
        for (n, pair) in (1..).zip(states.windows(2)) {
            let (up, down) = (load * pair[0], f64::from(workers.min(n)) * pair[1]);
            // Below the smallest float there is nothing to compare.
            if pair[0].min(pair[1]) > 1e-290 {
                assert!(close(up / down, 1.0), "{workers} {n}: {up} {down}");
            }
        }
    }
}

/// P(Erlang(others, c mu) + Exp(mu) <= tau), by following a request through its stages: the
/// differential equations of a chain that only goes forward, fourth order.
fn in_time_by_stages(others: usize, workers: f64, served: f64, timeout: f64) -> f64 {
    let rates: Vec<f64> = (0..=others)
        .map(|stage| {
            if stage < others {
                workers * served
            } else {
                served
            }
        })
        .collect();
    let slope = |at: &[f64]| -> Vec<f64> {
        (0..at.len())
            .map(|stage| {
                let enters = if stage == 0 {
                    0.0
                } else {
                    rates[stage - 1] * at[stage - 1]
                };
                let leaves = rates.get(stage).map_or(0.0, |rate| rate * at[stage]);
                enters - leaves
            })
            .collect()
    };
    let mut at = vec![0.0; others + 2];
    at[0] = 1.0;
    let steps = 2000;
    let step = timeout / f64::from(steps);
    let plus = |at: &[f64], by: f64, slope: &[f64]| -> Vec<f64> {
        at.iter().zip(slope).map(|(a, s)| a + by * s).collect()
    };
    for _ in 0..steps {
        let first = slope(&at);
        let second = slope(&plus(&at, step / 2.0, &first));
        let third = slope(&plus(&at, step / 2.0, &second));
        let fourth = slope(&plus(&at, step, &third));
        for (stage, value) in at.iter_mut().enumerate() {
            *value += step / 6.0
                * (first[stage] + 2.0 * second[stage] + 2.0 * third[stage] + fourth[stage]);
        }
    }
    at[others + 1]
}

#[test]
fn goodput_is_what_following_each_request_through_the_queue_gives() {
    for (workers, places, arrivals, timeout) in [
        (1, 4, 0.8, 2.0),
        (1, 6, 3.0, 5.0),
        (3, 5, 2.5, 1.5),
        (4, 3, 9.0, 0.3),
        (2, 8, 1.0, 20.0),
    ] {
        let queue = FiniteQueue {
            arrivals,
            served: 1.0,
            workers,
            places,
        };
        let states = queue.states();
        let mut right = 0.0;
        for (n, state) in states.iter().enumerate().take(states.len() - 1) {
            let others = (n + 1).saturating_sub(workers as usize);
            right += arrivals * state * in_time_by_stages(others, f64::from(workers), 1.0, timeout);
        }
        let got = queue.goodput(timeout);
        assert!(
            (got - right).abs() < 1e-9,
            "{workers} {places}: {got} {right}"
        );
    }
}

#[test]
fn where_waits_are_short_only_the_service_itself_is_late() {
    // All waits end in time, to 1e-30. Then 1 - H = e^(-mu tau) (1 - 1/c)^-m in closed form.
    for places in [100, 150, 400] {
        let queue = FiniteQueue {
            arrivals: 1005.0,
            served: 1.0,
            workers: 1000,
            places,
        };
        let timeout = 1.0;
        let mut right = 0.0;
        for (n, state) in (0_i32..).zip(queue.states()).take(1000 + places as usize) {
            let others = (n - 999).max(0);
            let late = f64::exp(-timeout) * 0.999_f64.powi(-others);
            right += 1005.0 * state * (1.0 - late);
        }
        assert!(close(queue.goodput(timeout), right), "{places}");
    }
}

#[test]
fn all_that_is_accepted_is_served_in_the_end() {
    for (workers, places, arrivals) in [(1, 4, 2.0), (1000, 100_000, 1001.0), (7, 0, 3.0)] {
        let queue = FiniteQueue {
            arrivals,
            served: 1.0,
            workers,
            places,
        };
        let right = arrivals * (1.0 - queue.refused());
        assert!(close(queue.goodput(f64::INFINITY), right));
        assert!(close(queue.goodput(1e6), right), "{workers}");
        assert!(close(queue.goodput(0.0), 0.0));
    }
}

#[test]
fn a_queue_that_takes_longer_than_callers_wait_leaves_no_goodput() {
    let overloaded = |places| FiniteQueue {
        arrivals: 1100.0,
        served: 1.0,
        workers: 1000,
        places,
    };
    // A full queue of 100 000 takes 100 s. With exponential service of 1 s, half of the mean wait is
    // far from enough, and twice as long is enough for all but the slowest.
    assert!(overloaded(100_000).goodput(50.0) < 1e-6);
    let served = overloaded(100_000).goodput(200.0);
    assert!((served - 1000.0).abs() < 1e-3, "{served}");
}

#[test]
fn more_time_never_serves_less() {
    let queue = FiniteQueue {
        arrivals: 1050.0,
        served: 10.0,
        workers: 100,
        places: 500,
    };
    let goodputs: Vec<f64> = (0..200)
        .map(|step| queue.goodput(f64::from(step) * 0.01))
        .collect();
    assert!(goodputs.is_sorted());
    assert!(
        goodputs
            .iter()
            .all(|goodput| (0.0..=1000.0 + 1e-9).contains(goodput))
    );
}

#[test]
fn what_is_out_of_range_has_no_answer() {
    let queue = FiniteQueue {
        arrivals: 1.0,
        served: 1.0,
        workers: 1,
        places: 1,
    };
    for wrong in [
        erlang::blocked(1, -1.0),
        erlang::blocked(1, f64::NAN),
        erlang::blocked(erlang::MOST_WORKERS + 1, 1.0),
        erlang::waiting(1, f64::INFINITY),
        erlang::mean_wait(1, 1.0, 0.0),
        erlang::mean_wait(1, f64::NAN, 1.0),
        queue.goodput(-1.0),
        queue.goodput(f64::NAN),
        FiniteQueue {
            workers: 0,
            ..queue
        }
        .goodput(1.0),
        FiniteQueue {
            places: u32::MAX,
            ..queue
        }
        .refused(),
        FiniteQueue {
            arrivals: 0.0,
            ..queue
        }
        .mean_queue(),
        FiniteQueue {
            served: f64::NAN,
            ..queue
        }
        .goodput(1.0),
    ] {
        assert!(wrong.is_nan(), "{wrong}");
    }
}
