//! What is left of a drill when it is over? Everything that reports are made of.

use std::time::Duration;

use becalm_report::format::plain;
use becalm_report::{Cell, Colour, Table};

use super::blip::BlipOutcome;
use super::judgement::{Contender, Judgement};
use super::setup::Setup;
use super::statistics::{Measured, Phase, PhaseFigures};
use super::tail::TailOutcome;
use super::twin::Twin;

/// What the words over the table mean.
pub const LEGEND: &str = "goodput/s, amplification (attempts / first tries): before > during > after the fault; \
                          peak: most requests in 10 ms; stale: work done for clients that had left";

/// A drill that is over.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub(crate) setup: Setup,
    pub(crate) seed: u64,
    pub(crate) contenders: Vec<Contender>,
    /// Whether it showed what it should, and what it showed.
    pub judgement: Judgement,
    /// When the calls of the first part began, from the start.
    pub(crate) began: Vec<Duration>,
    /// By how much the load generator was late at worst.
    pub(crate) lateness: Duration,
    /// What the simulator makes of these calls, in the order of the contenders, if that was asked for.
    pub(crate) twins: Vec<Twin>,
    /// The second part, if it was held.
    pub(crate) tail: Option<TailOutcome>,
    /// The third part, if it was held.
    pub(crate) blip: Option<BlipOutcome>,
    /// The command that repeats the drill.
    pub(crate) command: String,
}

/// How much of the figures there is room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// 80 columns.
    Terminal,
    /// As much as is wanted.
    Page,
}

/// The figures of the first part side by side.
pub fn table(contenders: &[Contender], room: Room) -> Table {
    let mut header = vec!["policy", "goodput/s", "amplification", "peak", "stale"];
    if room == Room::Page {
        header.extend(["in flight", "p99 ms"]);
    }
    header.push("verdict");
    let rows = contenders.iter().map(|contender| {
        let measured = &contender.measured;
        let stale = measured.served_nobody;
        let mut row: Vec<Cell> = vec![
            Cell::new(&*contender.variant.title).colour(contender.colour()),
            phases(measured, |phase| plain(phase.goodput().round())).into(),
            phases(measured, |phase| share(phase.amplification())).into(),
            plain(measured.peak_arrivals.into()).into(),
            stale
                .map_or("-".into(), |share| format!("{:.0}%", share * 100.0))
                .into(),
        ];
        if room == Room::Page {
            row.push(plain(measured.most_in_flight.into()).into());
            row.push(latency(contender));
        }
        row.push(contender.judged.cell());
        row
    });
    rows.fold(Table::new(header), Table::row)
}

/// The three figures that come first of a policy: each with its unit, and its name in the [table].
pub fn first_figures(contender: &Contender) -> [(String, String); 3] {
    let measured = &contender.measured;
    let verdict = contender.judged.told();
    let goodput = measured.phases[Phase::After as usize].goodput();
    let most = measured.worst_amplification();
    [
        (verdict, "verdict: the service, after the fault".into()),
        (
            format!("{}/s", plain(goodput.round())),
            "goodput after the fault".into(),
        ),
        (
            share(most),
            "amplification: attempts / first tries, in the worst phase".into(),
        ),
    ]
}

/// The latency after the fault. Where the service is down it is that of few calls, and says nothing good.
fn latency(contender: &Contender) -> Cell {
    let latency = contender.p99[Phase::After as usize];
    let text = milliseconds(latency);
    match contender.judged.back_after() {
        None if latency.is_some() => Cell::new(text + "*").colour(Colour::Muted),
        _ => text.into(),
    }
}

fn milliseconds(latency: Option<Duration>) -> String {
    latency.map_or("-".into(), |it| plain((it.as_secs_f64() * 1e3).round()))
}

fn phases(measured: &Measured, figure: impl Fn(&PhaseFigures) -> String) -> String {
    measured.phases.each_ref().map(figure).join(" > ")
}

fn share(amplification: Option<f64>) -> String {
    amplification.map_or("-".into(), |share| format!("{share:.2}"))
}

#[cfg(test)]
pub mod tests {
    use super::super::blip;
    use super::super::judgement::judge;
    use super::super::judgement::tests::contenders;
    use super::super::setup::tests::usual;
    use super::super::statistics::tests::protected;
    use super::super::tail::tests::racers;
    use super::*;
    use crate::drill::Report;
    use becalm_report::terminal::Painter;

    /// The usual drill as it should end.
    pub fn outcome() -> Outcome {
        let (setup, contenders) = (usual(), contenders(&protected()));
        Outcome {
            judgement: judge(&contenders, &setup, Duration::ZERO),
            setup,
            seed: 7,
            contenders,
            began: vec![Duration::from_millis(3)],
            lateness: Duration::from_millis(2),
            twins: Vec::new(),
            tail: Some(TailOutcome::new(racers(), Duration::ZERO)),
            blip: Some(blip::tests::outcome(3, 205)),
            command: "becalm drill --seed 7".into(),
        }
    }

    #[test]
    fn all_parts_must_show_what_they_are_there_to_show() {
        assert!(outcome().is_as_expected());
        let mut without_gain = outcome();
        if let Some(tail) = &mut without_gain.tail {
            tail.as_expected = false;
        }
        assert!(!without_gain.is_as_expected());
        let mut without_savings = outcome();
        without_savings.blip = Some(blip::tests::outcome(26, 205));
        assert!(!without_savings.is_as_expected());
        let mut without_storm = outcome();
        without_storm.judgement.as_expected = false;
        assert!(!without_storm.is_as_expected());
        let mut one_part = outcome();
        (one_part.tail, one_part.blip) = (None, None);
        assert!(one_part.is_as_expected());
    }

    #[test]
    fn the_table_holds_the_figures_of_every_policy() {
        let outcome = outcome();
        let text = table(&outcome.contenders, Room::Terminal).to_terminal(Painter::Plain);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 7);
        for words in [
            "no backoff",
            "260 > 2 > 2",
            "1.00 > 4.00 > 4.00",
            "metastable",
        ] {
            assert!(lines[1].contains(words), "{text}");
        }
        for words in [
            "becalm's default",
            "260 > 0 > 227",
            "1.00 > 1.12 > 1.01",
            "back in 0.9 s",
        ] {
            assert!(lines[6].contains(words), "{text}");
        }
        let fits = |line: &&str| line.chars().count() < 80;
        assert!(lines.iter().all(fits), "{text}");
    }
}
