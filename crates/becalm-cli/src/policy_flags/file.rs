//! Which policy does a file hold?

use std::fs;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;

use becalm::{Policy, preset::Preset};
use toml::de::DeTable;
use toml::{Table, Value};

use super::unused::unused;

/// The policy of a TOML file, whose keys come on top of the preset, and the preset, which the file may name; the error is one sentence.
pub(super) fn read(
    file: &Path,
    preset: Option<&'static Preset>,
) -> Result<(Policy, Option<&'static Preset>), String> {
    let text = text_of(file).map_err(|error| {
        format!(
            "cannot read the policy file {} (--policy): {error}",
            file.display()
        )
    })?;
    let read = policy(&text, preset).map_err(|refusal| {
        let Refusal { line, sentence } = refusal;
        let line = line
            .map(|line| format!(", line {line}"))
            .unwrap_or_default();
        format!(
            "policy file {}{line}: {sentence} (--policy)",
            file.display()
        )
    })?;
    let named = || named(&toml::from_str(&text).ok()?);
    Ok((read, preset.or_else(named)))
}

/// The preset that a file names.
fn named(table: &Table) -> Option<&'static Preset> {
    let name = table.get(PRESET)?.as_str()?;
    Preset::by_name(name).ok()
}

/// Far more than any policy has: what is longer is no policy, and may have no end.
const LONGEST: u64 = 1 << 20;

fn text_of(file: &Path) -> io::Result<String> {
    let mut text = String::new();
    let mut start = fs::File::open(file)?.take(LONGEST + 1);
    start.read_to_string(&mut text)?;
    if text.len() as u64 > LONGEST {
        return Err(io::Error::other("it is longer than 1 MiB"));
    }
    Ok(text)
}

#[derive(Debug, PartialEq)]
struct Refusal {
    line: Option<usize>,
    sentence: String,
}

fn policy(text: &str, preset: Option<&'static Preset>) -> Result<Policy, Refusal> {
    let mut table: Table = toml::from_str(text).map_err(|error| Refusal {
        line: error.span().map(|span| line(text, span)),
        sentence: error.message().replace('\n', " "),
    })?;
    // What the library says of a policy has the name of a key, and no place in the text.
    let refusal = |sentence: String| Refusal {
        line: line_of_named(text, &sentence),
        sentence: sentence + is_scenario(text),
    };
    if let Some(preset) = preset {
        let named = table.insert(PRESET.into(), Value::from(preset.name()));
        if named.is_some() {
            let name = preset.name();
            let sentence = format!("it names a preset itself; leave out --preset {name}");
            return Err(refusal(sentence));
        }
    }
    let policy: Policy = table
        .clone()
        .try_into()
        .map_err(|error: toml::de::Error| refusal(error.message().replace('\n', " ")))?;
    match unused(&policy, |key| is_told(&table, &policy, key)) {
        Some(unused) => Err(refusal(unused.key())),
        None => Ok(policy),
    }
}

/// Whether the file has a word on this key. A program that writes a policy writes every key, so what
/// stands there without the file as well is none.
fn is_told(table: &Table, policy: &Policy, key: &str) -> bool {
    let start = named(table).map_or_else(Policy::default, Preset::policy);
    let is_start = match key {
        "backoff" => policy.backoff == start.backoff,
        "multiplier" => policy.multiplier.total_cmp(&start.multiplier).is_eq(),
        _ => policy.max_hint == start.max_hint,
    };
    table.contains_key(key) && !is_start
}

/// The key from which the library starts.
const PRESET: &str = "preset";

/// The line where an error of the grammar begins, from 1.
fn line(text: &str, span: Range<usize>) -> usize {
    let before = text.bytes().take(span.start);
    before.filter(|byte| *byte == b'\n').count() + 1
}

/// The line of the key that a sentence names first, of those that the file has; within its table, of the parameter.
fn line_of_named(text: &str, sentence: &str) -> Option<usize> {
    let is_between = |it: char| !(it.is_ascii_alphanumeric() || it == '_');
    let mut words = sentence.split(is_between);
    let table = DeTable::parse(text).ok()?.into_inner();
    let (key, value) = words.find_map(|word| table.get_key_value(word))?;
    let parameter = value.get_ref().as_table().and_then(|within| {
        let (parameter, _) = words.find_map(|word| within.get_key_value(word))?;
        Some(parameter.span())
    });
    Some(line(text, parameter.unwrap_or_else(|| key.span())))
}

/// A remedy for who gives a file of another kind.
fn is_scenario(text: &str) -> &'static str {
    let keys = DeTable::parse(text).map(|table| {
        let keys = table.get_ref();
        ["service", "population"].map(|key| keys.contains_key(key))
    });
    match keys {
        Ok([true, true]) => {
            "; this is a scenario, which \"becalm storm FILE\" runs: --policy takes the table of one policy alone"
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn sentence(text: &str, preset: Option<&'static Preset>) -> String {
        match policy(text, preset) {
            Ok(policy) => panic!("{text} is accepted: {policy:?}"),
            Err(Refusal { line, sentence }) => format!("{}: {sentence}", line.unwrap_or(0)),
        }
    }

    #[test]
    fn keys_come_on_top_of_the_default_or_the_preset() {
        let text = "attempts = 9\ncap = \"90s\"";
        let expected = |policy: Policy| policy.attempts(9).cap(Duration::from_secs(90));
        assert_eq!(policy(text, None), Ok(expected(Policy::default())));
        let grpc = Preset::by_name("grpc").ok();
        assert_eq!(
            policy(text, grpc).ok(),
            grpc.map(|grpc| expected(grpc.policy()))
        );
        let inside = policy(&format!("preset = \"grpc\"\n{text}"), None);
        assert_eq!(inside, policy(text, grpc));
    }

    #[test]
    fn p2_keys_that_contradict_each_other_are_refused_by_both_names() {
        for (text, unused, other) in [
            (
                "jitter = \"decorrelated\"\nmultiplier = 3",
                "2: multiplier",
                "jitter",
            ),
            (
                "backoff = \"fixed\"\njitter = \"decorrelated\"",
                "1: backoff",
                "jitter",
            ),
            (
                "multiplier = 3\nbackoff = \"linear\"",
                "1: multiplier",
                "backoff",
            ),
            (
                "max_hint = \"5s\"\nhint = \"ignore\"",
                "1: max_hint",
                "hint",
            ),
        ] {
            let refused = sentence(text, None);
            let expected = format!("{unused} has no effect: {other} ");
            assert!(refused.starts_with(&expected), "{refused}");
            assert!(!refused.contains("--"), "{refused}");
        }
        // What a preset brings along, and a program that writes every key, contradict nothing.
        let other = "preset = \"resilience4j-exponential-random\"\njitter = \"decorrelated\"";
        assert!(policy(other, None).is_ok());
        let policy_of_a_program = Policy::default().jitter(becalm::Jitter::Decorrelated);
        let written = toml::to_string(&policy_of_a_program).unwrap();
        assert_eq!(policy(&written, None), Ok(policy_of_a_program));
    }

    #[test]
    fn slips_are_refused_with_line_and_remedy() {
        let refused = sentence("attempts = 9\natempts = 5", None);
        assert!(refused.contains("did you mean `attempts`"), "{refused}");
        let refused = sentence("attempts = 9\nbase = = 5", None);
        assert!(refused.starts_with("2: "), "{refused}");
        let grpc = Preset::by_name("grpc").ok();
        assert!(sentence("base = 3", grpc).contains("base"));
        assert!(sentence("preset = \"grpc\"", grpc).contains("leave out --preset grpc"));
    }

    #[test]
    fn k6_what_is_refused_has_the_line_of_its_key() {
        let grpc = Preset::by_name("grpc").ok();
        for (text, line) in [
            ("attempts = 5\n\nbase = \"10s\"\ncap = \"1s\"", 3),
            ("attempts = 5\n# base\n\ncap = \"1ms\"", 4),
            ("attempts = 5\nbase = \"10x\"", 2),
            ("\n\nattempts = 0", 3),
            ("base = \"1s\"\natempts = 5", 2),
            ("attempts = 5\n[budget]\nkind = \"ratio\"\nratio = -1", 4),
            ("attempts = 5\n[budget]\nratio = 0.1\nbrust = 4", 4),
            ("\nbudget = \"ratio:7,brust:4\"", 2),
            ("\n\nattempts = 5\nwhen_spent = \"wait\"", 4),
            (
                "\n\n[retry_on]\nmethods = [\"GET\"]\nstatuses = [\"999\"]",
                5,
            ),
            ("\n\nbreaker = \"consecutive:0\"", 3),
            ("# a\n\nmultiplier = 0.5", 3),
            ("\nbudget.ratio = 0.1\nbudget.brust = 4", 3),
        ] {
            for preset in [None, grpc] {
                let refused = sentence(text, preset);
                let expected = format!("{line}: ");
                assert!(refused.starts_with(&expected), "{text:?}: {refused}");
            }
        }
    }

    #[test]
    fn k6_a_scenario_is_known_as_one() {
        let scenario = "name = \"a\"\n[[service]]\nname = \"b\"\n[[population]]\nname = \"c\"";
        let refused = sentence(scenario, None);
        assert!(refused.contains("becalm storm FILE"), "{refused}");
        assert!(!sentence("name = 3", None).contains("storm"));
    }
}
