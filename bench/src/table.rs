//! How do the figures read? Markdown, as `README.md` holds them.

use std::fmt::Write;

use crate::headings::{Compared, HEADINGS, Heading};
use crate::measure::Case;

/// All tables, rows in the order in which they were measured.
pub fn markdown(cases: &[Case]) -> String {
    let mut text = String::new();
    let mut shown = 0;
    for heading in &HEADINGS {
        let rows: Vec<&Case> = cases
            .iter()
            .filter(|case| case.group == heading.group)
            .collect();
        shown += rows.len();
        if let Some(first) = rows.first() {
            table(&mut text, heading, first, &rows).expect("a String takes everything");
        }
    }
    assert_eq!(shown, cases.len(), "every row stands in one table");
    text
}

fn table(text: &mut String, heading: &Heading, first: &Case, rows: &[&Case]) -> std::fmt::Result {
    let counted = first.allocations.is_some();
    let compared = heading.compared.column();
    writeln!(text, "### {}\n", heading.title)?;
    if !heading.explanation.is_empty() {
        writeln!(text, "{}\n", heading.explanation)?;
    }
    write!(text, "| | {} |", heading.unit)?;
    if let Some(column) = compared {
        write!(text, " {column} |")?;
    }
    writeln!(text, "{}", if counted { " allocations |" } else { "" })?;
    let columns = 1 + usize::from(compared.is_some()) + usize::from(counted);
    writeln!(text, "|---|{}", "---:|".repeat(columns))?;
    for row in rows {
        write!(text, "| {}", row.name)?;
        if !row.note.is_empty() {
            write!(text, ", {}", row.note)?;
        }
        write!(text, " | {} |", figure(row.figure()))?;
        if compared.is_some() {
            write!(text, " {} |", comparison(row, first, heading.compared))?;
        }
        if let Some(allocations) = row.allocations {
            write!(text, " {allocations} |")?;
        }
        writeln!(text)?;
    }
    writeln!(text)
}

fn comparison(row: &Case, first: &Case, compared: Compared) -> String {
    match compared {
        _ if std::ptr::eq(row, first) => String::new(),
        Compared::Alone => String::new(),
        Compared::Over(_) => figure(row.above(first)),
        Compared::Of(_) => format!("{:.2}", row.share_of(first)),
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
