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
mod population;
mod references;
mod refusal;
mod service;
mod times;
mod trigger;
mod words;

use std::path::Path;
use std::{fs, io};

use becalm::Policy;
use toml::de::DeTable;

use self::entry::{Entry, Section};
use self::lines::Lines;
use self::references::Sections;
use self::refusal::Refusal;
use super::{Network, Scenario};

pub use distribution::InvalidDistribution;
pub use refusal::InvalidFile;

/// Reads a file that a scenario names, as it is named there.
type Files<'a> = &'a dyn Fn(&str) -> io::Result<String>;

const KEYS: &[&str] = &[
    "name",
    "horizon",
    "bucket",
    "network",
    "service",
    "population",
    "trigger",
];
const NETWORK: &[&str] = &["delay", "loss"];

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
    let text = fs::read_to_string(path).map_err(|error| {
        Refusal::whole(format!("the file cannot be read: {error}")).at_line_of("")
    })?;
    let name = path.file_stem().and_then(|stem| stem.to_str());
    read_named(&text, name, &|name| fs::read_to_string(folder.join(name)))
}

/// Writes the text of a scenario, which [`read`] reads back as the same. What has its default is left out;
/// recorded times stand in the text itself.
///
/// # Errors
///
/// A policy that would be refused on reading: an invalid one, or one with a custom backoff.
pub fn write(scenario: &Scenario) -> Result<String, InvalidFile> {
    let Scenario {
        name,
        horizon,
        bucket,
        populations,
        services,
        triggers,
        network,
    } = scenario;
    let default = Scenario::new("", *horizon);
    let mut lines = Lines::default();
    lines.key("name", name.as_str());
    lines.time("horizon", *horizon);
    if *bucket != default.bucket {
        lines.time("bucket", *bucket);
    }
    write_network(network, &mut lines);
    for it in services {
        service::write(it, &mut lines)?;
    }
    for it in populations {
        population::write(it, &mut lines)?;
    }
    for it in triggers {
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
    let whole = Section::whole(document, KEYS)?;
    let name = match (whole.get("name"), name) {
        (None, Some(name)) => name,
        _ => whole.required("name", "\"orders\"")?.text()?,
    };
    let horizon = whole.required("horizon", "\"60s\"")?.length()?;
    let mut scenario = Scenario::new(name, horizon);
    whole.set("bucket", &mut scenario.bucket, Entry::length)?;
    whole.set("network", &mut scenario.network, |it| {
        read_network(it, files)
    })?;
    let sections = Sections {
        services: whole.sections("service", service::KEYS)?,
        populations: whole.sections("population", population::KEYS)?,
        triggers: whole.sections("trigger", trigger::KEYS)?,
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
    sections.check()?;
    match scenario.validate() {
        Ok(()) => Ok(scenario),
        Err(invalid) => Err(sections.refusal(&invalid)),
    }
}

fn read_network(entry: &Entry<'_>, files: Files<'_>) -> Result<Network, Refusal> {
    let section = entry.section(NETWORK)?;
    let mut network = Network::default();
    section.set("delay", &mut network.delay, |it| {
        arrivals::distribution(it, files)
    })?;
    section.set("loss", &mut network.loss, Entry::share)?;
    Ok(network)
}

fn write_network(network: &Network, lines: &mut Lines) {
    let default = Network::default();
    if *network == default {
        return;
    }
    let Network { delay, loss } = network;
    lines.header("[network]");
    lines.changed("delay", delay, &default.delay, arrivals::write_distribution);
    lines.changed("loss", loss, &default.loss, |it| *it);
}

/// The text of a file that the entry names.
fn open(entry: &Entry<'_>, name: &str, files: Files<'_>) -> Result<String, Refusal> {
    files(name).map_err(|error| entry.refuse(format!("cannot read {name}: {error}")))
}
