//! What are the figures of a drill of Redis, side by side?

use becalm_report::{Cell, Table};

use crate::judgement::{Contender, number};
use crate::units::tenths;

/// What the words over the table mean.
pub const LEGEND: &str = "twice, lost: increments that ran twice, and answered ones that did not run; failed: came back as errors, + of \
                          them took effect; again: sent again; dials: most of a process in a second while down; back: the last \
                          process after the long outage; apart: from the first process to the last, in the middle";

/// The figures side by side.
pub fn table(contenders: &[Contender]) -> Table {
    let header = [
        "client", "all", "twice", "lost", "failed", "again", "dials", "back", "apart", "verdict",
    ];
    let rows = contenders.iter().map(|contender| {
        let (figures, report) = (&contender.figures, contender.figures.report);
        [
            Cell::new(contender.variant.title).colour(contender.variant.colour),
            number(report.all).into(),
            number(report.twice).into(),
            number(report.lost).into(),
            format!(
                "{} + {}",
                number(report.failed),
                number(report.failed_applied)
            )
            .into(),
            number(figures.again).into(),
            figures.most_dials.to_string().into(),
            tenths(figures.all_back()).into(),
            format!("{} ms", figures.usually_apart().as_millis()).into(),
            contender.verdict(),
        ]
    });
    rows.fold(Table::new(header), Table::row)
}

/// One variant in a line, when it is over.
pub fn line(contender: &Contender) -> String {
    let (figures, report) = (&contender.figures, contender.figures.report);
    format!(
        "{}: {} increments, {} twice, {} lost; back after {}",
        contender.variant.title,
        number(report.all),
        number(report.twice),
        number(report.lost),
        tenths(figures.all_back())
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judgement::tests::judged;
    use becalm_report::terminal::Painter;

    #[test]
    fn the_table_fits_a_terminal_and_holds_the_figures_of_every_variant() {
        let (contenders, _) = judged();
        let text = table(&contenders).to_terminal(Painter::Plain);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), contenders.len() + 1);
        for words in ["gate off", " 900 ", "4 + 1", "310 ms", "900 twice, 0 lost"] {
            assert!(lines[2].contains(words), "{text}");
        }
        assert!(
            lines.iter().all(|line| line.chars().count() <= 100),
            "{text}"
        );
        assert!(line(&contenders[1]).contains("increments, 900 twice, 0 lost; back after 0.5 s"));
    }
}
