//! What do searches find of several contenders, all of them side by side?

use crate::scenario::Scenario;
use crate::study::Chart;

use super::brief::Thoroughness;
use super::map::phase_map;
use super::ruling::Ruling;
use super::runner::Runner;
use super::runs::Runs;
use super::survival::{Survival, Survived};
use super::variation::hurried;

/// What was found of one contender, as far as it was searched for.
#[derive(Debug, Clone, Default)]
pub(super) struct Found {
    pub outage: Option<Survived>,
    pub load: Option<Survived>,
    pub clients: Option<Survived>,
    pub map: Option<Chart>,
}

/// What is searched for, the longest first.
#[derive(Debug, Clone, Copy)]
enum Part {
    Outage,
    Map,
    Load,
    Clients,
}

/// Searches of each contender, in their order: a search waits for its own runs, and for no other search.
pub(super) fn searched<R: Runner>(
    ruled: &[(&Scenario, &Ruling)],
    runs: &Runs<'_, R>,
    each: u32,
    thoroughness: Thoroughness,
) -> Vec<Found> {
    let all = [Part::Outage, Part::Map, Part::Load, Part::Clients];
    let places = 0..ruled.len();
    let parts: Vec<(Part, usize)> = all
        .into_iter()
        .flat_map(|part| places.clone().map(move |place| (part, place)))
        .collect();
    let searched = runs.side_by_side(&parts, |(part, place)| {
        let (scenario, ruling) = ruled[*place];
        let survival = Survival::beside(ruling, runs, each);
        let shorter = hurried(scenario);
        let search = (thoroughness.searches && ruling.is_bounded).then_some(&shorter);
        let mut found = Found::default();
        match part {
            Part::Outage => found.outage = search.and_then(|it| survival.longest_outage(it)),
            Part::Load => found.load = search.and_then(|it| survival.largest_load(it)),
            Part::Clients => found.clients = search.and_then(|it| survival.most_clients(it)),
            Part::Map => {
                let map = thoroughness.map;
                found.map = map.and_then(|it| phase_map(&shorter, runs, it));
            }
        }
        found
    });
    let mut all = vec![Found::default(); ruled.len()];
    for ((_, place), found) in parts.iter().zip(searched) {
        let own = &mut all[*place];
        own.outage = own.outage.take().or(found.outage);
        own.load = own.load.take().or(found.load);
        own.clients = own.clients.take().or(found.clients);
        own.map = own.map.take().or(found.map);
    }
    all
}
