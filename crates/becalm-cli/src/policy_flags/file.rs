//! Which policy does a file hold?

use std::fs;
use std::ops::Range;
use std::path::Path;

use becalm::{Policy, preset::Preset};
use toml::{Table, Value};

use super::unused::unused;

/// The policy of a TOML file, whose keys come on top of the preset; the error is one sentence.
pub(super) fn read(file: &Path, preset: Option<&'static Preset>) -> Result<Policy, String> {
    let text = fs::read_to_string(file).map_err(|error| {
        format!(
            "cannot read the policy file {} (--policy): {error}",
            file.display()
        )
    })?;
    policy(&text, preset).map_err(|refusal| {
        let Refusal { line, sentence } = refusal;
        let line = line
            .map(|line| format!(", line {line}"))
            .unwrap_or_default();
        format!(
            "policy file {}{line}: {sentence} (--policy)",
            file.display()
        )
    })
}

#[derive(Debug, PartialEq)]
struct Refusal {
    line: Option<usize>,
    sentence: String,
}

fn policy(text: &str, preset: Option<&'static Preset>) -> Result<Policy, Refusal> {
    let refusal = |error: toml::de::Error| Refusal {
        line: error.span().and_then(|span| line(text, span)),
        sentence: error.message().replace('\n', " "),
    };
    let whole = |sentence| Refusal {
        line: None,
        sentence,
    };
    let mut table: Table = toml::from_str(text).map_err(refusal)?;
    let policy: Policy = match preset {
        // From the text, whose lines are known.
        None => toml::from_str(text).map_err(refusal)?,
        Some(preset) => {
            let named = table.insert(PRESET.into(), Value::from(preset.name()));
            if named.is_some() {
                let name = preset.name();
                let sentence = format!("it names a preset itself; leave out --preset {name}");
                return Err(whole(sentence));
            }
            table.clone().try_into().map_err(refusal)?
        }
    };
    match unused(&policy, |key| is_told(&table, &policy, key)) {
        Some(unused) => Err(whole(unused.key())),
        None => Ok(policy),
    }
}

/// Whether the file has a word on this key. A program that writes a policy writes every key, so what
/// stands there without the file as well is none.
fn is_told(table: &Table, policy: &Policy, key: &str) -> bool {
    let preset = table.get(PRESET).and_then(Value::as_str);
    let preset = preset.and_then(|name| Preset::by_name(name).ok());
    let start = preset.map_or_else(Policy::default, Preset::policy);
    let is_start = match key {
        "backoff" => policy.backoff == start.backoff,
        "multiplier" => policy.multiplier.total_cmp(&start.multiplier).is_eq(),
        _ => policy.max_hint == start.max_hint,
    };
    table.contains_key(key) && !is_start
}

/// The key from which the library starts.
const PRESET: &str = "preset";

/// The line of an error, from 1; an error of the whole table has none.
fn line(text: &str, span: Range<usize>) -> Option<usize> {
    let count = |offset| {
        text.bytes()
            .take(offset)
            .filter(|byte| *byte == b'\n')
            .count()
    };
    let (first, last) = (count(span.start), count(span.end));
    (first == last).then_some(first + 1)
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
                "multiplier",
                "jitter",
            ),
            (
                "backoff = \"fixed\"\njitter = \"decorrelated\"",
                "backoff",
                "jitter",
            ),
            (
                "multiplier = 3\nbackoff = \"linear\"",
                "multiplier",
                "backoff",
            ),
            ("max_hint = \"5s\"\nhint = \"ignore\"", "max_hint", "hint"),
        ] {
            let refused = sentence(text, None);
            let expected = format!("0: {unused} has no effect: {other} ");
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
}
