//! Which of several layers should retry?
//!
//! `cargo run --release -p becalm-sim --example layers` prints the table of `docs/layers.md`: A calls
//! B, B calls C, C calls D, ten instances each, and the three that call retry under the default
//! policy. Five seeds.

mod rows;

use becalm::{Policy, scope::Nested};
use rows::{Outcome, ROWS, Row};

const RULES: [Nested; 3] = [Nested::Nearest, Nested::Outermost, Nested::Allow];
const SEEDS: u64 = 5;

/// Mean and standard deviation over the seeds.
fn over_seeds(outcomes: &[Outcome], of: impl Fn(&Outcome) -> f64) -> (f64, f64) {
    let count = f64::from(u32::try_from(outcomes.len()).expect("a few seeds"));
    let mean = outcomes.iter().map(&of).sum::<f64>() / count;
    let squares = outcomes.iter().map(|it| (of(it) - mean).powi(2));
    (mean, (squares.sum::<f64>() / (count - 1.0)).sqrt())
}

fn line(title: &str, cells: impl Iterator<Item = (f64, f64)>, digits: usize) {
    print!("| {title} ");
    for (mean, deviation) in cells {
        print!("| {mean:.digits$} ± {deviation:.digits$} ");
    }
    println!("|");
}

fn main() {
    let run = |row: Row, nested| -> Vec<Outcome> {
        let policy = Policy::default().nested(nested);
        (1..=SEEDS).map(|seed| row.outcome(&policy, seed)).collect()
    };
    println!("| calls that succeed, % | nearest | outermost | allow |");
    println!("|---|--:|--:|--:|");
    let all: Vec<_> = ROWS
        .map(|row| (row, RULES.map(|nested| run(row, nested))))
        .into();
    for (row, outcomes) in &all {
        let cells = outcomes.iter().map(|it| over_seeds(it, |it| it.succeeded));
        line(&row.title(), cells, 1);
    }
    let [bottom, sequence] = [Row::BottomOverloaded, Row::FiveInSequence].map(|row| {
        let (_, outcomes) = all.iter().find(|it| it.0 == row).expect("a row");
        outcomes
    });
    let work = sequence.iter().map(|it| over_seeds(it, |it| it.work));
    line("work at D for a success, ms, in the last row", work, 0);
    let requests = bottom
        .iter()
        .map(|it| over_seeds(it, |it| it.amplification));
    line("requests at D for a call, in the overload", requests, 2);
}
