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
    text.push_str(&verdicts(study, painter));
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
