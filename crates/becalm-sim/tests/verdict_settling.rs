//! When is a service that is not back still on its way?

mod by_hand;

use by_hand::{course, eager, hung};

/// What waits, and how many of a thousand calls succeed, in each of the eight stretches that are compared.
#[derive(Clone, Copy)]
struct Course {
    waits: [u32; 8],
    succeed: [u32; 8],
}

/// Whether a service comes back that serves 1,000 requests a second, where each of 500 calls makes this many attempts. The seconds
/// that are not compared say the opposite: little waits before them, and much after them.
fn is_settling(course_of: Course, attempts: u32) -> bool {
    let mut run = course(40, 500, attempts, |_| true);
    // The end of what is judged is at 38.7 s, and eight stretches of 3.3 s begin at 12.3 s.
    let stretch = |bucket: usize| bucket.checked_sub(123).map(|it| it / 33);
    for bucket in 0..400 {
        let [waits, succeed] = match stretch(bucket) {
            None => [0, 1_000],
            Some(it @ 0..8) => [course_of.waits[it], course_of.succeed[it]],
            Some(_) => [1_000_000, 0],
        };
        run.services[0].queue[bucket] = waits;
        run.populations[0].calls[bucket] = 1_000;
        run.populations[0].succeeded_of[bucket] = succeed;
    }
    becalm_sim::verdict::judge(&hung(500.0, &eager()), &run).is_settling
}

const STILL: Course = Course {
    waits: [50; 8],
    succeed: [100; 8],
};

/// Queues that shrink, and the number of pairs in which one grows.
const BUT_FOR: [(u32, [u32; 8]); 4] = [
    (2, [8, 7, 6, 5, 3, 2, 4, 1]),
    (3, [8, 7, 6, 5, 2, 3, 4, 1]),
    (8, [8, 7, 4, 2, 3, 5, 6, 1]),
    (9, [8, 7, 3, 2, 4, 5, 6, 1]),
];

#[test]
fn what_waits_shrinks_in_nearly_every_pair_and_in_most_where_no_more_comes_than_is_served() {
    for (pairs, waits) in BUT_FOR {
        let it = Course { waits, ..STILL };
        // As much as can be served is still too much.
        for (attempts, most) in [(1, 8), (2, 2), (4, 2)] {
            assert_eq!(
                is_settling(it, attempts),
                pairs <= most,
                "{pairs} {attempts}"
            );
        }
    }
}

#[test]
fn more_and_more_calls_succeed_in_nearly_every_pair_whatever_comes() {
    for (pairs, order) in BUT_FOR {
        let succeed = order.map(|it| 100 * (9 - it));
        let it = Course { succeed, ..STILL };
        for attempts in [1, 4] {
            assert_eq!(is_settling(it, attempts), pairs <= 2, "{pairs}");
        }
    }
}

#[test]
fn a_way_that_is_less_than_a_twentieth_is_none() {
    for (step, is_way) in [(6, false), (8, true)] {
        let waits = [0, 1, 2, 3, 4, 5, 6, 7].map(|it| 1_000 - step * it);
        assert_eq!(is_settling(Course { waits, ..STILL }, 4), is_way);
        let succeed = [0, 1, 2, 3, 4, 5, 6, 7].map(|it| 200 + step * it);
        assert_eq!(is_settling(Course { succeed, ..STILL }, 4), is_way);
    }
    assert!(!is_settling(STILL, 1) && !is_settling(STILL, 4));
}

/// What comes after the trigger is too little to be compared.
#[test]
fn a_run_that_ends_with_its_trigger_is_not_on_its_way() {
    let mut scenario = hung(500.0, &eager());
    scenario.horizon = scenario.triggers_end() + 7 * scenario.bucket;
    let run = course(13, 500, 4, |second| second >= 10);
    assert!(!becalm_sim::verdict::judge(&scenario, &run).is_settling);
}
