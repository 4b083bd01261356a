//! How is a scenario written to a file, and read back?
//!
//! In TOML, with the names of the [scenario](super)'s fields as keys. What is left out has its
//! default. Nothing is guessed: an unknown key, a name that nothing has and a value out of range
//! are refused with line, key and remedy.
//!
//! ```
//! use becalm_sim::scenario::file;
//!
//! let text = r#"
//!     name = "orders"
//!     horizon = "60s"
//!
//!     [[service]]
//!     name = "orders"
//!     workers = 4
//!     time = "exponential:10ms"
//!     queue = 200
//!
//!     [[population]]
//!     name = "users"
//!     target = "orders"
//!     arrivals = "poisson:260"
//!     timeout = "250ms"
//!
//!     [[trigger]]
//!     from = "10s"
//!     length = "2s"
//!     effect = "hang"
//!     service = "orders"
//! "#;
//! let scenario = file::read(text, &|name| std::fs::read_to_string(name))?;
//! assert_eq!(scenario.services[0].workers, 4);
//! assert_eq!(file::read(&file::write(&scenario)?, &|_| unreachable!()), Ok(scenario));
//!
//! let slip = text.replace("workers", "wokers");
//! let refusal = file::read(&slip, &|name| std::fs::read_to_string(name)).unwrap_err();
//! assert_eq!(refusal.to_string(), "line 7: service: unknown key `wokers`; did you mean `workers`?");
//! # Ok::<(), becalm_sim::scenario::file::InvalidFile>(())
//! ```

mod arrivals;
mod distribution;
mod entry;
mod lines;
mod policy;
mod population;
mod references;
mod refusal;
mod rows;
#[cfg(test)]
mod schema;
mod service;
mod times;
mod trigger;
mod words;

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::time::Duration;

use becalm::Policy;
use toml::de::DeTable;

use self::entry::{Files, Section};
use self::lines::Lines;
use self::references::Sections;
use self::refusal::Refusal;
use self::rows::{Key, LENGTH, SHARE, TEXT, TIMES, key, names, section};
use super::{Network, Scenario};

pub use distribution::InvalidDistribution;
pub use refusal::InvalidFile;

const KEYS: &[Key<Scenario>] = &[
    key!(name: TEXT, "\"orders\""),
    key!(horizon: LENGTH),
    key!(bucket: LENGTH),
    section!("network": network, |it, files| rows::table(NETWORK, it, files, Network::default())),
    // These are read one after the other: errors name their sections.
    section!("service"),
    section!("population"),
    section!("trigger"),
];

const NETWORK: &[Key<Network>] = &[key!(delay: TIMES), key!(loss: SHARE)];

/// Reads the scenario of a text. `files` reads the files that it names: recorded arrivals, measured
/// times, policies.
///
/// # Errors
///
/// The first fault: what is no TOML, an unknown key or name, a value that is missing, cannot be
/// read or is out of range, a file that cannot be read.
pub fn read(
    text: &str,
    files: &dyn Fn(&str) -> io::Result<String>,
) -> Result<Scenario, InvalidFile> {
    read_named(text, None, files)
}

/// Reads a scenario, with the name that it has if it gives none itself.
fn read_named(text: &str, name: Option<&str>, files: Files<'_>) -> Result<Scenario, InvalidFile> {
    let document = DeTable::parse(text).map_err(|error| {
        let refusal = Refusal {
            sentence: no_toml(text, &error),
            span: error.span(),
            key: String::new(),
        };
        refusal.at_line_of(text)
    })?;
    scenario(document.get_ref(), name, files).map_err(|refusal| refusal.at_line_of(text))
}

/// What the parser says; of a key that is there twice also which.
fn no_toml(text: &str, error: &toml::de::Error) -> String {
    let message = error.message().replace('\n', " ");
    let key = error.span().and_then(|span| text.get(span));
    match key.filter(|_| message == "duplicate key") {
        Some(key) => format!("`{key}` is there a second time; leave one of them out"),
        None => message,
    }
}

/// Reads the scenario of a file. Names of other files in it are relative to its folder. Without a `name`
/// it is called as the file is, less its ending.
///
/// # Errors
///
/// As [`read`], and a file that cannot be read.
pub fn load(path: &Path) -> Result<Scenario, InvalidFile> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let text = text_of(path).map_err(|error| {
        Refusal::whole(format!("the file cannot be read: {error}")).at_line_of("")
    })?;
    let name = path.file_stem().and_then(|stem| stem.to_str());
    read_named(&text, name, &|name| text_of(&folder.join(name)))
}

/// Far more than any scenario has: what is longer may have no end.
const LONGEST: u64 = 64 << 20;

fn text_of(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let mut start = File::open(path)?.take(LONGEST + 1);
    start.read_to_string(&mut text)?;
    if text.len() as u64 > LONGEST {
        return Err(io::Error::other("it is longer than 64 MiB"));
    }
    Ok(text)
}

/// Writes the text of a scenario, which [`read`] reads back as the same. What has its default is left out;
/// recorded times stand in the text itself.
///
/// # Errors
///
/// A policy that would be refused on reading: an invalid one, or one with a custom backoff.
pub fn write(scenario: &Scenario) -> Result<String, InvalidFile> {
    let mut lines = Lines::default();
    let mut whole = scenario.clone();
    if scenario.goes_on {
        whole.horizon = Duration::ZERO;
    }
    rows::write(KEYS, &whole, &Scenario::new("", Duration::ZERO), &mut lines);
    if scenario.network != Network::default() {
        lines.header("[network]");
        rows::write(NETWORK, &scenario.network, &Network::default(), &mut lines);
    }
    for it in &scenario.services {
        service::write(it, &mut lines)?;
    }
    for it in &scenario.populations {
        population::write(it, &mut lines)?;
    }
    for it in &scenario.triggers {
        trigger::write(it, &mut lines);
    }
    Ok(lines.into_text())
}

/// Writes the line of a policy in a section of a scenario file, such as `policy = { attempts = 2 }`.
///
/// # Errors
///
/// As [`write()`].
pub fn policy_line(policy: &Policy) -> Result<String, InvalidFile> {
    lines::policy_line(policy)
}

fn scenario<'a>(
    document: &'a DeTable<'a>,
    name: Option<&str>,
    files: Files<'_>,
) -> Result<Scenario, Refusal> {
    let whole = Section::whole(document, &names(KEYS))?;
    let mut scenario = Scenario::new(name.unwrap_or_default(), Duration::ZERO);
    // Without a name it has that of its file.
    let is_named = whole.get("name").is_some() || name.is_none();
    scenario = rows::read(
        KEYS.get(usize::from(!is_named)..).unwrap_or_default(),
        &whole,
        files,
        scenario,
    )?;
    let sections = Sections {
        services: whole.sections("service", &names(service::KEYS))?,
        populations: whole.sections("population", &names(population::KEYS))?,
        triggers: whole.sections("trigger", &trigger::names())?,
    };
    if sections.services.is_empty() || sections.populations.is_empty() {
        return Err(Refusal::whole(
            "nobody calls anybody; write at least one [[service]] and one [[population]]",
        ));
    }
    for section in &sections.services {
        scenario.services.push(service::read(section, files)?);
    }
    for section in &sections.populations {
        let population = population::read(section, files)?;
        scenario.populations.push(population);
    }
    for section in &sections.triggers {
        scenario.triggers.push(trigger::read(section)?);
    }
    if whole.get("horizon").is_none() {
        scenario = scenario.any_horizon();
    }
    sections.check()?;
    match scenario.validate() {
        Ok(()) => Ok(scenario),
        Err(invalid) => Err(sections.refusal(&invalid)),
    }
}
