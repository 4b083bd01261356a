//! From how many clients for each handshake a second on does full jitter alone not bring a fleet back? `docs/drill-ws.md` says it.

use std::time::Duration;

use becalm::support::Lone;
use becalm::{Budget, Jitter, Policy};
use becalm_sim::admission::{Door, Handshakes, run};
use becalm_sim::herd::Herd;

/// How long their server is down.
const DOWN: Duration = Duration::from_secs(3);

/// Clients that wait 1 s x 2 up to `cap` before each dial, with full jitter, and hang up after `patience`; their server does `capacity`
/// handshakes a second, one after the other.
#[derive(Debug, Clone, Copy)]
struct Fleet {
    clients: u32,
    capacity: u32,
    patience: Duration,
    cap: Duration,
}

impl Fleet {
    /// With so many percent of the clients that the page calls the limit: twice the patience, and the mean of the longest wait.
    fn of_limit(percent: u32, capacity: u32, patience: u64, cap: u64) -> Self {
        let millis = u32::try_from(2_000 * patience + 500 * cap).expect("some seconds");
        Self {
            clients: capacity * millis / 1_000 * percent / 100,
            capacity,
            patience: Duration::from_secs(patience),
            cap: Duration::from_secs(cap),
        }
    }

    /// How long the server needs for all of them, in seconds.
    fn work(self) -> f64 {
        f64::from(self.clients) / f64::from(self.capacity)
    }

    /// How long after the server was up the last client was back, as a multiple of the work; none where not all are within ten times as long.
    fn back(self, seed: u64) -> Option<f64> {
        let mut herd = Herd::of(self.clients);
        herd.outage = DOWN;
        herd.horizon = DOWN + Duration::from_secs_f64(10.0 * self.work());
        let mut handshakes = Handshakes::of(herd, self.capacity);
        handshakes.patience = self.patience;
        let policy = Policy::exponential(Duration::from_secs(1))
            .cap(self.cap)
            .jitter(Jitter::Full)
            .attempts(Policy::UNLIMITED)
            .budget(Budget::None);
        let lone = Lone::new(policy, Duration::ZERO).expect("a valid policy");
        let arrivals = run(&handshakes, Door::Open, &lone, seed).expect("a valid herd");
        let last = Duration::from_nanos(arrivals.reconnects.last).saturating_sub(DOWN);
        (arrivals.reconnects.waiting == 0).then_some(last.as_secs_f64() / self.work())
    }
}

#[test]
fn up_to_twice_the_patience_and_half_the_longest_wait_jitter_brings_a_fleet_back_and_not_beyond() {
    for (patience, cap) in [(4, 5), (4, 30), (10, 5)] {
        for seed in 0..3 {
            let below = Fleet::of_limit(85, 50, patience, cap);
            assert!(below.back(seed).is_some(), "{below:?} {seed}");
            let above = Fleet::of_limit(120, 50, patience, cap);
            assert_eq!(above.back(seed), None, "{above:?} {seed}");
        }
    }
}

#[test]
fn the_fleets_of_the_page_do_as_it_says() {
    // Read when the test runs: no page is in the package.
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/drill-ws.md");
    let page = std::fs::read_to_string(page).unwrap();
    let of = |clients, capacity| Fleet {
        clients,
        capacity,
        patience: Duration::from_secs(4),
        cap: Duration::from_secs(5),
    };
    assert!(page.contains("2,000 clients at 200 handshakes a second come back"));
    assert!(of(2_000, 200).back(1).is_some_and(|times| times < 3.0));
    assert!(page.contains("10,000 at 500, and 2,000 at 100, do not"));
    for fleet in [of(10_000, 500), of(2_000, 100)] {
        assert_eq!(fleet.back(1), None);
    }
    assert!(page.contains("**2 x patience + cap / 2**"));
}

#[test]
#[ignore = "the table of docs/drill-ws.md"]
fn in_full() {
    for (patience, cap) in [(4, 1), (2, 5), (4, 5), (10, 5), (4, 30), (10, 30)] {
        println!(
            "patience {patience} s, waits up to {cap} s: of the limit, in seconds, who is back"
        );
        for percent in (40..140).step_by(5) {
            let fleet = Fleet::of_limit(percent, 200, patience, cap);
            let back: Vec<f64> = (0..5).filter_map(|seed| fleet.back(seed)).collect();
            let slowest = back.iter().copied().fold(0.0, f64::max);
            println!(
                "  {percent} %, {:.1} s: {} of 5, after {slowest:.1} times as long at most",
                fleet.work(),
                back.len()
            );
        }
    }
}
