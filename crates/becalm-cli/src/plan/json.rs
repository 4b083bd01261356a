//! How does a program read a plan?

use becalm::preset::Preset;
use becalm_sim::forecast::{Longest, Protection, Reserve, Row, Spread};
use serde::Serialize;
use serde_json::{Value, json};

use super::told::Plan;

#[derive(Debug, Serialize)]
struct Document<'a> {
    preset: Option<Value>,
    policy: String,
    retries: &'a [Row],
    waits: Spread,
    longest: Longest,
    protection: &'a Protection,
    reserve: Option<&'a Reserve>,
    lints: Vec<Value>,
}

/// What is told of a preset, and of what its system does otherwise.
pub fn preset(preset: &Preset) -> Value {
    json!({ "name": preset.name(), "source": preset.source(), "differs": preset.differs() })
}

/// One line of JSON.
pub fn document(plan: &Plan) -> String {
    let lints = plan.lints.iter();
    let document = Document {
        preset: plan.preset.map(preset),
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
