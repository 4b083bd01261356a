//! What does the report on a target say to someone who was not there?

use becalm::support::Human;
use becalm_report::format::plain;
use becalm_report::{Colour, Page};

use super::finding::Finding;
use super::outcome::Outcome;
use super::trouble::Trouble;
use crate::judged::tenths;
use crate::outcome::Room;
use crate::page::{WORDS, first, of_policy, said};
use crate::{picture, twin};

/// The drill as a self-contained page.
pub fn page(outcome: &Outcome) -> Page {
    let setup = outcome.longest();
    let colour = match outcome.finding() {
        Finding::Back | Finding::Harmless => Colour::Green,
        Finding::Storm | Finding::Down => Colour::Red,
        Finding::Unwell | Finding::Idle | Finding::Void | Finding::TooShort => Colour::Orange,
    };
    let title = format!(
        "{}: what becomes a storm at {}?",
        outcome.trouble, outcome.host
    );
    let conclusion = outcome.conclusion();
    let (page, rest) = first(
        Page::new(title),
        colour,
        &conclusion,
        outcome.contenders.last(),
    );
    let page = page
        .figure(
            &picture::goodput(&outcome.contenders, setup),
            "Calls that succeed, by the moment at which they do. Where lines coincide, the last one of the legend is seen.",
        )
        .contents()
        .heading("What was measured");
    let page = said(page, rest)
        .paragraph(&course(outcome))
        .heading("What was sent")
        .figure(
            &picture::arrivals(&outcome.contenders, setup),
            "Attempts that clients send in every 10 ms; the line is the mean of 200 ms.",
        )
        .heading("The figures")
        .table(&outcome.table(Room::Page))
        .definitions(WORDS.iter().filter(|(word, _)| *word != "stale").copied())
        .heading("Without load")
        .paragraph("After each policy the calls ended, and single requests asked when the target was well again.")
        .definitions(outcome.recoveries());
    let service = "the service of the scenario";
    let page = twin::on_page(page, service, &outcome.contenders, &outcome.twins);
    page.heading("How it was set up")
        .definitions(parameters(outcome))
        .heading("Hold it again")
        .code(&outcome.command)
}

/// What was done to the target.
fn course(outcome: &Outcome) -> String {
    let Outcome { host, request, .. } = outcome;
    if !outcome.rounds.iter().any(|round| round.was_broken) {
        return format!("Measured by becalm drill on {host}: {request}. Nothing was broken.");
    }
    format!(
        "Measured by becalm drill on {host}, which it broke on purpose: {request} after {} {}, for {}. The same calls came at \
         the same moments under every policy, one policy after the other, and in between it was waited until the target was \
         well without load.",
        Human(outcome.setup.before),
        outcome.trouble.sentence(),
        Human(outcome.setup.trigger),
    )
}

fn parameters(outcome: &Outcome) -> Vec<(&str, String)> {
    let setup = &outcome.setup;
    let mut parameters = vec![
        ("target", format!("{} of {}", outcome.request, outcome.host)),
        (
            "load",
            format!(
                "{} first tries per second, open loop; a client waits {} for an attempt; the load generator, and the fault, were late \
                 by {:.1} ms at worst",
                plain(setup.load),
                Human(setup.client_timeout),
                outcome.lateness().as_secs_f64() * 1_000.0
            ),
        ),
        (
            "course",
            format!(
                "{} before, {} of {}, {} after, and longer while more and more calls succeeded",
                Human(setup.before),
                Human(setup.trigger),
                outcome.trouble,
                Human(setup.after)
            ),
        ),
        ("seed", outcome.seed.to_string()),
    ];
    if let Trouble::Fault(fault) = outcome.trouble {
        parameters.push((&outcome.setup.fault, fault.sentence()));
    }
    for (contender, round) in outcome.contenders.iter().zip(&outcome.rounds) {
        let watched = format!("watched for {} after the fault", tenths(round.setup.after));
        parameters.push(of_policy(&contender.variant, watched));
    }
    parameters
}

#[cfg(test)]
mod tests {
    use super::super::finding::tests::outcome;
    use super::*;
    use crate::statistics::tests::{protected, stormy};

    #[test]
    fn the_page_holds_what_was_found_and_escapes_what_was_named() {
        let mut outcome = outcome(&stormy(), &protected());
        outcome.host = "<i>:80".into();
        let html = page(&outcome).to_html();
        assert_eq!(html.matches("<figure").count(), 2);
        for words in [
            "it stayed down",
            "well 0.4 s after the last call",
            "&lt;i&gt;:80",
            "becalm drill --target",
            "watched for 7.0 s after the fault",
        ] {
            assert!(html.contains(words), "{words}");
        }
        assert!(!html.contains("<i>:80"));
    }

    #[test]
    fn nobody_reads_that_a_target_was_broken_that_was_not() {
        let mut outcome = outcome(&stormy(), &protected());
        assert!(page(&outcome).to_html().contains("broke on purpose"));
        for round in &mut outcome.rounds {
            round.was_broken = false;
        }
        let html = page(&outcome).to_html();
        assert!(html.contains("Nothing was broken") && !html.contains("broke on purpose"));
    }
}
