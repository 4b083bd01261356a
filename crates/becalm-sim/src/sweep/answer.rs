//! Which points of a sweep are the good ones, in a few sentences?

use std::fmt::Write as _;

use crate::study::{Contender, Figure, Verdict};
use crate::verdict;

use super::axis::setting_of;
use super::grid::Sweep;
use super::pictures::places;
use super::up_to;
use super::weighed::{Pair, figure, pair};

/// How many points have each verdict, and which of the best serves most; where there is no verdict,
/// which points no other beats in what is wanted.
///
/// Only what is a matter of choice is chosen: points are compared under the same parameters of the
/// scenario. That fewer calls are easier to serve is no answer.
pub(super) fn answer(sweep: &Sweep, contenders: &[Contender]) -> String {
    let groups = Group::all(sweep, contenders);
    if contenders.iter().any(|it| it.verdict.is_some()) {
        let counted = verdicts(contenders, &groups);
        return match up_to::sentences(sweep, contenders) {
            Some(up_to) => format!("{up_to} {counted}"),
            None => counted,
        };
    }
    let Some(pair) = pair(contenders) else {
        return spread(contenders, None);
    };
    match &groups[..] {
        [all] if all.is_a_choice() => unbeaten(pair, all),
        several if several.len() <= MOST_GROUPS && several.iter().all(Group::is_a_choice) => {
            let each = several.iter().map(|it| unbeaten(pair, it));
            each.collect::<Vec<_>>().join(" ")
        }
        _ => format!(
            "{} {}",
            spread(contenders, Some(pair.first.id)),
            spread(contenders, Some(pair.second.id))
        ),
    }
}

/// Points under the same parameters of the scenario.
struct Group<'a> {
    /// The parameters that are swept, such as `load=0.5`; empty for none.
    name: String,
    /// Each with what is left of its name.
    points: Vec<(String, &'a Contender)>,
}

/// Groups that are answered one by one; of more the pictures tell.
const MOST_GROUPS: usize = 5;

impl<'a> Group<'a> {
    /// All, in the order of their first points.
    fn all(sweep: &Sweep, contenders: &'a [Contender]) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        for (index, contender) in contenders.iter().enumerate() {
            let name = world(sweep, index);
            let point = named(sweep, index, |axis| setting_of(axis).is_some());
            let point = (point, contender);
            match groups.iter_mut().find(|it| it.name == name) {
                Some(group) => group.points.push(point),
                None => groups.push(Self {
                    name,
                    points: vec![point],
                }),
            }
        }
        groups
    }

    fn is_a_choice(&self) -> bool {
        self.points.len() > 1 || self.name.is_empty()
    }

    /// `Of 5 points`, `With load=0.5, of 5 points`.
    fn beginning(&self) -> String {
        let of = points(self.points.len());
        if self.name.is_empty() {
            format!("Of {of}")
        } else {
            format!("With {}, of {of}", self.name)
        }
    }
}

/// The parameters of the scenario at the point with this index, where the sweep goes through them.
pub(super) fn world(sweep: &Sweep, index: usize) -> String {
    named(sweep, index, |axis| setting_of(axis).is_none())
}

/// The values of some axes at the point with this index: `load=0.5 outage=1s`.
fn named(sweep: &Sweep, index: usize, is_wanted: impl Fn(&str) -> bool) -> String {
    let axes = sweep.axes.iter().zip(places(sweep, index));
    let wanted = axes.filter(|(axis, _)| is_wanted(&axis.name));
    let values = wanted.filter_map(|(axis, place)| {
        let value = axis.values.get(place)?;
        Some(format!("{}={value}", axis.name))
    });
    values.collect::<Vec<_>>().join(" ")
}

fn points(count: usize) -> String {
    let plural = if count == 1 { "point" } else { "points" };
    format!("{count} {plural}")
}

fn verdicts(contenders: &[Contender], groups: &[Group<'_>]) -> String {
    let verdicts = [
        Verdict::Stable,
        Verdict::Vulnerable,
        Verdict::TooShort,
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
        "Of {} {}.",
        points(contenders.len()),
        match &counts[..] {
            [one] => format!(
                "all are {}",
                one.trim_start_matches(|it: char| !it.is_alphabetic())
            ),
            several => format!("these are {}", verdict::list(several)),
        }
    );
    let best = verdicts
        .into_iter()
        .find_map(|verdict| with(verdict).max_by(|a, b| success(a).total_cmp(&success(b))));
    if let (Some(best), [_]) = (best, groups) {
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
    figure(contender, "success_share").map_or(0.0, |it| it.1)
}

/// Points that are named; of more it is only told how many there are.
const MOST_NAMED: usize = 6;

/// The points that no other beats (V. Pareto), from the best in the first figure to the best in the
/// second; of those that are the same in both the first.
fn unbeaten(pair: &Pair, group: &Group<'_>) -> String {
    let known: Vec<_> = group
        .points
        .iter()
        .filter_map(|(name, it)| Some((name, pair.of(it)?)))
        .map(|(name, figures)| (name, figures, pair.costs(&figures)))
        .collect();
    let missing = group.points.len() - known.len();
    if known.is_empty() {
        return format!("{}: at each, {}.", group.beginning(), pair.missing);
    }
    let is_beaten = |place: usize, [first, second]: [i32; 2]| {
        known.iter().enumerate().any(|(at, (_, _, other))| {
            let is_as_good = other[0] <= first && other[1] <= second;
            is_as_good && (*other != [first, second] || at < place)
        })
    };
    let mut best: Vec<_> = known
        .iter()
        .enumerate()
        .filter(|(place, (_, _, costs))| !is_beaten(*place, *costs))
        .map(|(_, it)| it)
        .collect();
    best.sort_by_key(|(_, _, costs)| *costs);
    let named = best.iter().take(MOST_NAMED);
    let mut named: Vec<String> = named
        .map(|(name, [first, second], _)| {
            format!("{name} ({}, {})", written(*first), written(*second))
        })
        .collect();
    if best.len() > MOST_NAMED {
        named.push(format!("{} more", best.len() - MOST_NAMED));
    }
    let both = format!("{} and in {}", pair.first.what, pair.second.what);
    let beginning = group.beginning();
    let mut sentence = match &best[..] {
        [_] => format!(
            "{beginning} none beats {} in {both}.",
            verdict::list(&named)
        ),
        _ => format!(
            "{beginning} these {} are beaten by no other in {both}: {}.",
            best.len(),
            verdict::list(&named)
        ),
    };
    if missing > 0 {
        let _ = write!(sentence, " At {missing}, {}.", pair.missing);
    }
    sentence
}

/// From where to where a figure goes; without one, that which says most.
fn spread(contenders: &[Contender], id: Option<&'static str>) -> String {
    let of = points(contenders.len());
    let drawn = super::drawn::drawn(contenders);
    let nothing = || format!("Of {of} none has a figure.");
    let Some(id) = id.or(drawn.first().copied()) else {
        return nothing();
    };
    let known = || {
        contenders
            .iter()
            .filter_map(|it| Some((it, figure(it, id)?)))
    };
    let least = known().min_by(|a, b| a.1.1.total_cmp(&b.1.1));
    let most = known().max_by(|a, b| a.1.1.total_cmp(&b.1.1));
    match least.zip(most) {
        Some(((low, least), (high, most))) => format!(
            "Of {of} the least of \"{}\" is {} ({}), the most {} ({}).",
            least.0.title,
            written(least),
            low.name,
            written(most),
            high.name
        ),
        None => nothing(),
    }
}

/// A value with its unit.
fn written((figure, value): (&Figure, f64)) -> String {
    match figure.unit {
        "%" => verdict::percent(value / 100.0),
        "" => verdict::plain(value),
        "ms" if value >= 1000.0 => format!("{} s", verdict::plain(value / 1e3)),
        unit => format!("{} {unit}", verdict::plain(value)),
    }
}
