//! What is the verdict on the recommended and on the given policy, by the judge of a study?

use std::fmt::Write as _;
use std::slice::from_ref;
use std::time::Duration;

use crate::scenario::Scenario;
use crate::study::Verdict;
use crate::verdict::{Ruling, Runner, Runs, is_bounded, longer_for_all, rule};

/// The verdicts that a study with as many runs and the same seed gives; `None` where nothing bounds a service.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Ruled {
    /// On the recommended policy.
    pub recommended: Option<Verdict>,
    /// On the given policy.
    pub given: Option<Verdict>,
    /// The horizon that is long enough, where the runs are too short to say and one was found.
    pub needs: Option<Duration>,
}

/// The ruling of a study.
pub(super) fn ruling<R: Runner>(
    scenario: &Scenario,
    runs: &Runs<'_, R>,
    each: u32,
) -> Option<Ruling> {
    is_bounded(scenario).then(|| rule(scenario, runs, each))
}

/// The last ruling on a scenario: its runs become no longer, so that the horizon that it asks for is looked for.
pub(super) fn last_ruling<R: Runner>(
    mut scenario: Scenario,
    runs: &Runs<'_, R>,
    each: u32,
) -> Option<Ruling> {
    scenario.goes_on = false;
    ruling(&scenario, runs, each)
}

/// The scenario with runs that are as long as those of a study of it, where their length is not the user's choice.
pub(super) fn long_enough<R: Runner>(
    mut scenario: Scenario,
    runs: &Runs<'_, R>,
    each: u32,
) -> Scenario {
    if scenario.goes_on {
        let longer = |of: &Scenario| {
            let ruling = ruling(of, runs, each)?;
            longer_for_all(from_ref(of), from_ref(&ruling).iter())
        };
        while let Some(longer) = longer(&scenario) {
            scenario.horizon = longer;
        }
    }
    scenario
}

impl Ruled {
    /// The given policy is ruled on once where it stays.
    pub(super) fn of(
        is_kept: bool,
        recommended: impl FnOnce() -> Option<Ruling>,
        given: impl FnOnce() -> Option<Ruling>,
    ) -> Self {
        let given = given();
        let other = (!is_kept).then(recommended);
        let (recommended, given) = (other.as_ref().unwrap_or(&given).as_ref(), given.as_ref());
        let open = [recommended, given].into_iter().flatten();
        let open = open.filter(|it| it.verdict == Verdict::TooShort);
        let needs: Option<Vec<Duration>> = open.map(|it| it.later.as_ref()?.needs).collect();
        Self {
            recommended: recommended.map(|it| it.verdict),
            given: given.map(|it| it.verdict),
            needs: needs.and_then(|it| it.into_iter().max()),
        }
    }

    /// `By the judge of a study the verdict on the recommended policy is stable, and on the given one metastable.`
    pub(super) fn sentence(&self, is_kept: bool) -> Option<String> {
        let (new, old) = (self.recommended?.as_str(), self.given?.as_str());
        let mut sentence = if is_kept {
            format!("By the judge of a study the verdict on the given policy is {old}")
        } else {
            format!(
                "By the judge of a study the verdict on the recommended policy is {new}, and on the given one {old}"
            )
        };
        if [self.recommended, self.given].contains(&Some(Verdict::TooShort)) {
            sentence.push_str(": the runs end before it is seen whether the service comes back");
            let _ = match self.needs.map(|it| it.as_secs()) {
                Some(needs) => write!(sentence, ", so make the horizon at least {needs} s"),
                None => write!(sentence, ", and no longer ones that were tried show it"),
            };
        }
        sentence.push('.');
        Some(sentence)
    }
}
