//! What is there to say about a sweep?

use std::fmt::Write as _;

use becalm::Policy;

use crate::catalogue::Parameters;
use crate::record::Recording;
use crate::scenario::Scenario;
use crate::study::{Contender, Plan, Study, Verdict};
use crate::verdict::{self, Brief, Runs, Thoroughness, largest_load, longest_outage, rule};
use crate::world;

use super::grid::{Point, Sweep};
use super::pictures::pictures;

/// Studies every point of a sweep: a verdict and its figures for each, without searches. The points
/// are those of [`Sweep::points`].
pub fn study(
    brief: &Brief,
    sweep: &Sweep,
    points: &[Point],
    plan: &Plan<'_>,
    build: impl Fn(&Parameters, &Policy) -> Scenario,
) -> Study {
    study_with(
        world::run,
        brief,
        Thoroughness::QUICK,
        (sweep, points),
        plan,
        build,
    )
}

/// The same, with what runs a scenario and how thoroughly it is asked. There are no phase maps: the
/// sweep is one.
pub fn study_with(
    run: impl Fn(&Scenario, u64) -> Recording + Sync,
    brief: &Brief,
    thoroughness: Thoroughness,
    (sweep, points): (&Sweep, &[Point]),
    plan: &Plan<'_>,
    build: impl Fn(&Parameters, &Policy) -> Scenario,
) -> Study {
    let runs = Runs::new(run, plan);
    let each = plan.runs.unwrap_or(thoroughness.runs).max(1);
    let mut contenders = Vec::with_capacity(points.len());
    for point in points {
        let scenario = build(&point.parameters, &point.policy);
        let ruling = rule(&scenario, &runs, each);
        let search = thoroughness.searches.then_some(&scenario);
        let outage = search.and_then(|it| longest_outage(it, &runs, each));
        let load = search.and_then(|it| largest_load(it, &runs, each));
        let searched = (outage.as_ref(), load.as_ref());
        let name = point.name.clone();
        contenders.push(verdict::contender(
            name,
            &point.policy,
            &scenario,
            &ruling,
            searched,
        ));
    }
    let axes = sweep.axes.iter();
    let mut asked = brief.asked.clone();
    asked.extend(axes.map(|it| (format!("sweep of {}", it.name), it.values.join(" | "))));
    Study {
        scenario: brief.name.clone(),
        question: brief.question.clone(),
        answer: answer(&contenders),
        asked,
        charts: pictures(sweep, &contenders),
        contenders,
        seed: plan.seed,
        runs: each,
        events: runs.events(),
    }
}

/// How many points have each verdict, and which of the best has the fewest attempts.
fn answer(contenders: &[Contender]) -> String {
    let verdicts = [
        Verdict::Stable,
        Verdict::Vulnerable,
        Verdict::Metastable,
        Verdict::Overloaded,
    ];
    let with = |verdict| {
        contenders
            .iter()
            .filter(move |it| it.verdict == Some(verdict))
    };
    let counts: Vec<String> = verdicts
        .into_iter()
        .map(|verdict| (with(verdict).count(), verdict))
        .filter(|(count, _)| *count > 0)
        .map(|(count, verdict)| format!("{count} {}", verdict.as_str()))
        .collect();
    let mut answer = format!(
        "Of {} points {}.",
        contenders.len(),
        match &counts[..] {
            [] => "none has a verdict: nothing bounds a service".to_owned(),
            [one] => format!(
                "all are {}",
                one.trim_start_matches(|it: char| !it.is_alphabetic())
            ),
            several => format!("these are {}", verdict::list(several)),
        }
    );
    let best = verdicts
        .into_iter()
        .find_map(|verdict| with(verdict).max_by(|a, b| success(a).total_cmp(&success(b))))
        .or_else(|| {
            let all = contenders.iter();
            all.max_by(|a, b| success(a).total_cmp(&success(b)))
        });
    if let Some(best) = best {
        let _ = write!(
            answer,
            " Of the best of these, most calls succeed with {}: {}.",
            best.name,
            verdict::percent(success(best) / 100.0)
        );
    }
    answer
}

fn success(contender: &Contender) -> f64 {
    super::pictures::value(contender, "success_share").unwrap_or_default()
}
