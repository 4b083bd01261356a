//! How are arrivals written, and read back?
//!
//! `"poisson:500"`, `"constant:500"`, `"bursty:100,burst-rate:1000,burst:2s,pause:10s"`,
//! `{ trace = "arrivals.csv" }`, `{ trace = ["0s", "4ms"] }`, `{ closed = "exponential:1s" }`.

use std::time::Duration;

use becalm::duration;
use becalm::support::Human;
use toml::{Table, Value};

use super::entry::{Entry, Files};
use super::refusal::{Refusal, unknown};
use super::times;
use crate::engine::Distribution;
use crate::scenario::Arrivals;

const KEYS: &[&str] = &["trace", "closed"];
const KINDS: [&str; 3] = ["poisson", "constant", "bursty"];

/// Such as is written in an error.
pub(super) const EXAMPLE: &str = "\"poisson:500\"";

pub(super) fn read(entry: &Entry<'_>, files: Files<'_>) -> Result<Arrivals, Refusal> {
    if let Some(text) = entry.as_text() {
        return open(text).map_err(|sentence| entry.refuse(sentence));
    }
    if !entry.is_table() {
        return Err(entry.refuse(format!(
            "write the arrivals per second, such as {EXAMPLE}, or {{ trace = \"arrivals.csv\" }}, \
             or {{ closed = \"exponential:1s\" }}"
        )));
    }
    let section = entry.section(KEYS)?;
    match (section.get("trace"), section.get("closed")) {
        (Some(trace), None) => read_trace(&trace, files),
        (None, Some(think)) => {
            let think = distribution(&think, files)?;
            Ok(Arrivals::Closed { think })
        }
        _ => Err(entry.refuse("write one of the keys trace, closed")),
    }
}

/// A distribution: a text, a list of measured times, or `{ csv = "times.csv" }`.
pub(super) fn distribution(entry: &Entry<'_>, files: Files<'_>) -> Result<Distribution, Refusal> {
    let times = if entry.is_list() {
        list(entry)?
    } else if entry.is_table() {
        let csv = entry.section(&["csv"])?.required("csv", "\"times.csv\"")?;
        times_of(&csv, files)?
    } else if entry.as_text().is_some() {
        return entry.parsed();
    } else {
        return Err(entry.refuse(
            "write a time such as \"10ms\", a distribution such as \"exponential:10ms\", a list of \
             times, or { csv = \"times.csv\" }",
        ));
    };
    if times.is_empty() {
        return Err(entry.refuse("write at least one time"));
    }
    Ok(Distribution::Empirical(times))
}

pub(super) fn write(arrivals: &Arrivals) -> Value {
    match arrivals {
        Arrivals::Poisson(rate) => format!("poisson:{rate}").into(),
        Arrivals::Constant(rate) => format!("constant:{rate}").into(),
        Arrivals::Bursty {
            rate,
            burst_rate,
            burst,
            pause,
        } => {
            let (burst, pause) = (Human(*burst), Human(*pause));
            format!("bursty:{rate},burst-rate:{burst_rate},burst:{burst},pause:{pause}").into()
        }
        Arrivals::Trace(recorded) => table("trace", write_list(recorded.iter())),
        Arrivals::Closed { think } => table("closed", write_distribution(think)),
    }
}

pub(super) fn write_distribution(distribution: &Distribution) -> Value {
    match distribution {
        Distribution::Empirical(times) => write_list(times.iter().copied()),
        distribution => distribution.to_string().into(),
    }
}

fn write_list(times: impl Iterator<Item = Duration>) -> Value {
    let times = times.map(|time| Human(time).to_string());
    times.collect::<Vec<_>>().into()
}

fn table(key: &str, value: Value) -> Value {
    Table::from_iter([(key.to_owned(), value)]).into()
}

/// An open loop.
fn open(text: &str) -> Result<Arrivals, String> {
    let (kind, parameters) = text.split_once(':').unwrap_or((text, ""));
    match kind.trim() {
        "poisson" => rate(parameters).map(Arrivals::Poisson),
        "constant" => rate(parameters).map(Arrivals::Constant),
        "bursty" => bursty(parameters).ok_or_else(|| {
            "write two rates per second and two mean times, the last three above 0: \
             \"bursty:100,burst-rate:1000,burst:2s,pause:10s\""
                .into()
        }),
        "trace" | "closed" => Err(format!(
            "write it as a table: {}",
            if kind == "trace" {
                "{ trace = \"arrivals.csv\" }"
            } else {
                "{ closed = \"exponential:1s\" }"
            }
        )),
        kind => Err(unknown("kind", kind, KINDS)),
    }
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.trim().parse::<f64>().ok();
    let rate = rate.filter(|rate| rate.is_finite() && *rate > 0.0);
    rate.ok_or_else(|| format!("write a rate per second above 0, such as {EXAMPLE}"))
}

fn bursty(parameters: &str) -> Option<Arrivals> {
    let mut parts = parameters.split(',').map(str::trim);
    let between = parts.next()?.parse::<f64>().ok()?;
    let (mut burst_rate, mut burst, mut pause) = (None, None, None);
    let length = |text: &str| duration::parse(text).ok().filter(|time| !time.is_zero());
    for part in parts {
        let (name, value) = part.split_once(':')?;
        match name.trim() {
            "burst-rate" if burst_rate.is_none() => burst_rate = Some(rate(value).ok()?),
            "burst" if burst.is_none() => burst = Some(length(value)?),
            "pause" if pause.is_none() => pause = Some(length(value)?),
            _ => return None,
        }
    }
    let is_rate = between.is_finite() && between >= 0.0;
    is_rate.then_some(Arrivals::Bursty {
        rate: between,
        burst_rate: burst_rate?,
        burst: burst?,
        pause: pause?,
    })
}

fn read_trace(entry: &Entry<'_>, files: Files<'_>) -> Result<Arrivals, Refusal> {
    let times = if entry.is_list() {
        list(entry)?
    } else {
        times_of(entry, files)?
    };
    if let Some(index) = times::first_unsorted(&times) {
        return Err(entry.refuse(format!(
            "time {} ({}) is before the one above it; sort them",
            index + 1,
            Human(times[index])
        )));
    }
    Ok(Arrivals::Trace(times.into()))
}

fn list(entry: &Entry<'_>) -> Result<Vec<Duration>, Refusal> {
    let times = entry.list("times, such as [\"8ms\", \"9ms\"]")?;
    times.iter().map(Entry::duration).collect()
}

/// The times of the CSV file that the entry names.
fn times_of(entry: &Entry<'_>, files: Files<'_>) -> Result<Vec<Duration>, Refusal> {
    let name = entry.text()?;
    let text = entry.open(name, files)?;
    times::read(&text).map_err(|fault| entry.refuse(format!("{name}: {fault}")))
}
