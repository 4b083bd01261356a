//! What does the JSON document of every drill begin with, and how is it written?

use serde::Serialize;

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
