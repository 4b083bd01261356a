//! What does the report say to someone who was not there?

use std::cmp::Reverse;

use becalm_check::shown::{Bounded, Folded, grouped, policy_file, printable};
use becalm_check::{Finding, Severity};
use becalm_report::{Cell, Colour, Page, Table};
use becalm_sim::study::Verdict;

use super::frame::{colour, numbered};
use super::service::Judged;
use super::text::{amplification, counted, judgement, verdict_colour};
use super::told::{Stack, Told, weight};
use crate::again;
use crate::wording::begun;

/// What was found, as a self-contained page.
pub fn page(
    told: &Told<'_>,
    shown: &Bounded<'_>,
    policies: usize,
    arguments: impl Iterator<Item = String>,
) -> Page {
    let mut worst: Vec<&Folded<'_>> = shown.shown.iter().collect();
    worst.sort_by_key(|it| Reverse(weight(it.finding)));
    let first = worst.first().map(|it| it.finding);
    let page = Page::new("What do these files say about retrying?");
    let badges = verdicts(told);
    let page = if badges.is_empty() {
        page
    } else {
        page.badges(badges)
    };
    let tone = first.map_or(Colour::Green, |it| colour(it.severity));
    let page = page
        .conclusion(tone, &conclusion(told, first))
        .figures(&counted(told), figures(told));
    let page = match first {
        Some(it) => snippet(page, it, told),
        None => page,
    };
    let page = page.contents().heading("The findings");
    let page = worst.iter().fold(page, |page, it| finding(page, it, told));
    let page = shown.more.iter().fold(page, |page, it| {
        page.paragraph(&format!("{}: {}", it.code, it.sentence()))
    });
    let all = &told.checked.mappings;
    let mappings = all.iter().enumerate().take(policies);
    let page = mappings.fold(page, |page, (at, mapping)| {
        let title = format!(
            "{}, line {}: {}",
            mapping.file, mapping.span.line, mapping.name
        );
        let page = page
            .heading(&printable(&title))
            .paragraph(&printable(&mapping.policy.to_string()))
            .paragraph(&amplification(&mapping.policy));
        let page = of_judged(page, told.judged(at));
        match policy_file(mapping) {
            Some(file) => page.code(&file),
            None => page,
        }
    });
    let page = match told.policies() - all.len().min(policies) {
        0 => page,
        more => page.paragraph(&format!("... and {} more policies.", grouped(more))),
    };
    let page = match &told.layers {
        Some(Stack { layers, judged }) => {
            let all = layers
                .attempts
                .map_or_else(|| "Without bound".into(), |it| it.to_string());
            let page = page
                .heading("The layers")
                .paragraph(&format!("{all} attempts at the innermost for one request."));
            of_judged(page, judged.as_ref())
        }
        None => page,
    };
    let page = page.heading("All of them").table(&table(&worst));
    page.heading("Run it again")
        .code(&printable(&again::line(arguments)))
}

fn of_judged(page: Page, judged: Option<&Judged>) -> Page {
    match judged {
        Some(judged) => {
            let verdict = judged.verdict.map_or("no verdict", Verdict::as_str);
            page.badges([(verdict_colour(judged.verdict), verdict, "simulated")])
                .paragraph(&judgement(judged))
        }
        None => page,
    }
}

/// Policies that a page and a document tell.
pub const POLICIES: usize = 500;

/// The verdicts with the policies that have them; of many, how many do.
fn verdicts(told: &Told<'_>) -> Vec<(Colour, &'static str, String)> {
    let verdicts = told.verdicts().into_iter().map(|(verdict, names)| {
        let about = if names.len() > NAMED {
            format!("{} policies", grouped(names.len()))
        } else {
            printable(&names.join(", ")).into_owned()
        };
        let word = verdict.map_or("no verdict", Verdict::as_str);
        (verdict_colour(verdict), word, about)
    });
    verdicts.collect()
}

/// Policies that are named beside their verdict.
const NAMED: usize = 3;

/// What is worst and what helps, in a sentence each.
fn conclusion(told: &Told<'_>, worst: Option<&Finding>) -> String {
    let Some(worst) = worst else {
        return "Nothing was found in what is read.".into();
    };
    let sentence = worst.sentence.trim_end_matches('.');
    let (sentence, _) = begun(sentence, |it| it.chars().count() <= SAID);
    let sentence = format!(
        "{}:{}: {}.",
        worst.file,
        worst.span.line,
        sentence.trim_end_matches('.')
    );
    let remedy = match worst.remedy.trim_end_matches('.') {
        "" => String::new(),
        remedy => format!(" What helps: {remedy}."),
    };
    let kinds = [Severity::Error, Severity::Warning, Severity::Note];
    let all: usize = kinds.map(|it| told.count(it)).iter().sum();
    let more = match all - 1 {
        0 => String::new(),
        more => format!(" Beside this: {} more.", grouped(more)),
    };
    printable(&(sentence + &remedy + &more)).into_owned()
}

/// Letters of a finding that is said first.
const SAID: usize = 300;

/// How many findings there are, from the worst kind to the least.
fn figures(told: &Told<'_>) -> Vec<(String, &'static str)> {
    let kinds = [
        (Severity::Error, "errors"),
        (Severity::Warning, "warnings"),
        (Severity::Note, "notes"),
    ];
    kinds
        .map(|(severity, name)| (grouped(told.count(severity)), name))
        .into()
}

fn table(findings: &[&Folded<'_>]) -> Table {
    let table = Table::new(["Where", "What", "How bad"]);
    findings.iter().fold(table, |table, folded| {
        let it = folded.finding;
        let more = match folded.also.len() {
            0 => String::new(),
            more => format!(" and {} more", grouped(more)),
        };
        table.row([
            Cell::new(format!("{}:{}{more}", printable(&it.file), it.span.line)),
            Cell::new(it.code),
            Cell::new(it.severity.as_str()).colour(colour(it.severity)),
        ])
    })
}

/// The line that a finding is about, under its number.
fn snippet(page: Page, finding: &Finding, told: &Told<'_>) -> Page {
    let input = told.input(&finding.file);
    match input.and_then(|it| it.snippet(finding.span)) {
        Some(shown) => page.code(&numbered(finding, &shown)),
        None => page,
    }
}

fn finding(page: Page, folded: &Folded<'_>, told: &Told<'_>) -> Page {
    let finding = folded.finding;
    let head = format!(
        "{}[{}]: {}:{}: {}",
        finding.severity.as_str(),
        finding.code,
        finding.file,
        finding.span.line,
        finding.sentence
    );
    let page = snippet(page.paragraph(&printable(&head)), finding, told);
    let page = match &*finding.remedy {
        "" => page,
        remedy => page.paragraph(&printable(remedy)),
    };
    let places = folded.places();
    places.iter().fold(page, |page, it| page.paragraph(it))
}
