//! `becalm storm tune`: which policy suits a scenario?

use std::process::ExitCode;
use std::time::Duration;

use becalm_report::terminal::wrap;
use becalm_sim::catalogue::Candidate;
use becalm_sim::change::{Place, changed};
use becalm_sim::scenario::Scenario;
use becalm_sim::study::Plan;
use becalm_sim::tune::{Space, Tuning};

use super::command::Question;
use super::flags::TuneFlags;
use super::remedy::lines;
use super::study::{start, tell};
use super::subject::Subject;
use super::told::Recommended;
use crate::output::Output;
use crate::usage;

/// Searches for a policy, tells what was found, and writes the recommended one.
pub fn run(question: &Question, flags: &TuneFlags) -> Result<ExitCode, String> {
    let subject = question.named.open()?;
    let at = flags.run.at.as_deref();
    let given = start(question, &subject, at)?.yours()?;
    let out = flags.out.as_deref().map(Output::open).transpose()?;
    let space = match flags.policies {
        Some(policies) => Space::default().policies(policies),
        None => Space::default(),
    };
    let space = space.places(at.map(str::to_owned));
    let work = |plan: &Plan<'_>| {
        let tuning = subject.tune(&space, &given, plan)?;
        let recommended = recommended(&tuning, &subject, &given)?;
        Ok((tuning.study, Some(recommended)))
    };
    let mut done = tell(question, &flags.run, "fewer --policies", work, |_, _| None)?;
    if let (Some(out), Some(recommended)) = (out, &done.told.recommended) {
        let path = out.write(&recommended.file)?;
        if !flags.run.json {
            done.printed = usage::print([usage::shown(&format!("policy: {}\n", path.display()))]);
        }
    }
    Ok(done.code(&flags.run))
}

/// Of a line of the file's comment.
const WIDTH: usize = 96;

fn recommended(
    tuning: &Tuning,
    subject: &Subject<'_>,
    given: &Candidate,
) -> Result<Recommended, String> {
    let tuned = &tuning.recommended;
    let scenario = subject.scenario(&tuned.policy).unwrap_or_else(|| {
        // A scenario that was tuned has its world.
        Scenario::new("", Duration::ZERO)
    });
    let scenario = changed(changed(scenario, &given.changes), &tuned.changes);
    let places = Place::all_of(&scenario);
    let is_changed = |place: &&Place| {
        let mut changes = tuned.changes.iter();
        let is_named = changes.any(|it| it.place() == place.name());
        is_named || (tuned.changes.is_empty() && place.is_of_clients())
    };
    let changed: Vec<&Place> = places.iter().filter(is_changed).collect();
    let is_kept = tuned.is(&tuning.given) || !subject.is_file();
    let lines = if is_kept {
        Vec::new()
    } else {
        lines(&scenario, changed.iter().map(|it| it.name()))
    };
    // The policy that does the work, where others are only to be still.
    let retries = |place: &&&Place| place.policy(&scenario).is_some_and(|it| it.attempts != 1);
    let main = changed.iter().find(retries).or(changed.first());
    let policy = match main.filter(|_| !tuned.changes.is_empty()) {
        Some(place) => place.policy(&scenario).unwrap_or(&tuned.policy),
        None => &tuned.policy,
    };
    let policy = toml::to_string(policy)
        .map_err(|error| format!("the policy cannot be written: {error}"))?;
    let reasons = tuning.reasons.iter().flat_map(|reason| wrap(reason, WIDTH));
    let mut comment: Vec<String> = reasons.map(|line| format!("# {line}\n")).collect();
    if lines.len() > 1 {
        let each = lines.iter().flat_map(|it| [&it.section, &it.line]);
        comment.extend(each.map(|line| format!("#   {line}\n")));
        comment.extend(main.map(|it| format!("# Here is the one of {}:\n", it.name())));
    }
    Ok(Recommended {
        file: comment.concat() + &policy,
        verdict: tuning.ruled.recommended,
        given_verdict: tuning.ruled.given,
        reasons: tuning.reasons.clone(),
        lines,
    })
}
