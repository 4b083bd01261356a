//! Conformance, *Budgets*, of the adaptive throttle: does it forget?

use std::time::Duration;

use becalm::rng::{Random, SplitMix64};
use becalm::{
    Throttle,
    throttle::{AdaptiveThrottle, Priority},
    time::Instant,
};

/// A million successes, and then a server that rejects everything. Within its window the throttle
/// sheds nine of ten, and the first after half of it: K is 2, so as many rejections as there are
/// accepts left in the window. (A counter that only knows totals needs a million rejections.)
#[test]
fn conformance_12_after_a_million_successes_it_reacts_within_its_window() {
    let throttle = AdaptiveThrottle::new(Throttle::default());
    let mut now = Instant::ZERO;
    for _ in 0..1_000_000 {
        now = now.after(Duration::from_millis(1));
        assert!(throttle.admit(now, Priority::Critical, || 0).is_ok());
        throttle.on_accepted(now, Priority::Critical);
    }
    let (down, mut random) = (now, SplitMix64::new(7));
    let mut first_shed = None;
    while now.since(down) < Duration::from_secs(120) {
        now = now.after(Duration::from_millis(1));
        if throttle
            .admit(now, Priority::Critical, || random.next_u64())
            .is_ok()
        {
            throttle.on_rejected(now, Priority::Critical);
        } else if first_shed.is_none() {
            first_shed = Some(now.since(down).as_secs());
        }
    }
    let first_shed = first_shed.expect("it reacts");
    // Half a window, give or take a slice of 12 s.
    assert!((48..=72).contains(&first_shed), "{first_shed} s");
    let probability = throttle.probability(now, Priority::Critical);
    assert!(probability > 0.89, "{probability}");
}
