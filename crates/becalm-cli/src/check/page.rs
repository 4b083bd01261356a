//! What does the report say to someone who was not there?

use becalm_check::shown::{Bounded, grouped, policy_file, printable};
use becalm_check::{Finding, Severity};
use becalm_report::{Cell, Colour, Page, Table};
use becalm_sim::study::Verdict;

use super::text::{amplification, colour, judgement, verdict_colour};
use super::told::Told;
use crate::again;

/// What was found, as a self-contained page.
pub fn page(
    told: &Told<'_>,
    shown: &Bounded<'_>,
    policies: usize,
    arguments: impl Iterator<Item = String>,
) -> Page {
    let findings = &told.checked.findings;
    let worst = findings.iter().map(|it| it.severity).max();
    let page = Page::new("What do these files say about retrying?")
        .conclusion(worst.map_or(Colour::Green, colour), &conclusion(findings))
        .table(&table(&shown.shown));
    let page = page.heading("The findings");
    let page = shown
        .shown
        .iter()
        .fold(page, |page, it| finding(page, it, told));
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
        let page = match told.judged(at) {
            Some(judged) => {
                let verdict = judged.verdict.map_or("no verdict", Verdict::as_str);
                page.badges([(verdict_colour(judged.verdict), verdict, "simulated")])
                    .paragraph(&judgement(judged))
            }
            None => page,
        };
        match policy_file(mapping) {
            Some(file) => page.code(&file),
            None => page,
        }
    });
    let page = match all.len().saturating_sub(policies) {
        0 => page,
        more => page.paragraph(&format!("... and {} more policies.", grouped(more))),
    };
    let page = match &told.layers {
        Some(layers) => {
            let all = layers
                .attempts
                .map_or_else(|| "Without bound".into(), |it| it.to_string());
            page.heading("The layers")
                .paragraph(&format!("{all} attempts at the innermost for one request."))
        }
        None => page,
    };
    page.heading("Run it again")
        .code(&printable(&again::line(arguments)))
}

/// Policies that a page and a document tell.
pub const POLICIES: usize = 500;

fn conclusion(findings: &[Finding]) -> String {
    let of = |severity| findings.iter().filter(|it| it.severity == severity).count();
    match (of(Severity::Error), of(Severity::Warning)) {
        (0, 0) => "No error and no warning was found in what is read.".into(),
        (errors, warnings) => format!("Errors: {errors}. Warnings: {warnings}."),
    }
}

fn table(findings: &[&Finding]) -> Table {
    let table = Table::new(["Where", "What", "How bad"]);
    findings.iter().fold(table, |table, it| {
        table.row([
            Cell::new(format!("{}:{}", printable(&it.file), it.span.line)),
            Cell::new(it.code),
            Cell::new(it.severity.as_str()).colour(colour(it.severity)),
        ])
    })
}

fn finding(page: Page, finding: &Finding, told: &Told<'_>) -> Page {
    let input = told.input(&finding.file);
    let shown = input.and_then(|it| it.snippet(finding.span));
    let head = format!(
        "{}:{}: {}: {}",
        finding.file, finding.span.line, finding.code, finding.sentence
    );
    let page = page.paragraph(&printable(&head));
    let page = match shown {
        Some(shown) => page.code(&format!(
            "{}\n{}{}",
            shown.line,
            " ".repeat(shown.before),
            "^".repeat(shown.length)
        )),
        None => page,
    };
    match &*finding.remedy {
        "" => page,
        remedy => page.paragraph(&printable(remedy)),
    }
}
