//! How does an answer of Prometheus become a fit?

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use becalm_fit::prometheus::{Query, Range};

use super::args::Args;
use super::asked::RangeArgs;
use super::reading::Read;
use super::{http, input};
use crate::usage::shown;

/// Points that Prometheus gives of a series at most.
const POINTS: f64 = 11_000.0;

/// What the Prometheus, or the file, says that the flags name.
pub fn read(args: &Args, source: &str) -> Result<Read, String> {
    let flags = &args.range;
    let (name, text, asked) = if source.contains("://") {
        let query = query(flags)?;
        let text = http::get(source, &parameters(flags, &query)?).map_err(|error| {
            format!(
                "{error}\n\nBy hand, in place of that:\n\n{}",
                by_hand(source, flags, &query)
            )
        })?;
        (source, text, Some(query))
    } else {
        (source, saved(source)?, None)
    };
    let range = Range::read(&text).map_err(|why| match &asked {
        Some(query) => format!("{}: {why}\n\nIt was asked:\n\n{query}", shown(name)),
        None => format!("{}: {why}", shown(name)),
    })?;
    let whole = range.fit();
    Ok(Read {
        scenario: whole.scenario(&args.name),
        whole,
        pools: Vec::new(),
        beyond: 0,
        tallies: Vec::new(),
        asked,
    })
}

/// What a file has that somebody saved.
fn saved(source: &str) -> Result<Vec<u8>, String> {
    let remedy = "a Prometheus is named by its URL, such as http://127.0.0.1:9090";
    let input = input::open(Path::new(source)).map_err(|error| format!("{error}; {remedy}"))?;
    let mut text = Vec::new();
    let read = input.text.take(http::MOST + 1).read_to_end(&mut text);
    read.map_err(|error| format!("cannot read {}: {error}; {remedy}", input.name))?;
    if text.len() as u64 > http::MOST {
        return Err(format!(
            "{} has more than 256 MiB; ask for a shorter range or a longer step",
            input.name
        ));
    }
    Ok(text)
}

/// The query, and how curl asks it.
pub fn shown_query(flags: &RangeArgs) -> Result<String, String> {
    let query = query(flags)?;
    let source = flags.prometheus.as_deref();
    let source = source
        .filter(|it| it.contains("://"))
        .unwrap_or("http://127.0.0.1:9090");
    Ok(format!("{query}\n\n{}\n", by_hand(source, flags, &query)))
}

fn query(flags: &RangeArgs) -> Result<String, String> {
    if let Some(query) = &flags.query {
        return Ok(query.clone());
    }
    let metric = flags.metric.as_deref().ok_or(
        "--prometheus needs --metric, the histogram of how long requests took, such as http_request_duration_seconds, or --query",
    )?;
    let query = Query::new(
        metric,
        &flags.matchers,
        flags.in_flight.as_deref(),
        flags.step,
    );
    query
        .map(|it| it.text())
        .map_err(|it| format!("--metric: {it}"))
}

/// The times of a range, in seconds.
fn times(flags: &RangeArgs) -> Result<[f64; 3], String> {
    let (range, step) = (flags.range.as_secs_f64(), flags.step.as_secs_f64());
    if step <= 0.0 || range < step {
        return Err(
            "--range has to be as long as --step at least, and --step longer than nothing".into(),
        );
    }
    if range / step > POINTS {
        let least = (range / POINTS).ceil();
        return Err(format!(
            "Prometheus gives 11 000 points at most, and this range has more: take --step {least}s or a shorter --range"
        ));
    }
    let now = || {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0.0, |it| it.as_secs_f64())
    };
    let until = flags.until.unwrap_or_else(now);
    // At whole steps, so that who asks again is told the same.
    let until = (until / step).floor() * step;
    Ok([until - range, until, step])
}

fn parameters(flags: &RangeArgs, query: &str) -> Result<Vec<(&'static str, String)>, String> {
    let [start, end, step] = times(flags)?;
    Ok(vec![
        ("query", query.to_owned()),
        ("start", format!("{start:.3}")),
        ("end", format!("{end:.3}")),
        ("step", format!("{step}")),
    ])
}

fn by_hand(source: &str, flags: &RangeArgs, query: &str) -> String {
    let mut text = String::from("curl -sfG");
    if let Ok([start, end, step]) = times(flags) {
        let _ = write!(text, " -d start={start:.3} -d end={end:.3} -d step={step}");
    }
    let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
    let (source, has_password) = http::without_password(source.trim_end_matches('/'));
    let url = format!("{source}/api/v1/query_range");
    let is_plain = |it: char| it.is_ascii_alphanumeric() || ":/._-".contains(it);
    let url = if url.chars().all(is_plain) {
        url
    } else {
        quoted(&url)
    };
    if has_password {
        text.push_str(" -u USER");
    }
    let _ = write!(
        text,
        " --data-urlencode {} {url} > range.json\nbecalm fit --prometheus range.json",
        quoted(&format!("query={query}"))
    );
    text
}
