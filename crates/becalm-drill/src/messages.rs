//! How do the drill's processes talk to each other? In lines of JSON, after a first argument of it.

use std::ffi::OsString;
use std::io::{self, BufRead, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// What a process was started for.
///
/// # Errors
///
/// A sentence: the argument is not of this kind.
pub fn brief<B: DeserializeOwned>(argument: Option<OsString>) -> Result<B, String> {
    let argument = argument.and_then(|it| it.into_string().ok());
    serde_json::from_str(&argument.unwrap_or_default()).map_err(|error| error.to_string())
}

/// What comes, until it ends or is not understood.
pub fn heard<T: DeserializeOwned>(from: impl BufRead) -> impl Iterator<Item = T> {
    let lines = from.lines().map_while(Result::ok);
    lines.map_while(|line| serde_json::from_str(&line).ok())
}

/// Says this at once.
///
/// # Errors
///
/// The other process has gone.
pub fn say(mut to: impl Write, what: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_string(what)?;
    line.push('\n');
    to.write_all(line.as_bytes())?;
    to.flush()
}
