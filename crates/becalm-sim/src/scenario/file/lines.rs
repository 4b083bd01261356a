//! How does a scenario become lines of TOML? Keys that say no more than the default are left out.

use std::fmt::Write as _;
use std::time::Duration;

use becalm::Policy;
use becalm::support::Human;
use toml::Value;

use super::refusal::InvalidFile;

/// The text so far.
#[derive(Debug, Default)]
pub(super) struct Lines(String);

impl Lines {
    /// Begins a section: `[service.cache]`, `[[service]]`.
    pub fn header(&mut self, header: &str) {
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        self.0.push_str(header);
        self.0.push('\n');
    }

    pub fn key(&mut self, key: &str, value: impl Into<Value>) {
        // A String takes whatever is written.
        let _ = writeln!(self.0, "{key} = {}", value.into());
    }

    pub fn time(&mut self, key: &str, time: Duration) {
        self.key(key, Human(time).to_string());
    }

    /// The section of a policy, unless it is the default one.
    pub fn policy(&mut self, header: &str, policy: &Policy) -> Result<(), InvalidFile> {
        let changed = keys(header, policy, &[])?;
        if !changed.is_empty() {
            self.header(header);
            self.0.push_str(&changed.join("\n"));
            self.0.push('\n');
        }
        Ok(())
    }

    pub fn into_text(self) -> String {
        self.0
    }
}

/// What is written of a policy for people to read, be it the default.
const TOLD: &[&str] = &["attempts", "base", "cap", "jitter", "budget"];

/// The key `policy` in one line, with what people look for and all that is not as in the default.
pub(super) fn policy_line(policy: &Policy) -> Result<String, InvalidFile> {
    let keys = keys("policy", policy, TOLD)?;
    Ok(format!("policy = {{ {} }}", keys.join(", ")))
}

/// The lines of a policy that say more than those of the default one, or have one of these keys.
fn keys(header: &str, policy: &Policy, told: &[&str]) -> Result<Vec<String>, InvalidFile> {
    let default = text_of_default(header)?;
    let text = text(header, policy)?;
    let is_told = |line: &str| {
        line.split_once(" = ")
            .is_some_and(|(key, _)| told.contains(&key))
    };
    let is_default = |line: &str| default.lines().any(|it| it == line);
    // The tables of a policy stand after its keys; in braces they belong to whatever it stands in.
    let mut tables = text.split("\n[");
    let keys = tables.next().unwrap_or_default().lines();
    let keys = keys.filter(|line| is_told(line) || !is_default(line));
    let tables = tables.filter_map(|table| {
        let (name, keys) = table.split_once("]\n")?;
        let keys: Vec<_> = keys.lines().filter(|it| !it.is_empty()).collect();
        Some(format!("{name} = {{ {} }}", keys.join(", ")))
    });
    Ok(keys.map(str::to_owned).chain(tables).collect())
}

/// The policy as becalm writes it, a key a line.
fn text(header: &str, policy: &Policy) -> Result<String, InvalidFile> {
    toml::to_string(policy).map_err(|error| InvalidFile {
        line: None,
        key: header.trim_matches(['[', ']']).to_owned(),
        sentence: error.to_string(),
    })
}

fn text_of_default(header: &str) -> Result<String, InvalidFile> {
    text(header, &Policy::default())
}
