//! What does a fit say in a terminal?

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use becalm_fit::log::{Tally, advice};
use becalm_fit::{Fits, Fitted};
use becalm_report::format::{plain, seconds};
use becalm_report::terminal::{FIRST_LINES, fold, width, wrap};
use becalm_report::{Cell, Table};

use super::args::Args;
use super::picture;
use super::reading::Read;
use super::values::{Value, conclusion, values};
use crate::again::quoted;
use crate::stream::Stream;
use crate::usage::shown;
use crate::wording::{filled, filled_within};

/// The height of the picture, in lines.
const LINES: usize = 8;

/// What the log says, how it is known in three figures, and a picture; below the fold all values with their reasons.
pub fn text(read: &Read, args: &Args, written: &[PathBuf], stream: Stream) -> String {
    let (columns, painter) = (stream.columns(), stream.painter());
    let (mut text, is_all) = files(read, columns);
    text.push('\n');
    if read.pools.is_empty() {
        text += &filled(columns, "", &conclusion(&read.whole));
    }
    for (upstream, fitted) in read.pools.iter().take(POOLS) {
        let said = format!("pool {upstream}: {}", conclusion(fitted));
        text += &filled_within(2, columns, &said).0;
    }
    let warnings: Vec<String> = read
        .fits()
        .flat_map(|it| &it.warnings)
        .map(ToString::to_string)
        .collect();
    if let Some(first) = warnings.first() {
        let more = match warnings.len() {
            1 => String::new(),
            all => format!(" ({} more below)", all - 1),
        };
        let (said, _) = filled_within(3, columns, &format!("Beware{more}: {first}."));
        text += &said;
    }
    text += &filled(columns, "", &next(read, args));
    let first = read.pools.first().map_or(&read.whole, |it| &it.1);
    if read.pools.is_empty() {
        text.push('\n');
        for value in values(first).into_iter().take(FIGURES) {
            told(&mut text, columns, &value);
        }
    }
    let chart = picture::curve(first);
    let room = FIRST_LINES.saturating_sub(text.lines().count() + 1);
    let drawn = chart.filter(|_| read.pools.len() < 2).and_then(|chart| {
        let mut heights = (3..=LINES)
            .rev()
            .map(|height| chart.to_terminal(columns, height, painter));
        heights.find(|it| it.lines().count() <= room)
    });
    let is_drawn = drawn.is_some();
    if let Some(drawn) = drawn {
        text.push('\n');
        text += &drawn;
    }
    text += &fold(
        "all values, how each is known, and what to beware of",
        columns,
        painter,
    );
    text.push('\n');
    if !is_all {
        for tally in &read.tallies {
            text += &filled(columns, "", &file(tally));
        }
    }
    let is_coarse = |it: &Fitted| it.warnings.iter().any(|it| it.code() == "coarse-stamps");
    if read.fits().any(is_coarse) {
        for (server, line) in finer(read) {
            let _ = writeln!(text, "finer moments, of {server}:\n    {line}");
        }
    }
    for (upstream, fitted) in &read.pools {
        let requests = counted(fitted.requests, "request");
        let _ = writeln!(text, "pool {upstream}: {requests}");
        fit(&mut text, fitted, !is_drawn, stream);
    }
    if read.pools.is_empty() {
        fit(&mut text, &read.whole, !is_drawn, stream);
    }
    for path in written {
        let _ = writeln!(text, "written: {}", shown(&path.display().to_string()));
    }
    // In one piece, to be copied.
    if let Some(query) = &read.asked {
        let _ = writeln!(text, "asked: {query}");
    }
    text
}

/// Files, and pools, that are named above the fold; and figures that stand there.
const FILES: usize = 2;
const POOLS: usize = 6;
const FIGURES: usize = 3;

/// What was read of the first files, and whether that is all that there is to say.
fn files(read: &Read, columns: usize) -> (String, bool) {
    let mut is_all = true;
    let mut text = String::new();
    for tally in read.tallies.iter().take(FILES) {
        let (lines, whole) = filled_within(3, columns, &file(tally));
        text += &lines;
        is_all &= whole;
    }
    let more = read.tallies.len().saturating_sub(FILES);
    if more > 0 {
        let _ = writeln!(text, "and {more} more, below");
    }
    (text, is_all && more == 0)
}

/// What to do with it.
fn next(read: &Read, args: &Args) -> String {
    let pools = !read.pools.is_empty();
    let mut next = String::from("next: ");
    match &args.out {
        Some(path) => {
            let path = quoted(&shown(&path.display().to_string()));
            let _ = write!(next, "becalm storm {path}");
        }
        None if pools => next += "--pool NUMBER reads one of them, and --out writes its scenario.",
        None => next += "--out FILE.toml writes the scenario for becalm storm",
    }
    if pools && read.beyond > 0 {
        let _ = write!(
            next,
            " {} requests are of other upstreams than these {}, the first in the log.",
            plain_count(read.beyond),
            Fits::MOST
        );
    }
    next
}

fn fit(text: &mut String, fitted: &Fitted, is_drawn: bool, stream: Stream) {
    let (columns, painter) = (stream.columns(), stream.painter());
    for value in values(fitted) {
        told(text, columns, &value);
    }
    if let Some(chart) = picture::curve(fitted).filter(|_| is_drawn) {
        let _ = write!(text, "\n{}", chart.to_terminal(columns, LINES, painter));
    }
    if fitted.windows.len() > 1 {
        let _ = write!(text, "\n{}", windows(fitted).to_terminal(painter));
    }
    if !fitted.warnings.is_empty() {
        text.push_str("\nBeware:\n");
        for warning in &fitted.warnings {
            text.push_str(&filled(columns, "  ", &warning.to_string()));
        }
    }
    text.push('\n');
}

/// A value with its unit, how it is known, and why.
fn told(text: &mut String, columns: usize, value: &Value) {
    let interval = value.interval.iter().map(|it| format!(", {it}"));
    let line = format!(
        "{:<22} {:<18} {}{}",
        value.title,
        value.text,
        value.how,
        interval.collect::<String>()
    );
    if width(&line) <= columns {
        let _ = writeln!(text, "{line}");
    } else {
        for line in wrap(&line, columns) {
            let _ = writeln!(text, "{line}");
        }
    }
    text.push_str(&filled(columns, "    ", &value.because));
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

/// What makes the servers that wrote the files write finer moments, each once.
fn finer(read: &Read) -> BTreeMap<&'static str, &'static str> {
    let each = read.tallies.iter();
    each.filter_map(|tally| advice(tally.format)).collect()
}

/// What was read of a file.
fn file(tally: &Tally) -> String {
    let mut text = format!(
        "{}: {} in {} ({})",
        tally.file,
        counted(tally.requests, "request"),
        counted(tally.lines, "line"),
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

/// `1 line`, `2 lines`.
fn counted(count: u64, one: &str) -> String {
    let more = if count == 1 { "" } else { "s" };
    format!("{} {one}{more}", plain_count(count))
}

#[expect(clippy::cast_precision_loss)] // to be read
fn plain_count(count: u64) -> String {
    plain(count as f64)
}
