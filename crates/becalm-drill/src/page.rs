//! What does the report say to someone who was not there?

use becalm::support::Human;
use becalm_report::format::plain;
use becalm_report::{Colour, Page};

use super::blip::BlipOutcome;
use super::judgement::Contender;
use super::ledger::Count;
use super::outcome::{self, Outcome, Room};
use super::picture;
use super::show::begun;
use super::tail::{self, TailOutcome};
use super::twin;
use super::variant::Variant;
use super::wire::Wire;
use crate::drill::Report as _;
use becalm_report::policy::{delays, limits, protection};

/// The drill as a self-contained page.
pub fn page(outcome: &Outcome) -> Page {
    let setup = &outcome.setup;
    let trigger = Human(setup.trigger);
    let is_good = outcome.is_as_expected();
    let page = Page::new(format!(
        "A service hangs for {trigger}: which retries make it a storm?"
    ));
    let others = if is_good == outcome.judgement.as_expected {
        ""
    } else {
        "Another part did not show what it should, and says so below. "
    };
    let conclusion = others.to_owned() + &outcome.judgement.conclusion;
    let (page, rest) = first(page, tone(is_good), &conclusion, outcome.contenders.last());
    let page = page
    .figure(
        &picture::goodput(&outcome.contenders, setup),
        "Calls that succeed, by the moment at which they do. A service that is back at work \
             answers no client as long as what it works on is stale. Where lines coincide, the last one of \
             the legend is seen.",
    )
    .contents()
    .heading("What was measured");
    let page = said(page, rest).paragraph(&format!(
        "Measured on this machine by becalm drill: {} HTTP services on the loopback interface, \
             each with its own clients{}, the same {} calls at the same moments for all. Nothing is \
             simulated{} and nothing is scripted.",
        outcome.contenders.len(),
        match setup.wire {
            Wire::Own => "",
            #[cfg(feature = "http")]
            Wire::Reqwest => " of becalm-reqwest",
        },
        plain(calls(outcome)),
        if outcome.twins.is_empty() {
            ""
        } else {
            ", but where it is said,"
        }
    ))
    .heading("What arrived at each service")
    .figure(
        &picture::arrivals(&outcome.contenders, setup),
        "Requests that reach the service in every 10 ms; the line is the mean of 200 ms. Above \
         the dashed line they are more than it can serve.",
    )
    .heading("The figures")
    .table(&outcome::table(&outcome.contenders, Room::Page))
    .definitions(WORDS);
    let page = with_reasons(page);
    let page = twin::on_page(
        page,
        "the same service",
        &outcome.contenders,
        &outcome.twins,
    );
    let page = match &outcome.tail {
        Some(tail) => with_tail(page, tail),
        None => page,
    };
    let page = match &outcome.blip {
        Some(blip) => with_blip(page, blip),
        None => page,
    };
    page.heading("How it was set up")
        .definitions(parameters(outcome))
        .heading("Run it again")
        .code(&outcome.command)
}

/// The colour of what is read first.
pub(crate) const fn tone(is_good: bool) -> Colour {
    [Colour::Orange, Colour::Green][is_good as usize]
}

/// What is read first, above the fold of a telephone: a few sentences, and the figures of the policy that counts. What
/// is left of the sentences.
pub(crate) fn first<'a>(
    page: Page,
    colour: Colour,
    conclusion: &'a str,
    contender: Option<&Contender>,
) -> (Page, &'a str) {
    let said = begun(conclusion, |it| it.len() <= SAID);
    let page = page.conclusion(colour, said);
    let page = match contender {
        Some(it) => page.figures(&it.variant.title, outcome::first_figures(it)),
        None => page,
    };
    (page, conclusion[said.len()..].trim_start())
}

/// A paragraph, where there is something to say.
pub(crate) fn said(page: Page, text: &str) -> Page {
    match text {
        "" => page,
        text => page.paragraph(text),
    }
}

/// Letters that are read first.
pub(crate) const SAID: usize = 480;

/// Why retries do that, and what ends it.
fn with_reasons(page: Page) -> Page {
    page.heading("Why")
        .paragraph(
            "While the service hangs, every attempt times out and is sent again, so its queue \
                 fills. When it works again, it works on requests whose clients have left long ago. \
                 Their successors wait behind them, time out as well, and are sent again: the retries \
                 alone keep the service above its capacity, and the fault is no longer needed.",
        )
        .paragraph(
            "Backoff and jitter move retries to other moments. They do not make them fewer, and \
                 where calls come from many independent users none waits for another, so the load \
                 stays. A budget makes them fewer: retries are a share of the calls that succeed, whatever \
                 fails, and the queue drains.",
        )
        .paragraph(
            "A breaker and a bulkhead bound something else, and end the storm as well. A breaker stops \
                 calling a service that does not answer, but for a probe now and then. A bulkhead bounds \
                 the attempts in flight, so that no more of them can go stale than the service works off \
                 while its clients wait. Both refuse calls; a budget refuses retries.",
        )
}

/// The second part.
fn with_tail(page: Page, tail: &TailOutcome) -> Page {
    let (table, legend) = tail.table();
    page.heading("Some answers are slow")
        .paragraph(&tail.conclusion)
        .figure(
            &tail::latencies(tail),
            "The latency that a share of the calls does not exceed, for the slowest tenth. Where the \
             first answer is late the hedge's copy is not, as the two are late independently.",
        )
        .table(&table)
        .paragraph(legend)
}

/// The third part.
fn with_blip(page: Page, blip: &BlipOutcome) -> Page {
    let (table, legend) = blip.table();
    page.heading("A short absence")
        .paragraph(&blip.conclusion)
        .table(&table)
        .paragraph(legend)
}

/// The words over the table's columns.
pub const WORDS: [(&str, &str); 7] = [
    (
        "goodput",
        "Calls that succeed, per second: before > during > after the fault.",
    ),
    (
        "amplification",
        "Attempts that clients send / first tries: before > during > after the fault. Calls that a guard ends \
         before their first try are in neither.",
    ),
    (
        "peak",
        "The most requests that reached the service within 10 ms.",
    ),
    (
        "stale",
        "The share of the service's work that was done for a client that had left.",
    ),
    (
        "in flight",
        "The most attempts that the clients had in flight at once.",
    ),
    (
        "p99 ms",
        "The latency that 99 % of the calls do not exceed that begin after the fault and succeed; with a star of \
         few, as the service is down.",
    ),
    (
        "verdict",
        "By the rule of becalm storm, on this one run. The service is back when the calls that begin \
         are answered as before the fault, and so to the end. It is metastable where it stays down after \
         the fault is gone, though first tries alone are less than it can serve.",
    ),
];

fn parameters(outcome: &Outcome) -> Vec<(&str, String)> {
    let setup = &outcome.setup;
    let mut parameters = vec![
        (
            "service",
            format!(
                "{} workers of {} (capacity {}/s), a queue of {}, 503 when it is full; work whose \
                 client has left is still done",
                setup.workers,
                Human(setup.service_time),
                plain(setup.capacity()),
                setup.queue
            ),
        ),
        (
            "load",
            format!(
                "{} first tries per second, Poisson, open loop; the load generator was late by \
                 {:.1} ms at worst",
                plain(setup.load),
                outcome.lateness.as_secs_f64() * 1_000.0
            ),
        ),
        (
            "course",
            format!(
                "{} before, {} in which the workers hang while the service accepts, {} after",
                Human(setup.before),
                Human(setup.trigger),
                Human(setup.after)
            ),
        ),
        ("seed", outcome.seed.to_string()),
    ];
    for contender in &outcome.contenders {
        let sent = format!(
            "{} first tries, {} retries",
            contender.recording.total(Count::FirstTry),
            contender.recording.total(Count::Retry)
        );
        parameters.push(of_policy(&contender.variant, sent));
    }
    parameters
}

/// What is told of a policy: its title, and its parts before `more`.
pub fn of_policy(variant: &Variant, more: String) -> (&str, String) {
    let policy = &variant.policy;
    let texts = [delays(policy), limits(policy), protection(policy), more];
    let told: Vec<_> = texts.into_iter().filter(|it| !it.is_empty()).collect();
    (&variant.title, told.join("; "))
}

/// The calls that each policy's clients made.
fn calls(outcome: &Outcome) -> f64 {
    let first = outcome.contenders.first();
    let calls = first.map_or(0, |contender| contender.recording.total(Count::Call));
    super::statistics::count(calls)
}

#[cfg(test)]
mod tests {
    use super::super::outcome::tests::outcome;
    use super::*;

    #[test]
    fn the_page_holds_conclusion_figures_pictures_parameters_and_command() {
        let outcome = outcome();
        let html = page(&outcome).to_html();
        assert_eq!(html.matches("<figure").count(), 3);
        for words in [
            "7s after it the service was still down",
            "1.00 &gt; 1.12 &gt; 1.01",
            "4 workers of 10ms (capacity 400/s)",
            "becalm drill --seed 7",
            "bulkhead calls:16,waiting:16; ",
            "the 99th percentile fell from 410.0 ms",
            "2 without a budget, and 3 under",
            "2\u{a0}600 calls",
        ] {
            assert!(html.contains(words), "{words}");
        }
    }

    #[test]
    fn s1_what_is_read_first_is_green_exactly_where_every_part_is_as_expected() {
        let of = |change: fn(&mut Outcome)| {
            let mut outcome = outcome();
            change(&mut outcome);
            let html = page(&outcome).to_html();
            let (_, first) = html.split_once("bc-conclusion\" style").unwrap();
            let first = first.split_once("</p>").unwrap().0.to_owned();
            let is_green = first.contains("--bc-green)");
            assert_eq!(is_green, outcome.is_as_expected(), "{first}");
            first.contains("Another part did not")
        };
        assert!(!of(|_| ()));
        assert!(!of(|it| it.judgement.as_expected = false));
        assert!(of(|it| it.tail.as_mut().unwrap().as_expected = false));
        assert!(of(|it| it.blip.as_mut().unwrap().as_expected = false));
    }
}
