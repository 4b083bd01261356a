//! Which of the policies that were tried to the end is recommended?

use becalm::Policy;

use super::confirmed::Confirmed;
use super::front::{compromise, front};
use super::objectives::Objectives;

/// A policy that was tried to the end.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Tuned {
    /// What it is called: `given`, `unretried`, `default`, or a number.
    pub name: String,
    /// The policy.
    pub policy: Policy,
    /// What it cost in the search: that by which it was chosen, and so better than it is.
    pub objectives: Objectives,
    /// What it costs in fresh runs; of the front and of the given policy.
    pub confirmed: Option<Confirmed>,
}

/// The front, and what is chosen of it.
pub(super) struct Choice {
    pub(super) front: Vec<Tuned>,
    pub(super) recommended: Tuned,
    pub(super) given: Tuned,
}

impl Choice {
    /// Of the policies with the fewest lost runs, which is none where any policy keeps the service
    /// up.
    pub(super) fn of(tuned: &[Tuned], given: &Policy) -> Self {
        let fewest = tuned.iter().map(|it| it.objectives.lost);
        let fewest = fewest.fold(f64::INFINITY, f64::min);
        let mut kept: Vec<&Tuned> = tuned
            .iter()
            .filter(|it| it.objectives.lost <= fewest)
            .collect();
        kept.sort_by(|a, b| a.objectives.load.total_cmp(&b.objectives.load));
        let rounded: Vec<Objectives> = kept.iter().map(|it| it.objectives.rounded()).collect();
        let places = front(&rounded);
        // Of those that cost the same the first: a choice between equals is none.
        let is_first = |place: &&usize| {
            let same = rounded
                .iter()
                .position(|it| Some(it) == rounded.get(**place));
            same == Some(**place)
        };
        let front: Vec<Tuned> = places
            .iter()
            .filter(is_first)
            .filter_map(|place| kept.get(*place).copied().cloned())
            .collect();
        let objectives: Vec<Objectives> = front.iter().map(|it| it.objectives.rounded()).collect();
        let unknown = Tuned {
            name: "given".into(),
            policy: given.clone(),
            objectives: Objectives::new(1.0, f64::INFINITY, 1.0, f64::INFINITY),
            confirmed: None,
        };
        let of_given = tuned.iter().find(|it| it.policy == *given);
        let of_given = of_given.cloned().unwrap_or(unknown);
        let chosen = compromise(&objectives).and_then(|place| front.get(place));
        Self {
            recommended: chosen.cloned().unwrap_or_else(|| of_given.clone()),
            given: of_given,
            front,
        }
    }

    /// Runs the front and the given policy again, and changes nothing about the choice.
    pub(super) fn confirm(&mut self, confirmed: impl Fn(&Policy) -> Confirmed) {
        for tuned in &mut self.front {
            tuned.confirmed = Some(confirmed(&tuned.policy));
        }
        let of_front = |policy: &Policy| {
            let found = self.front.iter().find(|it| it.policy == *policy);
            found.and_then(|it| it.confirmed.clone())
        };
        for tuned in [&mut self.recommended, &mut self.given] {
            let known = of_front(&tuned.policy);
            tuned.confirmed = Some(known.unwrap_or_else(|| confirmed(&tuned.policy)));
        }
    }
}
