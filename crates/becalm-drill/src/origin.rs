//! What does the JSON document of every drill begin with, and how is it written?

use std::time::Duration;

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

/// Begins a document with the version of its names and meanings, which becalm has held the drill, and how to hold it again.
///
/// # Errors
///
/// As the serializer says.
pub fn begun<S: Serializer>(
    serializer: S,
    schema: u32,
    command: &str,
) -> Result<S::SerializeMap, S::Error> {
    let mut document = serializer.serialize_map(None)?;
    document.serialize_entry("schema", &schema)?;
    document.serialize_entry("becalm", env!("CARGO_PKG_VERSION"))?;
    document.serialize_entry("command", command)?;
    Ok(document)
}

/// The document as text, ended by a line break.
///
/// # Errors
///
/// A sentence.
pub fn text(document: &(impl Serialize + ?Sized)) -> Result<String, String> {
    match serde_json::to_string(document) {
        Ok(text) => Ok(text + "\n"),
        Err(error) => Err(format!("the figures cannot be written as JSON: {error}")),
    }
}

/// A duration in milliseconds.
///
/// # Errors
///
/// As the serializer says.
pub fn in_ms<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(milliseconds(*time))
}

/// A duration in milliseconds; null without one.
///
/// # Errors
///
/// As the serializer says.
#[cfg(all(feature = "ws", unix))]
#[expect(clippy::ref_option, reason = "serde hands over the field")]
pub fn in_ms_or_null<S: Serializer>(
    time: &Option<Duration>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    time.map(milliseconds).serialize(serializer)
}

/// The duration in milliseconds, as the JSON document has it.
#[expect(clippy::cast_precision_loss)] // exact up to 104 days
pub fn milliseconds(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1e6
}

#[cfg(test)]
pub mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use serde_json::Value;

    type Types = BTreeMap<String, BTreeSet<&'static str>>;

    /// Every key of these documents, a line each, with the types that its values have.
    ///
    /// A snapshot of it fails when a key is renamed or lost, or when its type changes. The elements of an array are one
    /// key, so that nothing hangs on how many there are.
    pub fn keys(documents: &[String]) -> String {
        let mut types = Types::new();
        for document in documents {
            let document = serde_json::from_str(document).unwrap();
            add(&document, "", &mut types);
        }
        let lines = types.into_iter().map(|(key, types)| {
            let types: Vec<_> = types.into_iter().collect();
            format!("{key}: {}\n", types.join(" or "))
        });
        lines.collect()
    }

    fn add(value: &Value, key: &str, types: &mut Types) {
        let name = match value {
            Value::Null => "null",
            Value::Bool(_) => "bool",
            Value::Number(number) if number.is_f64() => "number",
            Value::Number(_) => "integer",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        types.entry(key.into()).or_default().insert(name);
        match value {
            Value::Array(elements) => {
                for element in elements {
                    add(element, &format!("{key}[]"), types);
                }
            }
            Value::Object(fields) => {
                for (name, field) in fields {
                    add(field, &format!("{key}.{name}"), types);
                }
            }
            _ => (),
        }
    }

    #[test]
    fn the_types_of_one_key_are_told_together() {
        let documents = [
            r#"{"a": [1, 0.5], "b": null}"#,
            r#"{"a": [], "b": {"c": ""}}"#,
        ];
        let told = keys(&documents.map(String::from));
        let expected =
            ": object\n.a: array\n.a[]: integer or number\n.b: null or object\n.b.c: string\n";
        assert_eq!(told, expected);
    }
}
