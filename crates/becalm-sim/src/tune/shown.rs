//! How is a search shown? As a study: the front, the recommended policy first.

use crate::study::{Chart, ChartKind, Contender, Figure, Plan, Study, figure};
use crate::verdict::{Brief, Survived, describe, describe_changes};

use super::choice::{Choice, Tuned};

/// The study. `outages` are the longest that the recommended and the given policy survive, where they
/// were searched for.
pub(super) fn study(
    (brief, plan): (&Brief, &Plan<'_>),
    choice: &Choice,
    reasons: &[String],
    is_triggered: bool,
    (outage, of_given): (Option<&Survived>, Option<&Survived>),
) -> Study {
    let rest = choice.front.iter().filter(|it| **it != choice.recommended);
    let mut shown: Vec<&Tuned> = std::iter::once(&choice.recommended).chain(rest).collect();
    if !shown.contains(&&choice.given) {
        shown.push(&choice.given);
    }
    let outage_of = |tuned: &Tuned| {
        if *tuned == choice.recommended {
            outage
        } else if *tuned == choice.given {
            of_given
        } else {
            None
        }
    };
    let contenders = shown.iter().map(|tuned| {
        let confirmed = tuned.confirmed.iter();
        let mut figures: Vec<Figure> = confirmed.flat_map(|it| it.figures(is_triggered)).collect();
        figures.extend(outage_of(tuned).map(|it| {
            figure!("longest_outage_s": "Longest outage that is survived", "s" = it.value())
                .within(it.interval())
        }));
        Contender {
            name: tuned.name.clone(),
            policy: if tuned.changes.is_empty() {
                describe(&tuned.policy)
            } else {
                describe_changes(&tuned.changes)
            },
            figures,
            ..Contender::default()
        }
    });
    let mut contenders: Vec<Contender> = contenders.collect();
    if let Some(first) = contenders.first_mut() {
        first.evidence = reasons.join(" ");
    }
    Study {
        question: "Which policy suits it?".into(),
        answer: reasons.join(" "),
        contenders,
        charts: vec![chart(choice, is_triggered)],
        ..brief.study(plan)
    }
}

/// Load on the service against calls that fail, in fresh runs: each policy of the front a point,
/// joined in order.
fn chart(choice: &Choice, is_triggered: bool) -> Chart {
    let point = |it: &Tuned| {
        let confirmed = it.confirmed.as_ref()?;
        Some((confirmed.load?.value, confirmed.failed?.value * 100.0))
    };
    let one = |name: &str, it: &Tuned| (name.to_owned(), point(it).into_iter().collect());
    let mut front: Vec<(f64, f64)> = choice.front.iter().filter_map(point).collect();
    front.sort_by(|a, b| a.0.total_cmp(&b.0));
    let x = if is_triggered {
        "amplification, from the trigger on"
    } else {
        "amplification"
    };
    Chart {
        id: "front".into(),
        title: "What protection costs".into(),
        x: x.into(),
        y: "calls that fail, %".into(),
        kind: ChartKind::Lines(vec![
            ("front".into(), front),
            one("recommended", &choice.recommended),
            one("given", &choice.given),
        ]),
        ..Chart::default()
    }
}
