//! How many events a second does the simulator's engine handle, beside other engines?

mod desru;
mod herd;
mod nexosim;
mod queues;
mod simu_des;

use std::time::Instant;

use crate::measure::{Case, Effort, Group};
use crate::versions::with_version;
use herd::Herd;

/// Handles about so many further events of a model that goes on for ever; returns how many it were.
type Advance = Box<dyn FnMut(u64) -> u64>;

/// An engine.
struct Engine {
    /// The package.
    package: &'static str,
    note: &'static str,
    /// Holds so many events pending: each one that is handled schedules another.
    hold: fn(u64) -> Advance,
    /// Runs the herd to its end; returns how many attempts it made.
    herd: fn(&Herd) -> u64,
}

const ENGINES: [Engine; 5] = [
    queues::HEAP,
    queues::OURS,
    desru::ENGINE,
    simu_des::ENGINE,
    nexosim::ENGINE,
];

/// Events pending in the small and in the large hold model.
const PENDING: [(Group, u64); 2] = [(Group::HoldSmall, 1000), (Group::HoldLarge, 100_000)];

/// The rows of the tables.
pub fn cases() -> Vec<Case> {
    let holds = PENDING
        .into_iter()
        .flat_map(|(group, pending)| ENGINES.map(|engine| hold(group, pending, &engine)));
    holds.chain(ENGINES.map(|engine| herd(&engine))).collect()
}

/// All make the same attempts: what is compared is the same model.
pub fn check_that_all_agree() {
    let herd = Herd::of(500);
    let expected = (ENGINES[0].herd)(&herd);
    assert!(expected > 5000, "a herd of 500 makes {expected} attempts");
    for engine in &ENGINES {
        let attempts = (engine.herd)(&herd);
        // Engines that count seconds in floats may move an attempt across the end of the outage.
        assert!(
            attempts.abs_diff(expected) <= 2,
            "{} makes {attempts} attempts instead of {expected}",
            engine.package
        );
    }
}

fn hold(group: Group, pending: u64, engine: &Engine) -> Case {
    let (make, mut advance) = (engine.hold, None);
    let round = move |effort: Effort| {
        // In a quick run only that it runs.
        let (pending, events) = if effort.means_something() {
            (pending, 100_000)
        } else {
            (100, 1000)
        };
        let advance = advance.get_or_insert_with(|| make(pending));
        (0..effort.batches)
            .map(|_| millions_per_second(|| advance(events)))
            .fold(0.0, f64::max)
    };
    Case::new(group, with_version(engine.package), engine.note, round)
}

fn herd(engine: &Engine) -> Case {
    let run = engine.herd;
    let round = move |effort: Effort| {
        let clients = if effort.means_something() {
            20_000
        } else {
            100
        };
        let herd = Herd::of(clients);
        millions_per_second(|| run(&herd))
    };
    Case::new(
        Group::Herd,
        with_version(engine.package),
        engine.note,
        round,
    )
}

fn millions_per_second(run: impl FnOnce() -> u64) -> f64 {
    let start = Instant::now();
    let events = run();
    #[expect(clippy::cast_precision_loss)] // a few million
    let rate = events as f64 / start.elapsed().as_secs_f64() / 1e6;
    rate
}
