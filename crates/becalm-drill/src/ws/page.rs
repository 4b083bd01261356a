//! What does the report say to someone who was not there?

use becalm::support::Human;
use becalm_report::Page;
use becalm_report::format::plain;

use super::judgement::Contender;
use super::outcome::{self, Outcome, table};
use super::picture;
use super::variant::Role;
use crate::page::{SAID, said, tone};
use crate::show::begun;

/// The drill as a self-contained page.
pub fn page(outcome: &Outcome) -> Page {
    let (setup, contenders) = (&outcome.setup, &outcome.contenders);
    let judgement = &outcome.judgement;
    let first = begun(&judgement.conclusion, |it| it.len() <= SAID);
    let page = Page::new(format!(
        "A server of {} WebSockets dies: who comes back?",
        plain(setup.clients.into())
    ))
    .conclusion(tone(judgement.as_expected), first);
    let page = match told_of(contenders) {
        Some(it) => page.figures(it.variant.title, outcome::first_figures(it, setup)),
        None => page,
    };
    let page = page.figure(
        &picture::connections(contenders, setup),
        "The connections that the server has. Where lines coincide, the last one of the legend is seen.",
    )
    .contents()
    .heading("What was measured");
    let rest = judgement.conclusion[first.len()..].trim_start();
    said(page, rest).paragraph(&format!(
        "Measured on this machine by becalm drill ws: {} killed and started again {} later, or drained, and clients \
         of becalm-ws in processes of their own, on the loopback interface. Nothing is simulated and nothing is scripted.",
        match setup.servers {
            1 => "a server process that is".into(),
            many => format!("{many} server processes that are"),
        },
        Human(setup.outage)
    ))
    .heading("Who dialled")
    .figure(
        &picture::dials(contenders),
        "Dials that begin in every 100 ms. A close is what brings clients into step: each sees it at the same \
         moment.",
    )
    .heading("What the server did")
    .figure(
        &picture::handshakes(contenders, setup),
        "Handshakes that the server has worked on, in every second. Red ones were for clients that had lost \
         their patience and left.",
    )
    .heading("The figures")
    .table(&table(contenders, setup))
    .definitions(WORDS)
    .heading("Why")
    .paragraph(
        "A handshake costs something: a login, a database, cryptography. A server that lets \
         everybody in works on them one after the other. When a whole fleet comes at once, the queue soon is older than \
         the patience of those who wait in it. From then on the server works for clients that have left, and these \
         dial again, and stand in the same queue again. Jitter moves dials to other moments; it does not make \
         them fewer, and the queue is as old as before.",
    )
    .paragraph(
        "Admission stands before the costly work. It lets in as many as the server can take, lets few wait, and tells the \
         others at once to come later, so that no work is done for somebody who has left. With an appointment it also says when: \
         each client gets a place of its own and a ticket for it, and comes once more. Without one clients guess, come too \
         often and at last too seldom.",
    )
    .paragraph(
        "A drain is a kill that is announced: the old server sends its clients to the new one at a rate that this can take, and \
         hardly anybody is missed. A listening socket that outlives the kill refuses nobody: those who dial wait in the \
         kernel, some of them for so long that they leave soon after. Where only the connections are lost, sessions go on, and \
         both sides send again just what the other has not confirmed.",
    )
    .heading("How it was set up")
    .definitions(parameters(outcome))
    .heading("Run it again")
    .code(&outcome.command)
}

/// The variant whose figures are read first: that which tells clients when to come, if it was held.
fn told_of(contenders: &[Contender]) -> Option<&Contender> {
    let is_it = |it: &&Contender| it.variant.role == Role::Appointments;
    contenders.iter().find(is_it).or(contenders.last())
}

/// The words over the table's columns.
const WORDS: [(&str, &str); 7] = [
    (
        "dials",
        "Since the server is up again: of all clients, and of the one that dialled most.",
    ),
    ("peak", "The most dials within 100 ms, since then."),
    (
        "refused",
        "Dials that the server has answered with status 503.",
    ),
    (
        "done",
        "Handshakes that the server has worked on, since then.",
    ),
    ("stale", "Those of them whose clients had left."),
    (
        "lost, twice",
        "Numbered messages, of both directions, that never arrived though there was a connection, and that arrived \
         twice. Within a session becalm-ws sees to that. A server that is killed forgets its sessions: both sides then send \
         again what the other has not, by the numbers that the server's application has stored.",
    ),
    (
        "verdict",
        "From the moment at which a server listens again until all clients have a connection; or how many had one \
         when the drill ended.",
    ),
];

fn parameters(outcome: &Outcome) -> Vec<(&str, String)> {
    let setup = &outcome.setup;
    let mut parameters = vec![
        (
            "server",
            format!(
                "{} handshakes per second, one after the other, so all clients take {} at least; down for {}",
                plain(setup.capacity.into()),
                Human(setup.floor()),
                Human(setup.outage)
            ),
        ),
        (
            "clients",
            format!(
                "{} of becalm-ws, which give a dial up after {} and send a message every {}",
                plain(setup.clients.into()),
                Human(setup.patience),
                Human(setup.every)
            ),
        ),
        ("waits", setup.heard_of()),
        (
            "course",
            format!(
                "1s before the fault; a service that does not come back is watched for {}",
                Human(setup.watch())
            ),
        ),
        ("seed", outcome.seed.to_string()),
    ];
    for contender in &outcome.contenders {
        let figures = &contender.figures;
        parameters.push((
            contender.variant.title,
            format!(
                "{}; since the fault {} dials found no server, {} took too long, {} ended in another way; {} sessions went on, {} \
                 began anew; {} messages",
                contender.variant.description,
                figures.unconnected,
                figures.timed_out,
                figures.broken,
                figures.resumed,
                figures.cold,
                figures.messages
            ),
        ));
    }
    parameters
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
            "dies: who comes back?",
            "one after the other, so all clients take 20s at least",
            "dials again after 5s at most",
            "down, 400 of 2",
            &*outcome.command,
        ] {
            assert!(html.contains(words), "{words}");
        }
    }
}
