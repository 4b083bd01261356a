//! `becalm storm tune`: which policy suits a scenario?

use std::process::ExitCode;

use becalm_report::terminal::wrap;
use becalm_sim::tune::{Space, Tuning};

use super::command::Question;
use super::flags::TuneFlags;
use super::study::{Recommended, tell};
use crate::output::Output;
use crate::usage;

/// Searches for a policy, tells what was found, and writes the recommended one.
pub fn run(question: &Question, flags: &TuneFlags) -> Result<ExitCode, String> {
    let subject = question.named.open()?;
    let given = question.policy.policy_from(subject.policy())?;
    let out = flags.out.as_deref().map(Output::open).transpose()?;
    let space = match flags.policies {
        Some(policies) => Space::default().policies(policies),
        None => Space::default(),
    };
    let done = tell(question, &flags.run, |plan| {
        let tuning = subject.tune(&space, &given, plan)?;
        let recommended = recommended(&tuning)?;
        Ok((tuning.study, Some(recommended)))
    })?;
    if let (Some(out), Some(recommended)) = (out, &done.told.recommended) {
        let path = out.write(&recommended.file)?;
        if !flags.run.json {
            return Ok(usage::print([format!("policy: {}\n", path.display())]));
        }
    }
    Ok(done.printed)
}

/// Of a line of the file's comment.
const WIDTH: usize = 96;

fn recommended(tuning: &Tuning) -> Result<Recommended, String> {
    let policy = toml::to_string(&tuning.recommended.policy)
        .map_err(|error| format!("the policy cannot be written: {error}"))?;
    let reasons = tuning.reasons.iter().flat_map(|reason| wrap(reason, WIDTH));
    let comment: Vec<String> = reasons.map(|line| format!("# {line}\n")).collect();
    Ok(Recommended {
        file: comment.concat() + &policy,
        reasons: tuning.reasons.clone(),
    })
}
