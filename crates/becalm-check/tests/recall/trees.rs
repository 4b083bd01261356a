//! How is a setting of a tree got wrong?

use serde_json::{Map, Value, json};

use super::examples::Tree;
use super::{Mutant, slips};

/// Each of its keys, in each way.
pub fn mutants(tree: &Tree) -> Vec<Mutant> {
    let document: Value =
        serde_json::from_str(tree.text).unwrap_or_else(|why| panic!("{}: {why}", tree.name));
    let mut tables = Vec::new();
    gather(&document, String::new(), &mut tables);
    let places = tables.iter().flat_map(|table| {
        let entries = document.pointer(table).and_then(Value::as_object).unwrap();
        entries
            .keys()
            .filter(|it| tree.keys.contains(&&***it))
            .map(move |key| (table, key))
    });
    let places: Vec<_> = places.collect();
    for key in tree.keys {
        assert!(
            places.iter().any(|(_, it)| it == key),
            "{}: {key}",
            tree.name
        );
    }
    places
        .into_iter()
        .flat_map(|(table, key)| of_key(&document, &tables, table, key))
        .collect()
}

/// Where each mapping stands (RFC 6901).
fn gather(value: &Value, at: String, tables: &mut Vec<String>) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                let key = key.replace('~', "~0").replace('/', "~1");
                gather(value, format!("{at}/{key}"), tables);
            }
            tables.push(at);
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                gather(item, format!("{at}/{index}"), tables);
            }
        }
        _ => {}
    }
}

fn of_key(document: &Value, tables: &[String], table: &str, key: &str) -> Vec<Mutant> {
    let mut without = document.clone();
    let value = entries(&mut without, table).remove(key).unwrap();
    let silent = without.to_string();
    let mutant = |how, what: String, document: &Value, silent: &str| Mutant {
        how,
        what: format!("{table}/{key} {what}"),
        text: serde_json::to_string_pretty(document).unwrap(),
        silent: silent.to_owned(),
    };
    let mut mutants = Vec::new();
    for slip in slips(key) {
        let mut document = without.clone();
        entries(&mut document, table).insert(slip.clone(), value.clone());
        mutants.push(mutant("misspelled", slip, &document, &silent));
    }
    for other in tables.iter().filter(|it| *it != table) {
        let mut document = without.clone();
        // What stood in the key itself is gone with it.
        let Some(Value::Object(entries)) = document.pointer_mut(other) else {
            continue;
        };
        if !entries.contains_key(key) {
            entries.insert(key.to_owned(), value.clone());
            mutants.push(mutant("moved", format!("to {other}"), &document, &silent));
        }
    }
    let (off, others) = instead(&value);
    for (how, value) in std::iter::once(("switched off", off))
        .chain(others.into_iter().map(|it| ("of another type", it)))
    {
        let mut changed = document.clone();
        entries(&mut changed, table).insert(key.to_owned(), value.clone());
        let silent = if how == "switched off" {
            document.to_string()
        } else {
            silent.clone()
        };
        mutants.push(mutant(how, format!("as {value}"), &changed, &silent));
    }
    mutants
}

fn entries<'v>(document: &'v mut Value, table: &str) -> &'v mut Map<String, Value> {
    document
        .pointer_mut(table)
        .and_then(Value::as_object_mut)
        .unwrap()
}

/// What switches a value off, and what is none of its kind.
fn instead(value: &Value) -> (Value, Vec<Value>) {
    match value {
        Value::Null => (json!(0), vec![json!([1]), json!("on")]),
        Value::Bool(it) => (
            json!(!it),
            vec![json!("perhaps"), json!([it]), json!({"value": it})],
        ),
        Value::Number(it) => (
            json!(0),
            vec![json!("three"), json!([it]), json!({"value": it})],
        ),
        Value::String(it) => (json!("0"), vec![json!([[it]]), json!({"value": it})]),
        Value::Array(it) => (json!([]), vec![json!(3), json!({"value": it})]),
        Value::Object(it) => (json!({}), vec![json!(3), json!("on"), json!([it])]),
    }
}
