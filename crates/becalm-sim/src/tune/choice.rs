//! Which of the policies that were tried to the end is recommended?

use becalm::Policy;

use super::confirmed::Confirmed;
use super::front::{compromise, front};
use super::objectives::Objectives;
use crate::change::Change;
use crate::search::{Mean, Proportion};

/// A policy that was tried to the end.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Tuned {
    /// What it is called: `given`, `unretried`, `default`, or a number.
    pub name: String,
    /// The policy.
    pub policy: Policy,
    /// What is different at single places of the scenario that the policy makes.
    pub changes: Vec<Change>,
    /// What it cost in the search: that by which it was chosen, and so better than it is.
    pub objectives: Objectives,
    /// What it costs in fresh runs; of the front and of the given policy.
    pub confirmed: Option<Confirmed>,
}

impl Tuned {
    /// Whether it makes the same scenario.
    pub fn is(&self, other: &Self) -> bool {
        (&self.policy, &self.changes) == (&other.policy, &other.changes)
    }
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
        let unknown = Tuned {
            name: "given".into(),
            policy: given.clone(),
            changes: Vec::new(),
            objectives: Objectives::new(1.0, f64::INFINITY, 1.0, f64::INFINITY),
            confirmed: None,
        };
        let is_given = |it: &&Tuned| it.policy == *given && it.changes.is_empty();
        let of_given = tuned.iter().find(is_given);
        let of_given = of_given.cloned().unwrap_or(unknown);
        // Where the given policy keeps the service up, nobody is asked to serve fewer calls.
        let is_kept = of_given.objectives.lost <= fewest;
        let most_failed = of_given.objectives.rounded().failed;
        let open: Vec<&Tuned> = front
            .iter()
            .filter(|it| !is_kept || it.objectives.rounded().failed <= most_failed)
            .collect();
        let objectives: Vec<Objectives> = open.iter().map(|it| it.objectives.rounded()).collect();
        let chosen = compromise(&objectives).and_then(|place| open.get(place).copied());
        Self {
            recommended: chosen.cloned().unwrap_or_else(|| of_given.clone()),
            given: of_given,
            front,
        }
    }

    /// Runs the front and the given policy again. The choice stays, or the given policy does, if the
    /// fresh runs show nothing for the change.
    pub(super) fn confirm(&mut self, confirmed: impl Fn(&Tuned) -> Confirmed) {
        for tuned in &mut self.front {
            tuned.confirmed = Some(confirmed(tuned));
        }
        for tuned in [&mut self.recommended, &mut self.given] {
            let known = self.front.iter().find(|it| it.is(tuned));
            let known = known.and_then(|it| it.confirmed.clone());
            tuned.confirmed = Some(known.unwrap_or_else(|| confirmed(tuned)));
        }
        if !self.is_worth_it() {
            self.recommended = self.given.clone();
        }
    }

    /// Whether the change shows in fresh runs: fewer of them are lost, as in the search; or more calls
    /// are served for certain; or less load or latency, and nothing worse.
    fn is_worth_it(&self) -> bool {
        let (new, old) = (&self.recommended, &self.given);
        let (Some(by_new), Some(by_old)) = (&new.confirmed, &old.confirmed) else {
            return true;
        };
        if new.objectives.lost < old.objectives.lost {
            return is_fewer(by_new.lost, by_old.lost);
        }
        let better = |of: fn(&Confirmed) -> Option<Mean>| is_less(of(by_new), of(by_old));
        let worse = |of: fn(&Confirmed) -> Option<Mean>| is_less(of(by_old), of(by_new));
        let is_worse = worse(|it| it.failed) || worse(|it| it.load) || worse(|it| it.latency);
        let is_better = better(|it| it.load) || better(|it| it.latency);
        better(|it| it.failed) || (is_better && !is_worse)
    }
}

/// Whether the one mean is below the other for certain: the intervals lie apart. Of single runs nothing
/// is; and what has no mean, as no call succeeded, is more than any.
fn is_less(one: Option<Mean>, other: Option<Mean>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => match (one.interval, other.interval) {
            (Some((_, high)), Some((low, _))) => high < low,
            _ => false,
        },
        (Some(_), None) => true,
        _ => false,
    }
}

/// Whether so few are lost by chance, if it makes no difference, in at most one of five cases: the exact
/// test of R. A. Fisher (*The Logic of Inductive Inference*, Journal of the Royal Statistical Society
/// 98, 1935). No more is asked, as a service that stays down costs more than a change that was not
/// needed.
fn is_fewer(new: Proportion, old: Proportion) -> bool {
    let factorial = |n: u32| libm::lgamma(f64::from(n) + 1.0);
    let choose = |n: u32, k: u32| factorial(n) - factorial(k) - factorial(n.saturating_sub(k));
    let lost = new.successes + old.successes;
    let all = choose(new.runs + old.runs, lost);
    let chance: f64 = (lost.saturating_sub(old.runs)..=new.successes)
        .map(|few| libm::exp(choose(new.runs, few) + choose(old.runs, lost - few) - all))
        .sum();
    // Two of three against none is exactly that.
    chance < 0.2001
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s2_fewer_is_fewer_beyond_chance() {
        let of = |successes, runs| Proportion { successes, runs };
        for (new, old) in [((0, 3), (2, 3)), ((0, 30), (3, 30)), ((2, 30), (20, 30))] {
            assert!(
                is_fewer(of(new.0, new.1), of(old.0, old.1)),
                "{new:?} {old:?}"
            );
            assert!(
                !is_fewer(of(old.0, old.1), of(new.0, new.1)),
                "{new:?} {old:?}"
            );
        }
        for (new, old) in [
            ((0, 9), (1, 9)),
            ((1, 3), (2, 3)),
            ((0, 30), (2, 30)),
            ((5, 30), (5, 30)),
        ] {
            assert!(
                !is_fewer(of(new.0, new.1), of(old.0, old.1)),
                "{new:?} {old:?}"
            );
        }
    }
}
