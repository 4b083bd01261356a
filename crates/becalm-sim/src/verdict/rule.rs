//! What happens to a service over many runs?

use crate::record::Recording;
use crate::scenario::Scenario;
use crate::search::Proportion;
use crate::study::Verdict;

use super::enough::{LONGEST, enough};
use super::evidence;
use super::judge::judge;
use super::later::beyond;
use super::load::{Bottleneck, bottleneck, is_bounded};
use super::outcome::Outcome;
use super::ruling::Ruling;
use super::runner::Runner;
use super::runs::Runs;
use super::stress::{Stress, Worse};
use super::variation::calm;

/// Runs without the trigger: they say whether the load is served at all, which is seldom in doubt.
const CALM: u32 = 3;

/// Rules on a scenario by this many runs of each case.
///
/// - *Overloaded*: its first tries are more than a service can serve, or goodput does not hold
///   without any trigger in most runs.
/// - *Too short*: the verdict would be another one if the runs went on, as far as some that [do](super::Later) show; then the
///   evidence says how long they have to be.
/// - *Metastable*: that load is served, and yet the service does not come back after the trigger in
///   most runs.
/// - *Vulnerable*: it comes back in most runs, but not in all of them, or not in all runs of a case that
///   is worse ([`Stress`]). The evidence says in how many.
/// - *Stable*: in all. The evidence says which worse cases were asked about. It is a verdict on coming back:
///   what is lost until then is told beside it.
///
/// Where nothing bounds a service there is no storm to rule on, and no worse case to ask about: the
/// evidence then says what retries bring, and what they cost.
pub fn rule<R: Runner>(scenario: &Scenario, runs: &Runs<'_, R>, each: u32) -> Ruling {
    rule_watching(scenario, runs, each, is_bounded(scenario), |_| ()).0
}

/// As [`rule`], where a verdict is asked for, and what is watched of the first run.
pub(super) fn rule_watching<R: Runner, T: Send>(
    scenario: &Scenario,
    runs: &Runs<'_, R>,
    each: u32,
    is_bounded: bool,
    watch: impl Fn(&Recording) -> T + Sync,
) -> (Ruling, Option<T>) {
    let each = each.max(1);
    let stresses = if is_bounded {
        Stress::of(scenario)
    } else {
        Vec::new()
    };
    runs.announce(u64::from(each) * (1 + stresses.len() as u64) + u64::from(CALM.min(each)));
    let goes_on = is_bounded && !is_beyond(bottleneck(scenario)) && !scenario.triggers.is_empty();
    let (ran, watched) = runs.rulings(scenario, each, goes_on, watch);
    let (outcomes, went_on): (Vec<Outcome>, Vec<_>) =
        ran.into_iter().map(|it| (it.outcome, it.later)).unzip();
    let calm = if scenario.triggers.is_empty() {
        outcomes.clone()
    } else {
        let calm = calm(scenario);
        runs.each(&calm, 0, CALM.min(each), |it| judge(&calm, it))
    };
    let mut ruling = Ruling {
        verdict: Verdict::Stable,
        is_bounded,
        evidence: String::new(),
        outcomes,
        calm,
        worse: Vec::new(),
        later: None,
        bottleneck: bottleneck(scenario),
    };
    if is_bounded && !is_overloaded(&ruling) {
        let outcomes = &ruling.outcomes;
        ruling.later = beyond(scenario, runs, outcomes, &went_on);
        // A study that may make its runs longer looks itself.
        let is_asked = !scenario.goes_on || scenario.horizon >= LONGEST;
        if let Some(open) = ruling.later.as_mut().filter(|it| it.is_open && is_asked) {
            enough(scenario, runs, outcomes, open);
        }
    }
    ruling.verdict = verdict(&mut ruling, |worse| {
        worse.extend(runs.side_by_side(&stresses, |it| it.suffered(runs, each)));
    });
    ruling.evidence = evidence::sentence(scenario, &ruling);
    (ruling, watched)
}

/// The verdict on one run by the same rule, such as one that was measured and not simulated: overloaded,
/// too short, metastable, or none where the service came back, as worse cases alone tell whether it is stable or
/// vulnerable.
///
/// Where the service is offered no more than it can serve, one run [does not say](Outcome::is_open) whether it comes back later.
///
/// A service that was seen to come back is not overloaded, whatever its scenario says that it can serve: that may be the least
/// that it serves.
pub fn rule_on_one(scenario: &Scenario, outcome: &Outcome) -> Option<Verdict> {
    if outcome.holds() {
        None
    } else if is_beyond(bottleneck(scenario)) {
        Some(Verdict::Overloaded)
    } else if outcome.is_settling || (is_bounded(scenario) && outcome.is_open()) {
        Some(Verdict::TooShort)
    } else {
        Some(Verdict::Metastable)
    }
}

/// Whether first tries alone are more than a service can serve.
fn is_beyond(bottleneck: Option<Bottleneck>) -> bool {
    bottleneck.is_some_and(|it| it.utilisation() > 1.0)
}

/// Whether the load is not served even without a trigger.
fn is_overloaded(ruling: &Ruling) -> bool {
    let calm = Proportion::of(ruling.calm.iter().map(Outcome::holds));
    is_beyond(ruling.bottleneck) || !calm.is_mostly()
}

fn verdict(ruling: &mut Ruling, ask_worse: impl FnOnce(&mut Vec<Worse>)) -> Verdict {
    if is_overloaded(ruling) {
        return Verdict::Overloaded;
    }
    if ruling.later.as_ref().is_some_and(|it| it.is_open) {
        return Verdict::TooShort;
    }
    let back = ruling.back();
    if !back.is_mostly() {
        return Verdict::Metastable;
    }
    ask_worse(&mut ruling.worse);
    if !back.is_all() || ruling.worse.iter().any(|it| !it.back.is_all()) {
        Verdict::Vulnerable
    } else {
        Verdict::Stable
    }
}
