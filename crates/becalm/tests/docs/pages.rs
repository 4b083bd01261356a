//! Do the tables of `docs/` say what the code does?
#![cfg(feature = "serde")]

use std::fmt::Write as _;
use std::mem::discriminant;
use std::path::Path;
use std::time::Duration;

use becalm::budget::{Kind, WhenSpent};
use becalm::policy::Mode;
use becalm::retry_on::{Methods, RetryOn};
use becalm::support::Human;
use becalm::{
    Backoff, Breaker, Budget, Bulkhead, Hedge, Jitter, Policy, Throttle, lint::Lint,
    preset::Preset, rate::AdaptiveRate,
};

const POLICY_FILES: &str = include_str!("../../../../docs/policy-files.md");
const LAWS: &str = include_str!("../../../../docs/laws.md");
const DEFAULTS: &str = include_str!("../../../../docs/why-these-defaults.md");

/// The first cells, without their code quotes, of the table below this heading.
fn first_cells(page: &str, heading: &str) -> Vec<String> {
    let section = page
        .split_once(heading)
        .unwrap_or_else(|| panic!("no {heading}"))
        .1;
    let rows = section
        .lines()
        .skip_while(|line| !line.starts_with("|---"))
        .skip(1);
    rows.take_while(|line| line.starts_with('|'))
        .map(|row| {
            row.split('|')
                .nth(1)
                .unwrap()
                .trim()
                .trim_matches('`')
                .to_owned()
        })
        .collect()
}

#[test]
fn every_key_is_explained() {
    let second = Duration::from_secs(1);
    let with_all_keys = Policy::default()
        .throttled_base(second)
        .deadline(second)
        .attempt_timeout(second)
        .when_spent(WhenSpent::Wait)
        .max_waiting(1)
        .retry_on(RetryOn::new().methods(Methods::Any))
        .throttle(Throttle::default())
        .rate(AdaptiveRate::default())
        .hedge(Hedge::at_quantile(0.95))
        .bulkhead(Bulkhead::calls(1))
        .breaker(Breaker::default())
        .mode(Mode::Observe);
    let table = toml::Table::try_from(&with_all_keys).unwrap();
    let mut keys: Vec<_> = table.keys().cloned().collect();
    keys.push("preset".to_owned());
    keys.sort();
    let mut explained = first_cells(POLICY_FILES, "## Keys");
    explained.sort();
    assert_eq!(explained, keys);

    keys.retain(|key| key != "preset");
    let mut reasoned = first_cells(DEFAULTS, "# Why these defaults");
    reasoned.sort();
    assert_eq!(reasoned, keys);
}

#[test]
fn every_protection_is_read_as_it_is_explained() {
    let (_, section) = POLICY_FILES.split_once("## Protection").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| "));
    let mut key = "";
    let mut read = Vec::new();
    for row in rows.skip(1) {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        if !cells[1].is_empty() {
            key = cells[1].trim_matches('`');
        }
        let written = cells[2].trim_matches('`').trim_end_matches(",...");
        let policy = toml::from_str::<Policy>(&format!("{key} = \"{written}\""));
        assert!(policy.is_ok(), "{key}, {written}: {policy:?}");
        read.push(key);
    }
    read.dedup();
    assert_eq!(read, ["throttle", "rate", "hedge", "bulkhead", "breaker"]);
}

#[test]
fn every_jitter_is_in_its_row_and_has_a_seed_for_the_fuzzer() {
    let keys = cells(POLICY_FILES, "## Keys");
    let row = keys.iter().find(|row| row[0] == "`jitter`").unwrap();
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/jitter");
    let seeds: Vec<Jitter> = std::fs::read_dir(seeds)
        .unwrap()
        .filter_map(|seed| {
            std::fs::read_to_string(seed.unwrap().path())
                .ok()?
                .parse()
                .ok()
        })
        .collect();
    for jitter in Jitter::SAMPLES {
        let text = jitter.to_string();
        let quoted = match text.split_once(':') {
            Some((kind, _)) => format!("`\"{kind}:"),
            None => format!("`\"{text}\"`"),
        };
        assert!(row[1].contains(&quoted), "{text} is not in the row");
        let is_kind = |seed: &Jitter| discriminant(seed) == discriminant(jitter);
        assert!(seeds.iter().any(is_kind), "{text} has no seed");
    }
}

#[test]
fn the_defaults_of_the_keys_are_the_defaults() {
    let table = toml::Table::try_from(Policy::default()).unwrap();
    for (key, value) in table {
        let row = POLICY_FILES
            .lines()
            .find(|line| line.starts_with(&format!("| `{key}` |")));
        let stated = row
            .unwrap()
            .trim_end_matches(" |")
            .rsplit(" | ")
            .next()
            .unwrap();
        assert_eq!(stated, format!("`{value}`"), "{key}");
    }
}

/// The two columns say the same.
#[test]
fn b6_every_table_is_explained_beside_its_text() {
    let mut parts = Vec::new();
    for row in cells(POLICY_FILES, "## Tables") {
        let [text, table] = [row[0], row[1]].map(|cell| value(cell).unwrap());
        let read = |file: &str| toml::from_str::<Policy>(file).unwrap();
        assert_eq!(read(table), read(text), "{table}");
        parts.push(text.split(' ').next().unwrap());
    }
    parts.dedup();
    assert_eq!(
        parts,
        [
            "budget", "throttle", "rate", "hedge", "bulkhead", "breaker", "jitter"
        ]
    );
    let (_, section) = POLICY_FILES.split_once("## Tables").unwrap();
    let mut blocks = section.split("```toml\n").skip(1);
    let mut next = || blocks.next().unwrap().split_once("```").unwrap().0;
    let [text, table] = [next(), next()].map(|file| toml::from_str::<Policy>(file).unwrap());
    assert_eq!(text, table);
}

/// Written out in full, each kind is what it is by default.
#[test]
fn every_kind_of_budget_is_explained_with_its_defaults() {
    let explained = first_cells(POLICY_FILES, "## Budgets");
    let second = Duration::from_secs(1);
    let kinds = [
        Budget::ratio(0.1),
        Budget::first_tries(0.1),
        Budget::tokens(),
        Budget::grpc(10, 0.1),
        Budget::concurrency(0.2, 3),
        Budget::per_minute(60),
        Budget::window(0.2, 10 * second, 10.0),
    ];
    assert_eq!(explained.len(), Kind::ALL.len());
    for (text, budget) in explained.iter().zip(kinds) {
        assert_eq!(text.parse(), Ok(budget), "{text}");
        let shortest = text.split(',').next().unwrap();
        assert_eq!(shortest.parse(), Ok(budget), "{shortest}");
    }
}

/// The cells of the table below this heading.
fn cells(page: &'static str, heading: &str) -> Vec<Vec<&'static str>> {
    let (_, section) = page.split_once(heading).unwrap();
    let rows = section.lines().skip_while(|line| !line.starts_with("|---"));
    rows.skip(1)
        .take_while(|line| line.starts_with('|'))
        .map(|row| {
            let row = row.trim_start_matches('|').trim_end_matches('|');
            row.split('|').map(str::trim).collect()
        })
        .collect()
}

/// What is quoted as code: a cell that begins with it states a value.
fn value(cell: &'static str) -> Option<&'static str> {
    Some(cell.strip_prefix('`')?.split_once('`')?.0)
}

/// The key with this parameter at this value, and otherwise what can be left out left out.
fn written(key: &str, parameter: &str, value: &str) -> (String, String) {
    let without = match (key, parameter) {
        (_, "accepts" | "after" | "calls" | "gradient" | "aimd" | "consecutive" | "share")
            if (key, parameter) != ("breaker", "calls") =>
        {
            return (format!("{parameter}:{value}"), String::new());
        }
        ("hedge", "p") => return (format!("p{value}"), String::new()),
        ("throttle", _) => "accepts:2",
        ("rate", _) => "cubic",
        ("hedge", _) => "p95",
        ("bulkhead", "max-wait") => "calls:50,waiting:10",
        ("bulkhead", "waiting" | "order") => "calls:50",
        ("bulkhead", "backoff" | "slow") => "aimd:20",
        ("bulkhead", "window") => "gradient:20,probe:1h",
        ("bulkhead", _) => "gradient:20",
        ("breaker", _) => "share:0.5",
        _ => panic!("{key} has no {parameter}"),
    };
    (format!("{without},{parameter}:{value}"), without.to_owned())
}

fn policy_of(key: &str, text: &str) -> Policy {
    toml::from_str(&format!("{key} = \"{text}\"")).unwrap_or_else(|why| panic!("{key}: {why}"))
}

#[test]
fn the_ranges_and_defaults_of_the_protection_are_those_of_the_code() {
    for row in cells(POLICY_FILES, "## Parameters of the protection") {
        let [key, parameter, from, to, default] = row[..] else {
            panic!("{row:?}");
        };
        let (key, parameter) = (value(key).unwrap(), value(parameter).unwrap());
        for edge in [from, to].into_iter().filter_map(value) {
            policy_of(key, &written(key, parameter, edge).0);
        }
        if let Some(default) = value(default).filter(|default| *default != "within") {
            let (with, without) = written(key, parameter, default);
            assert_eq!(policy_of(key, &with), policy_of(key, &without), "{with}");
            let reason = format!("| `{key}` | `{parameter}:{default}` |");
            assert!(DEFAULTS.contains(&reason), "no {reason}");
        }
    }
}

/// One step beyond what the table says, a value is refused.
#[test]
fn what_is_out_of_the_stated_ranges_is_refused() {
    for (key, parameter, beyond) in [
        ("throttle", "accepts", ["0.999", "1000.1"]),
        ("throttle", "within", ["999ms", "1h1ns"]),
        ("throttle", "max", ["0.0099", "1.01"]),
        ("rate", "max-wait", ["24h1ns", "x"]),
        ("hedge", "p", ["49.9", "99.91"]),
        ("hedge", "after", ["1h1ns", "-1s"]),
        ("hedge", "min", ["1h1ns", "-1s"]),
        ("hedge", "max", ["999us", "1h1ns"]),
        ("hedge", "samples", ["0", "1000001"]),
        ("hedge", "window", ["999ms", "10m1ns"]),
        ("hedge", "copies", ["0", "5"]),
        ("bulkhead", "calls", ["0", "1000001"]),
        ("bulkhead", "gradient", ["0", "201"]),
        ("bulkhead", "aimd", ["0", "201"]),
        ("bulkhead", "min", ["0", "21"]),
        ("bulkhead", "max", ["19", "1000001"]),
        ("bulkhead", "tolerance", ["0.99", "10.1"]),
        ("bulkhead", "window", ["999us", "1m1ns"]),
        ("bulkhead", "probe", ["999ms", "24h1ns"]),
        ("bulkhead", "backoff", ["0.09", "0.991"]),
        ("bulkhead", "slow", ["0s", "-1s"]),
        ("bulkhead", "waiting", ["-1", "1000001"]),
        ("bulkhead", "max-wait", ["0s", "-1s"]),
        ("bulkhead", "order", ["random", ""]),
        ("breaker", "consecutive", ["0", "1000001"]),
        ("breaker", "share", ["0.0000009", "1.01"]),
        ("breaker", "within", ["9999us", "24h1ns"]),
        ("breaker", "calls", ["0", "100000001"]),
        ("breaker", "min", ["0", "-1"]),
        ("breaker", "slow", ["0s", "-1s"]),
        ("breaker", "open", ["999us", "24h1ns"]),
        ("breaker", "open-max", ["4999ms", "24h1ns"]),
        ("breaker", "jitter", ["-0.01", "1.01"]),
        ("breaker", "probes", ["0", "10001"]),
        ("breaker", "successes", ["0", "10001"]),
        ("breaker", "refuses", ["hedges", ""]),
    ] {
        let row = format!("| `{key}` | `{parameter}` |");
        assert!(POLICY_FILES.contains(&row), "no {row}");
        for value in beyond {
            let text = format!("{key} = \"{}\"", written(key, parameter, value).0);
            assert!(toml::from_str::<Policy>(&text).is_err(), "{text}");
        }
    }
}

/// The refusal of an unknown parameter names those of its kind.
#[test]
fn every_parameter_of_the_protection_is_in_the_table() {
    let listed: Vec<_> = cells(POLICY_FILES, "## Parameters of the protection");
    for (key, text) in [
        ("throttle", "accepts:2"),
        ("rate", "cubic"),
        ("hedge", "p95"),
        ("hedge", "after:1s"),
        ("bulkhead", "calls:1"),
        ("bulkhead", "gradient:20"),
        ("bulkhead", "aimd:20"),
        ("breaker", "consecutive:1"),
        ("breaker", "share:0.5"),
    ] {
        let refused = toml::from_str::<Policy>(&format!("{key} = \"{text},?\"")).unwrap_err();
        let (_, names) = refused.message().trim().split_once("it has ").unwrap();
        for parameter in names.split(", ").flat_map(|names| names.split(" and ")) {
            let is_listed = listed
                .iter()
                .any(|row| (value(row[0]), value(row[1])) == (Some(key), Some(parameter)));
            assert!(is_listed, "{key}: {parameter}");
        }
    }
}

#[test]
fn every_lint_is_explained_in_order() {
    assert_eq!(first_cells(POLICY_FILES, "## Lints"), Lint::CODES);
}

#[test]
fn every_test_that_a_law_names_exists() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let sources = sources_below(crates);
    let named = LAWS
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- `")?.strip_suffix('`'));
    for test in named {
        assert!(
            sources.contains(&format!("fn {test}(")),
            "there is no test {test}"
        );
    }
}

/// Each file, each test and each other function that is quoted as code.
#[test]
fn d4_what_the_pages_for_contributors_name_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let sources = sources_below(&root.join("crates"));
    let is_of_a_name = |it| matches!(it, b'a'..=b'z' | b'0'..=b'9' | b'_');
    for entry in std::fs::read_dir(root.join("docs/contributing")).unwrap() {
        let path = entry.unwrap().path();
        let page = path.file_stem().unwrap().to_str().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let quoted = text.split('`').skip(1).step_by(2);
        let (mut files, mut functions) = (0, 0);
        for name in quoted.filter(|name| !name.contains([' ', '(']) && !name.contains("NAME")) {
            if name.contains('/')
                || std::path::Path::new(name)
                    .extension()
                    .is_some_and(|it| it == "md")
            {
                assert!(root.join(name).exists(), "{page}: there is no {name}");
                files += 1;
            } else if name.contains('_') && name.bytes().all(is_of_a_name) {
                let is_there = ["(", "<"].map(|end| sources.contains(&format!("fn {name}{end}")));
                assert!(is_there.contains(&true), "{page}: there is no {name}");
                functions += 1;
            }
        }
        assert!(files > 4 && functions > 1, "{page}");
    }
}

/// All Rust code below this directory, one file after the other.
fn sources_below(directory: &Path) -> String {
    let entries = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries
        .map(|path| match path.extension() {
            _ if path.is_dir() => sources_below(&path),
            Some(extension) if extension == "rs" => std::fs::read_to_string(&path).unwrap(),
            _ => String::new(),
        })
        .collect()
}

#[test]
fn every_preset_is_listed_as_it_is() {
    let expected = presets();
    let (_, stated) = POLICY_FILES.split_once("## Presets").unwrap();
    let stated = stated
        .get(stated.find("| preset |").unwrap_or(stated.len())..)
        .unwrap();
    assert!(
        stated == expected,
        "the end of docs/policy-files.md must be:\n{expected}"
    );
}

/// A table of the figures, then a list of sources and differences.
fn presets() -> String {
    let mut page = String::from("| preset | attempts | ceilings | jitter | budget | besides |\n");
    page.push_str("|---|---|---|---|---|---|\n");
    for preset in Preset::all() {
        let policy = preset.policy();
        let attempts = match policy.attempts {
            Policy::UNLIMITED => "unlimited".to_owned(),
            attempts => attempts.to_string(),
        };
        writeln!(
            page,
            "| `{}` | {attempts} | {} | {} | {} | {} |",
            preset.name(),
            ceilings(&policy),
            policy.jitter,
            policy.budget,
            besides(&policy).join(", ")
        )
        .unwrap();
    }
    page.push('\n');
    for preset in Preset::all() {
        write!(page, "- `{}`: {}.", preset.name(), preset.source()).unwrap();
        if let Some(differs) = preset.differs() {
            write!(page, " {differs}").unwrap();
        }
        page.push('\n');
    }
    page
}

fn ceilings(policy: &Policy) -> String {
    let (base, cap) = (Human(policy.base), Human(policy.cap));
    match policy.backoff {
        _ if policy.base.is_zero() => "0".to_owned(),
        Backoff::Exponential => format!("{base} x {} to {cap}", policy.multiplier),
        _ => base.to_string(),
    }
}

/// What most presets do not have.
fn besides(policy: &Policy) -> Vec<String> {
    let durations = [
        ("floor", Some(policy.floor).filter(|floor| !floor.is_zero())),
        ("throttled base", policy.throttled_base),
        ("deadline", policy.deadline),
        ("attempt timeout", policy.attempt_timeout),
    ];
    let mut besides: Vec<_> = durations
        .into_iter()
        .filter_map(|(name, duration)| Some(format!("{name} {}", Human(duration?))))
        .collect();
    besides.extend(policy.max_waiting.map(|most| format!("max waiting {most}")));
    let guards = [
        ("throttle", policy.throttle.map(|it| it.to_string())),
        ("rate", policy.rate.map(|it| it.to_string())),
        ("hedge", policy.hedge.map(|it| it.to_string())),
        ("bulkhead", policy.bulkhead.map(|it| it.to_string())),
        ("breaker", policy.breaker.map(|it| it.to_string())),
    ];
    let guards = guards.into_iter();
    besides.extend(guards.filter_map(|(name, text)| Some(format!("{name} {}", text?))));
    if policy.nested != Policy::default().nested {
        besides.push(format!("nested {}", policy.nested));
    }
    match policy.hint {
        becalm::hint::HintMode::Honor => {
            besides.push(format!("hints up to {}", Human(policy.max_hint)));
        }
        becalm::hint::HintMode::Clamp => besides.push("hints up to the cap".to_owned()),
        _ => {}
    }
    besides
}
