//! How does a program read a plan?

use serde::Serialize;

use super::Plan;
use super::forecast::{Fate, Row, Spread};
use super::millis::Millis;
use super::protection::Protection;

#[derive(Debug, Serialize)]
struct Document<'a> {
    policy: String,
    retries: Vec<Retry>,
    waits: Waits,
    longest: Longest,
    protection: &'a Protection,
    lints: Vec<Lint<'a>>,
}

#[derive(Debug, Serialize)]
#[expect(clippy::struct_field_names)] // the unit is part of the stable names
struct Retry {
    retry: u32,
    starts: &'static str,
    ceiling_ms: Millis,
    min_ms: Millis,
    mean_ms: Millis,
    max_ms: Millis,
    cumulative_min_ms: Millis,
    cumulative_mean_ms: Millis,
    cumulative_max_ms: Millis,
}

#[derive(Debug, Serialize)]
#[expect(clippy::struct_field_names)]
struct Waits {
    min_ms: Millis,
    mean_ms: Millis,
    max_ms: Millis,
}

#[derive(Debug, Serialize)]
struct Longest {
    waits_ms: Option<Millis>,
    call_ms: Option<Millis>,
}

#[derive(Debug, Serialize)]
struct Lint<'a> {
    code: &'a str,
    message: &'a str,
}

impl<'a> From<&'a becalm::lint::Lint> for Lint<'a> {
    fn from(lint: &'a becalm::lint::Lint) -> Self {
        Self {
            code: lint.code,
            message: &lint.message,
        }
    }
}

/// One line of JSON.
pub fn document(plan: &Plan) -> String {
    let retry = |row: &Row| Retry {
        retry: row.step.retry,
        starts: match row.fate {
            Fate::Starts => "yes",
            Fate::MayNotStart => "maybe",
            Fate::Never => "no",
        },
        ceiling_ms: row.step.ceiling.into(),
        min_ms: row.step.least.into(),
        mean_ms: row.step.mean.into(),
        max_ms: row.step.most.into(),
        cumulative_min_ms: row.cumulative.least.into(),
        cumulative_mean_ms: row.cumulative.mean.into(),
        cumulative_max_ms: row.cumulative.most.into(),
    };
    let Spread { least, mean, most } = plan.forecast.total();
    let document = Document {
        policy: plan.policy.to_string(),
        retries: plan.forecast.rows.iter().map(retry).collect(),
        waits: Waits {
            min_ms: least.into(),
            mean_ms: mean.into(),
            max_ms: most.into(),
        },
        longest: Longest {
            waits_ms: plan.longest.waits.map(Millis::from),
            call_ms: plan.longest.call.map(Millis::from),
        },
        protection: &plan.protection,
        lints: plan.lints.iter().map(Lint::from).collect(),
    };
    let mut line = serde_json::to_string(&document).unwrap_or_default(); // plain data: no error
    line.push('\n');
    line
}
