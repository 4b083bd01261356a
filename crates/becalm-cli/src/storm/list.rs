//! `becalm storm --list`: which scenarios are there?

use std::process::ExitCode;

use becalm_sim::catalogue::{ENTRIES, Entry, Parameter, Source};
use serde::Serialize;

use crate::stream::Stream;
use crate::usage;
use crate::wording::indented;

/// For whom it is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Text,
    Json,
}

/// Prints all scenarios in a line each, or all about these.
pub fn print(names: &[&'static Entry], form: Form) -> ExitCode {
    match form {
        Form::Json => usage::print([document(if names.is_empty() { ENTRIES } else { names })]),
        Form::Text if names.is_empty() => usage::print([overview()]),
        Form::Text => usage::print(names.iter().map(|entry| describe(entry))),
    }
}

/// A publication in a line.
pub fn source(source: &Source) -> String {
    match source.url {
        "" => source.title.into(),
        url => format!("{} <{url}>", source.title),
    }
}

fn overview() -> String {
    let mut text = String::new();
    for entry in ENTRIES {
        text.push_str(Stream::Stdout.painter().bold(entry.name).as_str());
        text.push('\n');
        text.push_str(&indented("    ", entry.title));
    }
    text.push_str(
        "\nAll about one: becalm storm --list NAME. Its flags: becalm storm NAME --help\n",
    );
    text
}

fn describe(entry: &Entry) -> String {
    const INDENT: &str = "    ";
    let painter = Stream::Stdout.painter();
    let mut text = format!("{}\n", painter.bold(entry.name));
    for sentence in [entry.title, entry.question, entry.answer] {
        text.push_str(&indented(INDENT, sentence));
    }
    if !entry.contenders.is_empty() {
        text.push_str(&indented(
            INDENT,
            &format!("compares: {}", entry.contenders.join(", ")),
        ));
    }
    for publication in entry.sources {
        text.push_str(&indented(
            INDENT,
            &format!("source: {}", source(publication)),
        ));
    }
    for parameter in entry.parameters {
        let Parameter {
            name,
            help,
            default,
            ..
        } = parameter;
        text.push_str(&indented(
            INDENT,
            &format!("--{name}: {help} [default: {default}]"),
        ));
    }
    text
}

#[derive(Debug, Serialize)]
struct Document<'a> {
    schema: u32,
    becalm: &'static str,
    scenarios: &'a [&'static Entry],
}

/// The version of the document: it changes when a name or a meaning does.
const SCHEMA: u32 = 1;

fn document(entries: &[&'static Entry]) -> String {
    let document = Document {
        schema: SCHEMA,
        becalm: env!("CARGO_PKG_VERSION"),
        scenarios: entries,
    };
    serde_json::to_string(&document).unwrap_or_default() + "\n" // plain data: no error
}
