//! Is the JSON Schema of scenario files, `docs/scenario.schema.json`, that of the reader?
//!
//! It is generated from the rows by which the reader reads; what each key says is taken from the tables of
//! `docs/scenario-files.md`.

use std::{env, fs};

use serde_json::{Map, Value as Json, json};

use super::rows::Key;
use super::{population, service, trigger};
use crate::scenario::{Cache, Downstream, Network, Scalability, Scenario};

/// Read when the test runs: neither is in the package.
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/scenario-files.md");
const PUBLISHED: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../docs/scenario.schema.json"
);
const RENEW: &str = "BECALM_RENEW";

#[test]
fn the_published_schema_is_that_of_the_reader() {
    let schema = schema();
    if env::var_os(RENEW).is_some() {
        fs::write(PUBLISHED, format!("{schema:#}\n")).unwrap();
    }
    let published = fs::read_to_string(PUBLISHED).unwrap_or_default();
    assert!(
        serde_json::from_str::<Json>(&published).ok() == Some(schema),
        "docs/scenario.schema.json is stale; renew it: \
         {RENEW}=1 cargo test -p becalm-sim --lib scenario::file::schema"
    );
}

fn schema() -> Json {
    let default = Scenario::new("", std::time::Duration::from_secs(60));
    let mut whole = table(super::KEYS, &default, "## Keys of the file");
    // Without one it has that of its file.
    whole["required"] = json!(["service", "population"]);
    whole["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    whole["$id"] = "https://github.com/becalm-rs/becalm/docs/scenario.schema.json".into();
    whole["title"] = "A scenario of the storm simulator".into();
    whole["description"] =
        "What `becalm storm FILE.toml` reads. See docs/scenario-files.md.".into();
    for (list, least) in [("service", 1), ("population", 1), ("trigger", 0)] {
        let items = json!({ "$ref": format!("#/$defs/{list}") });
        let description = whole["properties"][list]["description"].clone();
        whole["properties"][list] = json!({
            "type": "array", "minItems": least, "items": items, "description": description,
        });
    }
    whole["properties"]["network"]["$ref"] = "#/$defs/network".into();
    let mut defs = shared();
    let none = service::NO_LIMIT;
    let cache = Cache::new(1, 0.0);
    let call = Downstream::new("", becalm::Policy::default());
    let mut of_service = table(service::KEYS, &service::default(), "## Services");
    for (name, def) in [
        (
            "scalability",
            table(
                service::SCALABILITY,
                &Scalability::default(),
                "### Slowing down",
            ),
        ),
        ("limit", table(service::LIMIT, &none, "")),
        ("cache", table(service::CACHE, &cache, "### Caches")),
    ] {
        of_service["properties"][name]["$ref"] = format!("#/$defs/{name}").into();
        defs.insert(name.into(), def);
    }
    listed(&mut of_service, "calls");
    let mut calls = table(service::CALLS, &call, "### Calls");
    calls["properties"]["policy"]["$ref"] = "#/$defs/policy".into();
    let mut of_population = table(population::KEYS, &population::default(), "## Populations");
    of_population["properties"]["policy"]["$ref"] = "#/$defs/policy".into();
    of_population["not"] = json!({ "required": ["policy", "variants"] });
    listed(&mut of_population, "variants");
    let variant = population::variant(becalm::Policy::default());
    let mut variants = table(population::VARIANT, &variant, "");
    variants["properties"]["policy"]["$ref"] = "#/$defs/policy".into();
    defs.extend([
        (
            "network".into(),
            table(super::NETWORK, &Network::default(), ""),
        ),
        ("service".into(), of_service),
        ("calls".into(), calls),
        ("population".into(), of_population),
        ("variants".into(), variants),
        ("trigger".into(), trigger_schema()),
    ]);
    whole["$defs"] = defs.into();
    whole
}

fn listed(table: &mut Json, key: &str) {
    let of = &mut table["properties"][key];
    of["type"] = "array".into();
    of["minItems"] = 1.into();
    of["items"] = json!({ "$ref": format!("#/$defs/{key}") });
}

/// The schema of a table; what a key says stands under this heading of the page.
fn table<T>(keys: &[Key<T>], default: &T, heading: &str) -> Json {
    let mut properties = Map::new();
    for key in keys {
        let mut schema = match key.write {
            Some(_) => serde_json::from_str((key.schema)().as_str()).expect("a schema"),
            None => json!({}),
        };
        if let Some(says) = says(heading, key.name) {
            schema["description"] = says.into();
        }
        if let (None, Some(write)) = (key.example, key.write) {
            schema["default"] = serde_json::to_value(write(default)).expect("plain data");
        }
        properties.insert(key.name.into(), schema);
    }
    let required = keys.iter().filter(|key| key.example.is_some());
    let required: Vec<_> = required.map(|key| key.name).collect();
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": required,
        "properties": properties,
    })
}

/// The second cell of the row of this key, without links.
fn says(heading: &str, key: &str) -> Option<String> {
    let page = fs::read_to_string(PAGE).unwrap();
    let (_, section) = page
        .split_once(&format!("{heading}\n"))
        .filter(|_| !heading.is_empty())?;
    let mut rows = section
        .lines()
        .skip_while(|line| !line.starts_with("|---"))
        .skip(1);
    let row = rows
        .by_ref()
        .take_while(|line| line.starts_with('|'))
        .find(|line| line.starts_with(&format!("| `{key}` |")));
    let row = row.unwrap_or_else(|| panic!("{heading} says nothing of {key}"));
    let cell = row.split('|').nth(2).unwrap_or_default().trim();
    let mut text = String::new();
    for (at, part) in cell.split('[').enumerate() {
        match part.split_once("](").filter(|_| at > 0) {
            Some((shown, rest)) => {
                text.push_str(shown);
                text.push_str(rest.split_once(')').map_or("", |(_, rest)| rest));
            }
            None => text.push_str(part),
        }
    }
    Some(text.replace('`', ""))
}

fn trigger_schema() -> Json {
    let of = |name: &str| -> Json {
        let (_, schema, _) = trigger::VALUES
            .iter()
            .find(|it| it.0 == name)
            .expect("a key");
        serde_json::from_str(schema).expect("a schema")
    };
    let branches = trigger::EFFECTS.iter().map(|(effect, keys)| {
        let mut properties = Map::from_iter([("effect".to_owned(), json!({ "const": effect }))]);
        let given = keys.iter().map(|key| ((*key).to_owned(), of(key)));
        properties.extend(given);
        let optional = |key: &&&str| **key == "pause";
        let mut required: Vec<&str> = keys.iter().filter(|it| !optional(it)).copied().collect();
        if *effect != "cache-loss" {
            required.insert(0, "length");
        }
        json!({ "required": required, "properties": properties })
    });
    let branches: Vec<_> = branches.collect();
    let effects: Vec<_> = trigger::EFFECTS.iter().map(|it| it.0).collect();
    let said = |key: &str, mut schema: Json| {
        schema["description"] = says("## Triggers", key).into();
        schema
    };
    json!({
        "type": "object",
        "required": ["from", "effect"],
        "unevaluatedProperties": false,
        "properties": {
            "from": said("from", of("from")),
            "length": said("length", of("length")),
            "effect": said("effect", json!({ "enum": effects })),
        },
        "oneOf": branches,
    })
}

/// What several keys have, and values that are texts of several forms.
fn shared() -> Map<String, Json> {
    let duration = r"^\s*(0|(([0-9]+\.?[0-9]*|\.[0-9]+)\s*(ns|us|µs|ms|s|min|m|h|d)\s*)+)\s*$";
    let durations = json!({ "type": "array", "items": { "$ref": "#/$defs/duration" } });
    let some = json!({ "type": "array", "minItems": 1, "items": { "$ref": "#/$defs/duration" } });
    let Json::Object(shared) = json!({
        "duration": {
            "type": "string",
            "description": "Such as 300us, 250ms, 1.5s, 2m, 1m30s, 1h.",
            "pattern": duration,
        },
        "optional_duration": { "anyOf": [{ "const": "none" }, { "$ref": "#/$defs/duration" }] },
        "share": { "type": "number", "minimum": 0, "maximum": 1 },
        "count": { "type": "integer", "minimum": 1, "maximum": u32::MAX },
        "csv": {
            "type": "object",
            "additionalProperties": false,
            "required": ["csv"],
            "properties": { "csv": {
                "type": "string",
                "description":
                    "A file of times, one a line, in seconds or with a unit; relative to this file.",
            } },
        },
        "distribution": {
            "description": "A time, a distribution of times, measured times, or a file of them.",
            "anyOf": [
                { "$ref": "#/$defs/duration" },
                {
                    "type": "string",
                    "pattern":
                        r"^\s*(constant|exponential|uniform|lognormal|bimodal|empirical)\s*:",
                    "examples": [
                        "constant:10ms",
                        "exponential:10ms",
                        "uniform:5ms..15ms",
                        "lognormal:10ms,sigma:1",
                        "bimodal:10ms,slow:1s,share:0.05",
                        "empirical:8ms,9ms,30ms",
                    ],
                },
                some,
                { "$ref": "#/$defs/csv" },
            ],
        },
        "arrivals": {
            "description": "When calls begin.",
            "anyOf": [
                {
                    "type": "string",
                    "pattern": r"^\s*(poisson|constant|bursty)\s*:",
                    "examples": [
                        "poisson:500",
                        "constant:500",
                        "bursty:100,burst-rate:1000,burst:2s,pause:10s",
                    ],
                },
                {
                    "type": "object",
                    "additionalProperties": false,
                    "minProperties": 1,
                    "maxProperties": 1,
                    "properties": {
                        "trace": {
                            "description": "At recorded times: a file of them, or a list.",
                            "anyOf": [{ "type": "string" }, durations],
                        },
                        "closed": {
                            "$ref": "#/$defs/distribution",
                            "description": "A closed loop: the time between two calls of a client.",
                        },
                    },
                },
            ],
        },
        "policy": {
            "description": "A policy: its keys, or the name of a policy file, relative to this one.",
            "anyOf": [{ "type": "string" }, { "$ref": "policy.schema.json" }],
        },
    }) else {
        unreachable!("a table")
    };
    shared
}
