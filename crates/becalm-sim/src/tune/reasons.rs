//! Why is a policy recommended?

use crate::change::Change;
use crate::search::{Mean, Proportion};
use crate::verdict::{Survived, list, percent};

use super::choice::{Choice, Tuned};
use super::confirmed::Confirmed;
use super::ruled::Ruled;

/// What the reasons are made of.
pub(super) struct Told<'a> {
    /// Policies that were tried.
    pub tried: usize,
    /// Those that were tried to the end.
    pub tuned: &'a [Tuned],
    pub choice: &'a Choice,
    /// Whether services call others, so that policies have places.
    pub is_layered: bool,
    /// Whether anything bounds a service, so that it can stay down.
    pub is_ruled: bool,
    pub is_triggered: bool,
    /// The longest that the recommended and the given policy survive.
    pub outages: (Option<&'a Survived>, Option<&'a Survived>),
    /// The verdicts on both.
    pub ruled: &'a Ruled,
}

/// The reasons, in sentences made of figures: how the choice was made, then what fresh runs say.
pub(super) fn reasons(told: &Told<'_>) -> Vec<String> {
    let mut reasons = Vec::new();
    reasons.extend(decision(told));
    reasons.extend([search(told), choice(told.choice)]);
    let is_kept = told.choice.recommended.is(&told.choice.given);
    reasons.extend(told.ruled.sentence(is_kept));
    reasons.extend(costs(told));
    reasons.extend(against_given(told));
    reasons.extend(outages(told));
    reasons
}

/// What is to be done: nothing, or which of several policies to change.
fn decision(told: &Told<'_>) -> Option<String> {
    let (recommended, given) = (&told.choice.recommended, &told.choice.given);
    if recommended.is(given) {
        return Some("Keep yours: nothing that was tried is better beyond chance.".into());
    }
    if !told.is_layered {
        return None;
    }
    let places: Vec<&str> = recommended.changes.iter().map(Change::place).collect();
    Some(match places[..] {
        [] => "Change the policy of the clients.".into(),
        [one] => format!("Change one policy, that of {one}, and leave the others."),
        _ => format!("Change the policies of {}.", list(&places)),
    })
}

fn search(told: &Told<'_>) -> String {
    let is_dropped = |it: &&Tuned| it.objectives.lost > 0.0;
    let dropped = told.tuned.iter().filter(is_dropped).count();
    let of_all = format!(
        "Of {} policies {} were tried to the end",
        told.tried,
        told.tuned.len()
    );
    if !told.is_ruled {
        return format!("{of_all}; nothing bounds a service here, so that none can be kept down.");
    }
    let best = told.tuned.iter();
    let best = best.min_by(|a, b| a.objectives.lost.total_cmp(&b.objectives.lost));
    if let Some(best) = best.filter(|it| it.objectives.lost > 0.0) {
        return format!(
            "{of_all}, and under each the service stayed down in some runs; under {} in the fewest, \
             {}.",
            best.name,
            percent(best.objectives.lost)
        );
    }
    match dropped {
        0 => format!("{of_all}; the service came back in every run under all of these."),
        1 => format!("{of_all}; one was dropped because the service stayed down in some runs."),
        dropped => format!(
            "{of_all}; {dropped} of these were dropped because the service stayed down in some runs."
        ),
    }
}

fn choice(choice: &Choice) -> String {
    let name = &choice.recommended.name;
    let is_on_front = choice.front.iter().any(|it| it.is(&choice.recommended));
    match choice.front.len() {
        all if !is_on_front => format!(
            "Of the {all} that no other beats in load, calls that fail and latency, none that serves \
             as many calls shows in fresh runs that it is better than yours."
        ),
        0 | 1 => format!("{name} is as good as every other that was kept, in everything."),
        all => format!(
            "Of the {all} that no other beats in load, calls that fail and latency, {name} is \
             nearest to the best of each."
        ),
    }
}

/// What fresh runs say of the recommended policy, and of the others of the front.
fn costs(told: &Told<'_>) -> Option<String> {
    let confirmed = told.choice.recommended.confirmed.as_ref()?;
    let since = since(told);
    let mut sentence = format!(
        "In fresh runs, which had no part in the choice, {}there are {} attempts for each first \
         try{since}, {} of the calls succeed, and 99 of 100 of those within {}",
        back(confirmed.lost),
        load(confirmed.load),
        succeed(confirmed.failed),
        latency(confirmed.latency),
    );
    if let Some(all) = over_all(told.choice) {
        sentence.push_str("; ");
        sentence.push_str(&all);
    }
    sentence.push('.');
    if confirmed.lost.successes > 0 && told.choice.recommended.objectives.lost <= 0.0 {
        sentence.push_str(
            " The search had met none of the runs that stay down: search with more (--runs), or \
             prefer a policy of the front that lost none here.",
        );
    }
    Some(sentence)
}

/// `the service came back in 30 of 30, worse cases among them (...); `.
fn back(lost: Proportion) -> String {
    if lost.runs == 0 {
        return String::new();
    }
    let (low, high) = lost.interval();
    format!(
        "the service came back in {} of {}, worse cases among them (95 % interval of the share: {} \
         to {}); ",
        lost.runs - lost.successes,
        lost.runs,
        percent(1.0 - high),
        percent(1.0 - low)
    )
}

fn since(told: &Told<'_>) -> &'static str {
    if told.is_triggered {
        " from the trigger on"
    } else {
        ""
    }
}

/// From where to where the means of the front go, where it has several.
fn over_all(choice: &Choice) -> Option<String> {
    let each: Vec<&Confirmed> = choice
        .front
        .iter()
        .filter_map(|it| it.confirmed.as_ref())
        .collect();
    if each.len() < 2 {
        return None;
    }
    let over = |of: fn(&Confirmed) -> Option<Mean>| {
        let values = each
            .iter()
            .map(|it| of(it).map_or(f64::INFINITY, |it| it.value));
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), it| {
            (low.min(it), high.max(it))
        })
    };
    let (load, failed, slow) = (
        over(|it| it.load),
        over(|it| it.failed),
        over(|it| it.latency),
    );
    Some(format!(
        "over all {} that is {:.2} to {:.2} attempts, {} to {} of the calls and {} to {}",
        each.len(),
        load.0,
        load.1,
        percent(1.0 - failed.1),
        percent(1.0 - failed.0),
        millis(slow.0),
        millis(slow.1)
    ))
}

fn against_given(told: &Told<'_>) -> Option<String> {
    let given = &told.choice.given;
    if given.is(&told.choice.recommended) {
        return Some("That is the policy that was given.".into());
    }
    let confirmed = given.confirmed.as_ref()?;
    let lost = &confirmed.lost;
    let comes_back = if lost.runs == 0 {
        "there are".into()
    } else {
        format!(
            "the service came back in {} of {}, with",
            lost.runs - lost.successes,
            lost.runs
        )
    };
    Some(format!(
        "In the same runs under the policy that was given {comes_back} {} attempts for each first \
         try{}, and {} of the calls succeed.",
        load(confirmed.load),
        since(told),
        succeed(confirmed.failed)
    ))
}

fn outages(told: &Told<'_>) -> Option<String> {
    let words = |survived: &Survived| match survived.value() {
        Some(seconds) if survived.threshold.is_above => {
            format!("one of {seconds:.1} s, the longest that was tried")
        }
        Some(seconds) => match survived.interval() {
            Some((low, high)) => format!("one of up to {seconds:.1} s ({low:.1} to {high:.1})"),
            None => format!("one of up to {seconds:.1} s"),
        },
        None => "not even the shortest that was tried".into(),
    };
    let (recommended, given) = told.outages;
    let own = words(recommended?);
    let is_given = told.choice.given.is(&told.choice.recommended);
    Some(match given {
        Some(given) if !is_given => format!(
            "Of outages of this depth it survives {own}; the policy that was given {}.",
            words(given)
        ),
        _ => format!("Of outages of this depth it survives {own}."),
    })
}

/// `1.10 (1.08 to 1.12)`.
fn load(mean: Option<Mean>) -> String {
    let plain = |value: f64| format!("{value:.2}");
    with_interval(mean, plain)
}

fn succeed(failed: Option<Mean>) -> String {
    let Some(failed) = failed else {
        return "none".into();
    };
    let value = percent(1.0 - failed.value);
    let ends = failed.interval.map(|(low, high)| {
        let ends = [1.0 - high, 1.0 - low];
        ends.map(|it| percent(it.clamp(0.0, 1.0)))
    });
    written(value, ends)
}

fn latency(mean: Option<Mean>) -> String {
    with_interval(mean, millis)
}

fn with_interval(mean: Option<Mean>, write: impl Fn(f64) -> String) -> String {
    let Some(mean) = mean else {
        return write(f64::INFINITY);
    };
    let ends = mean.interval.map(|(low, high)| [low.max(0.0), high]);
    written(write(mean.value), ends.map(|ends| ends.map(&write)))
}

/// The interval is left out where it is no wider than what is written.
fn written(value: String, ends: Option<[String; 2]>) -> String {
    match ends {
        Some([low, high]) if low != value || high != value => format!("{value} ({low} to {high})"),
        _ => value,
    }
}

fn millis(latency: f64) -> String {
    if latency.is_finite() {
        format!("{latency:.0} ms")
    } else {
        "any time".into()
    }
}
