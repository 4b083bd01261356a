//! How long does the sweep of a published simulator take?

use std::time::{Duration, Instant};

use becalm::support::Lone;
use becalm_sim::occ::published::{CLIENTS, Strategy};
use becalm_sim::occ::{self, Contest};

use crate::measure::{Case, Group};
use crate::versions::with_version;

/// Trials of each size and strategy, as in the original.
const TRIALS: u32 = 100;
/// Messages of one trial of each: 19 sizes from 10 to 190 clients, five strategies.
const MESSAGES: u64 = 600_000;
/// Millions of events of the whole sweep.
pub const MILLIONS: f64 = 60.0;

/// The row: seconds of one sweep.
pub fn case() -> Case {
    let name = with_version("becalm-sim");
    Case::new(Group::Sweep, name, "", |effort| {
        let trials = if effort.means_something() { TRIALS } else { 1 };
        let start = Instant::now();
        let events = sweep(trials);
        let expected = u64::from(trials) * MESSAGES;
        assert!(events.abs_diff(expected) < expected / 20, "{events} events");
        start.elapsed().as_secs_f64()
    })
}

/// All sizes and strategies of the original; returns the number of messages.
fn sweep(trials: u32) -> u64 {
    let of = |strategy: Strategy| {
        let lone = Lone::new(strategy.policy(), Duration::ZERO).expect("a valid policy");
        let size = move |clients: u32| {
            let contest = Contest::of(clients);
            let means = occ::trials(&contest, &lone, 1, trials, 1).expect("a valid contest");
            means.events
        };
        CLIENTS.into_iter().map(size).sum::<u64>()
    };
    Strategy::ALL.into_iter().map(of).sum()
}
