//! What does a policy file of becalm say?

use std::ops::Range;

use becalm::Policy;
use toml::{Table, Value};

use crate::code;
use crate::document::{Document, Span};
use crate::evidence::Evidence;
use crate::list::list;
use crate::mapping::{Draft, Origin};
use crate::reading::Reading;
use crate::system::{Follows, Form, Schema, System};

pub(super) const BECALM: System = System {
    name: "becalm",
    title: "becalm",
    versions: &["0.1"],
    evidence: Evidence::Run,
    form: Form::Text,
    remedies: &[],
    fewer: None,
    elsewhere: &[],
    follows: Follows::Attempts,
    schema: Schema::OPEN,
};

/// A TOML file whose keys are those of a policy, but for slips.
pub(super) fn recognises(document: &Document<'_>) -> bool {
    let is_toml = document.file.to_ascii_lowercase().ends_with(".toml");
    let Some(table) = is_toml
        .then(|| document.text.parse::<Table>().ok())
        .flatten()
    else {
        return false;
    };
    let known = table.keys().filter(|key| KEYS.contains(&&***key)).count();
    known > 0 && known * 2 >= table.len()
}

const KEYS: &[&str] = list!(
    "preset backoff base throttled_base multiplier cap floor jitter attempts deadline \
     attempt_timeout hint max_hint budget when_spent max_waiting nested retry_on throttle rate hedge \
     bulkhead breaker mode"
);

pub(super) fn read(reading: &mut Reading<'_>) {
    let text = reading.document.text;
    let policy: Policy = match toml::from_str(text) {
        Ok(policy) => policy,
        Err(error) => {
            let sentence = error.message().replace('\n', " ");
            // A value that is out of its range is told by its key.
            let key = sentence.split([':', '.']).next().unwrap_or_default();
            // A key that it does not have stands in the sentence between the first quotes.
            let unknown = sentence
                .strip_prefix("unknown key `")
                .and_then(|it| it.split('`').next());
            let key = unknown.or(KEYS.contains(&key).then_some(key));
            let named = key.and_then(|it| line_of(text, it));
            let placed = error.span().map(|it| place(text, &it));
            let span = named.or(placed).unwrap_or_else(|| Span::new(1, 1, 0));
            reading.find(span, code::REFUSED, sentence, "");
            return;
        }
    };
    let mut draft = Draft::of(policy, &[]);
    let table: Table = text.parse().unwrap_or_default();
    for key in KEYS.iter().filter(|it| **it != "preset") {
        let told = table
            .contains_key(*key)
            .then(|| line_of(text, key))
            .flatten();
        if let Some(span) = told {
            draft.origin(key, Origin::Line(span));
        }
    }
    if let Some(preset) = table.get("preset").and_then(Value::as_str) {
        let why = format!("what is not written here is as in {preset}");
        draft.lose("preset", why, line_of(text, "preset"));
    }
    reading.map(draft, "the policy", Vec::new(), begin(text));
}

/// The first line that is no comment: what is above it may be a comment that lets something pass.
fn begin(text: &str) -> Span {
    let is_said = |line: &str| !line.is_empty() && !line.starts_with('#');
    let at = text.lines().position(|it| is_said(it.trim_start()));
    Span::new(at.unwrap_or(0) + 1, 1, 0)
}

/// Where a text is no TOML, and why.
pub fn no_toml(text: &str) -> Option<(Span, String)> {
    let error = text.parse::<Table>().err()?;
    let span = error.span().map(|it| place(text, &it));
    let sentence = format!(
        "it cannot be parsed: {}",
        error.message().replace('\n', " ")
    );
    Some((span.unwrap_or_else(|| Span::new(1, 1, 0)), sentence))
}

/// Where a key or a table of this name begins.
fn line_of(text: &str, key: &str) -> Option<Span> {
    let is_key = |line: &str| {
        let line = line
            .trim_start()
            .trim_start_matches(['[', '"', '\''])
            .trim_start();
        let rest = line
            .strip_prefix(key)
            .map(|it| it.trim_start_matches(['"', '\'']).trim_start());
        rest.is_some_and(|it| it.starts_with(['=', ']', '.']))
    };
    let (at, line) = text.lines().enumerate().find(|(_, line)| is_key(line))?;
    let column = line.find(key).unwrap_or(0);
    Some(Span::new(
        at + 1,
        line[..column].chars().count() + 1,
        key.len(),
    ))
}

fn place(text: &str, range: &Range<usize>) -> Span {
    let before = text.get(..range.start).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or(before).chars().count() + 1;
    Span::new(line, column, range.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_begins_below_its_comments() {
        assert_eq!(begin("# a\n\n  # b\nattempts = 2\n").line, 4);
        assert_eq!(begin("attempts = 2\n# a\n").line, 1);
        assert_eq!(begin("# a\n").line, 1);
    }

    #[test]
    fn a_key_is_found_where_it_begins() {
        let text = "# base\nbase_x = 1\n  base = \"1s\"\n[retry_on]\nmethods = \"any\"\n";
        assert_eq!(line_of(text, "base"), Some(Span::new(3, 3, 4)));
        assert_eq!(line_of(text, "retry_on"), Some(Span::new(4, 2, 8)));
        assert_eq!(line_of(text, "cap"), None);
        assert_eq!(place("a\nbc", &(3..4)), Span::new(2, 2, 1));
        assert_eq!(place("a", &(9..10)), Span::new(1, 2, 1));
    }
}
