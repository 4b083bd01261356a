//! `becalm storm NAME`: what happens to a service under each of a few policies?

use std::process::ExitCode;

use becalm_sim::study::{Plan, Study, Verdict};
use becalm_sim::verdict::Foretold;

use super::command::Question;
use super::contender::{self, Start};
use super::flags::{RunFlags, SEED, StudyFlags, plan};
use super::progress::Progress;
use super::reports::Reports;
use super::section::places;
use super::subject::Subject;
use super::told::{Recommended, Told};
use super::{check, document, patience, remedy, text};
use crate::again;
use crate::stream::Stream;
use crate::usage;

/// Studies the scenario and tells what was found.
pub fn run(question: &Question, flags: &StudyFlags) -> Result<ExitCode, String> {
    let subject = question.named.open()?;
    let start = start(question, &subject, flags.run.at.as_deref())?;
    let candidates = contender::candidates(&flags.compare, subject.contenders(), &start)?;
    let work = |plan: &Plan<'_>| {
        if let Some(axes) = &flags.sweep {
            let study = subject.sweep(axes, &start.yours()?, start.at, plan)?;
            return Ok((study, None));
        }
        let mut plan = plan.clone();
        plan.is_quick = flags.quick;
        // All there is comes at once.
        plan.ruled = plan.ruled.filter(|_| !flags.quick);
        Ok((subject.study(&candidates, &plan)?, None))
    };
    let is_asked = !flags.compare.is_empty();
    let remedy = |study: &Study, plan: &Plan<'_>| {
        // Of a sweep no point has the name of a candidate.
        if flags.quick {
            return None;
        }
        let of = remedy::patient(&candidates, study, is_asked, subject.is_file())?;
        remedy::Told::find(&subject, &start, of, plan)
    };
    Ok(tell(question, &flags.run, "--quick", work, remedy)?.code(&flags.run))
}

/// What the policies of a command line start from.
pub fn start<'a>(
    question: &'a Question,
    subject: &Subject<'_>,
    at: Option<&'a str>,
) -> Result<Start<'a>, String> {
    let own = subject.policy();
    let scenario = subject.scenario(&own);
    if let Some(at) = at {
        places(scenario.as_ref(), at).map_err(|refusal| format!("--at: {refusal}"))?;
    }
    Ok(Start {
        own,
        yours: Box::new(|own| question.policy.policy_from(own)),
        is_given: question.policy_is_given,
        at,
        scenario,
    })
}

/// What was told, and whether it could be.
pub struct Done {
    pub told: Told,
    pub printed: ExitCode,
}

impl Done {
    /// The exit code: with `--strict` that of a failure where the service was not seen to come back under one of the policies, or
    /// under the recommended one.
    pub fn code(self, flags: &RunFlags) -> ExitCode {
        let is_back = |verdict: Option<Verdict>| verdict.is_none_or(Verdict::is_back);
        let mut contenders = self.told.study.contenders.iter().map(|it| it.verdict);
        let recommended = self.told.recommended.as_ref().map(|it| is_back(it.verdict));
        let passed = recommended.unwrap_or_else(|| contenders.all(is_back));
        check::exit(passed || !flags.strict, self.printed)
    }
}

/// Does the work under a plan with a seed, threads and a display of its progress; then tells of it
/// wherever the flags say: what to set comes first, so that all waits for the search for a remedy, while a terminal
/// has the verdicts. `fewer` is the flag that makes it shorter most.
pub fn tell(
    question: &Question,
    flags: &RunFlags,
    fewer: &str,
    work: impl FnOnce(&Plan<'_>) -> Result<(Study, Option<Recommended>), String>,
    remedy: impl FnOnce(&Study, &Plan<'_>) -> Option<remedy::Told>,
) -> Result<Done, String> {
    let reports = Reports::open(flags)?;
    let given = question.policy.seed();
    let seed = given.unwrap_or(SEED);
    let (study, recommended) = planned(flags, seed, |plan| {
        let threads = plan.threads;
        let foretell = |foretold: &Foretold| {
            if let Some(sentence) = patience::sentence(foretold, threads, fewer) {
                Progress::say(&sentence);
            }
        };
        let mut plan = plan.clone();
        plan.foretold = Some(&foretell);
        work(&plan)
    })?;
    let mut told = Told {
        study,
        recommended,
        remedy: None,
        command: command(std::env::args().skip(1), given, seed),
    };
    told.remedy = planned(flags, seed, |plan| remedy(&told.study, plan));
    let written = reports.write(&told)?;
    let printed = if flags.json {
        usage::print([document::document(&told)?])
    } else {
        let stream = Stream::Stdout;
        usage::print([usage::rendered(stream.painter(), |painter| {
            text::text(&told, &written, stream.columns(), painter)
        })])
    };
    Ok(Done { told, printed })
}

/// Does something under a plan, and shows how far it is.
fn planned<T>(flags: &RunFlags, seed: u64, work: impl FnOnce(&Plan<'_>) -> T) -> T {
    let progress = Progress::new("runs");
    let tell = |done, all| progress.tell(done, all);
    let ruled = |name: &str, verdict: Verdict| {
        progress.note(&format!("{name}: {}; searches follow", verdict.as_str()));
    };
    let mut plan = plan(seed, flags.runs, flags.threads);
    plan.memory = flags.memory.unwrap_or(plan.memory);
    plan.progress = Some(&tell);
    plan.ruled = Some(&ruled);
    work(&plan)
}

/// The command line that gives the same: with its seed, and without the threads, which change
/// nothing.
fn command(arguments: impl IntoIterator<Item = String>, given: Option<u64>, seed: u64) -> String {
    let mut arguments = arguments.into_iter();
    let mut kept = Vec::new();
    while let Some(argument) = arguments.next() {
        if argument == THREADS {
            let _ = arguments.next();
        } else if !argument.starts_with(&format!("{THREADS}=")) {
            kept.push(argument);
        }
    }
    if given.is_none() {
        kept.extend(["--seed".into(), seed.to_string()]);
    }
    again::line(kept)
}

const THREADS: &str = "--threads";

#[cfg(test)]
mod tests {
    use becalm_sim::study::Contender;
    use clap::Parser as _;

    use super::super::told::tests::told;
    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Probe {
        #[command(flatten)]
        run: RunFlags,
    }

    /// Whether it exits with 1 under these verdicts, and under this one on a policy that is recommended in place of one that is
    /// the contrary.
    fn fails(verdicts: &[Option<Verdict>], recommended: Option<Verdict>, flags: &[&str]) -> bool {
        let mut told = told();
        let contenders = verdicts.iter().map(|verdict| {
            let mut contender = Contender::default();
            contender.verdict = *verdict;
            contender
        });
        told.study.contenders = contenders.collect();
        told.recommended = recommended.map(|it| Recommended {
            file: String::new(),
            verdict: Some(it),
            given_verdict: Some([Verdict::Stable, Verdict::Metastable][usize::from(it.is_back())]),
            reasons: Vec::new(),
            lines: Vec::new(),
        });
        let printed = ExitCode::SUCCESS;
        let flags = Probe::parse_from([&["probe"], flags].concat()).run;
        let code = format!("{:?}", Done { told, printed }.code(&flags));
        assert!(["0", "1"].iter().any(|it| code.contains(it)), "{code}");
        code == format!("{:?}", ExitCode::FAILURE)
    }

    #[test]
    fn s1_one_policy_that_was_not_seen_to_come_back_fails_and_of_a_search_the_recommended_one() {
        use Verdict::{Metastable, Overloaded, Stable, TooShort, Vulnerable};
        let strict = |verdicts: &[Option<Verdict>], recommended| {
            assert!(!fails(verdicts, recommended, &[]), "without --strict");
            fails(verdicts, recommended, &["--strict"])
        };
        for back in [Stable, Vulnerable] {
            for other in [Metastable, Overloaded, TooShort] {
                assert!(strict(&[Some(back), Some(other)], None), "{other:?}");
                assert!(strict(&[Some(other), Some(back)], None), "{other:?}");
                assert!(strict(&[Some(back)], Some(other)), "{other:?}");
                assert!(!strict(&[Some(other)], Some(back)), "{other:?}");
            }
            assert!(!strict(&[Some(back)], None), "{back:?}");
        }
        // What nothing bounds has no verdict, and cannot stay down.
        assert!(!strict(&[None], None));
        assert!(!strict(&[None, Some(Stable)], None));
        assert!(strict(&[None, Some(Metastable)], None));
    }

    #[test]
    fn the_same_is_done_again_with_its_seed_and_any_threads() {
        let line = |words: &str, given| command(words.split(' ').map(String::from), given, 5);
        let expected = "becalm storm herd --compare 'attempts=3;budget=none' --seed 5";
        assert_eq!(
            line("storm herd --compare attempts=3;budget=none", None),
            expected
        );
        let threads = "storm herd --threads 2 --compare attempts=3;budget=none";
        assert_eq!(line(threads, None), expected);
        assert_eq!(
            line("storm herd --threads=2 --seed 5", Some(5)),
            "becalm storm herd --seed 5"
        );
    }
}
