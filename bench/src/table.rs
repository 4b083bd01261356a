//! How do the figures read? Markdown, as `README.md` holds them.

use std::fmt::Write;

use crate::measure::{Case, Group};

/// One table: what it shows, and in which unit.
struct Heading {
    group: Group,
    title: &'static str,
    explanation: &'static str,
    unit: &'static str,
    /// Rows are compared with the first one by difference; otherwise by share.
    against_first: &'static str,
}

const HEADINGS: [Heading; 8] = [
    Heading {
        group: Group::SuccessAsync,
        title: "An async call that succeeds at once",
        explanation: "Polled in a loop without a runtime.",
        unit: "ns per call",
        against_first: "over the bare call",
    },
    Heading {
        group: Group::SuccessBlocking,
        title: "A blocking call that succeeds at once",
        explanation: "",
        unit: "ns per call",
        against_first: "over the bare call",
    },
    Heading {
        group: Group::RecoveryAsync,
        title: "An async call that fails once, without a wait",
        explanation: "The library's decision and bookkeeping: its timer is replaced by one that is \
                      always ready. tryhard and tokio-retry have no place to replace it.",
        unit: "ns per call",
        against_first: "over a bare loop",
    },
    Heading {
        group: Group::RecoveryTimer,
        title: "An async call that fails once and waits a millisecond",
        explanation: "On tokio's timer with its clock paused, so that the wait takes no time but \
                      the timer costs what it costs.",
        unit: "ns per call",
        against_first: "over a bare loop",
    },
    Heading {
        group: Group::RecoveryBlocking,
        title: "A blocking call that fails once, without a wait",
        explanation: "",
        unit: "ns per call",
        against_first: "over a bare loop",
    },
    Heading {
        group: Group::Delay,
        title: "One delay with jitter",
        explanation: "The next one of a schedule without end.",
        unit: "ns per delay",
        against_first: "",
    },
    Heading {
        group: Group::Decision,
        title: "A decision after a failure",
        explanation: "From the failed attempt to the delay, the budget asked.",
        unit: "ns per decision",
        against_first: "",
    },
    Heading {
        group: Group::Budget,
        title: "Two threads, one budget",
        explanation: "Both threads together.",
        unit: "million operations per second",
        against_first: "of the atomic add",
    },
];

/// All tables, rows in the order in which they were measured.
pub fn markdown(cases: &[Case]) -> String {
    let mut text = String::new();
    for heading in &HEADINGS {
        let rows: Vec<&Case> = cases
            .iter()
            .filter(|case| case.group == heading.group)
            .collect();
        if let Some(first) = rows.first() {
            table(&mut text, heading, first, &rows).expect("a String takes everything");
        }
    }
    text
}

fn table(text: &mut String, heading: &Heading, first: &Case, rows: &[&Case]) -> std::fmt::Result {
    let counted = first.allocations.is_some();
    let compared = !heading.against_first.is_empty();
    writeln!(text, "### {}\n", heading.title)?;
    if !heading.explanation.is_empty() {
        writeln!(text, "{}\n", heading.explanation)?;
    }
    write!(text, "| | {} |", heading.unit)?;
    if compared {
        write!(text, " {} |", heading.against_first)?;
    }
    writeln!(text, "{}", if counted { " allocations |" } else { "" })?;
    let columns = 1 + usize::from(compared) + usize::from(counted);
    writeln!(text, "|---|{}", "---:|".repeat(columns))?;
    for row in rows {
        write!(text, "| {}", row.name)?;
        if !row.note.is_empty() {
            write!(text, ", {}", row.note)?;
        }
        write!(text, " | {} |", figure(row.figure()))?;
        if compared {
            let by_difference = heading.group != Group::Budget;
            write!(text, " {} |", comparison(row, first, by_difference))?;
        }
        if let Some(allocations) = row.allocations {
            write!(text, " {allocations} |")?;
        }
        writeln!(text)?;
    }
    writeln!(text)
}

fn comparison(row: &Case, first: &Case, by_difference: bool) -> String {
    if std::ptr::eq(row, first) {
        String::new()
    } else if by_difference {
        figure(row.above(first))
    } else {
        format!("{:.2}", row.share_of(first))
    }
}

/// Two digits where they say something.
fn figure(value: f64) -> String {
    if value.abs() < 10.0 {
        format!("{value:.2}")
    } else {
        format!("{value:.0}")
    }
}
