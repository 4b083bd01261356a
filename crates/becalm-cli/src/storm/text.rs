//! How does a human read a study in a terminal?

use std::fmt::Write as _;
use std::path::PathBuf;

use becalm_report::format;
use becalm_report::terminal::Painter;
use becalm_sim::study::Study;

use super::picture::Drawing;
use super::study::Told;
use super::table;
use crate::stream::Stream;
use crate::wording::{indented, wrapped};

/// The verdicts, the answer, the figures, small charts, and how it is done again.
pub fn document(told: &Told, written: &[PathBuf]) -> String {
    let study = &told.study;
    let painter = Stream::Stdout.painter();
    let mut text = wrapped(&study.question);
    text.push('\n');
    if study.contenders.len() <= table::SIDE_BY_SIDE {
        text.push_str(&verdicts(study, painter));
    }
    text.push_str(&wrapped(&study.answer));
    text.push('\n');
    text.push_str(&figures(study, painter));
    for drawing in study.charts.iter().filter_map(Drawing::of) {
        text.push('\n');
        text.push_str(&drawing.to_terminal(WIDTH, painter));
    }
    let asked = study
        .asked
        .iter()
        .map(|(name, value)| format!("{name} {value}"));
    let asked: Vec<_> = asked.collect();
    text.push('\n');
    if !asked.is_empty() {
        text.push_str(&wrapped(&format!("asked: {}", asked.join(", "))));
    }
    let _ = writeln!(
        text,
        "seed {}, {} of each policy, {} events",
        study.seed,
        runs(study.runs),
        format::plain(count(study.events))
    );
    for path in written {
        let _ = writeln!(text, "written: {}", path.display());
    }
    let _ = writeln!(text, "again: {}", told.command);
    text
}

/// Such as `10 runs`.
pub fn runs(count: u32) -> String {
    let runs = if count == 1 { "run" } else { "runs" };
    format!("{count} {runs}")
}

/// Each policy with its verdict and the evidence.
fn verdicts(study: &Study, painter: Painter) -> String {
    let mut text = String::new();
    for contender in &study.contenders {
        text.push_str(&painter.bold(&contender.name));
        if let Some(verdict) = contender.verdict {
            let verdict = painter.paint(table::colour(verdict), verdict.as_str());
            let _ = write!(text, ": {verdict}");
        }
        text.push('\n');
        for sentence in [&contender.policy, &contender.evidence] {
            if !sentence.is_empty() {
                text.push_str(&indented("    ", sentence));
            }
        }
    }
    text.push('\n');
    text
}

/// The figures, a column for each policy. Names too long for the columns are numbered.
fn figures(study: &Study, painter: Painter) -> String {
    if study.contenders.len() > table::SIDE_BY_SIDE {
        // As many columns as fit; the others are in the documents.
        let narrow = |most: &usize| {
            fits(&table::of_policies(study, *most, false).to_terminal(Painter::Plain))
        };
        let most = (0..=MOST_COLUMNS).rev().find(narrow).unwrap_or(1);
        return table::of_policies(study, most, false).to_terminal(painter);
    }
    let names = table::names(&study.contenders);
    let text = table::of_figures(study, &names, false).to_terminal(Painter::Plain);
    if fits(&text) {
        return table::of_figures(study, &names, false).to_terminal(painter);
    }
    let numbers: Vec<_> = (1..=names.len())
        .map(|number| format!("({number})"))
        .collect();
    let mut text = String::new();
    for (number, name) in numbers.iter().zip(&names) {
        let _ = writeln!(text, "{number} {name}");
    }
    text + "\n" + &table::of_figures(study, &numbers, false).to_terminal(painter)
}

fn fits(text: &str) -> bool {
    text.lines().all(|line| line.chars().count() <= WIDTH)
}

const WIDTH: usize = 80;
/// Figures that a row may have.
const MOST_COLUMNS: usize = 8;
#[expect(clippy::cast_precision_loss)] // to be read
fn count(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::super::study::tests::told;
    use super::*;

    #[test]
    fn the_verdicts_come_first_and_how_it_is_done_again_last() {
        let text = document(&told(), &["storm.html".into()]);
        let places: Vec<_> = [
            "What becomes of orders?",
            "none: metastable",
            "<full>: stable",
            "Only one comes back.",
            "time to recover",
            "The arrivals",
            "asked: load 260",
            "seed 7, 10 runs",
            "written: storm.html",
            "again: becalm storm orders --seed 7",
        ]
        .iter()
        .map(|part| text.find(part).unwrap_or_else(|| panic!("{part}: {text}")))
        .collect();
        assert!(places.is_sorted(), "{text}");
        assert!(fits(&text), "{text}");
    }

    #[test]
    fn one_run_is_not_told_as_many() {
        assert_eq!([1, 2].map(runs), ["1 run", "2 runs"]);
    }

    #[test]
    fn names_too_long_for_their_columns_are_numbered() {
        let mut told = told();
        told.study.contenders[0].name = "budget=ratio:0.1,burst:10;".repeat(4);
        let text = document(&told, &[]);
        assert!(
            text.contains("(1) budget=") && text.contains("(2) <full>"),
            "{text}"
        );
        let row = text
            .lines()
            .find(|line| line.starts_with("time to recover"))
            .unwrap();
        assert_eq!(
            row.split_whitespace().collect::<Vec<_>>().join(" "),
            "time to recover - 2s"
        );
    }
}
