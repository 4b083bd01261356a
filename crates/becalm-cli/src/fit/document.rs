//! What does `--json` hold? A document for programs.
//!
//! Names and units are stable; new ones may be added. It holds no name of a file or an upstream.

use becalm_fit::Fitted;
use serde::Serialize;

use super::reading::Read;
use super::values::{conclusion, knee, values};

/// The version of the document: it changes when a name or a meaning does.
const SCHEMA: u32 = 1;

#[derive(Debug, Serialize)]
struct Document<'a> {
    schema: u32,
    becalm: &'static str,
    conclusion: String,
    files: Vec<FileRecord>,
    fits: Vec<FitRecord>,
    scenario: &'a str,
}

#[derive(Debug, Serialize)]
struct FileRecord {
    format: &'static str,
    lines: u64,
    left_out: u64,
    requests: u64,
    unread: u64,
    first_unread: Vec<UnreadRecord>,
}

#[derive(Debug, Serialize)]
struct UnreadRecord {
    line: u64,
    why: String,
}

#[derive(Debug, Serialize)]
struct FitRecord {
    /// The number of the upstream, if each was fitted apart.
    pool: Option<u32>,
    requests: u64,
    length_s: f64,
    /// `seen`, `open` or `refused`.
    knee: &'static str,
    ends: EndsRecord,
    values: Vec<ValueRecord>,
    curve: Vec<FoundRecord>,
    windows: Vec<WindowRecord>,
    warnings: Vec<WarningRecord>,
}

#[derive(Debug, Serialize)]
struct EndsRecord {
    answered: u64,
    refused: u64,
    failed: u64,
    abandoned: u64,
}

#[derive(Debug, Serialize)]
struct ValueRecord {
    id: &'static str,
    title: &'static str,
    unit: &'static str,
    value: Option<f64>,
    /// The ends of the 95 % confidence interval.
    low: Option<f64>,
    high: Option<f64>,
    /// `measured`, `assumed` or `ask`.
    how: &'static str,
    because: String,
}

#[derive(Debug, Serialize)]
struct FoundRecord {
    number: f64,
    requests: u64,
    mean_s: f64,
    low_s: f64,
    high_s: f64,
    fitted_s: Option<f64>,
}

#[derive(Debug, Serialize)]
struct WindowRecord {
    from_s: f64,
    length_s: f64,
    requests: u64,
    rate: f64,
    knee: &'static str,
    /// `null` where the window does not show it.
    workers: Option<u32>,
    capacity: Option<f64>,
    time_s: Option<f64>,
}

#[derive(Debug, Serialize)]
struct WarningRecord {
    code: &'static str,
    sentence: String,
}

/// The document as text, ended by a line break.
pub fn document(read: &Read) -> Result<String, String> {
    let files = read.tallies.iter().map(|tally| FileRecord {
        format: tally.format,
        lines: tally.lines,
        left_out: tally.passed,
        requests: tally.requests,
        unread: tally.unread,
        first_unread: tally
            .first_unread
            .iter()
            .map(|(line, why)| UnreadRecord {
                line: *line,
                why: why.to_string(),
            })
            .collect(),
    });
    let pools = read
        .pools
        .iter()
        .map(|(upstream, it)| fit(Some(*upstream), it));
    let whole = read.pools.is_empty().then(|| fit(None, &read.whole));
    let document = Document {
        schema: SCHEMA,
        becalm: env!("CARGO_PKG_VERSION"),
        conclusion: conclusion(&read.whole),
        files: files.collect(),
        fits: whole.into_iter().chain(pools).collect(),
        scenario: &read.scenario,
    };
    serde_json::to_string(&document)
        .map(|text| text + "\n")
        .map_err(|error| format!("the fit cannot be written as JSON: {error}"))
}

fn fit(pool: Option<u32>, fitted: &Fitted) -> FitRecord {
    let values = values(fitted).into_iter().map(|it| ValueRecord {
        id: it.id,
        title: it.title,
        unit: it.unit,
        value: it.number,
        low: it.low,
        high: it.high,
        how: it.how,
        because: it.because,
    });
    let curve = fitted.curve.iter().map(|it| FoundRecord {
        number: it.number,
        requests: it.requests,
        mean_s: it.mean,
        low_s: it.interval.0,
        high_s: it.interval.1,
        fitted_s: it.fitted,
    });
    let windows = fitted.windows.iter().map(|it| WindowRecord {
        from_s: it.from.as_secs_f64(),
        length_s: it.length.as_secs_f64(),
        requests: it.requests,
        rate: it.rate,
        knee: knee(it.knee),
        workers: it.workers.is_measured().then_some(it.workers.value),
        capacity: it.capacity.is_measured().then_some(it.capacity.value),
        time_s: it.time.is_measured().then_some(it.time.value),
    });
    let warnings = fitted.warnings.iter().map(|it| WarningRecord {
        code: it.code(),
        sentence: it.to_string(),
    });
    FitRecord {
        pool,
        requests: fitted.requests,
        length_s: fitted.length.as_secs_f64(),
        knee: knee(fitted.knee),
        ends: EndsRecord {
            answered: fitted.ends.answered,
            refused: fitted.ends.refused,
            failed: fitted.ends.failed,
            abandoned: fitted.ends.abandoned,
        },
        values: values.collect(),
        curve: curve.collect(),
        windows: windows.collect(),
        warnings: warnings.collect(),
    }
}
