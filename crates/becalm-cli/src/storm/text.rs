//! How does a human read a study in a terminal?

use std::fmt::Write as _;
use std::ops::Range;
use std::path::PathBuf;

use becalm_report::terminal::{FIRST_LINES, Painter, fit, fold, width as columns};
use becalm_report::{Table, format};
use becalm_sim::study::{Contender, Study};

use super::picture::{self, Drawing};
use super::told::Told;
use super::{first, remedy, table};
use crate::wording::{filled, filled_within};

/// The first screen, and below the fold the rest, in this many columns.
pub fn text(told: &Told, written: &[PathBuf], width: usize, painter: Painter) -> String {
    let study = &told.study;
    let (mut text, shown) = first_screen(told, width, painter);
    text.push_str(&fold(REST, width, painter));
    text.push('\n');
    // Of a search the policy's evidence is its answer.
    let is_evidence = study
        .contenders
        .iter()
        .any(|it| it.evidence == study.answer);
    if !shown.is_answer && !is_evidence {
        text.push_str(&filled(width, "", &study.answer));
        text.push('\n');
    }
    if study.contenders.len() <= table::SIDE_BY_SIDE {
        text.push_str(&verdicts(study, width, painter));
    }
    text.push_str(&figures(study, width, painter));
    let charts = study.charts.iter().zip(0..);
    let charts = charts
        .filter(|it| Some(it.1) != shown.picture)
        .map(|it| it.0);
    // Of several services, what comes to the one that retries load most.
    let charts = charts.chain(study.services.first());
    for drawing in charts.filter_map(|it| Drawing::of(it, &study.contenders)) {
        text.push('\n');
        text.push_str(&drawing.to_terminal(width, picture::LINES, painter));
    }
    text + &last(told, written, width)
}

/// What is below the fold.
const REST: &str = "each policy, all figures and pictures, how to do it again";

/// What of a study is shown above the fold, so that it is not shown again.
struct Shown {
    is_answer: bool,
    /// The place of the chart.
    picture: Option<usize>,
}

/// Lines of the question, and of what is said: a long name makes them long.
const QUESTION: usize = 3;
const SAID: usize = 7;

/// What to set and the reason, three figures with their verdict, and the picture where there is room for it.
fn first_screen(told: &Told, width: usize, painter: Painter) -> (String, Shown) {
    let study = &told.study;
    let (mut text, _) = filled_within(QUESTION, width, &study.question);
    let said = first::said(told);
    let (said, is_all) = filled_within(SAID, width, &said);
    text.push('\n');
    text.push_str(&said);
    text.push('\n');
    text.push_str(&three_figures(study, width, painter));
    let room = FIRST_LINES.saturating_sub(text.lines().count() + 1);
    let picture = first::picture(study).and_then(|at| {
        let drawing = Drawing::of(study.charts.get(at)?, &study.contenders)?;
        Some((at, drawing.within(room, width, painter)?))
    });
    let shown = Shown {
        is_answer: is_all && first::said(told).ends_with(&study.answer),
        picture: picture.as_ref().map(|it| it.0),
    };
    if let Some((_, drawn)) = picture {
        text.push('\n');
        text.push_str(&drawn);
    }
    (text, shown)
}

/// The verdict and three figures, of as many policies as there are columns for: those first that decide.
fn three_figures(study: &Study, width: usize, painter: Painter) -> String {
    let order = first::order(study);
    // Each under its name, or under the number that it has below, too.
    let of = |many: usize, is_numbered: bool| {
        let mut places: Vec<usize> = order.iter().copied().take(many).collect();
        places.sort_unstable();
        let these = places.iter().filter_map(|at| study.contenders.get(*at));
        let these: Vec<&Contender> = these.collect();
        let names = these.iter().map(|it| it.name.clone());
        let headings: Vec<String> = if is_numbered {
            places.iter().map(|at| format!("({})", at + 1)).collect()
        } else {
            names.clone().collect()
        };
        let table = table::that_come_first(study, &these, &headings);
        let legend: Vec<_> = headings.into_iter().zip(names).collect();
        (table, legend)
    };
    let most = match order.len() {
        few if few <= table::SIDE_BY_SIDE => few,
        _ => NUMBERED,
    };
    let named = (1..=most)
        .rev()
        .find(|many| fits(&of(*many, false).0, width));
    let named = named.filter(|it| *it == most || *it > NUMBERED);
    let (mut text, many) = if let Some(many) = named {
        (of(many, false).0.to_terminal(painter), many)
    } else {
        let many = most.min(NUMBERED);
        let (table, legend) = of(many, true);
        let mut text = String::new();
        for (number, name) in legend {
            let line = fit(&format!("{number} {name}"), width);
            let _ = writeln!(text, "{}", line.trim_end());
        }
        (text + &table.to_terminal(painter), many)
    };
    let left: Vec<&Contender> = order
        .iter()
        .skip(many)
        .filter_map(|at| study.contenders.get(*at))
        .collect();
    if !left.is_empty() {
        let named = left.iter().map(|it| match it.verdict {
            Some(verdict) => format!("{} {}", it.name, verdict.as_str()),
            None => it.name.clone(),
        });
        let named = format!(
            "and {} more: {}",
            left.len(),
            named.collect::<Vec<_>>().join(", ")
        );
        let _ = writeln!(text, "{}", fit(&named, width).trim_end());
    }
    text
}

/// Policies that stand under numbers where their names are too long for columns.
const NUMBERED: usize = 2;

/// What comes last: what would keep the service up, and how it is done again.
fn last(told: &Told, written: &[PathBuf], width: usize) -> String {
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
    let told = |table: &Table| table.to_terminal(painter) + &table::note(study, width);
    let fits = |table: &Table| fits(table, width);
    if study.contenders.len() > table::SIDE_BY_SIDE {
        // As many columns as fit; the others are in the documents.
        let narrow = |most: &usize| fits(&table::of_policies(study, *most, false));
        let most = (0..=MOST_COLUMNS).rev().find(narrow).unwrap_or(1);
        return told(&table::of_policies(study, most, false));
    }
    let all = study.contenders.len();
    let names = table::names(&study.contenders);
    let whole = table::of_figures(study, 0..all, &names, false);
    if fits(&whole) {
        return told(&whole);
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
    text + &table::note(study, width)
}

fn fits(table: &Table, width: usize) -> bool {
    let text = table.to_terminal(Painter::Plain);
    text.lines().all(|line| columns(line) <= width)
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
        text(told, written, width, Painter::Plain)
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
