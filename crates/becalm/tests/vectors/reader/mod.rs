//! What does becalm decide, by its documents alone? Nothing here uses becalm.
//!
//! Read it beside `docs/vectors.md`: it is an implementation in another language that happens to be in
//! this one.

mod budget;
mod calls;
mod dictionary;
mod policy;
mod words;

use serde_json::Value;

/// Replays one line; the error is the first difference.
pub fn replay(line: &str) -> Result<(), String> {
    let line: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
    match text(&line["kind"]) {
        "calls" => calls::replay(&line),
        "schedule" => policy::replay_schedule(&line),
        kind => words::replay(kind, &line),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}

/// A whole number, which is written as digits from 2^53 on.
fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, read: T, expected: T) -> Result<(), String> {
    if read == expected {
        return Ok(());
    }
    Err(format!(
        "{what}: the file says {read:?}, the second reader {expected:?}"
    ))
}
