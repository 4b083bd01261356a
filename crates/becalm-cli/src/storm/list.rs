//! `becalm storm --list`: which scenarios are there?

use std::process::ExitCode;

use becalm_sim::catalogue::{ENTRIES, Entry, Kind, Parameter, Source};
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
struct Document {
    schema: u32,
    becalm: &'static str,
    scenarios: Vec<ScenarioRecord>,
}

#[derive(Debug, Serialize)]
struct ScenarioRecord {
    name: &'static str,
    title: &'static str,
    question: &'static str,
    answer: &'static str,
    sources: Vec<SourceRecord>,
    parameters: Vec<ParameterRecord>,
    contenders: &'static [&'static str],
}

#[derive(Debug, Serialize)]
struct SourceRecord {
    title: &'static str,
    url: &'static str,
}

#[derive(Debug, Serialize)]
struct ParameterRecord {
    name: &'static str,
    help: &'static str,
    /// `count`, `number`, `share`, `duration` or `choice`.
    kind: &'static str,
    default: &'static str,
    /// What a choice is made of.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    choices: &'static [&'static str],
}

/// The version of the document: it changes when a name or a meaning does.
const SCHEMA: u32 = 1;

fn document(entries: &[&'static Entry]) -> String {
    let document = Document {
        schema: SCHEMA,
        becalm: env!("CARGO_PKG_VERSION"),
        scenarios: entries.iter().map(|entry| record(entry)).collect(),
    };
    serde_json::to_string(&document).unwrap_or_default() + "\n" // plain data: no error
}

fn record(entry: &Entry) -> ScenarioRecord {
    let source = |source: &Source| SourceRecord {
        title: source.title,
        url: source.url,
    };
    ScenarioRecord {
        name: entry.name,
        title: entry.title,
        question: entry.question,
        answer: entry.answer,
        sources: entry.sources.iter().map(source).collect(),
        parameters: entry.parameters.iter().map(parameter).collect(),
        contenders: entry.contenders,
    }
}

fn parameter(parameter: &Parameter) -> ParameterRecord {
    let (kind, choices): (_, &[&str]) = match parameter.kind {
        Kind::Count | Kind::Places => ("count", &[]),
        Kind::Number => ("number", &[]),
        Kind::Share => ("share", &[]),
        Kind::Duration => ("duration", &[]),
        Kind::Choice(choices) => ("choice", choices),
        _ => ("text", &[]),
    };
    ParameterRecord {
        name: parameter.name,
        help: parameter.help,
        kind,
        default: parameter.default,
        choices,
    }
}
