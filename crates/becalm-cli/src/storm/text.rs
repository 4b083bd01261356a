//! How does a human read a study in a terminal?

use std::fmt::Write as _;
use std::ops::Range;
use std::path::PathBuf;

use becalm_report::terminal::{Painter, width as columns};
use becalm_report::{Table, format};
use becalm_sim::study::Study;

use super::picture::Drawing;
use super::told::Told;
use super::{decision, remedy, table};
use crate::stream::Stream;
use crate::wording::filled;

/// The verdicts, the answer, the figures and small charts, in so many columns.
pub fn findings(told: &Told, width: usize) -> String {
    let study = &told.study;
    let painter = Stream::Stdout.painter();
    let mut text = filled(width, "", &study.question);
    text.push('\n');
    if study.contenders.len() <= table::SIDE_BY_SIDE {
        text.push_str(&verdicts(study, width, painter));
    }
    if let Some(decision) = decision::sentence(study) {
        text.push_str(&filled(width, "", &decision));
    }
    text.push_str(&filled(width, "", &study.answer));
    text.push('\n');
    text.push_str(&figures(study, width, painter));
    // Of several services, what comes to the one that retries load most.
    let charts = study.charts.iter().chain(study.services.first());
    for drawing in charts.filter_map(Drawing::of) {
        text.push('\n');
        text.push_str(&drawing.to_terminal(width, painter));
    }
    text
}

/// What comes behind the findings: what would keep the service up, and how it is done again.
pub fn rest(told: &Told, written: &[PathBuf], width: usize) -> String {
    let study = &told.study;
    let remedy = told.remedy.as_ref();
    let mut text = remedy.map(|it| it.text(width)).unwrap_or_default();
    let recommended = told.recommended.iter().filter(|it| !it.lines.is_empty());
    for recommended in recommended {
        text.push_str("\nto write into the file:\n");
        text.push_str(&remedy::code(&recommended.lines));
    }
    let asked = study
        .asked
        .iter()
        .map(|(name, value)| format!("{name} {value}"));
    let asked: Vec<_> = asked.collect();
    text.push('\n');
    if !asked.is_empty() {
        let asked = format!("asked: {}", asked.join(", "));
        text.push_str(&filled(width, "", &asked));
    }
    let done = format!(
        "seed {}, {} of each policy, {} events",
        study.seed,
        runs(study.runs),
        format::plain(count(study.events))
    );
    text.push_str(&filled(width, "", &done));
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
fn verdicts(study: &Study, width: usize, painter: Painter) -> String {
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
                text.push_str(&filled(width, "    ", sentence));
            }
        }
    }
    text.push('\n');
    text
}

/// The figures, a column for each policy. Names too long for the columns are numbered; policies too
/// many for the width stand below each other, in parts.
fn figures(study: &Study, width: usize, painter: Painter) -> String {
    let fits = |table: &Table| {
        let text = table.to_terminal(Painter::Plain);
        text.lines().all(|line| columns(line) <= width)
    };
    if study.contenders.len() > table::SIDE_BY_SIDE {
        // As many columns as fit; the others are in the documents.
        let narrow = |most: &usize| fits(&table::of_policies(study, *most, false));
        let most = (0..=MOST_COLUMNS).rev().find(narrow).unwrap_or(1);
        return table::of_policies(study, most, false).to_terminal(painter);
    }
    let all = study.contenders.len();
    let names = table::names(&study.contenders);
    let whole = table::of_figures(study, 0..all, &names, false);
    if fits(&whole) {
        return whole.to_terminal(painter);
    }
    let numbers: Vec<_> = (1..=all).map(|number| format!("({number})")).collect();
    let mut text = String::new();
    for (number, name) in numbers.iter().zip(&names) {
        let _ = writeln!(text, "{number} {name}");
    }
    let part = |of: Range<usize>| {
        let headings = numbers.get(of.clone()).unwrap_or_default();
        table::of_figures(study, of, headings, false)
    };
    let mut from = 0;
    while from < all {
        let upto = |to: &usize| fits(&part(from..*to));
        let to = (from + 1..=all).rev().find(upto).unwrap_or(from + 1);
        text.push('\n');
        text.push_str(&part(from..to).to_terminal(painter));
        from = to;
    }
    text
}

/// Figures that a row may have.
const MOST_COLUMNS: usize = 8;
#[expect(clippy::cast_precision_loss)] // to be read
fn count(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::super::told::tests::told;
    use super::*;

    fn document(told: &Told, written: &[PathBuf], width: usize) -> String {
        findings(told, width) + &rest(told, written, width)
    }

    #[test]
    fn files_that_were_written_are_named_before_the_command() {
        let text = document(&told(), &["storm.html".into()], 80);
        let last: Vec<_> = text.lines().rev().take(2).collect();
        assert_eq!(
            last,
            ["again: becalm storm orders --seed 7", "written: storm.html"],
            "{text}"
        );
    }

    #[test]
    fn one_run_is_not_told_as_many() {
        assert_eq!([1, 2].map(runs), ["1 run", "2 runs"]);
    }

    #[test]
    fn names_too_long_for_their_columns_are_numbered() {
        let mut told = told();
        told.study.contenders[0].name = "budget=ratio:0.1,burst:10;".repeat(4);
        let text = document(&told, &[], 80);
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
    fn in_a_narrow_terminal_policies_stand_below_each_other_and_none_is_lost() {
        let mut told = told();
        let full = told.study.contenders[1].clone();
        told.study.contenders.extend(vec![full; 5]);
        let text = document(&told, &[], 40);
        // A name and a command are as long as they are.
        let lines = text.lines().filter(|line| !line.starts_with("again: "));
        for line in lines {
            assert!(columns(line) <= 40, "{line}");
        }
        for number in 1..=7 {
            assert_eq!(text.matches(&format!("({number})")).count(), 2, "{text}");
        }
        let wide = document(&told, &[], 100);
        assert!(wide.lines().any(|line| columns(line) > 80), "{wide}");
    }
}
