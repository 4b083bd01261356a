//! What is left of a drill of reconnects, and what are its figures side by side?

use becalm_report::format::plain;
use becalm_report::{Cell, Table};

use super::figures::Figures;
use super::judgement::{Contender, Judgement};
use super::setup::Setup;
use crate::judged::tenths;

/// What the drill came to.
#[derive(Debug)]
pub struct Outcome {
    pub(super) setup: Setup,
    pub(super) seed: u64,
    pub(super) contenders: Vec<Contender>,
    pub(super) judgement: Judgement,
    pub(super) command: String,
}

/// What the words over the table mean.
pub const LEGEND: &str = "dials since the server is up again, > of the client that made most; peak: most dials in 100 ms; \
                          stale: handshakes for clients that had left; lost, twice: messages";

/// The figures side by side.
pub fn table(contenders: &[Contender], setup: &Setup) -> Table {
    let header = [
        "variant", "dials", "peak", "refused", "done", "stale", "lost", "twice", "verdict",
    ];
    let rows = contenders.iter().map(|contender| {
        let figures = &contender.figures;
        [
            Cell::new(contender.variant.title).colour(contender.variant.colour),
            format!("{} > {}", number(figures.dials), number(figures.most_dials)).into(),
            number(figures.peak).into(),
            number(figures.refused).into(),
            number(figures.handshakes).into(),
            number(figures.wasted).into(),
            number(figures.lost).into(),
            number(figures.doubled).into(),
            figures.verdict(setup),
        ]
    });
    rows.fold(Table::new(header), Table::row)
}

/// The three figures that come first of a variant: each with its unit, and its name in the [table].
pub fn first_figures(contender: &Contender, setup: &Setup) -> [(String, String); 3] {
    let figures = &contender.figures;
    [
        (condition(figures, setup), "verdict: all clients".into()),
        (
            number(figures.most_dials),
            "dials of the client that made most".into(),
        ),
        (
            number(figures.wasted),
            "stale handshakes, for clients that had left".into(),
        ),
    ]
}

fn condition(figures: &Figures, setup: &Setup) -> String {
    match figures.back {
        Some(back) => format!("back in {}", tenths(back)),
        None => format!(
            "down: {} of {} connected",
            number(figures.open),
            number(setup.clients)
        ),
    }
}

/// One variant in a line, when it is over.
pub fn line(contender: &Contender, setup: &Setup) -> String {
    let figures = &contender.figures;
    let verdict = condition(figures, setup);
    format!(
        "{}: {verdict}; {} dials, {} handshakes, {} of them stale",
        contender.variant.title,
        number(figures.dials),
        number(figures.handshakes),
        number(figures.wasted)
    )
}

fn number(count: impl Into<u64>) -> String {
    #[expect(clippy::cast_precision_loss)] // exact up to 2^53
    let count = count.into() as f64;
    plain(count)
}

#[cfg(test)]
pub mod tests {
    use super::super::judgement::tests::{judged, usual};
    use super::*;
    use becalm_report::terminal::Painter;

    /// The usual drill as it should end.
    pub fn outcome() -> Outcome {
        let (contenders, judgement) = judged();
        Outcome {
            setup: usual(),
            seed: 7,
            contenders,
            judgement,
            command: "becalm drill ws".into(),
        }
    }

    #[test]
    fn the_table_fits_a_terminal_and_holds_the_figures_of_every_variant() {
        let (contenders, _) = judged();
        let text = table(&contenders, &usual()).to_terminal(Painter::Plain);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), contenders.len() + 1);
        for words in ["fixed delay", "3 000 > 4", " 540 ", "down, 400 of 2 000"] {
            assert!(lines[1].replace('\u{a0}', " ").contains(words), "{text}");
        }
        assert!(
            lines.iter().all(|line| line.chars().count() <= 90),
            "{text}"
        );
        let line = line(&contenders[0], &usual()).replace('\u{a0}', " ");
        assert!(
            line.starts_with("fixed delay: down: 400 of 2 000 connected; 3 000 dials"),
            "{line}"
        );
    }
}
