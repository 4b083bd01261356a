//! At which places of a scenario is a sampled policy tried?

use std::time::Duration;

use becalm::Policy;

use crate::change::{Change, Place, Setting};
use crate::scenario::Scenario;

/// The places whose policies may be changed, and the scenario as it was given.
pub(super) struct Layers {
    given: Scenario,
    places: Vec<Place>,
    /// Whether the policy of all clients may be changed as such.
    has_clients: bool,
}

/// Where a policy is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Where {
    /// At what the scenario makes of a policy: its clients.
    Given,
    /// At the place with this index, while the others keep theirs.
    At(usize),
    /// At the place with this index, while no other place retries.
    AloneAt(usize),
    /// At every place.
    Everywhere,
}

impl Layers {
    /// Of the scenario as it is given; `names` are the places that may be changed, none for all.
    pub(super) fn of(given: Scenario, names: &[String]) -> Self {
        let mut places = Place::all_of(&given);
        let is_named = |it: &Place| {
            let mut names = names.iter();
            names.any(|name| name == it.name() || name == Place::ALL)
        };
        if !names.is_empty() {
            places.retain(is_named);
        }
        Self {
            has_clients: names.is_empty(),
            given,
            places,
        }
    }

    /// Where policies are tried. Where one population calls services that call no others, that is
    /// the one place, and the scenario knows it best.
    pub(super) fn all(&self) -> Vec<Where> {
        let has_calls = self.places.iter().any(|it| !it.is_of_clients());
        if self.has_clients && !has_calls {
            return vec![Where::Given];
        }
        let each = 0..self.places.len();
        let mut all: Vec<Where> = each.clone().map(Where::At).collect();
        if self.places.len() > 1 {
            all.push(Where::Everywhere);
            all.extend(each.map(Where::AloneAt));
        }
        all
    }

    /// What is changed when every place that is meant has what `policy` makes of its own.
    pub(super) fn changes(&self, at: Where, policy: impl Fn(&Layer<'_>) -> Policy) -> Vec<Change> {
        let of = |index: usize, place: &Place| {
            let is_here = match at {
                Where::Given => false,
                Where::Everywhere => true,
                Where::At(here) | Where::AloneAt(here) => here == index,
            };
            let own = place.policy(&self.given)?;
            if is_here {
                let timeout = place.timeout(&self.given);
                let policy = policy(&Layer { own, timeout });
                return Some(Change::policy(place.name(), policy));
            }
            let is_silenced = matches!(at, Where::AloneAt(_)) && own.attempts != 1;
            is_silenced.then(|| unretried(place))?
        };
        let places = self.places.iter().enumerate();
        places
            .filter_map(|(index, place)| of(index, place))
            .collect()
    }

    /// The name of a place.
    pub(super) fn name(&self, index: usize) -> &str {
        self.places.get(index).map_or("", Place::name)
    }
}

/// What stands at a place.
pub(super) struct Layer<'a> {
    /// Its policy.
    pub(super) own: &'a Policy,
    /// When its attempts are given up.
    pub(super) timeout: Option<Duration>,
}

fn unretried(place: &Place) -> Option<Change> {
    let attempts = Setting::named("attempts")?;
    Change::setting(place.name(), attempts, "1").ok()
}
