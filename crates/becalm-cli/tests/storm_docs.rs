//! Do the pages about the known storms hold? Every scenario has one, and what it shows is there.

use std::fs;
use std::path::{Path, PathBuf};

use becalm::{Policy, preset::Preset};
use becalm_sim::catalogue::{Candidate, ENTRIES, Kind, Parameter, Parameters, find};
use becalm_sim::scenario::{Scenario, file};
use becalm_sim::study::{Plan, Verdict};
use becalm_sim::sweep::Sweep;
use becalm_sim::verdict::{Brief, Thoroughness, study_with};
use becalm_sim::world;

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn page(name: &str) -> String {
    read(&docs().join("storms").join(format!("{name}.md")))
}

/// The folders and files that have command lines in them.
fn pages() -> Vec<PathBuf> {
    let folders = [docs(), docs().join("storms")];
    let files = folders
        .iter()
        .flat_map(|folder| fs::read_dir(folder).expect("a folder"));
    let mut pages: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
    pages.retain(|path| is(path, "md"));
    pages.push(docs().join("../README.md"));
    pages
}

fn is(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|it| it == extension)
}

/// The words of each `$ becalm storm ...` line, behind `storm`.
fn commands(text: &str) -> Vec<Vec<String>> {
    let lines = text
        .lines()
        .filter_map(|line| line.strip_prefix("$ becalm storm "));
    lines.map(words).collect()
}

/// As a shell reads them: quotes, and comments behind ` #`.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for letter in line.split(" #").next().unwrap_or_default().chars() {
        match letter {
            '\'' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            letter => words.last_mut().expect("a word").push(letter),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[test]
fn every_scenario_has_a_page_with_its_command_and_its_sources() {
    for entry in ENTRIES {
        let page = page(entry.name);
        let commands = commands(&page);
        let is_first = commands.first().is_some_and(|words| words[0] == entry.name);
        assert!(is_first, "{}: the first command is its own", entry.name);
        for part in ["**", "## The right answer", "## For a policy", "## Sources"] {
            assert!(page.contains(part), "{}: {part}", entry.name);
        }
        let flat = page.split_whitespace().collect::<Vec<_>>().join(" ");
        let question = flat.contains(entry.question);
        assert!(question, "{}: asks {:?}", entry.name, entry.question);
        for source in entry.sources {
            // A book has no address.
            let part = if source.url.is_empty() {
                source.title
            } else {
                source.url
            };
            let part = part.rsplit(':').next().unwrap_or(part);
            let is_named = part.split(", ").all(|piece| flat.contains(piece.trim()));
            assert!(is_named, "{}: {}", entry.name, source.title);
        }
    }
}

#[test]
fn the_index_has_every_page_and_there_is_no_other() {
    let index = page("README");
    for entry in ENTRIES {
        let link = format!("]({}.md)", entry.name);
        assert!(index.contains(&link), "{link}");
    }
    for file in fs::read_dir(docs().join("storms")).expect("a folder") {
        let path = file.expect("a file").path();
        let name = path
            .file_stem()
            .and_then(|it| it.to_str())
            .unwrap_or_default();
        assert!(
            name == "README" || find(name).is_some(),
            "{}",
            path.display()
        );
    }
}

#[test]
fn every_page_shows_a_small_picture_for_light_and_dark() {
    for entry in ENTRIES {
        let page = page(entry.name);
        let (_, link) = page.split_once("](../pictures/").expect(entry.name);
        let (name, _) = link.split_once(')').expect(entry.name);
        assert!(name.starts_with(&format!("{}-", entry.name)), "{name}");
        let picture = read(&docs().join("pictures").join(name));
        assert!(picture.starts_with("<svg"), "{name}");
        assert!(picture.len() < 60_000, "{name}: {} bytes", picture.len());
        assert!(picture.contains("prefers-color-scheme"), "{name}");
    }
}

#[test]
fn links_between_the_pages_lead_somewhere() {
    for path in pages() {
        let text = read(&path);
        let folder = path.parent().expect("a folder");
        for (_, link) in text
            .match_indices("](")
            .map(|(at, _)| text.split_at(at + 2))
        {
            let link = link.split(')').next().unwrap_or_default();
            let target = link.split('#').next().unwrap_or_default();
            if target.is_empty() || target.contains(':') {
                continue;
            }
            assert!(folder.join(target).exists(), "{}: {link}", path.display());
        }
    }
}

/// Up to the work itself: a report that cannot be written is refused just before it.
#[test]
fn every_command_line_of_the_pages_is_understood() {
    let mut understood = 0;
    for path in pages() {
        for words in commands(&read(&path)) {
            let is_catalogue = words[0].starts_with("--");
            // A page may name files that its reader writes.
            let mut files = words.iter().flat_map(|word| word.split(','));
            let is_here =
                files.all(|file| !is(Path::new(file), "toml") || docs().join(file).exists());
            let mut asked = vec!["storm".to_owned()];
            asked.extend(words.iter().cloned());
            let is_dry = is_catalogue || !is_here;
            if is_dry {
                asked.push("--help".into());
            } else if let Some(at) = asked.iter().position(|word| word == "--report") {
                asked[at + 1] = NOWHERE.into();
            } else {
                asked.extend(["--report".into(), NOWHERE.into()]);
            }
            let output = std::process::Command::new(env!("CARGO_BIN_EXE_becalm"))
                .args(&asked)
                .current_dir(docs())
                .output()
                .expect("the binary starts");
            let told = String::from_utf8_lossy(&output.stderr);
            let is_understood = if is_dry {
                output.status.success()
            } else {
                told.contains(NOWHERE)
            };
            assert!(is_understood, "{}: {asked:?}: {told}", path.display());
            understood += 1;
        }
    }
    assert!(understood > ENTRIES.len(), "{understood}");
}

const NOWHERE: &str = "/nowhere/at/all.html";

/// What can be swept of a file, beside the settings of the policy.
const OWN: &[Parameter] = &[
    Parameter::new("load", Kind::Number, "1", ""),
    Parameter::new("outage", Kind::Duration, "1s", ""),
];

#[test]
fn every_sweep_of_the_pages_is_understood() {
    let mut understood = 0;
    for path in pages() {
        for words in commands(&read(&path)) {
            let Some(at) = words.iter().position(|word| word == "--sweep") else {
                continue;
            };
            let parameters = find(&words[0]).map_or(OWN, |entry| entry.parameters);
            let parameters = Parameters::of(parameters);
            let sweep = Sweep::read(&words[at + 1], &parameters).expect("a sweep");
            let points = sweep.points(&Policy::default(), &parameters);
            assert!(points.expect("points").len() > 1, "{words:?}");
            understood += 1;
        }
    }
    assert!(understood >= 2, "{understood}");
}

fn orders() -> Scenario {
    file::load(&docs().join("orders.toml")).expect("a scenario")
}

/// What the service of the chapter about the orders does under each policy, and the evidence.
fn orders_under(policies: &[&Policy]) -> Vec<(Option<Verdict>, String)> {
    let scenario = orders();
    let candidates = policies
        .iter()
        .enumerate()
        .map(|(index, policy)| Candidate::new(index.to_string(), (*policy).clone()));
    let mut plan = Plan::default();
    plan.runs = Some(1);
    let study = study_with(
        world::run,
        &Brief::default(),
        Thoroughness::QUICK,
        &candidates.collect::<Vec<_>>(),
        &plan,
        |policy| {
            // Half of the chapter's run: by then the new policy has long brought it back.
            let mut scenario = scenario.clone();
            scenario.horizon /= 2;
            for population in &mut scenario.populations {
                *population = population.clone().policy(policy.clone());
            }
            scenario
        },
    )
    .unwrap();
    let verdicts = study.contenders.into_iter();
    verdicts.map(|it| (it.verdict, it.evidence)).collect()
}

fn is_back(verdict: Option<Verdict>) -> bool {
    [Some(Verdict::Stable), Some(Verdict::Vulnerable)].contains(&verdict)
}

/// The chapter about the orders: today's policy and the one that it ends with.
#[test]
fn the_chapter_turns_a_metastable_service_into_one_that_comes_back() {
    let today = &orders().populations[0].variants[0].policy;
    let chosen: Policy =
        toml::from_str(&read(&docs().join("orders-policy.toml"))).expect("a policy");
    assert!(!today.lints().is_empty());
    assert_eq!(chosen.lints(), []);
    let verdicts = orders_under(&[today, &chosen]);
    assert_eq!(
        verdicts[0].0,
        Some(Verdict::Metastable),
        "{}",
        verdicts[0].1
    );
    assert!(is_back(verdicts[1].0), "{}", verdicts[1].1);
}

/// Three retries at once bound Envoy's, and nothing bounds Istio's.
#[test]
fn p4_the_orders_come_back_under_envoys_retries_and_not_under_istios() {
    let policy = |name| Preset::by_name(name).expect("a preset").policy();
    let verdicts = orders_under(&[&policy("envoy"), &policy("istio")]);
    assert!(is_back(verdicts[0].0), "{}", verdicts[0].1);
    assert_eq!(
        verdicts[1].0,
        Some(Verdict::Metastable),
        "{}",
        verdicts[1].1
    );
}

#[test]
fn the_chapter_shows_the_files_that_it_names() {
    let chapter = read(&docs().join("designing-a-policy.md"));
    for name in ["orders.toml", "orders-policy.toml"] {
        let lines = read(&docs().join(name));
        let lines = lines
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'));
        for line in lines {
            assert!(chapter.contains(line), "{name}: {line}");
        }
    }
}
