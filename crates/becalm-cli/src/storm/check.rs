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
                check.add(&comparison);
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
    fn add(&mut self, comparison: &Comparison) {
        let tolerance = tolerance(comparison.tolerance);
        let same = |row: &&mut Row| {
            row.what == comparison.what
                && row.expected.to_bits() == comparison.expected.to_bits()
                && row.tolerance == tolerance
        };
        if let Some(row) = self.rows.iter_mut().find(same) {
            row.got.push(comparison.got);
            row.holds &= comparison.holds();
            return;
        }
        self.rows.push(Row {
            what: comparison.what.clone(),
            expected: comparison.expected,
            got: vec![comparison.got],
            tolerance,
            holds: comparison.holds(),
        });
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
    /// What the seeds gave: the least and the greatest, if there is a difference to be seen.
    fn got(&self) -> String {
        let least = format::plain(self.got.iter().copied().fold(f64::INFINITY, f64::min));
        let most = format::plain(self.got.iter().copied().fold(f64::NEG_INFINITY, f64::max));
        if self.got.iter().any(|got| got.is_nan()) {
            "not a number".into()
        } else if least == most {
            least
        } else {
            format!("{least} to {most}")
        }
    }
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
            format::plain(row.expected).into(),
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
        "{} of {comparisons} comparisons hold in {} scenarios, under {seeds} seed{}",
        comparisons - missed,
        checks.len(),
        if seeds == 1 { "" } else { "s" }
    );
    if !failed.is_empty() {
        let _ = write!(text, "; FAILED: {}", failed.join(", "));
    }
    text + "\n"
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
