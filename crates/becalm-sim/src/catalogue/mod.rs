//! Which storms are known? Scenarios by name, each with its parameters, sources and right answer.

/// A row of a list of parameters: `parameter!("outage": Duration = "2s", "how long it hangs")`.
macro_rules! parameter {
    ($name:literal: $kind:ident $(($choices:expr))? = $default:expr, $help:expr) => {
        $crate::catalogue::Parameter::new(
            $name,
            $crate::catalogue::Kind::$kind $(($choices))?,
            $default,
            $help,
        )
    };
}

/// A row of a list of sources; the address of a book is empty.
macro_rules! source {
    ($title:literal at $url:literal) => {
        $crate::catalogue::Source {
            title: $title,
            url: $url,
        }
    };
}

/// A row of a list of figures, by the value that each run has.
macro_rules! over_runs {
    ($id:literal: $title:literal, $unit:literal = $values:expr) => {
        $crate::catalogue::runs::figure($id, $title, $unit, $values)
    };
}

mod appointments;
mod asked;
mod blip;
mod cache;
mod cascade;
mod clipped;
mod deadline;
mod entry;
mod flaky;
mod fleet;
mod herd;
mod layers;
mod loops;
mod measure;
mod metastable;
mod moments;
mod occ;
mod one_budget;
mod parameters;
mod parts;
mod priority;
mod queue;
mod runs;
mod small_clients;
mod throttle;
mod tiers;
mod trigger;
mod usual;

pub use crate::change::Candidate;
pub use crate::invalid::InvalidParameter;
pub use entry::{Entry, Source};
pub use parameters::{Kind, Parameter, Parameters};

/// All scenarios, in the order of the catalogue.
pub const ENTRIES: &[&Entry] = &[
    &occ::OCC,
    &herd::HERD,
    &clipped::CLIPPED,
    &appointments::APPOINTMENTS,
    &moments::MOMENTS,
    &flaky::FLAKY,
    &blip::BLIP,
    &layers::LAYERS,
    &cascade::CASCADE,
    &metastable::METASTABLE,
    &trigger::TRIGGER,
    &queue::QUEUE,
    &loops::LOOPS,
    &throttle::THROTTLE,
    &small_clients::SMALL_CLIENTS,
    &one_budget::FLEET,
    &deadline::DEADLINE,
    &priority::PRIORITY,
    &cache::CACHE,
    &tiers::TIERS,
];

/// The scenario of this name.
pub fn find(name: &str) -> Option<&'static Entry> {
    ENTRIES.iter().copied().find(|entry| entry.name == name)
}
