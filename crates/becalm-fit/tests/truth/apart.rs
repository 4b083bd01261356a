//! Services that do something before and after a worker has a request, as a proxy and an event loop do.

use std::time::Duration;

use becalm_fit::{Knee, Options, Request};
use becalm_sim::scenario::Distribution;

use crate::log::{Truth, fit};

/// Of each request so much of the mean time is spent before and after a worker has it.
fn apart(truth: &Truth, share: f64) -> Vec<Request> {
    let all = (truth.time.mean() * share / (1.0 - share) * 1e6) as u64;
    let mut log = truth.log();
    for request in &mut log {
        request.start -= i64::try_from(all / 2).unwrap();
        request.duration += all;
    }
    log.sort_by_key(Request::end);
    log
}

#[test]
fn what_the_workers_do_together_is_known_all_the_same() {
    let ms = Duration::from_millis;
    let (mut fits, mut seen) = (0, 0);
    for (time, share) in [
        (Distribution::Constant(ms(20)), 0.05),
        (Distribution::Uniform(ms(10), ms(30)), 0.1),
        (Distribution::Exponential(ms(20)), 0.1),
    ] {
        for (load, seed) in [0.5, 0.65, 0.8, 0.9].into_iter().zip(0..) {
            let mut truth = Truth::new("", 4, time.clone(), load);
            truth.seed = seed;
            let fitted = fit(&apart(&truth, share), Options::default());
            let capacity = fitted.capacity.value / truth.capacity();
            let how = format!(
                "{time:?} at {load}: {:?} {capacity}, {:?}",
                fitted.knee, fitted.workers
            );
            fits += 1;
            if fitted.knee == Knee::Seen {
                seen += 1;
                assert!((0.9..1.05).contains(&capacity), "{how}");
            }
        }
    }
    assert!(seen * 10 >= fits * 9, "{seen} of {fits}");
}
