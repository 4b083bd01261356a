//! What does the simulator promise, and does this run keep it?

use super::memory::{self, Taken};
use super::{fleet, storms};
use crate::bars::Bar;
use crate::measure::{Case, Effort, Group, find};
use crate::versions::with_version;

const MILLIONS: &str = "million events per second";

/// Every promise with what this run found. The herd of ten million runs only where figures mean
/// something: it takes tens of seconds.
pub fn bars(cases: &[Case], effort: Effort) -> Vec<Bar> {
    let figure = |group, note| find(cases, group, &with_version("becalm-sim"), note).figure();
    let run = |note| figure(Group::Runs, note);
    let storms = storms::STORMS.map(|(_, note)| run(note));
    let mut bars = vec![
        Bar::at_least(
            "simulating the storms `metastable`, `trigger` and `cascade`, the slowest",
            storms.into_iter().fold(f64::INFINITY, f64::min),
            15.0,
            MILLIONS,
        ),
        Bar::at_least(
            "simulating a herd of a million clients",
            run(fleet::MILLION),
            15.0,
            MILLIONS,
        ),
        Bar::at_least(
            "the same, let in one after the other",
            run(fleet::AT_THE_DOOR),
            15.0,
            MILLIONS,
        ),
        Bar::at_most(
            "a published simulator's sweep of 60 million events",
            figure(Group::Sweep, ""),
            3.0,
            "s",
        ),
    ];
    if effort.means_something() {
        let Taken { rate, gib } = memory::measure();
        bars.push(Bar::at_least(
            "simulating a herd of ten million clients, let in one after the other",
            rate,
            10.0,
            MILLIONS,
        ));
        bars.push(Bar::at_most("its memory", gib, 2.0, "GiB"));
    }
    bars
}
