//! Is what is filled in elsewhere told as unknown, with its place, and not as what the file says?

use becalm_check::Origin;
use serde_json::{Value, json};

use super::examples::TREES;
use super::of;

/// Where each value stands that is no mapping and no list (RFC 6901).
fn gather(value: &Value, at: &str, values: &mut Vec<String>) {
    let part = |key: &str| key.replace('~', "~0").replace('/', "~1");
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                gather(value, &format!("{at}/{}", part(key)), values);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                gather(item, &format!("{at}/{index}"), values);
            }
        }
        _ => values.push(at.to_owned()),
    }
}

/// Whether the file is told to say something in this line.
fn says(origin: &Origin, line: usize) -> bool {
    matches!(origin, Origin::Line(it) | Origin::Derived(it, _) if it.line == line)
}

#[test]
fn what_a_placeholder_stands_for_is_not_said_by_the_file() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for tree in TREES {
        let right: Value = serde_json::from_str(tree.text).unwrap();
        let mut values = Vec::new();
        gather(&right, "", &mut values);
        let policies = |text: &str| {
            let mappings = of(tree.name, text).mappings.into_iter();
            mappings.map(|it| it.policy).collect::<Vec<_>>()
        };
        let as_said = policies(tree.text);
        for place in values {
            let (table, key) = place.rsplit_once('/').unwrap();
            let key = key.replace("~1", "/").replace("~0", "~");
            let mut without = right.clone();
            let Some(entries) = without.pointer_mut(table).and_then(Value::as_object_mut) else {
                continue;
            };
            entries.remove(&key);
            let mut filled = right.clone();
            *filled.pointer_mut(&place).unwrap() = json!("${RETRIES_X}");
            let text = serde_json::to_string_pretty(&filled).unwrap();
            let line = 1 + text
                .lines()
                .position(|it| it.contains("${RETRIES_X}"))
                .unwrap();
            let checked = of(tree.name, &text);
            let own = checked.findings.iter().filter(|it| it.file == tree.name);
            let mut own = own.filter(|it| it.code == "unknown-value" && it.span.line == line);
            let is_read = own.next().is_some();
            // A name is none of the values that a policy follows from.
            let is_mapped = checked.mappings.len() == as_said.len();
            if !is_read || !is_mapped || as_said == policies(&without.to_string()) {
                continue;
            }
            seen += 1;
            let origins = checked.mappings.iter().flat_map(|it| &it.origins);
            let (mut is_told, mut is_said) = (false, None);
            for (key, origin) in origins {
                is_told |= matches!(origin, Origin::Unknown(..));
                is_said = is_said.or(says(origin, line).then_some(*key));
            }
            if !is_told || is_said.is_some() {
                wrong.push(format!("{}: {place}: {is_said:?}", tree.name));
            }
        }
    }
    assert!(seen > 50, "{seen} values are read");
    assert!(wrong.is_empty(), "{seen} seen: {wrong:#?}");
}
