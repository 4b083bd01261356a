//! Under which load and after which trigger does a service stay down?

use crate::scenario::Scenario;
use crate::search::Proportion;
use crate::study::{Chart, ChartKind};

use super::load::bottleneck;
use super::runner::Runner;
use super::runs::Runs;
use super::variation::{longer, louder};

/// How fine a phase map is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resolution {
    /// Lengths of the trigger, from an eighth to eight times as long.
    pub lengths: u32,
    /// Loads, from an eighth of the capacity to all of it.
    pub loads: u32,
    /// Runs of each cell.
    pub runs: u32,
}

/// The phase map of a scenario: load by length of the trigger, and the share of runs in which the
/// service does not come back. `None` without a trigger that lasts or where nothing bounds a service.
///
/// As in the searches, what is worse is taken to be survived less: where no run came back from a lower load, none of
/// a higher one is run; where all did from a longer trigger, none of a shorter one. Along the edge between the two every cell is run.
pub fn phase_map<R: Runner>(
    scenario: &Scenario,
    runs: &Runs<'_, R>,
    resolution: Resolution,
) -> Option<Chart> {
    let utilisation = bottleneck(scenario)?.utilisation();
    let first = scenario.triggers.iter().map(|it| it.from).min()?;
    let lasts = scenario.triggers_end().saturating_sub(first).as_secs_f64();
    if lasts <= 0.0 {
        return None;
    }
    let Resolution {
        lengths,
        loads,
        runs: each,
    } = resolution;
    runs.announce(u64::from(lengths) * u64::from(loads) * u64::from(each));
    // Halvings and doublings on either side of the scenario's own.
    let factors: Vec<f64> = steps(lengths)
        .map(|part| libm::exp2(6.0 * part - 3.0))
        .collect();
    let shares: Vec<f64> = steps(loads).map(|part| 0.125 + 0.875 * part).collect();
    let columns = factors.len();
    let mut cells = vec![f64::NAN; columns * shares.len()];
    for (row, share) in shares.iter().enumerate() {
        let loaded = louder(scenario, share / utilisation);
        for column in (0..columns).rev() {
            let at = row * columns + column;
            let is_lost = at >= columns && cells[at - columns] >= 1.0;
            let is_back = column + 1 < columns && cells[at + 1] <= 0.0;
            cells[at] = match (is_lost, is_back) {
                (true, _) => 1.0,
                (_, true) => 0.0,
                _ => {
                    let cell = longer(&loaded, factors[column]);
                    let back = runs.back(&cell, 0, 0..each);
                    Proportion::of(back.into_iter().map(|it| !it)).share()
                }
            };
        }
    }
    Some(Chart {
        id: "phases".into(),
        title: "Where the service stays down".into(),
        x: "length of the trigger, s".into(),
        y: "load, share of the capacity".into(),
        kind: ChartKind::Map {
            columns: factors.iter().map(|it| it * lasts).collect(),
            rows: shares,
            cells,
            value: "share of runs that do not come back".into(),
        },
        ..Chart::default()
    })
}

/// So many equal steps from 0 to 1.
fn steps(count: u32) -> impl Iterator<Item = f64> {
    let last = f64::from(count.saturating_sub(1).max(1));
    (0..count).map(move |index| f64::from(index) / last)
}
