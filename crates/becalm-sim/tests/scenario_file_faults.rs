//! Is what a scenario file says wrongly refused with its line, its key and the remedy?

use std::io;

use becalm_sim::scenario::file;

fn no_files(name: &str) -> io::Result<String> {
    match name {
        "empty.csv" => Ok("# nobody called\n".into()),
        "unsorted.csv" => Ok("1\n3\n2\n".into()),
        "words.csv" => Ok("t\n1\nsoon\n".into()),
        "bad.toml" => Ok("atempts = 3".into()),
        name => Err(io::Error::new(io::ErrorKind::NotFound, name.to_owned())),
    }
}

/// Lines 1 to 17: a scenario without a fault.
const SOUND: &str = r#"name = "sound"
horizon = "10s"
[[service]]
name = "orders"
time = "10ms"
[[service.calls]]
service = "database"
[[service]]
name = "database"
[[population]]
name = "users"
target = "orders"
arrivals = "poisson:50"
[[trigger]]
from = "1s"
length = "1s"
effect = "hang"
service = "database"
"#;

fn refusal(text: &str) -> String {
    match file::read(text, &no_files) {
        Ok(scenario) => panic!("{text} is accepted: {scenario:?}"),
        Err(refusal) => refusal.to_string(),
    }
}

/// Puts each slip into the sound file: what it replaces, what it writes, and what is told.
fn check(slips: &[[&str; 3]]) {
    assert!(file::read(SOUND, &no_files).is_ok());
    for [instead_of, write, words] in slips {
        let text = SOUND.replacen(instead_of, write, 1);
        assert_ne!(text, SOUND, "{instead_of}");
        let refusal = refusal(&text);
        assert!(refusal.contains(words), "{write}\n  {refusal}\n  {words}");
    }
}

#[test]
fn unknown_missing_and_double_keys_are_named_with_their_line() {
    check(&[
        [
            "horizon",
            "horizn",
            "line 2: unknown key `horizn`; did you mean `horizon`?",
        ],
        [
            "time =",
            "colour =",
            "line 5: service: unknown key `colour`; there are name, instances",
        ],
        [
            "arrivals",
            "arival",
            "line 13: population: unknown key `arival`; did you mean `arrivals`?",
        ],
        [
            "length = \"1s\"\n",
            "",
            "line 14: trigger: `length` is missing; write length = ",
        ],
        [
            "name = \"database\"\n",
            "",
            "line 8: service: `name` is missing",
        ],
        [
            "time =",
            "time = \"1s\"\ntime =",
            "line 6: `time` is there a second time; leave one of them out",
        ],
        ["time =", "time = =", "line 5: "],
    ]);
}

#[test]
fn a_name_that_nothing_or_more_than_one_has_is_told() {
    check(&[
        [
            "target = \"orders\"",
            "target = \"order\"",
            "line 12: population.target: unknown service `order`; did you mean `orders`?",
        ],
        [
            "service = \"database\"\n[[service]]",
            "service = \"db\"\n[[service]]",
            "line 7: service.calls.service: unknown service `db`",
        ],
        [
            "effect = \"hang\"\nservice = \"database\"",
            "effect = \"hang\"\nservice = \"data base\"",
            "line 18: trigger.service: unknown service `data base`; did you mean `database`?",
        ],
        [
            "name = \"database\"",
            "name = \"orders\"",
            "line 9: service.name: another service has this name",
        ],
        [
            "effect = \"hang\"\nservice = \"database\"",
            "effect = \"load\"\nfactor = 3\npopulation = \"user\"",
            "line 19: trigger.population: unknown population `user`; did you mean `users`?",
        ],
    ]);
}

#[test]
fn a_value_out_of_range_is_told_what_is_in_range() {
    check(&[
        [
            "\"10s\"",
            "10",
            "line 2: horizon: write a duration in quotes",
        ],
        [
            "\"10s\"",
            "\"10\"",
            "line 2: horizon: the duration has no unit",
        ],
        [
            "\"10s\"",
            "\"0s\"",
            "line 2: horizon: write a duration above 0",
        ],
        [
            "time = \"10ms\"",
            "time = \"pareto:1s\"",
            "line 5: service.time: the distribution is none of",
        ],
        [
            "time = \"10ms\"",
            "time = []",
            "line 5: service.time: write at least one time",
        ],
        [
            "time = \"10ms\"",
            "time = [\"1ms\", 2]",
            "line 5: service.time: write a duration",
        ],
        [
            "time = \"10ms\"",
            "time = 7",
            "line 5: service.time: write a time such as",
        ],
        [
            "time = \"10ms\"",
            "workers = 0",
            "line 5: service.workers: write a whole number from 1 up, or \"unlimited\"",
        ],
        [
            "time = \"10ms\"",
            "workers = 99999999999",
            "line 5: service.workers: write a whole number from 1 to 4294967295, or \"unlimited\"",
        ],
        [
            "time = \"10ms\"",
            "instances = 99999999999999999999",
            "line 5: service.instances: write a whole number from 1 to 4294967295",
        ],
        [
            "time = \"10ms\"",
            "instances = -99999999999999999999",
            "line 5: service.instances: write a whole number from 1 up",
        ],
        [
            "time = \"10ms\"",
            "queue = \"endless\"",
            "line 5: service.queue: write a whole number from 0 up",
        ],
        [
            "time = \"10ms\"",
            "instances = 0",
            "line 5: service.instances: write a whole number from 1 up",
        ],
        [
            "time = \"10ms\"",
            "failures = 1.5",
            "line 5: service.failures: write a share from 0 to 1",
        ],
        [
            "time = \"10ms\"",
            "failures = nan",
            "line 5: service.failures: write a number",
        ],
    ]);
}

#[test]
fn a_word_or_table_that_is_not_understood_is_told_the_known_ones() {
    check(&[
        [
            "time = \"10ms\"",
            "routing = \"randm\"",
            "line 5: service.routing: unknown word `randm`; did you mean `random`?",
        ],
        [
            "time = \"10ms\"",
            "discipline = \"codel:0s\"",
            "line 5: service.discipline: write \"codel:5ms,interval:100ms\"",
        ],
        [
            "time = \"10ms\"",
            "discipline = \"lifo:5ms\"",
            "line 5: service.discipline: \"lifo\" takes no parameters",
        ],
        [
            "time = \"10ms\"",
            "discipline = \"fiffo\"",
            "did you mean `fifo`?",
        ],
        [
            "time = \"10ms\"",
            "limit = { rate = 0, burst = 1 }",
            "line 5: service.limit.rate: write a number above 0",
        ],
        [
            "time = \"10ms\"",
            "limit = { rate = 1, burst = 0.5 }",
            "line 5: service.limit.burst: a burst below 1",
        ],
        [
            "time = \"10ms\"",
            "cache = { keys = 5 }",
            "line 5: service.cache: `hot` is missing",
        ],
        [
            "time = \"10ms\"",
            "cache = 5",
            "line 5: service.cache: write a table",
        ],
        [
            "time = \"10ms\"\n[[service.calls]]\nservice = \"database\"",
            "calls = 5",
            "line 5: service.calls: write a list of tables, each under [[service.calls]]",
        ],
        [
            "[[trigger]]",
            "[trigger]",
            "line 14: trigger: write a list of tables, each under [[trigger]]",
        ],
    ]);
}

#[test]
fn arrivals_that_make_no_sense_are_told_what_would() {
    check(&[
        [
            "\"poisson:50\"",
            "50",
            "line 13: population.arrivals: write the arrivals per second, such as",
        ],
        [
            "\"poisson:50\"",
            "\"poisson:0\"",
            "line 13: population.arrivals: write a rate per second above 0",
        ],
        [
            "\"poisson:50\"",
            "\"poison:5\"",
            "line 13: population.arrivals: unknown kind `poison`; did you mean `poisson`?",
        ],
        ["\"poisson:50\"", "\"bursty:5\"", "burst-rate:1000"],
        [
            "\"poisson:50\"",
            "\"closed:1s\"",
            "{ closed = \"exponential:1s\" }",
        ],
        [
            "\"poisson:50\"",
            "{ closed = \"1s\", trace = [] }",
            "write one of the keys trace, closed",
        ],
        [
            "\"poisson:50\"",
            "{ trace = \"gone.csv\" }",
            "line 13: population.arrivals.trace: cannot read gone.csv",
        ],
        [
            "\"poisson:50\"",
            "{ trace = \"words.csv\" }",
            "words.csv: line 3: \"soon\" is no time",
        ],
        [
            "\"poisson:50\"",
            "{ trace = \"unsorted.csv\" }",
            "time 3 (2s) is before the one above it; sort them",
        ],
    ]);
}

#[test]
fn a_policy_is_refused_in_its_own_words() {
    check(&[
        [
            "arrivals",
            "policy = { atempts = 3 }\narrivals",
            "line 13: population.policy: unknown key `atempts`; did you mean `attempts`?",
        ],
        [
            "arrivals",
            "policy = { base = \"3\" }\narrivals",
            "line 13: population.policy: base: the duration has no unit",
        ],
        [
            "arrivals",
            "policy = \"bad.toml\"\narrivals",
            "line 13: population.policy: policy file bad.toml: unknown key `atempts`",
        ],
        [
            "arrivals",
            "variants = []\narrivals",
            "line 13: population.variants: no variant has a share",
        ],
        [
            "arrivals",
            "variants = [{ share = -1 }]\narrivals",
            "line 13: population.variants.share: write a share from 0 to 1",
        ],
        [
            "arrivals",
            "policy = {}\nvariants = [{ share = 1 }]\narrivals",
            "line 14: population.variants: a population has one policy or several",
        ],
        [
            "arrivals",
            "operation = \"keyed:7\"\narrivals",
            "line 13: population.operation: the key is not a UUID",
        ],
    ]);
}

#[test]
fn a_trigger_has_the_keys_of_its_effect() {
    check(&[
        [
            "effect = \"hang\"",
            "effect = \"hnag\"",
            "line 17: trigger.effect: unknown word `hnag`; did you mean `hang`?",
        ],
        [
            "effect = \"hang\"",
            "effect = \"hang\"\nshare = 0.5",
            "line 18: trigger.share: this says nothing about the effect \"hang\"",
        ],
        [
            "effect = \"hang\"",
            "effect = \"capacity\"\nshare = 0",
            "line 18: trigger.share: no capacity is left",
        ],
        [
            "effect = \"hang\"",
            "effect = \"latency\"",
            "line 14: trigger: `added` is missing",
        ],
    ]);
}

#[test]
fn the_documentation_shows_what_is_told() {
    const PAGE: &str = include_str!("../../../docs/scenario-files.md");
    let block = |start: &str| {
        let (_, rest) = PAGE.split_once(start).expect("the block");
        rest.split_once("```").expect("its end").0
    };
    let example = block("```toml\n");
    let slips = [
        ("workers", "worker"),
        ("exponential:4ms", "4"),
        ("target = \"orders\"", "target = \"order\""),
        ("effect = \"hang\"", "effect = \"hang\"\nshare = 0.5"),
    ];
    let told = slips.map(|(instead_of, write)| refusal(&example.replacen(instead_of, write, 1)));
    let shown: Vec<_> = block("```text\n").lines().collect();
    assert_eq!(told[..], shown[..]);
}

#[test]
fn what_cannot_be_run_is_refused_where_it_stands() {
    check(&[
        [
            "[[population]]",
            "[[service.calls]]\nservice = \"orders\"\n[[population]]",
            "line 3: service: orders calls itself",
        ],
        [
            "arrivals",
            "clients = 4_000_000_000\narrivals",
            "line 10: population: the clients of users must be from 1 to",
        ],
        ["\"10s\"", "\"10s\"\nbucket = \"1ns\"", "the bucket must be"],
    ]);
}

/// The population with variants of these shares.
fn shares(shares: &[&str]) -> String {
    let each = shares.iter().map(|it| format!("{{ share = {it} }}"));
    format!(
        "variants = [{}]\narrivals",
        each.collect::<Vec<_>>().join(", ")
    )
}

#[test]
fn s5_shares_of_variants_add_up_to_1_or_are_refused() {
    for (given, sum) in [(["0.5", "0.4"], "0.9000"), (["0.7", "0.7"], "1.4000")] {
        let refusal = refusal(&SOUND.replacen("arrivals", &shares(&given), 1));
        let wanted =
            format!("the variants of users must have shares that add up to 1, not to {sum}");
        assert!(
            refusal.contains("line 10: population") && refusal.contains(&wanted),
            "{refusal}"
        );
    }
    let below = refusal(&SOUND.replacen("arrivals", &shares(&["1.5", "-0.5"]), 1));
    assert!(
        below.contains("variants.share: write a share from 0 to 1"),
        "{below}"
    );
    // To two digits, as people write thirds.
    let thirds = SOUND.replacen("arrivals", &shares(&["0.33", "0.33", "0.33"]), 1);
    file::read(&thirds, &no_files).expect("three thirds");
}

#[test]
fn s5_a_recording_of_no_calls_is_refused() {
    const NONE: &str = "line 10: population: no recorded call of users lies before the horizon";
    for (trace, words) in [
        ("[]", NONE),
        ("[\"10s\", \"11s\"]", NONE),
        (
            "\"empty.csv\"",
            "line 13: population.arrivals.trace: empty.csv: it holds no times",
        ),
    ] {
        let arrivals = format!("{{ trace = {trace} }}");
        let refusal = refusal(&SOUND.replacen("\"poisson:50\"", &arrivals, 1));
        assert!(refusal.contains(words), "{trace}: {refusal}");
    }
}

#[test]
fn a_world_without_anybody_is_refused() {
    let service = "[[service]]\nname = \"orders\"";
    for sections in ["", service] {
        let refusal = refusal(&format!("name = \"empty\"\nhorizon = \"1s\"\n{sections}"));
        assert!(
            refusal.contains("[[service]]") && refusal.contains("[[population]]"),
            "{refusal}"
        );
    }
}

#[test]
fn what_cannot_be_read_is_not_written() {
    let mut scenario = file::read(SOUND, &no_files).unwrap();
    scenario.populations[0].variants[0].policy.attempts = 0;
    let refusal = file::write(&scenario).unwrap_err();
    assert!(
        refusal.key == "population.policy" && refusal.sentence.contains("attempts"),
        "{refusal}"
    );
}
