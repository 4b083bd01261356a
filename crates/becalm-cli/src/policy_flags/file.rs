//! Which policy does a file hold?

use std::fs;
use std::ops::Range;
use std::path::Path;

use becalm::{Policy, preset::Preset};
use toml::{Table, Value};

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
    let Some(preset) = preset else {
        return toml::from_str(text).map_err(refusal);
    };
    let mut table: Table = toml::from_str(text).map_err(refusal)?;
    if table
        .insert(PRESET.into(), Value::from(preset.name()))
        .is_some()
    {
        return Err(Refusal {
            line: None,
            sentence: format!(
                "it names a preset itself; leave out --preset {}",
                preset.name()
            ),
        });
    }
    table.try_into().map_err(refusal)
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
