//! What does `--json` hold? A document for programs.
//!
//! Names and units are stable; new ones may be added. It holds no name of a file or an upstream.

use becalm_fit::log::Tally;
use becalm_fit::{Ends, Fitted, Found, Knee, Warning, Window};
use serde::Serialize;

use super::reading::Read;
use super::values::{Value, conclusion, values};

/// The version of the document: it changes when a name or a meaning does.
const SCHEMA: u32 = 1;

#[derive(Debug, Serialize)]
struct Document<'a> {
    schema: u32,
    becalm: &'static str,
    conclusion: String,
    files: &'a [Tally],
    fits: Vec<Fit<'a>>,
    scenario: &'a str,
}

#[derive(Debug, Serialize)]
struct Fit<'a> {
    /// The number of the upstream, if each was fitted apart.
    pool: Option<u32>,
    requests: u64,
    length_s: f64,
    knee: Knee,
    ends: Ends,
    values: Vec<Value>,
    curve: &'a [Found],
    windows: &'a [Window],
    warnings: &'a [Warning],
}

/// The document as text, ended by a line break.
pub fn document(read: &Read) -> Result<String, String> {
    let pools = read
        .pools
        .iter()
        .map(|(upstream, it)| fit(Some(*upstream), it));
    let whole = read.pools.is_empty().then(|| fit(None, &read.whole));
    let document = Document {
        schema: SCHEMA,
        becalm: env!("CARGO_PKG_VERSION"),
        conclusion: conclusion(&read.whole),
        files: &read.tallies,
        fits: whole.into_iter().chain(pools).collect(),
        scenario: &read.scenario,
    };
    serde_json::to_string(&document)
        .map(|text| text + "\n")
        .map_err(|error| format!("the fit cannot be written as JSON: {error}"))
}

fn fit(pool: Option<u32>, fitted: &Fitted) -> Fit<'_> {
    Fit {
        pool,
        requests: fitted.requests,
        length_s: fitted.length.as_secs_f64(),
        knee: fitted.knee,
        ends: fitted.ends,
        values: values(fitted),
        curve: &fitted.curve,
        windows: &fitted.windows,
        warnings: &fitted.warnings,
    }
}
