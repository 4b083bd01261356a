//! Is the JSON Schema of policy files, `docs/policy.schema.json`, that of the reader?
//!
//! It is generated from the reader's own tables of keys, kinds and parameters; what each says and from
//! where to where it goes is taken from the tables of `docs/policy-files.md`, which other tests hold to
//! the code.

use alloc::string::ToString;
use alloc::vec::Vec;
use std::{env, fs};

use serde_json::{Map, json};

use super::lists::{ANY, LISTS};
use super::value::{Attempts, NONE, UNLIMITED};
use super::{Draft, KEYS};
use crate::classify::FailureKind;
use crate::grammar::{Kind, Slot};
use crate::policy::Policy;
use crate::policy::text::{KIND, Written, has_tables};
use crate::preset::Preset;
use crate::retry_on::{RetryOn, code_names};
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use core::time::Duration;

type Json = serde_json::Value;

/// Read when the test runs: neither is in the package.
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/policy-files.md");
const PUBLISHED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/policy.schema.json");
const RENEW: &str = "BECALM_RENEW";

#[test]
fn b6_the_published_schema_is_that_of_the_reader() {
    let schema = schema();
    if env::var_os(RENEW).is_some() {
        fs::write(PUBLISHED, format!("{schema:#}\n")).unwrap();
    }
    let published = fs::read_to_string(PUBLISHED).unwrap_or_default();
    assert!(
        serde_json::from_str::<Json>(&published).ok() == Some(schema),
        "docs/policy.schema.json is stale; renew it: \
         {RENEW}=1 cargo test -p becalm --all-features --lib policy_file::schema"
    );
}

fn schema() -> Json {
    let defaults = serde_json::to_value(Policy::default()).unwrap();
    let mut properties = Map::new();
    for (key, mut of_key) in Draft::schemas() {
        let cells = row("## Keys", &[key]);
        of_key["description"] = plain(&cells[1]).into();
        if let Some(default) = defaults.get(key) {
            of_key["default"] = default.clone();
        }
        properties.insert(key.to_string(), of_key);
    }
    assert!(KEYS.iter().all(|key| properties.contains_key(*key)));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://github.com/becalm-rs/becalm/docs/policy.schema.json",
        "title": "A policy",
        "description": "What is decided in advance about retrying. See docs/policy-files.md.",
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
        "$defs": {
            "duration": {
                "type": "string",
                "description": "Such as 300us, 250ms, 1.5s, 2m, 1m30s, 1h.",
                "pattern": format!(r"^\s*{DURATION}\s*$"),
            },
        },
    })
}

const DURATION: &str = r"(0|(([0-9]+\.?[0-9]*|\.[0-9]+)\s*(ns|us|µs|ms|s|min|m|h|d)\s*)+)";
const NUMBER: &str = r"[-+]?[0-9.]+([eE][-+]?[0-9]+)?";

/// What a file may say of a key.
pub(super) trait Schema {
    fn schema(key: &str) -> Json;
}

impl Schema for Duration {
    fn schema(_: &str) -> Json {
        json!({ "$ref": "#/$defs/duration" })
    }
}

impl Schema for f64 {
    fn schema(_: &str) -> Json {
        json!({ "type": "number", "minimum": 1 })
    }
}

impl Schema for u32 {
    fn schema(_: &str) -> Json {
        json!({ "type": "integer", "minimum": 1, "maximum": u32::MAX })
    }
}

impl Schema for Attempts {
    fn schema(_: &str) -> Json {
        let number = json!({ "type": "integer", "minimum": 1, "maximum": u32::MAX - 1 });
        json!({ "anyOf": [number, { "const": UNLIMITED }] })
    }
}

impl Schema for &'static Preset {
    fn schema(_: &str) -> Json {
        json!({ "enum": Preset::all().map(Preset::name).collect::<Vec<_>>() })
    }
}

impl Schema for Arc<RetryOn> {
    fn schema(key: &str) -> Json {
        let of = |item: Json| json!({ "type": "array", "uniqueItems": true, "items": item });
        let method = json!({ "type": "string", "pattern": "^[A-Z0-9!#$%&'*+.^_`|~-]+$" });
        let range = "^(4xx|5xx|[45][0-9][0-9](-[45][0-9][0-9])?)$";
        let failures: Vec<_> = FailureKind::ALL.iter().map(|it| it.as_str()).collect();
        let number = json!({ "type": "integer", "minimum": 1, "maximum": 16 });
        let schemas = [
            json!({ "anyOf": [{ "const": ANY }, of(method)] }),
            of(json!({ "anyOf": [
                { "type": "integer", "minimum": 400, "maximum": 599 },
                { "type": "string", "pattern": range },
            ] })),
            of(json!({ "anyOf": [{ "enum": code_names().collect::<Vec<_>>() }, number] })),
            of(json!({ "enum": failures })),
        ];
        let mut properties = Map::new();
        for (list, mut schema) in LISTS.into_iter().zip(schemas) {
            schema["description"] = plain(&row("## What is repeated", &[list])[1]).into();
            properties.insert(list.into(), schema);
        }
        assert_eq!(key, "retry_on");
        json!({
            "type": "object",
            "additionalProperties": false,
            "minProperties": 1,
            "properties": properties,
        })
    }
}

impl<T: Schema> Schema for Option<T> {
    fn schema(key: &str) -> Json {
        match T::schema(key) {
            Json::Object(mut all) if all.contains_key("anyOf") => {
                let of_value = all["anyOf"].as_array_mut().unwrap();
                of_value.insert(0, json!({ "const": NONE }));
                Json::Object(all)
            }
            of_value => json!({ "anyOf": [{ "const": NONE }, of_value] }),
        }
    }
}

impl<T: Written> Schema for T {
    fn schema(key: &str) -> Json {
        if !has_tables::<T>() {
            return json!({ "enum": T::KINDS.iter().map(|kind| kind.name).collect::<Vec<_>>() });
        }
        let mut any = Vec::from([text::<T>()]);
        any.extend(T::KINDS.iter().map(|kind| table(key, kind)));
        if T::JOIN.is_some() {
            let item = json!({ "anyOf": any });
            any.insert(0, json!({ "const": NONE }));
            any.push(json!({ "type": "array", "minItems": 1, "items": item }));
        }
        json!({ "anyOf": any })
    }
}

/// `kind:first,name:value`.
fn text<T: Written>() -> Json {
    let kinds = T::KINDS.iter().map(|kind| {
        let entry = |(name, slot): (&str, &Slot<T>)| match slot {
            Slot::Percentile(..) => format!(r"{name}\s*:?\s*[0-9]+(\.[0-9]*)?"),
            slot => format!(r"{name}\s*:\s*{}", value_in_text(slot)),
        };
        let first = kind.first.as_ref();
        let first = first.map_or(kind.name.to_string(), |slot| entry((kind.name, slot)));
        let parameters = kind.parameters().map(|(name, slot)| entry((name, slot)));
        let parameters: Vec<_> = parameters.collect();
        if parameters.is_empty() {
            first
        } else {
            format!(r"{first}(\s*,\s*({}))*", parameters.join("|"))
        }
    });
    let kinds = format!("({})", kinds.collect::<Vec<_>>().join("|"));
    let more = if T::JOIN.is_some() {
        format!(r"(\s*\+\s*{kinds})*")
    } else {
        String::new()
    };
    json!({
        "type": "string",
        "pattern": format!(r"^\s*{kinds}{more}\s*$"),
        "examples": T::KINDS.iter().map(|kind| kind.example).collect::<Vec<_>>(),
    })
}

fn value_in_text<T>(slot: &Slot<T>) -> String {
    match slot {
        Slot::Whole(..) => r"\+?[0-9]+".into(),
        Slot::Number(..) | Slot::Percentile(..) => NUMBER.into(),
        Slot::Rate(..) => format!(r"{NUMBER}(/[smh])?"),
        Slot::Duration(..) => DURATION.into(),
        Slot::Amount(..) => format!("({NUMBER}|{DURATION})"),
        Slot::Word(words, _) => {
            let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
            format!("({})", words.join("|"))
        }
    }
}

/// A table of this kind.
fn table<T: Written>(key: &str, kind: &Kind<T>) -> Json {
    let spelt = |name: &str| name.replace('-', "_");
    let mut properties = Map::new();
    properties.insert(KIND.into(), json!({ "const": kind.name }));
    for (name, slot) in kind.slots() {
        properties.insert(spelt(name), value_in_table(key, name, slot));
    }
    let required = match kind.first {
        Some(_) => json!([spelt(kind.name)]),
        None if T::KINDS.len() == 1 => json!([]),
        None => json!([KIND]),
    };
    let mut table = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
        "required": required,
    });
    let is_there = |name: &&&str| kind.parameters().any(|(other, _)| other == *name);
    let apart: Vec<_> = T::APART.iter().filter(is_there).collect();
    if !apart.is_empty() {
        table["not"] = json!({ "required": apart });
    }
    table
}

/// With the range and the default of the page, where it states them.
fn value_in_table<T>(key: &str, name: &str, slot: &Slot<T>) -> Json {
    let mut value = match slot {
        Slot::Whole(..) => json!({ "type": "integer", "minimum": 0, "maximum": u32::MAX }),
        Slot::Number(..) | Slot::Percentile(..) => json!({ "type": "number" }),
        Slot::Rate(..) => json!({ "type": ["number", "string"], "pattern": r"^[0-9.]+(/[smh])?$" }),
        Slot::Duration(..) => json!({ "$ref": "#/$defs/duration" }),
        Slot::Amount(..) => {
            json!({ "anyOf": [{ "type": "number" }, { "$ref": "#/$defs/duration" }] })
        }
        Slot::Word(words, _) => {
            json!({ "enum": words.iter().map(|(word, _)| *word).collect::<Vec<_>>() })
        }
    };
    if key == "budget" || key == "jitter" {
        return value; // the page has no rows for them
    }
    let cells = row("## Parameters of the protection", &[key, name]);
    let (from, to, default) = (&cells[2], &cells[3], &cells[4]);
    if !matches!(slot, Slot::Word(..)) {
        let to = match to.as_str() {
            "any" => "up".into(),
            to => format!("to {}", plain(to)),
        };
        value["description"] = format!("From {} {to}.", plain(from)).into();
    }
    for (keyword, cell) in [("minimum", from), ("maximum", to), ("default", default)] {
        let Some(code) = cell
            .strip_prefix('`')
            .and_then(|cell| cell.strip_suffix('`'))
        else {
            continue;
        };
        match (slot, serde_json::from_str::<Json>(code)) {
            (Slot::Whole(..) | Slot::Number(..) | Slot::Percentile(..), Ok(number)) => {
                value[keyword] = number;
            }
            (Slot::Duration(..) | Slot::Word(..), _) if keyword == "default" => {
                value[keyword] = code.into();
            }
            _ => {}
        }
    }
    value
}

/// The row of the page's table below this heading that begins with these cells.
fn row(heading: &str, begin: &[&str]) -> Vec<String> {
    let page = fs::read_to_string(PAGE).unwrap();
    let (_, section) = page.split_once(heading).unwrap();
    let begin = format!("| `{}` ", begin.join("` | `"));
    let row = section.lines().find(|line| line.starts_with(&begin));
    let row = row.unwrap_or_else(|| panic!("docs/policy-files.md, {heading}: no {begin}"));
    let cells = row.trim_matches('|').split('|');
    cells.map(|cell| cell.trim().to_string()).collect()
}

/// Without the marks of Markdown.
fn plain(cell: &str) -> String {
    let mut plain = String::new();
    let mut rest = cell;
    while let Some((before, link)) = rest.split_once('[') {
        let (words, behind) = link.split_once("](").unwrap();
        plain.extend([before, words]);
        rest = behind.split_once(')').unwrap().1;
    }
    plain.push_str(rest);
    plain.replace('`', "")
}
