//! Which remedy does a bad verdict end with, and what has to be written where?

use std::fmt::Write as _;

use becalm::Policy;
use becalm_sim::catalogue::Candidate;
use becalm_sim::change::{Place, changed};
use becalm_sim::remedy::{self, Remedy, Step};
use becalm_sim::scenario::{Scenario, file};
use becalm_sim::study::{Plan, Study, Verdict};
use serde::Serialize;

use super::beginning::{DEFAULT, OWN, YOURS};
use super::contender::{Start, candidates};
use super::subject::Subject;
use crate::again;
use crate::wording::filled;

/// What keeps the service up, as it is told.
#[derive(Debug, Serialize)]
pub struct Told {
    /// The policy that it changes.
    of: String,
    sentence: String,
    /// What to write where, of a scenario in a file.
    lines: Vec<Line>,
    /// The text with which `--compare` shows it; none where nothing was found.
    compare: Option<String>,
}

/// A line of a scenario file.
#[derive(Debug, Serialize)]
pub struct Line {
    /// The section that it belongs to: `[[service.calls]] orders->database`.
    pub section: String,
    pub line: String,
}

/// Whose remedy is searched for. Of a file the policy of the command line, or of those that are compared
/// (`is_asked`) the first that does not hold, if none of them is stable; of the catalogue the policy
/// of the flags. `None` where nothing is wrong, or a comparison has its answer.
pub fn patient<'a>(
    candidates: &'a [Candidate],
    study: &Study,
    is_asked: bool,
    is_file: bool,
) -> Option<&'a Candidate> {
    let is_bad = |verdict| matches!(verdict, Some(Verdict::Metastable | Verdict::Vulnerable));
    let verdict_of = |it: &Candidate| {
        let mut contenders = study.contenders.iter();
        contenders.find(|other| other.name == it.name)?.verdict
    };
    if is_asked && is_file {
        let is_solved = candidates
            .iter()
            .any(|it| verdict_of(it) == Some(Verdict::Stable));
        let mut bad = candidates.iter().filter(|it| is_bad(verdict_of(it)));
        return bad.next().filter(|_| !is_solved);
    }
    // The policy of the flags stands last; without any, a scenario of the catalogue asks about none.
    let is_own = |it: &&Candidate| is_file || (it.name == YOURS && !is_asked);
    let last = candidates.last().filter(is_own);
    last.filter(|it| is_bad(verdict_of(it)))
}

impl Told {
    /// Searches for the remedy of a policy, which is one of those that start from `start`.
    pub fn find(
        subject: &Subject<'_>,
        start: &Start<'_>,
        of: &Candidate,
        plan: &Plan<'_>,
    ) -> Option<Self> {
        let scenario = subject.scenario(&of.policy)?;
        let scenario = changed(scenario, &of.changes);
        let Remedy {
            found, sentence, ..
        } = remedy::find(&scenario, plan).ok()?;
        let step = found.map(|(step, _)| step);
        // Of clients with several policies no one line says it.
        let is_one = |step: &Step| {
            let places = step.places().into_iter();
            let mut places =
                places.flat_map(|name| Place::named(&scenario, name).unwrap_or_default());
            places.all(|it| it.policies(&scenario).len() == 1)
        };
        let step = step.filter(is_one);
        let kept = step.map(|it| (changed(scenario.clone(), &it.changes), it));
        let compare = kept
            .as_ref()
            .and_then(|(kept, step)| compared(subject, start, &of.name, step, kept));
        let lines = match &kept {
            Some((kept, step)) if subject.is_file() => lines(kept, step.places()),
            _ => Vec::new(),
        };
        Some(Self {
            of: of.name.clone(),
            sentence,
            lines,
            compare,
        })
    }

    /// For a terminal.
    pub fn text(&self, width: usize) -> String {
        let mut text = String::from("\n");
        text.push_str(&filled(width, "", &self.sentence));
        text.push_str(&self.code());
        text
    }

    /// What is to be written where, and how it is looked at; none of its lines is broken.
    pub fn code(&self) -> String {
        let mut text = code(&self.lines);
        if let Some(compare) = &self.compare {
            let _ = writeln!(text, "beside it: --compare {}", again::quoted(compare));
        }
        text
    }

    pub fn sentence(&self) -> &str {
        &self.sentence
    }
}

/// The lines that give each of these places the policy that it has in the scenario.
pub fn lines<'a>(scenario: &Scenario, places: impl IntoIterator<Item = &'a str>) -> Vec<Line> {
    let places = places.into_iter();
    let places = places.flat_map(|name| Place::named(scenario, name).unwrap_or_default());
    let line = |place: Place| {
        Some(Line {
            section: format!("{} {}", place.section(), place.name()),
            line: file::policy_line(place.policy(scenario)?).ok()?,
        })
    };
    places.filter_map(line).collect()
}

/// The lines under their sections; none of them is broken.
pub fn code(lines: &[Line]) -> String {
    let each = lines.iter();
    let lines = each.map(|it| format!("    {}\n    {}\n", it.section, it.line));
    lines.collect::<Vec<_>>().concat()
}

/// The list with which `--compare` shows a policy, and the one with a step that makes of it what is `kept`.
///
/// A place starts from the policy of the file there, whatever the flags have: where the step behind the
/// policy does not say it, the policy of each place that is not as in the file is written in whole.
fn compared(
    subject: &Subject<'_>,
    start: &Start<'_>,
    of: &str,
    step: &Step,
    kept: &Scenario,
) -> Option<String> {
    let places = step.places().into_iter();
    let of_step: Vec<String> = places
        .map(|place| format!("; {place}: {}", step.what))
        .collect();
    let of_step = of_step.concat();
    let in_whole = || {
        let own = start.scenario.as_ref()?;
        let mut places = Place::all_of(kept);
        places.retain(|it| it.policy(kept) != it.policy(own));
        let each = places
            .iter()
            .map(|it| Some(format!("; {}: {}", it.name(), settings(it.policy(kept)?)?)));
        each.collect::<Option<String>>()
    };
    let shows = |list: &String| {
        let read = candidates(std::slice::from_ref(list), &[], start);
        let shown = read.ok().and_then(|read| match &read[..] {
            [_, it] => Some(changed(subject.scenario(&it.policy)?, &it.changes)),
            _ => None,
        });
        shown.as_ref() == Some(kept)
    };
    Some(format!("{of},{of}{of_step}"))
        .filter(shows)
        .or_else(|| in_whole().map(|it| format!("{of},{OWN}{it}")).filter(shows))
}

/// A policy as a part of `--compare`, from becalm's own defaults on.
fn settings(policy: &Policy) -> Option<String> {
    let line = file::policy_line(policy).ok()?;
    let line: toml::Table = toml::from_str(&line).ok()?;
    let mut text = DEFAULT.to_owned();
    for (name, value) in line.get("policy")?.as_table()? {
        let value = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        let _ = write!(text, ";{name}={value}");
    }
    Some(text)
}
