//! How many events a second does the simulator's engine handle, beside other engines?

mod contest;
mod desru;
pub mod events;
mod fleet;
mod heaps;
mod herd;
pub mod memory;
mod nexosim;
mod promises;
mod queues;
mod simu_des;
mod storms;

use std::time::Instant;

use crate::measure::{Case, Effort, Group};
use crate::versions::with_version;
use herd::Herd;

pub use promises::bars;

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

const QUEUES: [Engine; 3] = [queues::BINARY, queues::QUATERNARY, queues::OURS];
const PEERS: [Engine; 3] = [desru::ENGINE, simu_des::ENGINE, nexosim::ENGINE];

fn engines() -> impl Iterator<Item = Engine> {
    QUEUES.into_iter().chain(PEERS)
}

/// Events of a batch of the hold model.
const BATCH: u64 = 100_000;

/// The rows of the tables that are measured in rounds of short batches.
pub fn cases() -> Vec<Case> {
    let few = QUEUES
        .into_iter()
        .map(|it| hold(Group::HoldFew, 10, BATCH, &it));
    let small = engines().map(|it| hold(Group::HoldSmall, 1000, BATCH, &it));
    let large = engines().map(|it| hold(Group::HoldLarge, 100_000, BATCH, &it));
    let herds = engines().map(|it| herd(it.package, it.note, it.herd));
    let shipping = herd("becalm-sim", fleet::SHIPPING, fleet::shipping);
    let holds = few.chain(small).chain(large);
    holds.chain(herds).chain([shipping]).collect()
}

/// The rows of runs that take a second each.
pub fn long_cases() -> Vec<Case> {
    // A heap does the same at every event. Ours moves now and then what is far away, so that a
    // batch is no less than everything that is pending.
    let huge = [
        (queues::BINARY, 10 * BATCH),
        (queues::QUATERNARY, 10 * BATCH),
        (queues::OURS, 100 * BATCH),
    ];
    let huge = huge.into_iter();
    let huge = huge.map(|(it, events)| hold(Group::HoldHuge, 10_000_000, events, &it));
    let runs = storms::cases().into_iter().chain(fleet::cases());
    huge.chain(runs).chain([contest::case()]).collect()
}

/// All make the same attempts: what is compared is the same model.
pub fn check_that_all_agree() {
    let herd = Herd::of(500);
    let expected = (queues::BINARY.herd)(&herd);
    assert!(expected > 5000, "a herd of 500 makes {expected} attempts");
    for engine in engines() {
        let attempts = (engine.herd)(&herd);
        // Engines that count seconds in floats may move an attempt across the end of the outage.
        assert!(
            attempts.abs_diff(expected) <= 2,
            "{} makes {attempts} attempts instead of {expected}",
            engine.package
        );
    }
    // The shipping decision draws other numbers from the same streams. A client's attempts deviate
    // by four, those of two herds of 500 from each other by 126: this is four times that.
    let shipping = fleet::shipping(&herd);
    assert!(
        shipping.abs_diff(expected) <= 506,
        "the shipping decision makes {shipping} attempts instead of about {expected}"
    );
}

/// The first batch only brings the model into its steady state.
fn hold(group: Group, pending: u64, events: u64, engine: &Engine) -> Case {
    let (make, mut advance) = (engine.hold, None);
    let round = move |effort: Effort| {
        // In a quick run only that it runs.
        let (pending, events) = if effort.means_something() {
            (pending, events)
        } else {
            (100, 1000)
        };
        let advance = advance.get_or_insert_with(|| {
            let mut advance = make(pending);
            advance(events);
            advance
        });
        let batches = effort
            .batches
            .min(if events > BATCH { 1 } else { u32::MAX });
        (0..batches)
            .map(|_| millions_per_second(|| advance(events)))
            .fold(0.0, f64::max)
    };
    Case::new(group, with_version(engine.package), engine.note, round)
}

fn herd(package: &'static str, note: &'static str, run: fn(&Herd) -> u64) -> Case {
    let round = move |effort: Effort| {
        let clients = if effort.means_something() {
            20_000
        } else {
            100
        };
        let herd = Herd::of(clients);
        millions_per_second(|| run(&herd))
    };
    Case::new(Group::Herd, with_version(package), note, round)
}

fn millions_per_second(run: impl FnOnce() -> u64) -> f64 {
    let start = Instant::now();
    let events = run();
    #[expect(clippy::cast_precision_loss)] // far below 2^52
    let rate = events as f64 / start.elapsed().as_secs_f64() / 1e6;
    rate
}
