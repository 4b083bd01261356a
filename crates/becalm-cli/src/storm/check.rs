//! `becalm storm --check`: is the simulator right?

use std::fmt::Write as _;
use std::process::ExitCode;

use becalm_report::{Cell, Colour, Table, format};
use becalm_sim::catalogue::ENTRIES;
use becalm_sim::study::{Comparison, Tolerance};
use serde::Serialize;

use super::flags::{CatalogueFlags, plan};
use super::progress::Progress;
use crate::stream::Stream;
use crate::usage;

/// Compares with the right answers; the exit code is 1 if any is missed.
pub fn run(flags: &CatalogueFlags) -> ExitCode {
    let named = flags.check.as_deref().unwrap_or_default();
    let entries = if named.is_empty() { ENTRIES } else { named };
    let seeds = flags.seeds.unwrap_or(if flags.quick { 1 } else { SEEDS });
    let mut checks = Vec::new();
    let progress = Progress::new("checks");
    for (done, entry) in (0..).zip(entries) {
        progress.tell(done, entries.len() as u64);
        let mut check = Check::new(entry.name);
        for seed in (flags.seed..=u64::MAX).take(seeds as usize) {
            let plan = plan(seed, None, flags.threads);
            for comparison in (entry.check)(&plan, flags.quick) {
                check.add(Row::of(&comparison));
            }
        }
        checks.push(check);
    }
    drop(progress);
    let passed = checks.iter().all(Check::passed);
    let text = if flags.json {
        document(&checks, flags.quick, seeds)
    } else {
        checks
            .iter()
            .map(text)
            .chain([conclusion(&checks, seeds)])
            .collect()
    };
    let printed = usage::print([text]);
    exit(passed, printed)
}

/// A failure, or whether it could be printed.
pub fn exit(passed: bool, printed: ExitCode) -> ExitCode {
    if passed { printed } else { ExitCode::FAILURE }
}

/// Several, so that a lucky one does not decide.
const SEEDS: u32 = 3;

/// What one scenario's comparisons were.
#[derive(Debug)]
struct Check {
    name: &'static str,
    rows: Vec<Row>,
}

/// One comparison under every seed.
#[derive(Debug, Serialize)]
struct Row {
    what: String,
    expected: f64,
    /// One for each seed.
    got: Vec<f64>,
    tolerance: String,
    holds: bool,
}

impl Check {
    fn new(name: &'static str) -> Self {
        Self {
            name,
            rows: Vec::new(),
        }
    }

    /// Adds what one seed gave. What is expected may depend on the seed, as where it is computed
    /// from what a run drew: then it is a row of its own.
    fn add(&mut self, row: Row) {
        let same = |other: &&mut Row| {
            other.what == row.what
                && other.expected.to_bits() == row.expected.to_bits()
                && other.tolerance == row.tolerance
        };
        if let Some(known) = self.rows.iter_mut().find(same) {
            known.got.extend(row.got);
            known.holds &= row.holds;
        } else {
            self.rows.push(row);
        }
    }

    fn record(&self) -> CheckRecord<'_> {
        CheckRecord {
            name: self.name,
            passed: self.passed(),
            comparisons: &self.rows,
        }
    }

    /// A scenario that compares nothing has shown nothing.
    fn passed(&self) -> bool {
        !self.rows.is_empty() && self.rows.iter().all(|row| row.holds)
    }
}

impl Row {
    /// Under one seed.
    fn of(comparison: &Comparison) -> Self {
        Self {
            what: comparison.what.clone(),
            expected: comparison.expected,
            got: vec![comparison.got],
            tolerance: tolerance(comparison.tolerance),
            holds: comparison.holds(),
        }
    }

    /// What the seeds gave: the least and the greatest, if there is a difference to be seen.
    fn got(&self) -> String {
        let least = precise(self.got.iter().copied().fold(f64::INFINITY, f64::min));
        let most = precise(self.got.iter().copied().fold(f64::NEG_INFINITY, f64::max));
        if self.got.iter().any(|got| got.is_nan()) {
            "not a number".into()
        } else if least == most {
            least
        } else {
            format!("{least} to {most}")
        }
    }
}

/// Four digits that count, so that what is close and what is equal can be told apart.
fn precise(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() || size >= 1_000.0 || value == 0.0 {
        return format::plain(value);
    }
    if size < 0.001 {
        return format!("{value:.3e}");
    }
    let decimals = [100.0, 10.0, 1.0, 0.1, 0.01]
        .iter()
        .take_while(|it| size < **it)
        .count()
        + 1;
    let text = format!("{value:.decimals$}");
    text.trim_end_matches('0').trim_end_matches('.').into()
}

fn tolerance(tolerance: Tolerance) -> String {
    match tolerance {
        Tolerance::Relative(share) => format!("{}%", format::plain(share * 100.0)),
        Tolerance::Absolute(most) => format!("+-{}", format::plain(most)),
        Tolerance::AtMost => "at most".into(),
        Tolerance::AtLeast => "at least".into(),
        _ => "as stated".into(),
    }
}

fn text(check: &Check) -> String {
    let painter = Stream::Stdout.painter();
    let mut table = Table::new([check.name, "expected", "got", "tolerance", ""]);
    for row in &check.rows {
        let (word, colour) = if row.holds {
            ("ok", Colour::Green)
        } else {
            ("FAILED", Colour::Red)
        };
        table = table.row([
            Cell::new(format!("  {}", row.what)),
            precise(row.expected).into(),
            row.got().into(),
            (&*row.tolerance).into(),
            Cell::new(word).colour(colour),
        ]);
    }
    let mut text = table.to_terminal(painter);
    if check.rows.is_empty() {
        text.push_str(&painter.paint(Colour::Red, "  FAILED: nothing was compared"));
        text.push('\n');
    }
    text.push('\n');
    text
}

fn conclusion(checks: &[Check], seeds: u32) -> String {
    let comparisons: usize = checks.iter().map(|check| check.rows.len()).sum();
    let rows = checks.iter().flat_map(|check| &check.rows);
    let missed = rows.filter(|row| !row.holds).count();
    let failed: Vec<_> = checks
        .iter()
        .filter(|it| !it.passed())
        .map(|it| it.name)
        .collect();
    let mut text = format!(
        "{} of {comparisons} comparisons hold in {} scenario{}, under {seeds} seed{}",
        comparisons - missed,
        checks.len(),
        plural(checks.len()),
        plural(seeds as usize)
    );
    if !failed.is_empty() {
        let _ = write!(text, "; FAILED: {}", failed.join(", "));
    }
    text + "\n"
}

const fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

#[derive(Debug, Serialize)]
struct Document<'a> {
    schema: u32,
    becalm: &'static str,
    quick: bool,
    seeds: u32,
    passed: bool,
    scenarios: Vec<CheckRecord<'a>>,
}

#[derive(Debug, Serialize)]
struct CheckRecord<'a> {
    name: &'a str,
    passed: bool,
    comparisons: &'a [Row],
}

/// The version of the document: it changes when a name or a meaning does.
const SCHEMA: u32 = 1;

fn document(checks: &[Check], quick: bool, seeds: u32) -> String {
    let document = Document {
        schema: SCHEMA,
        becalm: env!("CARGO_PKG_VERSION"),
        quick,
        seeds,
        passed: checks.iter().all(Check::passed),
        scenarios: checks.iter().map(Check::record).collect(),
    };
    serde_json::to_string(&document).unwrap_or_default() + "\n" // plain data: no error
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn check(rows: &[(&str, f64, f64, bool)]) -> Check {
        let mut check = Check::new("herd");
        for (what, expected, got, holds) in rows {
            check.add(Row {
                what: (*what).into(),
                expected: *expected,
                got: vec![*got],
                tolerance: "1%".into(),
                holds: *holds,
            });
        }
        check
    }

    #[test]
    fn one_seed_that_is_off_fails_the_scenario() {
        let seeds = [
            ("peak", 100.0, 100.2, true),
            ("mean", 5.0, 5.0, true),
            ("peak", 100.0, 107.0, false),
        ];
        assert!(check(&seeds[..2]).passed());
        let missed = check(&seeds);
        assert!(!missed.passed());
        assert_eq!(
            missed.rows.len(),
            2,
            "the seeds of a comparison share a row"
        );
        let text = text(&missed);
        assert!(
            text.contains("100.2 to 107") && text.contains("FAILED"),
            "{text}"
        );
        let conclusion = conclusion(&[missed], 2);
        assert_eq!(
            conclusion,
            "1 of 2 comparisons hold in 1 scenario, under 2 seeds; FAILED: herd\n"
        );
    }

    #[test]
    fn a_seed_that_was_off_is_not_made_good_by_the_next() {
        let missed = check(&[("peak", 100.0, 107.0, false), ("peak", 100.0, 100.2, true)]);
        assert!(!missed.passed());
    }

    #[test]
    fn an_answer_that_is_missed_fails_the_command() {
        let code = |passed| format!("{:?}", exit(passed, ExitCode::SUCCESS));
        assert_eq!(code(true), format!("{:?}", ExitCode::SUCCESS));
        assert_eq!(code(false), format!("{:?}", ExitCode::FAILURE));
        // What could not be printed has failed as well.
        let unprinted = format!("{:?}", exit(true, ExitCode::from(2)));
        assert_eq!(unprinted, format!("{:?}", ExitCode::from(2)));
    }

    #[test]
    fn what_compares_nothing_has_not_passed() {
        let nothing = check(&[]);
        assert!(!nothing.passed() && text(&nothing).contains("FAILED"));
        assert!(conclusion(&[nothing], 1).contains("FAILED: herd"));
    }

    #[test]
    fn values_have_four_digits_that_count() {
        for (value, text) in [
            (0.0, "0"),
            (12_345.6, "12 346"),
            (999.96, "1000"),
            (0.066_72, "0.06672"),
            (1.334, "1.334"),
            (47.0, "47"),
            (47.125, "47.12"),
            (8.2e-4, "8.200e-4"),
            (f64::NAN, "-"),
        ] {
            assert_eq!(precise(value), text);
        }
    }

    #[test]
    fn a_value_that_is_no_number_is_said_plainly() {
        let check = check(&[("peak", 1.0, f64::NAN, false)]);
        assert_eq!(check.rows[0].got(), "not a number");
    }

    #[test]
    fn the_document_has_every_seed() {
        let checks = [check(&[
            ("peak", 100.0, 99.5, true),
            ("peak", 100.0, 100.5, true),
        ])];
        let document: Value = serde_json::from_str(&document(&checks, true, 2)).unwrap();
        assert_eq!(
            (&document["passed"], &document["seeds"]),
            (&true.into(), &2.into())
        );
        let comparison = &document["scenarios"][0]["comparisons"][0];
        assert_eq!(comparison["got"], serde_json::json!([99.5, 100.5]));
        assert_eq!(comparison["holds"], true);
    }
}
