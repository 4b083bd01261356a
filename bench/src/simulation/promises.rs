//! What does the simulator promise, and does this run keep it?

use super::memory::{self, Taken};
use super::queues::BINARY;
use super::{contest, events, fleet, storms};
use crate::bars::Bar;
use crate::measure::{Case, Effort, Group, find};
use crate::versions::with_version;

const OF_A_HEAP: &str = "of a binary heap's rate";

/// Every promise with what this run found: rates are shares of what a binary heap in a loop reaches with a
/// thousand events pending, which does nothing else. The herd of ten million runs only where figures mean
/// something: it takes tens of seconds.
pub fn bars(cases: &[Case], effort: Effort) -> Vec<Bar> {
    let figure = |group, note| find(cases, group, &with_version("becalm-sim"), note).figure();
    let heap = find(cases, Group::HoldSmall, &with_version(BINARY.package), "").figure();
    let run = |note| figure(Group::Runs, note) / heap;
    let storms = storms::STORMS.map(|(_, note)| run(note));
    let mut bars = vec![
        Bar::at_least(
            "simulating the storms `metastable`, `trigger` and `cascade`, the slowest",
            storms.into_iter().fold(f64::INFINITY, f64::min),
            0.8,
            OF_A_HEAP,
        ),
        Bar::at_least(
            "simulating a herd of a million clients",
            run(fleet::MILLION),
            0.8,
            OF_A_HEAP,
        ),
        Bar::at_least(
            "the same, let in one after the other",
            run(fleet::AT_THE_DOOR),
            0.8,
            OF_A_HEAP,
        ),
        Bar::at_least(
            "a published simulator's sweep of 60 million events",
            contest::MILLIONS / figure(Group::Sweep, "") / heap,
            1.1,
            OF_A_HEAP,
        ),
    ];
    if effort.means_something() {
        let Taken { rate, gib } = memory::measure();
        bars.push(Bar::at_least(
            "simulating a herd of ten million clients, let in one after the other",
            rate / heap,
            0.55,
            OF_A_HEAP,
        ));
        bars.push(Bar::at_most("its memory", gib, 2.0, "GiB"));
        bars.extend(events::bars());
    }
    bars
}
