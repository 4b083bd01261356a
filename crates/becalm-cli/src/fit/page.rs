//! What does the report say to someone who was not there?
//!
//! No name of a file, an upstream or anything else that the log says.

use becalm_fit::{Fitted, Knee};
use becalm_report::format::plain;
use becalm_report::{Cell, Colour, Page, Table};

use super::picture;
use super::reading::Read;
use super::text::{asides, windows};
use super::values::{conclusion, values};

/// The fit as a self-contained page.
pub fn page(read: &Read) -> Page {
    let is_range = read.tallies.is_empty();
    let page = Page::new(if is_range {
        "What Prometheus says of the service"
    } else {
        "What the access log says of the service"
    });
    let page = if read.pools.is_empty() {
        let fitted = &read.whole;
        let said = match fitted.warnings.first().filter(|_| is_unknown(fitted)) {
            Some(why) => format!("{} Beware: {why}.", conclusion(fitted)),
            None => conclusion(fitted),
        };
        let page = page.conclusion(tone(fitted), &said);
        let page = page.figures("", figures(fitted));
        let page = match picture::curve(fitted) {
            Some(chart) => page.figure(&chart.with_size(940.0, 260.0), CURVE),
            None => page,
        };
        one(page.contents(), fitted, "")
    } else {
        let said = "Each upstream was fitted apart.";
        let page = page.conclusion(tone(&read.whole), said);
        let pools = read.pools.iter();
        let page = page.definitions(
            pools.map(|(upstream, fitted)| (format!("Pool {upstream}"), conclusion(fitted))),
        );
        read.pools
            .iter()
            .fold(page.contents(), |page, (upstream, fitted)| {
                let page = page.heading(&format!("Pool {upstream}"));
                let page = page.paragraph(&conclusion(fitted));
                let of = format!("Pool {upstream}: ");
                let page = match picture::curve(fitted) {
                    Some(chart) => page.figure(&chart, CURVE),
                    None => page,
                };
                one(page, fitted, &of)
            })
    };
    let page = if read.pools.is_empty() {
        page.heading("The scenario")
            .paragraph("becalm storm reads it. Change what is assumed or asked before you believe its verdict.")
            .code(&read.scenario)
    } else {
        page
    };
    let page = page.heading("What was read");
    let (page, said) = if is_range {
        let said = "A range of Prometheus. Its names and labels are nowhere written.";
        (page, said)
    } else {
        let said = "What the log says of addresses, paths and ids was counted and nowhere written.";
        (page.table(&files(read)), said)
    };
    page.paragraph(&format!(
        "Read by becalm {}. {said}",
        env!("CARGO_PKG_VERSION")
    ))
}

/// What the picture shows.
const CURVE: &str = "While there is a worker for each request its time is the service time. Behind that the requests wait for one \
                     another, and the time rises with their number: the bend is the number of workers.";

/// The three figures that come first, with how each is known.
fn figures(fitted: &Fitted) -> Vec<(String, String)> {
    let values = values(fitted).into_iter().take(3);
    let figures = values.map(|it| match it.interval {
        Some(interval) => (it.text, format!("{}, {}: {interval}", it.title, it.how)),
        None if it.how == "ask" => (it.text, format!("{}: not known, stands in", it.title)),
        None => (it.text, format!("{}: {}", it.title, it.how)),
    });
    figures.collect()
}

fn one(page: Page, fitted: &Fitted, of: &str) -> Page {
    let warnings = fitted.warnings.iter();
    let page = warnings.fold(page, |page, it| page.paragraph(&format!("Beware: {it}.")));
    let page = page
        .heading(&format!("{of}The values"))
        .table(&table(fitted));
    let reasons = values(fitted).into_iter().map(|it| (it.title, it.because));
    let page = page.definitions(reasons);
    let page = match picture::arrivals(fitted) {
        Some(chart) => page
            .heading(&format!("{of}Arrivals"))
            .figure(&chart, "Requests, and those of them that repeat no other."),
        None => page,
    };
    if fitted.windows.len() > 1 {
        page.heading(&format!("{of}Stretches of time"))
            .paragraph("Each stretch of the log, fitted apart: a service that stays the same says the same in each.")
            .table(&windows(fitted))
    } else {
        page
    }
}

fn table(fitted: &Fitted) -> Table {
    let table = Table::new(["", "value", "95 % interval", "known"]);
    values(fitted).into_iter().fold(table, |table, value| {
        let colour = match value.how {
            "measured" => Colour::Ink,
            "ask" => Colour::Orange,
            _ => Colour::Muted,
        };
        table.row([
            Cell::new(value.title),
            Cell::new(value.text),
            Cell::new(value.interval.unwrap_or_default()),
            Cell::new(value.how).colour(colour),
        ])
    })
}

fn files(read: &Read) -> Table {
    #[expect(clippy::cast_precision_loss)] // to be read
    let count = |count: u64| Cell::new(plain(count as f64));
    let table = Table::new(["file", "format", "requests", "lines", "besides"]);
    read.tallies
        .iter()
        .zip(1..)
        .fold(table, |table, (tally, number)| {
            table.row([
                Cell::new(number.to_string()),
                Cell::new(tally.format),
                count(tally.requests),
                count(tally.lines),
                Cell::new(asides(tally).join("; ")),
            ])
        })
}

fn tone(fitted: &Fitted) -> Colour {
    match fitted.knee {
        Knee::Seen => Colour::Green,
        Knee::Open => Colour::Blue,
        _ => Colour::Orange,
    }
}

/// Whether the reason is what is to be read first.
fn is_unknown(fitted: &Fitted) -> bool {
    !matches!(fitted.knee, Knee::Seen | Knee::Open)
}
