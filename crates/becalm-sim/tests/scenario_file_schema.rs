//! Does the JSON Schema say what the reader accepts, and the documentation what both do?

use std::collections::BTreeSet;
use std::error::Error;
use std::io;

use becalm_sim::scenario::file;
use proptest::prelude::*;
use serde_json::Value;

mod scenario_file_any;

use scenario_file_any::any_scenario;

const SCHEMA: &str = include_str!("../../../docs/scenario.schema.json");
const PAGE: &str = include_str!("../../../docs/scenario-files.md");

fn no_files(name: &str) -> io::Result<String> {
    Err(io::Error::new(io::ErrorKind::NotFound, name.to_owned()))
}

fn schema() -> Value {
    serde_json::from_str(SCHEMA).expect("the schema is JSON")
}

fn validator() -> jsonschema::Validator {
    let options = jsonschema::draft202012::options().with_retriever(PolicySchema);
    options.build(&schema()).expect("a schema of draft 2020-12")
}

/// The schema beside it, to which it refers.
struct PolicySchema;

impl jsonschema::Retrieve for PolicySchema {
    fn retrieve(
        &self,
        uri: &jsonschema::Uri<String>,
    ) -> Result<Value, Box<dyn Error + Send + Sync>> {
        assert!(uri.as_str().ends_with("/docs/policy.schema.json"), "{uri}");
        let schema = include_str!("../../../docs/policy.schema.json");
        Ok(serde_json::from_str(schema)?)
    }
}

/// A file as the schema sees it.
fn json(text: &str) -> Value {
    let table: toml::Table = toml::from_str(text).expect("TOML");
    serde_json::to_value(table).expect("JSON")
}

fn example() -> &'static str {
    let (_, rest) = PAGE.split_once("```toml\n").expect("an example");
    rest.split_once("```").expect("its end").0
}

const SMALL: &str = r#"
name = "small"
horizon = "10s"
network = {}
[[service]]
name = "orders"
limit = { rate = 1, burst = 1 }
cache = { keys = 1, hot = 1 }
[[service.calls]]
service = "database"
[[service]]
name = "database"
[[population]]
name = "users"
target = "orders"
arrivals = { closed = "1s" }
variants = [{ share = 1 }]
[[trigger]]
from = "1s"
length = "1s"
effect = "hang"
service = "orders"
"#;

/// Each table of a file: where in `SMALL` a key can be put into it, and where the schema has it.
const TABLES: [(&str, &str, &str); 10] = [
    ("file", "horizon = \"10s\"\n", ""),
    ("network", "network = {", "/$defs/network"),
    ("service", "name = \"orders\"\n", "/$defs/service"),
    ("limit", "limit = {", "/$defs/limit"),
    ("cache", "cache = {", "/$defs/cache"),
    ("calls", "service = \"database\"\n", "/$defs/calls"),
    ("population", "name = \"users\"\n", "/$defs/population"),
    ("arrivals", "arrivals = {", "/$defs/arrivals/anyOf/1"),
    ("variants", "variants = [{", "/$defs/variants"),
    ("trigger", "from = \"1s\"\n", "/$defs/trigger"),
];

/// The file with a key more in the table.
fn with(place: &str, key: &str) -> String {
    let inline = place.ends_with('{');
    let end = if !inline {
        "\n"
    } else if SMALL.contains(&format!("{place}}}")) {
        ""
    } else {
        ", "
    };
    SMALL.replacen(place, &format!("{place}{key} = 7{end}"), 1)
}

/// The keys that the reader has, as it lists them to a stranger.
fn read_keys(place: &str) -> BTreeSet<String> {
    let refusal = file::read(&with(place, "zzzzzzzzz"), &no_files).unwrap_err();
    let (_, keys) = refusal
        .sentence
        .split_once("there are ")
        .unwrap_or_else(|| panic!("{refusal}"));
    keys.split(", ").map(str::to_owned).collect()
}

/// The keys that this part of the schema has.
fn schema_keys(pointer: &str) -> BTreeSet<String> {
    let schema = schema();
    let part = schema
        .pointer(pointer)
        .unwrap_or_else(|| panic!("no {pointer}"));
    let branches = part["oneOf"].as_array().into_iter().flatten();
    let tables = [part].into_iter().chain(branches);
    let properties = tables.filter_map(|table| table["properties"].as_object());
    properties.flat_map(|table| table.keys().cloned()).collect()
}

#[test]
fn the_schema_has_the_keys_of_the_reader() {
    assert!(validator().is_valid(&json(SMALL)));
    assert!(file::read(SMALL, &no_files).is_ok());
    for (table, place, pointer) in TABLES {
        assert_eq!(schema_keys(pointer), read_keys(place), "{table}");
        let stranger = json(&with(place, "zzzzzzzzz"));
        assert!(!validator().is_valid(&stranger), "{table} takes any key");
    }
}

#[test]
fn the_documentation_has_the_keys_of_the_reader() {
    for (heading, place) in [
        ("## Keys of the file", TABLES[0].1),
        ("## Services", TABLES[2].1),
        ("### Caches", TABLES[4].1),
        ("### Calls", TABLES[5].1),
        ("## Populations", TABLES[6].1),
        ("## Triggers", TABLES[9].1),
    ] {
        let (_, section) = PAGE
            .split_once(heading)
            .unwrap_or_else(|| panic!("no {heading}"));
        let rows = section.lines().skip_while(|line| !line.starts_with("|---"));
        let rows = rows.skip(1).take_while(|line| line.starts_with('|'));
        let keys: BTreeSet<_> = rows
            .filter_map(|row| Some(row.split('`').nth(1)?.to_owned()))
            .collect();
        assert_eq!(keys, read_keys(place), "{heading}");
    }
}

#[test]
fn the_schema_accepts_the_example_and_refuses_what_the_reader_refuses() {
    let validator = validator();
    assert!(validator.is_valid(&json(example())));
    for (instead_of, write) in [
        ("name = \"orders\"\ninstances", "instances"),
        ("\"60s\"", "60"),
        ("\"60s\"", "\"60\""),
        ("\"60s\"", "\"-60s\""),
        ("workers = 16", "workers = 0"),
        ("workers = 16", "workers = \"many\""),
        ("\"least-loaded\"", "\"least\""),
        ("hot = 0.9", "hot = 1.1"),
        ("\"poisson:1500\"", "\"poison:1500\""),
        ("\"poisson:1500\"", "1500"),
        ("\"poisson:1500\"", "{ closed = \"1s\", trace = [] }"),
        ("\"poisson:1500\"", "{}"),
        ("time = \"exponential:4ms\"", "time = []"),
        ("effect = \"hang\"", "effect = \"hung\""),
        ("effect = \"hang\"", "effect = \"hang\"\nshare = 0.5"),
        ("effect = \"hang\"", "effect = \"latency\""),
        ("attempts = 4", "atempts = 4"),
        ("attempts = 4", "breaker = { consecutive = \"5\" }"),
        ("timeout = \"250ms\"", "policy = {}"),
    ] {
        let text = example().replacen(instead_of, write, 1);
        assert_ne!(text, example(), "{instead_of}");
        assert!(
            !validator.is_valid(&json(&text)),
            "the schema accepts {write}"
        );
        let read = file::read(&text, &no_files);
        assert!(read.is_err(), "the reader accepts {write}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn the_schema_accepts_every_scenario_that_is_written(scenario in any_scenario()) {
        let text = file::write(&scenario).unwrap();
        let json = json(&text);
        let validator = validator();
        let errors: Vec<_> = validator.iter_errors(&json).map(|it| it.to_string()).collect();
        prop_assert!(errors.is_empty(), "{:?}\n{}", errors, text);
    }
}
