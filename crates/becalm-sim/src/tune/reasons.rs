//! Why is a policy recommended?

use crate::verdict::{Survived, percent};

use super::objectives::Objectives;
use super::study::{Choice, Tuned};

/// The reasons, in sentences made of figures. `tuned` are those that were tried to the end.
pub(super) fn reasons(
    tried: usize,
    tuned: &[Tuned],
    choice: &Choice,
    (outage, of_given): (Option<&Survived>, Option<&Survived>),
) -> Vec<String> {
    let mut reasons = vec![safety(tried, tuned, choice), costs(choice)];
    reasons.extend(against_given(choice));
    reasons.extend(outages(choice, outage, of_given));
    reasons
}

fn safety(tried: usize, tuned: &[Tuned], choice: &Choice) -> String {
    let lost = choice.recommended.objectives.lost;
    let dropped = tuned.iter().filter(|it| it.objectives.lost > lost).count();
    let of_all = format!("Of {tried} policies {} were tried to the end", tuned.len());
    if lost > 0.0 {
        return format!(
            "{of_all}, and under each the service stays down in some runs; under {} in the fewest, \
             {}.",
            choice.recommended.name,
            percent(lost)
        );
    }
    match dropped {
        0 => format!("{of_all}; the service comes back in every run under all of these."),
        1 => format!("{of_all}; one was dropped because the service stays down in some runs."),
        dropped => format!(
            "{of_all}; {dropped} of these were dropped because the service stays down in some runs."
        ),
    }
}

fn costs(choice: &Choice) -> String {
    let Tuned {
        name, objectives, ..
    } = &choice.recommended;
    let figures = format!(
        "with {:.2} attempts for each first try from the trigger on, {} of the calls succeed, 99 of \
         100 of those within {}",
        objectives.load,
        percent(1.0 - objectives.failed),
        millis(objectives.latency)
    );
    if choice.front.len() < 2 {
        return format!("{name} is at least as good as every other in everything: {figures}.");
    }
    let over = |of: fn(&Objectives) -> f64| {
        let values = choice.front.iter().map(|it| of(&it.objectives));
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), it| {
            (low.min(it), high.max(it))
        })
    };
    let (load, failed, latency) = (
        over(|it| it.load),
        over(|it| it.failed),
        over(|it| it.latency),
    );
    format!(
        "Of the {} that no other beats, {name} is nearest to the best of each: {figures}; over all \
         of them that is {:.2} to {:.2} attempts, {} to {} of the calls and {} to {}.",
        choice.front.len(),
        load.0,
        load.1,
        percent(1.0 - failed.1),
        percent(1.0 - failed.0),
        millis(latency.0),
        millis(latency.1)
    )
}

fn against_given(choice: &Choice) -> Option<String> {
    let given = &choice.given;
    if given.policy == choice.recommended.policy {
        return Some("That is the policy that was given.".into());
    }
    if !given.objectives.load.is_finite() {
        return None;
    }
    let stays_down = if given.objectives.lost > 0.0 {
        format!(
            "the service stays down in {} of the runs",
            percent(given.objectives.lost)
        )
    } else {
        "the service comes back in every run".into()
    };
    Some(format!(
        "Under the policy that was given {stays_down}, with {:.2} attempts for each first try from \
         the trigger on, and {} of the calls succeed.",
        given.objectives.load,
        percent(1.0 - given.objectives.failed)
    ))
}

fn outages(
    choice: &Choice,
    recommended: Option<&Survived>,
    given: Option<&Survived>,
) -> Option<String> {
    let words = |survived: &Survived| match survived.value() {
        Some(seconds) if survived.threshold.is_above => {
            format!("{seconds:.1} s, the longest that was tried")
        }
        Some(seconds) => format!("up to {seconds:.1} s"),
        None => "not even the shortest that was tried".into(),
    };
    let own = words(recommended?);
    Some(match given {
        Some(given) if choice.given.policy != choice.recommended.policy => format!(
            "Of the same outage it survives {own}; the policy that was given {}.",
            words(given)
        ),
        _ => format!("Of the same outage it survives {own}."),
    })
}

fn millis(latency: f64) -> String {
    if latency.is_finite() {
        format!("{latency:.0} ms")
    } else {
        "any time".into()
    }
}
