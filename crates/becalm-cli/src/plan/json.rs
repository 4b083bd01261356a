//! How does a program read a plan?

use becalm_sim::forecast::{Longest, Protection, Reserve, Row, Spread};
use serde::Serialize;
use serde_json::{Value, json};

use super::told::Plan;

#[derive(Debug, Serialize)]
struct Document<'a> {
    policy: String,
    retries: &'a [Row],
    waits: Spread,
    longest: Longest,
    protection: &'a Protection,
    reserve: Option<&'a Reserve>,
    lints: Vec<Value>,
}

/// One line of JSON.
pub fn document(plan: &Plan) -> String {
    let lints = plan.lints.iter();
    let document = Document {
        policy: plan.policy.to_string(),
        retries: &plan.forecast.rows,
        waits: plan.forecast.total(),
        longest: plan.longest,
        protection: &plan.protection,
        reserve: plan.reserve.as_ref(),
        lints: lints
            .map(|it| json!({ "code": it.code, "message": it.message }))
            .collect(),
    };
    let mut line = serde_json::to_string(&document).unwrap_or_default(); // plain data: no error
    line.push('\n');
    line
}
