//! What does the report say to someone who was not there?

use becalm::support::Human;
use becalm_report::format::plain;
use becalm_report::{Colour, Page};

use crate::judgement::{Contender, Judgement, number};
use crate::setup::Setup;
use crate::{outcome, picture};

/// The drill as a self-contained page.
pub fn page(setup: &Setup, command: &str, contenders: &[Contender], judgement: &Judgement) -> Page {
    let colour = if judgement.as_expected {
        Colour::Green
    } else {
        Colour::Orange
    };
    Page::new("A Redis is cut off, and killed: what ran twice, and who came back when?")
        .conclusion(colour, &judgement.conclusion)
        .paragraph(&format!(
            "Measured on this machine by redis-cuts, an exhibit of becalm: a redis-server that is killed and started again, and {} processes of {} \
             tasks each, on one connection each. Every increment goes to a field of its own, and is read back at the end. Nothing is \
             simulated and nothing is scripted.",
            setup.processes, setup.tasks
        ))
        .heading("Who dialled")
        .figure(
            &picture::dials(contenders),
            "Dials of all processes in every 100 ms. A proxy in front of each process counts them, also while the server is down.",
        )
        .heading("What was answered")
        .figure(&picture::answers(contenders), "Answers to increments in every 100 ms.")
        .heading("The figures")
        .table(&outcome::table(contenders))
        .paragraph(outcome::LEGEND)
        .heading("Why")
        .paragraph(
            "When a connection breaks, nobody knows what has become of the commands whose answers are missing. Who sends them all again \
             runs some twice. becalm-redis sends a command again if its kind may run twice, and any command of which it is proved \
             that the server cannot have run it: it waited for a connection, or the system had not yet taken all of its bytes. An \
             increment of which nothing is proved comes back as an error.",
        )
        .paragraph(
            "ConnectionManager waits before it dials again, for a time that is drawn from a generator with a constant seed: every \
             process draws the same. So a fleet comes back in one instant. becalm draws each wait from the entropy of the system, \
             and paces its dials.",
        )
        .heading("How it was set up")
        .definitions(parameters(setup, contenders))
        .heading("Run it again")
        .code(command)
}

fn parameters(setup: &Setup, contenders: &[Contender]) -> Vec<(String, String)> {
    let clients = format!(
        "{} processes of {} tasks, {} increments per second in all",
        setup.processes,
        setup.tasks,
        plain(setup.rate.into())
    );
    let course = format!(
        "{} times a proxy swallows answers for {} and cuts; {} times CLIENT KILL; killed for {}; then killed for {} {} times",
        setup.cuts,
        Human(setup.swallow),
        setup.cuts,
        Human(setup.outage),
        Human(setup.down),
        setup.restarts
    );
    let mut parameters = vec![
        ("clients".to_owned(), clients),
        ("course".to_owned(), course),
    ];
    for contender in contenders {
        let figures = &contender.figures;
        let told = format!(
            "{}; of what CLIENT KILL broke {} were sent again and {} failed; one took {} at most; the processes' \
             second dials after a kill were {} ms apart in the middle",
            contender.variant.description,
            number(figures.thrown_out_again),
            number(figures.thrown_out_failed),
            crate::units::tenths(figures.report.longest),
            figures.waits_usually_apart().as_millis()
        );
        parameters.push((contender.variant.title.to_owned(), told));
    }
    parameters
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judgement::tests::{judged, usual};

    #[test]
    fn the_page_holds_conclusion_figures_pictures_parameters_and_command() {
        let (contenders, judgement) = judged();
        let command = "redis-cuts";
        let html = page(&usual(), command, &contenders, &judgement).to_html();
        assert_eq!(html.matches("<figure").count(), 2);
        for words in [
            "what ran twice",
            "4 processes of 500 tasks",
            "CLIENT KILL broke 5 were sent again and 3 failed",
            "900 twice",
            command,
        ] {
            assert!(html.contains(words), "{words}");
        }
        for contender in &contenders {
            assert!(html.contains(contender.variant.description));
        }
    }
}
