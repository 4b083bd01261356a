//! What does the JSON document of every drill begin with, and how is it written?

use std::time::Duration;

use serde::{Serialize, Serializer};

/// Which becalm has held the drill, and how to hold it again.
#[derive(Debug, Serialize)]
pub struct Origin<'a> {
    /// The version of the document: it changes when a name or a meaning does.
    schema: u32,
    becalm: &'static str,
    command: &'a str,
    seed: u64,
}

impl<'a> Origin<'a> {
    pub fn new(schema: u32, command: &'a str, seed: u64) -> Self {
        Self {
            schema,
            becalm: env!("CARGO_PKG_VERSION"),
            command,
            seed,
        }
    }
}

/// The document as text, ended by a line break.
///
/// # Errors
///
/// A sentence.
pub fn text(document: &impl Serialize) -> Result<String, String> {
    match serde_json::to_string(document) {
        Ok(text) => Ok(text + "\n"),
        Err(error) => Err(format!("the figures cannot be written as JSON: {error}")),
    }
}

/// A duration in milliseconds.
///
/// # Errors
///
/// As the serializer says.
pub fn in_ms<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(milliseconds(*time))
}

/// A duration in milliseconds; null without one.
///
/// # Errors
///
/// As the serializer says.
#[cfg(all(feature = "ws", unix))]
#[expect(clippy::ref_option, reason = "serde hands over the field")]
pub fn in_ms_or_null<S: Serializer>(
    time: &Option<Duration>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    time.map(milliseconds).serialize(serializer)
}

/// The duration in milliseconds, as the JSON document has it.
#[expect(clippy::cast_precision_loss)] // exact up to 104 days
pub fn milliseconds(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1e6
}
