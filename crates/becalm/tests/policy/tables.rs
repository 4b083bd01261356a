//! Are tables of a policy file read as the texts that say the same, refused as those are, and known to
//! the JSON Schema?
#![cfg(feature = "serde")]

use std::path::Path;

use becalm::Policy;
use serde_json::Value;

fn read(text: &str) -> Policy {
    toml::from_str(text).unwrap_or_else(|refusal| panic!("{text}: {refusal}"))
}

fn refused(text: &str) -> String {
    let refusal = toml::from_str::<Policy>(text).expect_err(text);
    refusal.message().trim().to_owned()
}

fn accepted_by_schema(text: &str) -> bool {
    let schema = include_str!("../../../../docs/policy.schema.json");
    let schema: Value = serde_json::from_str(schema).expect("the schema is JSON");
    let table: toml::Table = toml::from_str(text).expect("TOML");
    let file = serde_json::to_value(table).expect("JSON");
    jsonschema::draft202012::is_valid(&schema, &file)
}

#[test]
fn b6_a_table_says_what_its_text_says() {
    for (table, text) in [
        (
            "[breaker]\nshare = 0.5\nwithin = \"10s\"\nmin = 20\nopen = \"10s\"\nopen_max = \"2m\"",
            "breaker = \"share:0.5,within:10s,min:20,open:10s,open-max:2m\"",
        ),
        (
            "breaker = { consecutive = 5 }",
            "breaker = \"consecutive:5\"",
        ),
        (
            "[breaker]\nkind = \"share\"\nshare = 1\ncalls = 100",
            "breaker = \"share:1,calls:100\"",
        ),
        (
            "[budget]\nratio = 0.2\nburst = 5",
            "budget = \"ratio:0.2,burst:5\"",
        ),
        (
            "[budget]\ngrpc = 10\nratio = 0.1",
            "budget = \"grpc:10,ratio:0.1\"",
        ),
        (
            "[[budget]]\nratio = 0.2\n[[budget]]\nper_minute = 60",
            "budget = \"ratio:0.2 + per-minute:60\"",
        ),
        (
            "budget = [\"ratio:0.2\", { tokens = 500, refund = \"none\" }]",
            "budget = \"ratio:0.2 + tokens:500,refund:none\"",
        ),
        (
            "[bulkhead]\ncalls = 50\nwaiting = 10\nmax_wait = \"1s\"\norder = \"lifo\"",
            "bulkhead = \"calls:50,waiting:10,max-wait:1s,order:lifo\"",
        ),
        (
            "[hedge]\np = 99.9\ncopies = 2",
            "hedge = \"p99.9,copies:2\"",
        ),
        ("[hedge]\np = 95", "hedge = \"p95\""),
        ("[hedge]\nafter = \"50ms\"", "hedge = \"after:50ms\""),
        (
            "[throttle]\naccepts = 1.5\nmax = 0.8",
            "throttle = \"accepts:1.5,max:0.8\"",
        ),
        ("[rate]\nmax_wait = \"5s\"", "rate = \"cubic,max-wait:5s\""),
        ("[rate]\nkind = \"cubic\"", "rate = \"cubic\""),
        (
            "jitter = { proportional = 0.25 }",
            "jitter = \"proportional:0.25\"",
        ),
    ] {
        assert_eq!(read(table), read(text), "{table}");
        assert!(
            accepted_by_schema(table) && accepted_by_schema(text),
            "{table}"
        );
    }
}

#[test]
fn b6_what_is_wrong_in_a_table_is_refused_by_its_path() {
    for (text, sentence) in [
        (
            "[breaker]\nconsecutive = 5\nopne = \"5s\"",
            "breaker.opne: the breaker `consecutive` has no parameter `opne`; did you mean `open`?",
        ),
        (
            "[breaker]\nshare = 0.5\nopen-max = \"1m\"",
            "breaker.open-max: the breaker `share` has no parameter `open-max`; did you mean \
             `open_max`?",
        ),
        (
            "[breaker]\nshare = 0.5\nopen = 5",
            "breaker.open: the breaker's open is `5`: write a duration in quotes, such as \"250ms\"",
        ),
        (
            "[breaker]\nshare = 0.5\nprobes = \"3\"",
            "breaker.probes: the breaker's probes is `\"3\"`: write a whole number without quotes",
        ),
        (
            "[breaker]\nshare = 0.5\nprobes = { at = 1 }",
            "breaker.probes: the breaker's probes is `{..}`: write a whole number",
        ),
        (
            "[breaker]\nkind = \"share\"",
            "breaker.share: the breaker's share has no value: write a number",
        ),
        (
            "[breaker]\nkind = \"shares\"\nshare = 0.5",
            "breaker: there is no breaker `shares`; did you mean `share`?",
        ),
        (
            "[breaker]\nkind = 5\nshare = 0.5",
            "breaker: there is no breaker `5`; write consecutive:5 or share:0.5",
        ),
        (
            "[breaker]\nshar = 0.5",
            "breaker: the breaker names no kind; did you mean `share`?",
        ),
        (
            "[breaker]\nopen = \"5s\"",
            "breaker: the breaker names no kind; write consecutive or share",
        ),
        (
            "[breaker]\nshare = 0.5\nconsecutive = 5",
            "breaker.share: the breaker `consecutive` has no parameter `share`; it has min, slow, open, \
             open_max, jitter, probes, successes and refuses",
        ),
        (
            "[breaker]\nshare = 0.5\ncalls = 10\nwithin = \"1s\"",
            "breaker: the breaker has both `calls = 10` and `within = \"1s\"`; keep one",
        ),
        (
            "[budget]\nper_minut = 5",
            "budget: the budget names no kind; did you mean `per_minute`?",
        ),
        ("budget = []", "budget: the list is empty; write \"none\""),
        (
            "[[budget]]\nratio = 0.1\n[[budget]]\nratio = 0.2",
            "budget: the budget names a kind twice; keep one of them",
        ),
        (
            "breaker = [\"consecutive:5\"]",
            "breaker: write it in quotes, such as \"consecutive:5\", or as a table",
        ),
        (
            "[bulkhead]\ncalls = 5\norder = \"lfo\"",
            "bulkhead.order: the bulkhead's order is `\"lfo\"`: did you mean `lifo`?",
        ),
        (
            "[hedge]\np = \"95\"",
            "hedge.p: the hedge's p is `\"95\"`: write a number such as 95 or 99.9 without quotes",
        ),
        (
            "backoff = { kind = \"fixed\" }",
            "backoff: write it in quotes, such as \"fixed\"",
        ),
        (
            "base = [\"1s\"]",
            "base: write a duration in quotes, such as \"250ms\"",
        ),
    ] {
        assert_eq!(refused(text), sentence, "{text}");
        let is_known_later = text.contains("[[budget]]"); // a kind twice
        assert!(is_known_later || !accepted_by_schema(text), "{text}");
    }
    let range = refused("[breaker]\nshare = 0.5\nopen = \"1us\"");
    assert_eq!(
        range,
        "breaker: the breaker's open must be at least 1ms; use 5s"
    );
}

#[test]
fn b6_a_name_twice_in_a_table_is_refused() {
    let file = r#"{"breaker": {"share": 0.5, "open": "5s", "open": "6s"}}"#;
    let refusal = serde_json::from_str::<Policy>(file)
        .unwrap_err()
        .to_string();
    let sentence = "breaker: the breaker has both `open = \"5s\"` and `open = \"6s\"`; keep one";
    assert!(refusal.starts_with(sentence), "{refusal}");
}

/// Slips that the schema shows in an editor, and the reader on reading.
#[test]
fn b6_the_schema_refuses_what_is_misspelt() {
    for text in [
        "atempts = 4",
        "preset = \"grcp\"",
        "backoff = \"exponetial\"",
        "jitter = \"ful\"",
        "jitter = { proportinal = 0.25 }",
        "hint = \"honour\"",
        "nested = \"share_budget\"",
        "attempts = \"many\"",
        "base = \"250\"",
        "deadline = \"non\"",
        "budget = \"ratio:0.1,brust:3\"",
        "budget = \"ratios:0.1\"",
        "budget = [\"ratio:0.1\", \"per_minute:60\"]",
        "breaker = \"consecutive:x\"",
        "breaker = { consecutive = 5, probes = 0 }",
        "bulkhead = \"calls:5,order:lfo\"",
        "hedge = \"p95%\"",
        "throttle = \"accepts:2,withn:2m\"",
        "rate = \"cubik\"",
        "rate = { kind = \"cubik\" }",
    ] {
        assert!(!accepted_by_schema(text), "the schema accepts {text}");
        refused(text);
    }
}

/// Every example of the documentation that is a policy.
#[test]
fn b6_the_schema_accepts_the_examples_of_the_documentation() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let mut examples = 0;
    for entry in std::fs::read_dir(docs).unwrap() {
        let path = entry.unwrap().path();
        let page = match path.extension().and_then(|it| it.to_str()) {
            Some("md") => std::fs::read_to_string(&path).unwrap(),
            Some("toml") => format!("```toml\n{}\n```", std::fs::read_to_string(&path).unwrap()),
            _ => continue,
        };
        let blocks = page.split("```toml\n").skip(1);
        let blocks = blocks.filter_map(|block| Some(block.split_once("\n```")?.0));
        let policies = blocks.filter(|block| toml::from_str::<Policy>(block).is_ok());
        for policy in policies {
            assert!(accepted_by_schema(policy), "{}: {policy}", path.display());
            examples += 1;
        }
    }
    assert!(examples >= 15, "{examples} examples");
}
