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
use super::{document, patience, remedy, text};
use crate::again;
use crate::stream::Stream;
use crate::usage;

/// A study, and how it is done again.
#[derive(Debug)]
pub struct Told {
    pub study: Study,
    /// What a search for a policy came to.
    pub recommended: Option<Recommended>,
    /// What would keep the service up.
    pub remedy: Option<remedy::Told>,
    pub command: String,
}

/// A policy that suits the scenario.
#[derive(Debug)]
pub struct Recommended {
    /// As a policy file.
    pub file: String,
    /// Why, in sentences.
    pub reasons: Vec<String>,
    /// What is to be written where, of a scenario in a file; nothing where the given policy stays.
    pub lines: Vec<remedy::Line>,
}

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
        if flags.sweep.is_some() || flags.quick {
            return None;
        }
        let of = remedy::patient(&candidates, study, is_asked, subject.is_file())?;
        remedy::Told::find(&subject, &start, of, plan)
    };
    let done = tell(question, &flags.run, "--quick", work, remedy)?;
    let mut contenders = done.told.study.contenders.iter();
    let is_down = |verdict| matches!(verdict, Verdict::Metastable | Verdict::Overloaded);
    let fails = flags.strict && contenders.any(|it| it.verdict.is_some_and(is_down));
    Ok(if fails {
        ExitCode::FAILURE
    } else {
        done.printed
    })
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

/// Does the work under a plan with a seed, threads and a display of its progress; then tells of it
/// wherever the flags say. A terminal has the findings before the search for a remedy begins. `fewer` is
/// the flag that makes it shorter most.
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
    let columns = Stream::Stdout.columns();
    if !flags.json {
        usage::print([text::findings(&told, columns)]);
    }
    told.remedy = planned(flags, seed, |plan| remedy(&told.study, plan));
    let written = reports.write(&told)?;
    let printed = if flags.json {
        usage::print([document::document(&told)?])
    } else {
        usage::print([text::rest(&told, &written, columns)])
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
pub mod tests {
    use becalm_sim::study::{Chart, ChartKind, Contender, Figure, ServicePhase, ServiceSeen};

    use super::*;

    /// Two policies with a verdict each, every kind of chart, and names that are hostile to markup.
    pub fn told() -> Told {
        let contender = |name: &str, verdict, recovery| {
            let mut contender = Contender::default();
            contender.name = name.into();
            contender.policy = "4 attempts".into();
            contender.verdict = Some(verdict);
            contender.evidence = format!("{name} was measured.");
            contender.figures = vec![
                Figure::new("amplification", "amplification", "", Some(1.5)).within(1.25, 1.75),
                Figure::new("recovery_p50_s", "time to recover", "s", recovery),
            ];
            let mut database = ServiceSeen::default();
            database.name = "database".into();
            let amplification = recovery.map_or(9.0, |_| 1.0);
            database.figures = vec![
                Figure::new("amplification", "amplification", "", Some(amplification)),
                Figure::new("pressure_end", "pressure", "", None),
            ];
            let mut end = ServicePhase::default();
            end.name = "end";
            end.arrivals = 90.0;
            end.amplification = Some(amplification);
            end.attempts = vec![("orders->database".into(), 3.0)];
            database.phases = vec![end];
            contender.services = vec![database];
            contender.charts = vec![chart(
                "queue",
                ChartKind::Bars(vec![("longest".into(), 5.0)]),
            )];
            contender
        };
        let mut study = Study::default();
        study.scenario = "orders".into();
        study.question = "What happens to orders?".into();
        study.answer = "Only one comes back.".into();
        study.asked = vec![("load".into(), "260".into())];
        study.contenders = vec![
            contender("none", Verdict::Metastable, None),
            contender("<full>", Verdict::Stable, Some(2.0)),
        ];
        let points = |top| {
            (0..600)
                .map(|x| (f64::from(x), f64::from(x % 7) * top))
                .collect()
        };
        let map = ChartKind::Map {
            columns: vec![1.0, 2.0],
            rows: vec![100.0, 200.0],
            cells: vec![0.0, 0.25, 0.5, f64::NAN],
            value: "share that stays down".into(),
        };
        let mut arrivals = chart(
            "arrivals",
            ChartKind::Lines(vec![
                ("none".into(), points(9.0)),
                ("<full>".into(), points(1.0)),
            ]),
        );
        arrivals.bands = vec![(10.0, 12.0, "trigger".into())];
        arrivals.levels = vec![(40.0, "capacity".into())];
        study.services = vec![arrivals.clone()];
        study.services[0].title = "What arrives at the database".into();
        study.charts = vec![arrivals, chart("map", map)];
        study.seed = 7;
        study.runs = 10;
        study.events = 12_345;
        let command = "becalm storm orders --seed 7".into();
        Told {
            study,
            recommended: None,
            remedy: None,
            command,
        }
    }

    fn chart(id: &str, kind: ChartKind) -> Chart {
        let mut chart = Chart::default();
        chart.id = id.into();
        chart.title = format!("The {id}");
        (chart.x, chart.y) = ("seconds".into(), "requests".into());
        chart.kind = kind;
        chart
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
