//! What does a fit say in a terminal?

use std::fmt::Write as _;
use std::path::PathBuf;

use becalm_fit::log::Tally;
use becalm_fit::{Fits, Fitted};
use becalm_report::format::{plain, seconds};
use becalm_report::terminal::wrap;
use becalm_report::{Cell, Table};

use super::args::Args;
use super::picture;
use super::reading::Read;
use super::values::{conclusion, values};
use crate::again::quoted;
use crate::stream::Stream;
use crate::usage::shown;

/// The height of the picture, in lines.
const LINES: usize = 8;

/// All of it.
pub fn text(read: &Read, args: &Args, written: &[PathBuf], stream: Stream) -> String {
    let columns = stream.columns();
    let mut text = String::new();
    for tally in &read.tallies {
        lines(&mut text, columns, "", &file(tally));
    }
    for (upstream, fitted) in &read.pools {
        let _ = writeln!(
            text,
            "\npool {upstream}: {} requests",
            plain_count(fitted.requests)
        );
        fit(&mut text, fitted, stream);
    }
    if read.pools.is_empty() {
        fit(&mut text, &read.whole, stream);
    } else {
        let mut next = "--pool NUMBER reads one of them, and --out writes its scenario.".to_owned();
        if read.beyond > 0 {
            let _ = write!(
                next,
                " {} requests are of other upstreams than these {}, the first in the log.",
                plain_count(read.beyond),
                Fits::MOST
            );
        }
        lines(&mut text, columns, "", &next);
    }
    for path in written {
        let _ = writeln!(text, "written: {}", shown(&path.display().to_string()));
    }
    match &args.out {
        Some(path) => {
            let path = quoted(&shown(&path.display().to_string()));
            let _ = writeln!(text, "next: becalm storm {path}");
        }
        None if read.pools.is_empty() => {
            text.push_str("next: --out FILE.toml writes the scenario for becalm storm\n");
        }
        None => {}
    }
    text
}

fn fit(text: &mut String, fitted: &Fitted, stream: Stream) {
    let (columns, painter) = (stream.columns(), stream.painter());
    text.push('\n');
    lines(text, columns, "", &conclusion(fitted));
    text.push('\n');
    for value in values(fitted) {
        let interval = value
            .interval
            .map(|it| format!(", {it}"))
            .unwrap_or_default();
        let _ = writeln!(
            text,
            "{:<22} {:<18} {}{interval}",
            value.title, value.text, value.how
        );
        lines(text, columns, "    ", &value.because);
    }
    if let Some(chart) = picture::curve(fitted) {
        let _ = write!(text, "\n{}", chart.to_terminal(columns, LINES, painter));
    }
    if fitted.windows.len() > 1 {
        let _ = write!(text, "\n{}", windows(fitted).to_terminal(painter));
    }
    if !fitted.warnings.is_empty() {
        text.push_str("\nBeware:\n");
        for warning in &fitted.warnings {
            lines(text, columns, "  ", &warning.to_string());
        }
    }
    text.push('\n');
}

/// The windows, with what each of them says by itself.
pub fn windows(fitted: &Fitted) -> Table {
    let table = Table::new([
        "from",
        "first tries /s",
        "workers",
        "capacity /s",
        "mean time",
    ]);
    fitted.windows.iter().fold(table, |table, window| {
        let at_least =
            |text: String, is_open: bool| if is_open { format!("{text}+") } else { text };
        let workers = at_least(window.workers.value.to_string(), window.workers.is_open());
        let capacity = at_least(plain(window.capacity.value), window.capacity.is_open());
        let or_dash = |text: String, is_measured: bool| if is_measured { text } else { "-".into() };
        table.row([
            Cell::new(seconds(window.from.as_secs_f64())),
            Cell::new(plain(window.rate)),
            Cell::new(or_dash(workers, window.workers.is_measured())),
            Cell::new(or_dash(capacity, window.capacity.is_measured())),
            Cell::new(or_dash(
                seconds(window.time.value),
                window.time.is_measured(),
            )),
        ])
    })
}

/// What was read of a file.
fn file(tally: &Tally) -> String {
    let mut text = format!(
        "{}: {} requests in {} lines ({})",
        tally.file,
        plain_count(tally.requests),
        plain_count(tally.lines),
        tally.format
    );
    for sentence in asides(tally) {
        let _ = write!(text, "; {sentence}");
    }
    text
}

/// What else there is to say about a file, without its name.
pub fn asides(tally: &Tally) -> Vec<String> {
    let mut asides = Vec::new();
    if tally.passed > 0 {
        asides.push(format!(
            "its first {} lines have another format, which cannot be read, and are left out",
            plain_count(tally.passed)
        ));
    }
    if tally.unread > 0 {
        let first: Vec<_> = tally
            .first_unread
            .iter()
            .map(|(line, why)| format!("line {line}: {why}"))
            .collect();
        let count = match tally.unread {
            1 => "1 line".into(),
            many => format!("{} lines", plain_count(many)),
        };
        asides.push(format!("{count} could not be read: {}", first.join(", ")));
    }
    if 2 * tally.whole_seconds > tally.requests {
        asides.push(
            "most of its durations are whole seconds; if they are another unit, say so (duration_ms or duration_us in CSV)"
                .into(),
        );
    }
    if tally.retried_by_proxy > 0 {
        let count = plain_count(tally.retried_by_proxy);
        asides.push(format!(
            "the proxy sent {count} of them to more than one server"
        ));
    }
    if tally.most_at_a_server > 0 {
        asides.push(format!(
            "HAProxy counted at most {} requests at one server, and {} waiting",
            tally.most_at_a_server, tally.longest_queue
        ));
    }
    asides
}

#[expect(clippy::cast_precision_loss)] // to be read
fn plain_count(count: u64) -> String {
    plain(count as f64)
}

fn lines(text: &mut String, columns: usize, indent: &str, paragraph: &str) {
    for line in wrap(paragraph, columns - indent.len()) {
        let _ = writeln!(text, "{indent}{line}");
    }
}
