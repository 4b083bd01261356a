//! How does a human read a study in a terminal?

use std::fmt::Write as _;
use std::path::PathBuf;

use becalm_report::terminal::{Painter, sparkline};
use becalm_report::{Table, format};
use becalm_sim::study::{Chart, ChartKind, Study};

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
    for chart in &study.charts {
        text.push_str(&small(chart, painter));
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
        "seed {}, {} runs of each policy, {} events",
        study.seed,
        study.runs,
        format::plain(count(study.events))
    );
    for path in written {
        let _ = writeln!(text, "written: {}", path.display());
    }
    let _ = writeln!(text, "again: {}", told.command);
    text
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
/// Characters of a small line.
const COLUMNS: usize = 48;

/// The chart in a line for each of its lines or bars; a map is left to the reports.
fn small(chart: &Chart, painter: Painter) -> String {
    let mut text = String::new();
    match &chart.kind {
        ChartKind::Lines(lines) => {
            let values = lines.iter().flat_map(|(_, points)| points).map(|(_, y)| *y);
            let top = values.filter(|it| it.is_finite()).fold(0.0, f64::max);
            let _ = writeln!(
                text,
                "\n{} (top: {} {})",
                chart.title,
                format::plain(top),
                chart.y
            );
            let mut table = Table::new([String::new(), chart.x.clone()]);
            for (name, points) in lines {
                let line = sparkline(&peaks(points), top);
                table = table.row([name.as_str().into(), line.into()]);
            }
            text.push_str(&table.to_terminal(painter));
        }
        ChartKind::Bars(bars) => {
            let _ = writeln!(text, "\n{} ({})", chart.title, chart.y);
            let mut table = Table::new(["", ""]);
            for (name, value) in bars {
                table = table.row([name.as_str().into(), format::plain(*value).into()]);
            }
            text.push_str(&table.to_terminal(painter));
        }
        _ => {}
    }
    text
}

/// The highest value of each stretch: a peak is never hidden by being short.
fn peaks(points: &[(f64, f64)]) -> Vec<f64> {
    let stretch = points.len().div_ceil(COLUMNS).max(1);
    points
        .chunks(stretch)
        .map(|chunk| chunk.iter().map(|(_, y)| *y).fold(0.0, f64::max))
        .collect()
}

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

    #[test]
    fn no_peak_is_lost_however_many_points_there_are() {
        for length in [0_u32, 1, 48, 49, 600, 10_000] {
            let points: Vec<_> = (0..length)
                .map(|x| (f64::from(x), f64::from(x % 997)))
                .collect();
            let drawn = peaks(&points);
            assert!(drawn.len() <= COLUMNS);
            let top = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);
            let expected = top(&mut points.iter().map(|(_, y)| *y));
            assert_eq!(top(&mut drawn.into_iter()).to_bits(), expected.to_bits());
        }
    }
}
