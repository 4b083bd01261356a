//! Does anything that is almost a file of a system break the reader?

use std::fs;
use std::path::Path;

use becalm::Policy;
use becalm_check::shown::{bounded, folded, github, policy_file, sarif, snippet};
use becalm_check::{File, Settings, check};

use super::shapes::Draw;

const MUTATIONS: u64 = 40;

fn files() -> Vec<(String, String)> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let folders = ["files", "golden"].map(|it| fs::read_dir(tests.join(it)).unwrap());
    let mut paths: Vec<_> = folders
        .into_iter()
        .flatten()
        .map(|it| it.unwrap().path())
        .collect();
    paths.sort();
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    paths
        .iter()
        .map(|it| (name(it), fs::read_to_string(it).unwrap()))
        .collect()
}

/// The text with a part of it gone, twice there, or something else.
fn mutated(draw: &Draw, text: &str) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    let size = u64::try_from(chars.len()).unwrap();
    let at = usize::try_from(draw.below(size)).unwrap();
    let end = chars
        .len()
        .min(at + usize::try_from(1 + draw.below(40)).unwrap());
    match draw.below(4) {
        0 => drop(chars.drain(at..end)),
        1 => {
            let part: Vec<char> = chars[at..end].to_vec();
            chars.splice(at..at, part);
        }
        2 => {
            let other = draw.one_of(&[
                "${X}",
                "\u{1b}[31m",
                "-1",
                "1e99",
                "{",
                "]",
                "\t",
                "'",
                "&a",
                "*a",
                "<<: ",
                "é\u{202e}",
                "\n",
                ": ",
                "99999999999999999999",
                ";",
            ]);
            chars.splice(at..end, other.chars());
        }
        _ => chars.truncate(at),
    }
    chars.into_iter().collect()
}

#[test]
fn nothing_that_is_almost_a_file_breaks_the_reader() {
    for (name, text) in files() {
        for seed in 0..MUTATIONS {
            let text = mutated(&Draw::new(seed), &text);
            let checked = check(&[File::new(&name, &text)], &Settings::default());
            let lines = text.replace('\r', "\n").lines().count();
            for finding in &checked.findings {
                assert!(
                    (1..=lines + 1).contains(&finding.span.line),
                    "{finding:?}\n{text}"
                );
                let shown = snippet(&text, finding.span);
                assert!(
                    shown.is_none_or(|it| !it.line.contains(char::is_control)),
                    "{finding:?}"
                );
            }
            let all = folded(&checked.findings).into_iter();
            let all = all.filter(|it| it.finding.code != "unknown-system");
            assert_eq!(
                github(&bounded(&checked.findings, &checked.more, usize::MAX))
                    .lines()
                    .count(),
                all.count()
            );
            assert!(
                serde_json::from_str::<serde_json::Value>(&sarif(&bounded(
                    &checked.findings,
                    &checked.more,
                    usize::MAX
                )))
                .is_ok()
            );
            for mapping in &checked.mappings {
                let written = policy_file(mapping).expect("what is mapped is written");
                let read: Policy =
                    toml::from_str(&written).unwrap_or_else(|error| panic!("{error}\n{written}"));
                assert_eq!(read, mapping.policy, "{written}");
            }
        }
    }
}
