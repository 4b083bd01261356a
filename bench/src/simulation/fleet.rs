//! How fast is the simulator's own herd, which asks the shipping decision?

use std::time::Duration;

use becalm::support::Lone;
use becalm::{Budget, Policy};
use becalm_sim::herd;

use super::herd::Herd;
use super::millions_per_second;
use crate::measure::{Case, Group};
use crate::versions::with_version;

/// The row beside the engines.
pub const SHIPPING: &str = "its herd, by the shipping decision";

/// A million clients, their attempts recorded.
pub const MILLION: &str = "a herd of a million clients";

/// A million clients of whom the server lets in so many in a second: clients are in each other's way, and
/// attempts are events in order.
pub const AT_THE_DOOR: &str = "a herd of a million clients, 100 000 let in per second";

const RATE: u64 = 100_000;

/// The herd that all engines run; returns how many attempts it made.
pub fn shipping(model: &Herd) -> u64 {
    let mut herd = herd::Herd::of(u32::try_from(model.clients).expect("a few thousand"));
    herd.outage = Duration::from_nanos(model.refused_until);
    run(&herd, Duration::from_millis(100), Duration::from_secs(20))
}

/// The rows of large herds.
pub fn cases() -> [Case; 2] {
    [(MILLION, None), (AT_THE_DOOR, Some(RATE))].map(|(note, accepts)| {
        let name = with_version("becalm-sim");
        Case::new(Group::Runs, name, note, move |effort| {
            let clients = if effort.means_something() {
                1_000_000
            } else {
                1000
            };
            millions_per_second(|| outage(clients, 300, accepts))
        })
    })
}

/// Ten million clients after an outage of a minute, let in one after the other.
pub fn ten_million() -> u64 {
    outage(10_000_000, 60, Some(RATE))
}

/// Clients with delays from 1 to 30 s and no bound on attempts.
fn outage(clients: u32, seconds: u64, accepts: Option<u64>) -> u64 {
    let mut herd = herd::Herd::of(clients);
    herd.outage = Duration::from_secs(seconds);
    herd.accepts_per_second = accepts;
    run(&herd, Duration::from_secs(1), Duration::from_secs(30))
}

fn run(herd: &herd::Herd, base: Duration, cap: Duration) -> u64 {
    let policy = Policy::exponential(base)
        .cap(cap)
        .attempts(Policy::UNLIMITED)
        .budget(Budget::None);
    let lone = Lone::new(policy, Duration::ZERO).expect("a valid policy");
    let record = herd::run(herd, &lone, 1).expect("a valid herd");
    assert_eq!(record.waiting, 0, "everybody is back");
    record.events
}
