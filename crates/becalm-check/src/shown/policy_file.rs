//! How is a mapping written as a policy file that says where each key comes from?

use std::fmt::Write as _;

use becalm::Policy;
use toml::{Table, Value};

use super::printable::printable;
use crate::evidence::Evidence;
use crate::mapping::{Mapping, Origin};

/// The policy as `--policy` reads it, each key with the line that it comes from, or *default of* the
/// system, or *not expressible*. `None` for one that cannot be written.
pub fn policy_file(mapping: &Mapping) -> Option<String> {
    let table = written(&mapping.policy)?;
    let default = written(&Policy::default())?;
    let is_told = |key: &str| mapping.origins.iter().any(|(it, _)| *it == key);
    let mut text = head(mapping);
    for (key, value) in table.iter().filter(|(_, it)| !it.is_table()) {
        // A key that is none of the system's and has the value that it has anyway says nothing.
        if is_told(key) || default.get(key) != Some(value) {
            let _ = writeln!(text, "{key} = {value} # {}", origin(mapping, key));
        }
    }
    for (key, origin) in &mapping.origins {
        if !table.contains_key(*key) {
            let _ = writeln!(text, "# {key}: none; {}", told(mapping, origin));
        }
    }
    for (key, value) in &table {
        let Value::Table(entries) = value else {
            continue;
        };
        let _ = writeln!(text, "\n[{key}] # {}", origin(mapping, key));
        for (name, value) in entries {
            let _ = writeln!(text, "{name} = {value}");
        }
    }
    if !mapping.lost.is_empty() {
        text.push_str("\n# Not expressible in a policy:\n");
    }
    for lost in &mapping.lost {
        let line = lost
            .span
            .map(|it| format!(" (line {})", it.line))
            .unwrap_or_default();
        let _ = writeln!(
            text,
            "# - {}{line}: {}",
            printable(&lost.what),
            printable(&lost.why)
        );
    }
    Some(text)
}

fn head(mapping: &Mapping) -> String {
    let evidence = match mapping.evidence {
        Evidence::Run => "what it does was run and counted",
        Evidence::Read => "what it does was read in its source, not run",
    };
    format!(
        "# {}, line {} of {}, as {} {} does it ({evidence}).\n",
        printable(&mapping.name),
        mapping.span.line,
        printable(&mapping.file),
        mapping.system,
        mapping.version
    )
}

fn written(policy: &Policy) -> Option<Table> {
    toml::to_string(policy).ok()?.parse().ok()
}

fn origin(mapping: &Mapping, key: &str) -> String {
    let found = mapping.origins.iter().find(|(it, _)| *it == key);
    match found {
        Some((_, origin)) => told(mapping, origin),
        None => format!("not of {}", mapping.system),
    }
}

fn told(mapping: &Mapping, origin: &Origin) -> String {
    let default = || format!("default of {} {}", mapping.system, mapping.version);
    match origin {
        Origin::Line(span) => format!("line {}", span.line),
        Origin::Derived(span, how) => format!("line {}: {}", span.line, printable(how)),
        Origin::Default => default(),
        Origin::Unknown(span, text) => {
            format!(
                "line {} says `{}`, which is unknown; {}",
                span.line,
                printable(text),
                default()
            )
        }
        Origin::NotExpressible(why) => format!("not expressible: {}", printable(why)),
    }
}
