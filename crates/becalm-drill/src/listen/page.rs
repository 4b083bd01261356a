//! What does the report on a client say to someone who was not there?

use becalm::support::Human;
use becalm_report::{Colour, Page, Table};

use super::Outcome;
use super::finding::{self, Finding};
use crate::outcome::{Room, table};
use crate::page::{WORDS, first, said};
use crate::picture;

/// The drill as a self-contained page.
pub fn page(outcome: &Outcome) -> Page {
    let setup = &outcome.setup;
    let contenders = std::slice::from_ref(&outcome.contender);
    let colour = match Finding::of(outcome) {
        Finding::Bounded | Finding::Single => Colour::Green,
        Finding::Storm | Finding::Unbounded => Colour::Red,
        Finding::Unwell
        | Finding::Void
        | Finding::Unidentified
        | Finding::Idle
        | Finding::TooShort
        | Finding::Unseen => Colour::Orange,
    };
    let header = vec!["attempts of a call", "calls"];
    let attempts = (1..).zip(&outcome.seen.calls_by_attempts);
    let attempts = attempts.fold(Table::new(header), |table, (attempts, calls)| {
        table.row(vec![attempts.to_string().into(), calls.to_string().into()])
    });
    let title = format!("{}: what does your client do?", outcome.fault);
    let conclusion = finding::conclusion(outcome);
    let (page, rest) = first(
        Page::new(title),
        colour,
        &conclusion,
        Some(&outcome.contender),
    );
    let page = page
        .figure(
            &picture::goodput(contenders, setup),
            "Calls that succeed, by the moment of their first good answer.",
        )
        .contents()
        .heading("What was measured");
    let page = said(page, rest)
        .paragraph(&format!(
            "Measured by becalm drill, which stood between a client and {} and made no calls: {} after its first request {}, for {}.",
            outcome.upstream,
            Human(setup.before),
            outcome.fault.sentence(),
            Human(setup.trigger),
        ))
        .heading("What was sent")
        .figure(
            &picture::arrivals(contenders, setup),
            "Attempts that came in every 10 ms; the line is the mean of 200 ms.",
        )
        .heading("The figures")
        .table(&table(contenders, Room::Page))
        .definitions(WORDS.iter().filter(|(word, _)| *word != "stale").copied());
    page.heading("How often a call was tried")
        .table(&attempts)
        .heading("Hold it again")
        .code(&outcome.command)
}
