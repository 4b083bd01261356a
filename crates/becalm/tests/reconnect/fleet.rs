//! How do many come back that fell together?

use std::time::Duration;

use becalm::Failure;
use becalm::reconnect::{Next, Reconnect, Reconnector};
use becalm::rng::SplitMix64;
use becalm::time::Instant;

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// When each of a fleet dials first, after all were started or lost at zero.
fn first_dials(settings: &Reconnect, was_open: bool) -> Vec<Duration> {
    let dial_of = |seed| {
        let mut now = Instant::ZERO;
        let random = SplitMix64::new(seed);
        let mut machine = Reconnector::<()>::new(settings.clone(), random, now).unwrap();
        let mut lost_at = now;
        if was_open {
            let Next::Dial(dial) = machine.next(now) else {
                panic!()
            };
            assert!(machine.opened(dial.id, now));
            lost_at = now.after(secs(100));
            now = lost_at;
            machine.failed(dial.id, now, &Failure::transient());
        }
        while let Next::Wait(until) = machine.next(now) {
            now = until;
        }
        now.since(lost_at)
    };
    (0..10_000).map(dial_of).collect()
}

/// The most dials in any of a hundred steps of the window.
fn peak(dials: &[Duration], window: Duration) -> usize {
    let mut steps = [0_usize; 100];
    for dial in dials {
        let step = (dial.as_nanos() * 100 / (window.as_nanos() + 1)) as usize;
        steps[step] += 1;
    }
    steps.into_iter().max().unwrap_or_default()
}

#[test]
fn the_first_dials_after_a_loss_are_spread_evenly_as_rfc_6455_asks() {
    for (settings, was_open, window) in [
        (Reconnect::rfc6455(), true, secs(5)),
        (Reconnect::default(), true, secs(1)),
        (Reconnect::default().start_spread(secs(20)), false, secs(20)),
    ] {
        let dials = first_dials(&settings, was_open);
        assert!(dials.iter().all(|dial| *dial <= window));
        // 100 in each of a hundred steps, and 5 standard deviations more at the most.
        let peak = peak(&dials, window);
        assert!(
            peak < 150,
            "{peak} of 10000 within a hundredth of {window:?}"
        );
    }
}
