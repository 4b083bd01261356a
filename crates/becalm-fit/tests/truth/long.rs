//! What does a long log cost?

use std::time::{Duration, Instant};

use becalm_fit::{Fit, Options};
use becalm_sim::scenario::Distribution;

use crate::log::Truth;

#[test]
#[ignore = "measures: ten million requests"]
fn ten_million_requests() {
    let time = Distribution::Exponential(Duration::from_millis(20));
    let mut truth = Truth::new("long", 12, time, 0.8);
    truth.seconds = 10_000_000.0 / 480.0;
    let mut log = truth.log();
    for request in &mut log {
        request.client = request.start as u64 % 1000;
        request.target = request.start as u64 / 7 % 100;
        request.id = request.start as u64;
    }
    let (begun, mut fit) = (Instant::now(), Fit::new(Options::default()));
    for request in log {
        fit.push(request);
    }
    let fitted = fit.finish();
    let took = begun.elapsed();
    println!(
        "{} requests in {took:.1?}: {:?}",
        fitted.requests, fitted.workers
    );
    assert_eq!(fitted.workers.value, 12);
}
