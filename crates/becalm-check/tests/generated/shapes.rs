//! What is drawn, and how is a document written?

use std::cell::RefCell;
use std::fmt::Write as _;

use becalm::rng::{Random, SplitMix64};
use serde_json::{Map, Value, json};

/// A source of choices, the same for the same seed.
pub struct Draw(RefCell<SplitMix64>);

impl Draw {
    pub fn new(seed: u64) -> Self {
        Self(RefCell::new(SplitMix64::new(seed)))
    }

    /// Below this number.
    pub fn below(&self, most: u64) -> u64 {
        self.0.borrow_mut().next_u64() % most
    }

    pub fn is(&self) -> bool {
        self.below(2) == 0
    }

    pub fn one_of<'a, T: ?Sized>(&self, all: &[&'a T]) -> &'a T {
        let at = self.below(all.len().try_into().unwrap());
        all[usize::try_from(at).unwrap()]
    }

    /// Some of these, at least one, in their order.
    pub fn some_of<'a>(&self, all: &[&'a str]) -> Vec<&'a str> {
        let sure = self.one_of(all);
        let some = all.iter().filter(|it| **it == sure || self.is());
        some.copied().collect()
    }

    /// This in half of the cases.
    pub fn maybe(&self, map: &mut Value, key: &str, value: Value) -> bool {
        let is = self.is();
        if is {
            map[key] = value;
        }
        is
    }
}

/// As JSON in one line or many, as JSON with comments, or as YAML in blocks or in flow.
pub fn written(draw: &Draw, document: &Value) -> String {
    match draw.below(5) {
        0 => document.to_string(),
        1 => serde_json::to_string_pretty(document).unwrap(),
        2 => format!(
            "// a comment\n{}\n/* another */\n",
            serde_json::to_string_pretty(document).unwrap()
        ),
        3 => format!("---\n# a comment\n{document:#}\n"),
        _ => {
            let mut text = String::new();
            block(&mut text, document, 0);
            text
        }
    }
}

fn block(text: &mut String, value: &Value, indent: usize) {
    let margin = " ".repeat(indent);
    match value {
        Value::Object(entries) if !entries.is_empty() => {
            for (key, value) in entries {
                let _ = write!(text, "{margin}{}:", Value::from(key.as_str()));
                below(text, value, indent + 2);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                let _ = write!(text, "{margin}-");
                below(text, item, indent + 2);
            }
        }
        scalar => {
            let _ = writeln!(text, "{margin}{scalar}");
        }
    }
}

fn below(text: &mut String, value: &Value, indent: usize) {
    let is_empty = match value {
        Value::Object(entries) => entries.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => true,
    };
    if is_empty {
        let _ = writeln!(text, " {value}");
    } else {
        text.push('\n');
        block(text, value, indent);
    }
}

/// The keys in lower camel case, but for names of types.
pub fn camel(value: Value) -> Value {
    match value {
        Value::Object(entries) => {
            let entries = entries.into_iter().map(|(key, value)| {
                let is_name = key.starts_with('@') || key.contains('.');
                let key = if is_name { key } else { camel_key(&key) };
                (key, camel(value))
            });
            Value::Object(entries.collect::<Map<_, _>>())
        }
        Value::Array(items) => items.into_iter().map(camel).collect::<Vec<_>>().into(),
        other => other,
    }
}

fn camel_key(key: &str) -> String {
    let mut is_next = false;
    let letters = key.chars().filter_map(|c| match c {
        '_' => {
            is_next = true;
            None
        }
        c if std::mem::take(&mut is_next) => Some(c.to_ascii_uppercase()),
        c => Some(c),
    });
    letters.collect()
}

/// An empty mapping.
pub fn table() -> Value {
    json!({})
}
