//! Does the first screen say what to set, the reason and three figures, in 25 lines of 80 columns? And has each figure one name?

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use becalm_report::terminal::{FIRST_LINES, is_fold, width};
use serde_json::Value;
use tempfile::TempDir;

const COLUMNS: usize = 80;

/// A service that retries keep down, and 20 requests a second more than an attempt each would bring.
const SERVICE: &str = r#"
name = "orders"
horizon = "40s"

[[service]]
name = "orders"
time = "exponential:10ms"
queue = 100

[[population]]
name = "users"
target = "orders"
arrivals = "poisson:60"
timeout = "200ms"
policy = { jitter = "none", base = "10ms", budget = "none" }

[[trigger]]
from = "10s"
length = "3s"
effect = "hang"
service = "orders"
"#;

/// A service that a route of forty attempts keeps down.
const SHOP: &str = r#"
horizon = "40s"

[[service]]
name = "orders"
workers = 12
time = "exponential:20ms"
queue = 600

[[population]]
name = "clients"
target = "orders"
arrivals = "poisson:360"
timeout = "500ms"

[[trigger]]
service = "orders"
effect = "hang"
from = "5s"
length = "2s"
"#;

/// A route that repeats forty times.
const ISTIO: &str = include_str!("../../becalm-check/tests/files/05-istio-forty.yaml");

/// Files, and the command among them.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().expect("a directory"));
        folder.put("orders.toml", SERVICE);
        folder.put("shop.toml", SHOP);
        folder
    }

    fn put(&self, name: &str, text: &str) {
        fs::write(self.0.path().join(name), text).expect("a file");
    }

    fn told(&self, arguments: &[&str]) -> String {
        let output = Command::new(env!("CARGO_BIN_EXE_becalm"))
            .args(arguments)
            .current_dir(self.0.path())
            .env_remove("NO_COLOR")
            .output()
            .expect("the binary starts");
        let code = output.status.code().expect("an exit code");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(code < 2, "{arguments:?}: {stderr}");
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    fn page(&self, arguments: &[&str]) -> String {
        self.told(&[arguments, &["--report", "page.html"]].concat());
        fs::read_to_string(self.0.path().join("page.html")).expect("a page")
    }
}

/// What stands above the fold, which is bounded and fits; as the rest does, but for what is copied.
fn above<'a>(text: &'a str, of: &str) -> Vec<&'a str> {
    let lines: Vec<&str> = text.lines().collect();
    let fold = lines.iter().position(|it| is_fold(it));
    let above = lines[..fold.unwrap_or(lines.len())].to_vec();
    assert!(
        above.len() <= FIRST_LINES,
        "{of}: {} lines\n{text}",
        above.len()
    );
    let is_copied = |it: &str| {
        ["again: ", "beside it: ", "    policy = "]
            .iter()
            .any(|start| it.starts_with(start))
    };
    for line in &lines {
        let fits = width(line) <= COLUMNS || is_copied(line);
        assert!(fits, "{of}: {} columns: {line}", width(line));
    }
    above
}

/// Ways to ask `becalm storm` about the service, and whether the picture has room beside the names.
const STUDIES: [(&str, bool); 9] = [
    ("--quick", true),
    ("--quick --attempts 1", true),
    ("", true),
    ("--quick --compare attempts=1,default,budget=none", true),
    ("--quick --compare attempts=1,own", true),
    (
        "--quick --compare own,full;budget=ratio:0.2,burst:10;base=200ms,equal;attempts=3;budget=ratio:0.1,attempts=7,none",
        false,
    ),
    ("--sweep base=10ms..1s,attempts=1..5", true),
    ("--sweep load=0.5..1.5,outage=1s..4s", true),
    ("--sweep attempts=1|4", true),
];

fn study(flags: &str) -> Vec<&str> {
    let flags = flags.split_terminator(' ');
    ["storm", "orders.toml", "--runs", "2"]
        .into_iter()
        .chain(flags)
        .collect()
}

#[test]
fn s5_the_first_screen_of_a_study_is_25_lines_with_verdict_and_three_figures() {
    let folder = Folder::new();
    for (flags, has_picture) in STUDIES {
        let asked = study(flags);
        let text = folder.told(&asked);
        let above = above(&text, flags);
        let document = folder.told(&[&asked[..], &["--json"]].concat());
        let document: Value = serde_json::from_str(&document).expect("JSON");
        let contenders = document["contenders"].as_array().expect("an array");
        let verdicts = contenders.iter().filter_map(|it| it["verdict"].as_str());
        let said = above.join("\n");
        for verdict in verdicts.take(1) {
            assert!(said.contains(verdict), "{flags}: {verdict}\n{text}");
        }
        let figures = contenders[0]["figures"].as_array().expect("an array");
        let titles = figures.iter().filter_map(|it| it["title"].as_str());
        let rows = titles.filter(|title| {
            let row = |it: &&&str| {
                it.strip_prefix(*title)
                    .is_some_and(|it| it.starts_with("  "))
            };
            above.iter().any(|it| row(&it))
        });
        assert_eq!(rows.count(), 3, "{flags}:\n{text}");
        let is_drawn = said.contains('┤') || said.contains('│');
        assert!(is_drawn || !has_picture, "{flags}:\n{text}");
    }
}

#[test]
fn s5_a_search_and_a_scenario_without_a_verdict_have_a_first_screen() {
    let folder = Folder::new();
    for asked in [
        "storm tune orders.toml --policies 2 --runs 1",
        "storm herd --clients 300 --outage 10s --horizon 2m",
        "storm moments --quick",
        "storm tiers --quick --runs 1",
    ] {
        let text = folder.told(&asked.split(' ').collect::<Vec<_>>());
        let said = above(&text, asked).join("\n");
        assert!(text.lines().any(is_fold), "{text}");
        let has_figures = said.lines().filter(|it| it.contains("   ")).count() > 3;
        assert!(has_figures, "{asked}:\n{text}");
    }
}

/// The values of each name in the text of one policy: of rows, and of attempts that sentences tell.
fn named(text: &str, titles: &[&str]) -> BTreeMap<String, Vec<String>> {
    let mut named: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in text.lines() {
        let of = titles.iter().filter_map(|title| {
            let value = line.strip_prefix(title)?.strip_prefix("  ")?;
            Some((*title, value.trim().trim_end_matches('*')))
        });
        for (title, value) in of {
            named.entry(title.into()).or_default().push(value.into());
        }
    }
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for (at, phrase) in flat.match_indices(" for each first try") {
        let before: Vec<&str> = flat[..at].split(' ').rev().collect();
        // The title of a picture has no number.
        if !["attempts", "made"].contains(&before[0]) {
            continue;
        }
        let number = before.iter().find(|it| it.parse::<f64>().is_ok());
        let is_during = before.iter().take(12).any(|it| *it == "during");
        let rest = &flat[at + phrase.len()..];
        let name = match (is_during, rest.starts_with(" from the trigger on")) {
            (true, _) => "during",
            (_, true) => "from the trigger on",
            _ => "for each first try",
        };
        let number = number.expect("a number").to_string();
        named.entry(name.into()).or_default().push(number);
    }
    named
}

#[test]
fn s5_a_name_has_one_value_in_all_that_is_told_of_a_policy() {
    let folder = Folder::new();
    for flags in [
        "--quick",
        "--quick --compare attempts=1",
        "--compare attempts=2",
        "--compare budget=ratio:0.1,burst:10",
    ] {
        let asked = study(flags);
        let text = folder.told(&asked);
        let document = folder.told(&[&asked[..], &["--json"]].concat());
        let document: Value = serde_json::from_str(&document).expect("JSON");
        let figures = document["contenders"][0]["figures"].as_array();
        let titles = figures.expect("an array").iter();
        let titles: Vec<&str> = titles.filter_map(|it| it["title"].as_str()).collect();
        let named = named(&text, &titles);
        assert!(
            named.values().any(|it| it.len() > 1),
            "told above and below: {text}"
        );
        for (name, values) in named {
            let is_one = values.iter().all(|it| *it == values[0]);
            assert!(is_one, "{flags}: {name}: {values:?}\n{text}");
        }
    }
}

/// In tables with a column for each policy: of each policy and row, all values that are told.
fn told_of_each(text: &str) -> BTreeMap<(String, String), Vec<String>> {
    let cells = |line: &str| {
        let cells = line.split("  ").map(str::trim);
        let cells = cells.filter(|it| !it.is_empty()).map(str::to_owned);
        cells.collect::<Vec<_>>()
    };
    let mut told: BTreeMap<_, Vec<String>> = BTreeMap::new();
    let (mut numbered, mut header) = (BTreeMap::new(), Vec::new());
    let mut before = "";
    for line in text.lines() {
        if let Some((number, name)) = line.split_once(") ").filter(|it| it.0.starts_with('(')) {
            let before = numbered.insert(format!("{number})"), name.to_owned());
            assert!(
                before.is_none_or(|it| it == name),
                "a number of two: {text}"
            );
        }
        if line.starts_with("verdict  ") {
            let names = cells(before).into_iter();
            header = names
                .map(|it| numbered.get(&it).cloned().unwrap_or(it))
                .collect();
        }
        let mut row = cells(line).into_iter();
        let title = row.next().unwrap_or_default();
        let row: Vec<String> = row.collect();
        if row.len() == header.len() {
            for (name, value) in header.iter().zip(row) {
                told.entry((name.clone(), title.clone()))
                    .or_default()
                    .push(value);
            }
        } else {
            header.clear();
        }
        before = line;
    }
    told
}

#[test]
fn s5_a_name_has_one_value_of_each_of_many_policies() {
    let folder = Folder::new();
    for policies in [
        "attempts=1,own",
        "own,attempts=1,attempts=2,budget=ratio:0.1",
        "own,full;budget=ratio:0.2,burst:10;base=200ms,equal;attempts=3;budget=ratio:0.1,attempts=7,none",
    ] {
        let text = folder.told(&study(&format!("--quick --compare {policies}")));
        let told = told_of_each(&text);
        let twice = told.values().filter(|it| it.len() > 1).count();
        assert!(twice >= 3, "above and below the fold: {told:?}\n{text}");
        for (name, values) in told {
            let is_one = values.iter().all(|it| *it == values[0]);
            assert!(is_one, "{name:?}: {values:?}\n{text}");
        }
    }
}

#[test]
fn s5_a_latency_of_a_policy_that_is_down_is_marked() {
    let folder = Folder::new();
    let text = folder.told(&study("--quick --compare own,attempts=1"));
    let row = text
        .lines()
        .find(|it| it.starts_with("Latency of successful calls, p99"));
    let cells: Vec<&str> = row.expect("a row").split_whitespace().rev().collect();
    assert!(
        cells[1].ends_with("ms*") && !cells[0].ends_with('*'),
        "{cells:?}"
    );
    assert!(text.contains("* of the calls that succeeded"), "{text}");
}

#[test]
fn s5_the_first_screen_of_a_check_has_the_verdict_and_the_worst_findings() {
    let folder = Folder::new();
    folder.put("istio.yaml", ISTIO);
    folder.put("good.yaml", "a: 1\n");
    for number in 1..=30 {
        folder.put(&format!("many-{number}.yaml"), ISTIO);
    }
    let many: Vec<String> = (1..=30).map(|it| format!("many-{it}.yaml")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    for (name, files) in [
        ("bad", &["istio.yaml"][..]),
        ("good", &["good.yaml"]),
        ("many", &many),
    ] {
        for flags in [&[][..], &["--all"], &["--quiet"]] {
            let asked = [&["check"], files, flags].concat();
            let text = folder.told(&asked);
            let above = above(&text, name);
            let counted = format!("{} file", files.len());
            assert!(above[0].starts_with(&counted), "{name}: {text}");
            let counts = ["error", "warning", "note"];
            assert!(counts.iter().all(|it| above[0].contains(it)), "{text}");
        }
    }
    let judged = folder.told(&["check", "istio.yaml", "--service", "shop.toml"]);
    let said = above(&judged, "service").join("\n");
    assert!(said.contains("\nmetastable: "), "{judged}");
    assert!(said.contains("[metastable]"), "it is told first: {judged}");
}

/// A log of four workers of 20 ms, at this many requests a second.
fn log(gap_us: u64) -> String {
    let mut state = 7_u64;
    let mut draw = |mean: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % (2 * mean)
    };
    let mut free = [0_u64; 4];
    let mut log = String::from("start_us,duration_us,status\n");
    let mut start = 1_760_000_000_000_000_u64;
    for _ in 0..6000 {
        start += draw(gap_us);
        let worker = free.iter_mut().min().expect("there are four");
        *worker = start.max(*worker) + draw(20_000);
        let _ = writeln!(log, "{start},{},200", *worker - start);
    }
    log
}

#[test]
fn s5_the_first_screen_of_a_fit_has_three_figures_and_the_picture() {
    let folder = Folder::new();
    for (name, gap) in [
        ("busy.csv", 6_667),
        ("idle.csv", 60_000),
        ("more.csv", 5_500),
    ] {
        folder.put(name, &log(gap));
    }
    for files in [
        &["busy.csv"][..],
        &["idle.csv"],
        &["busy.csv", "more.csv", "idle.csv"],
    ] {
        let text = folder.told(&[&["fit", "--one-pool"], files].concat());
        let said = above(&text, files[0]).join("\n");
        for figure in [
            "\nworkers ",
            "\ncapacity ",
            "\nmean service time ",
            "next: ",
        ] {
            assert!(said.contains(figure), "{files:?}: {figure}\n{text}");
        }
        assert!(text.lines().any(is_fold), "{text}");
    }
    let text = folder.told(&["fit", "--one-pool", "busy.csv"]);
    assert!(
        above(&text, "busy").iter().any(|it| it.contains('┤')),
        "{text}"
    );
}

#[test]
fn s5_the_first_screen_of_a_drill_has_the_verdicts_and_the_picture() {
    let folder = Folder::new();
    let parts = "--no-html --before 500ms --trigger 1s --after 2s --tail 0s --blip 0s --seed 7";
    let asked = [&["drill"][..], &parts.split(' ').collect::<Vec<_>>()].concat();
    let text = folder.told(&asked);
    let said = above(&text, "drill").join("\n");
    assert!(text.lines().any(is_fold), "{text}");
    assert!(
        said.contains("goodput/s") && said.contains("amplification"),
        "{text}"
    );
    assert!(said.contains("\n1s "), "what is seen while it runs: {text}");
}

/// What a page has before its fold.
fn before_the_fold<'a>(page: &'a str, of: &str) -> &'a str {
    let (_, body) = page.split_once("<main>").expect("a page");
    let (first, rest) = body.split_once("<nav class=\"bc-fold\"").expect(of);
    assert!(!rest.is_empty() && !first.contains("<h2"), "{of}");
    first
}

#[test]
fn s5_a_page_says_first_what_to_set_and_paints_no_recommendation_red() {
    let folder = Folder::new();
    folder.put("istio.yaml", ISTIO);
    folder.put("busy.csv", &log(6_667));
    let red = "bc-conclusion\" style=\"border-color:var(--bc-red)";
    for (flags, is_red, badge) in [
        ("--quick", true, "metastable"),
        ("--quick --compare attempts=1,own", false, "metastable"),
        ("--quick --attempts 1", false, "stable"),
        ("--sweep base=10ms..1s,attempts=1..5", false, "stable"),
    ] {
        let page = folder.page(&study(flags));
        let first = before_the_fold(&page, flags);
        assert_eq!(first.contains(red), is_red, "{flags}: {first}");
        let badge = format!(">{badge}</span>");
        assert!(first.contains(&badge), "{flags}");
        assert_eq!(first.matches("<dt>").count(), 3, "{flags}");
        assert!(first.contains("<figure>"), "{flags}");
    }
    let checked = folder.page(&["check", "istio.yaml", "--service", "shop.toml"]);
    let first = before_the_fold(&checked, "check");
    assert!(
        first.contains(">metastable</span>") && first.contains("What helps: "),
        "{first}"
    );
    assert_eq!(first.matches("<dt>").count(), 3, "errors, warnings, notes");
    let (_, rest) = checked.split_once("The findings").expect("a section");
    for frame in rest.split("<pre>").skip(1).filter(|it| it.contains("^^")) {
        let number = frame.split(" | ").next().unwrap_or_default();
        assert!(
            number.parse::<u32>().is_ok(),
            "a line has its number: {frame:.80}"
        );
    }
    let fitted = folder.page(&["fit", "--one-pool", "busy.csv"]);
    let first = before_the_fold(&fitted, "fit");
    assert_eq!(first.matches("<dt>").count(), 3, "{first}");
    assert!(
        first.contains("<figure>") && first.contains("it can serve"),
        "{first}"
    );
}
