//! Which names and values does a line say? By JSON, by `name=value`, or by `name:value` between tabs.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// The names and values of a line.
#[derive(Debug)]
pub enum Members {
    /// An object of JSON.
    Json(Map<String, Value>),
    /// Pairs of logfmt (<https://brandur.org/logfmt>) or LTSV (<http://ltsv.org>).
    Pairs(Vec<(String, String)>),
}

impl Members {
    /// Those of this line; `None` of one that is neither.
    pub fn of(line: &[u8]) -> Option<Self> {
        if line.trim_ascii_start().starts_with(b"{") {
            return object(line).ok().map(Self::Json);
        }
        let text = std::str::from_utf8(line).ok()?;
        let pairs = if text.contains('\t') {
            tabbed(text)
        } else {
            spaced(text)
        };
        pairs.map(Self::Pairs)
    }

    /// Whether there is a value at this path, and be it that it says nothing.
    pub fn has(&self, path: &str) -> bool {
        match self {
            Self::Json(members) => inside(members, path).is_some(),
            Self::Pairs(pairs) => pairs.iter().any(|(name, _)| name == path),
        }
    }

    /// The value at this path, as text; `None` if it says nothing. Dots stand between the names of objects inside of objects, unless
    /// a name has them itself; a number stands for a place of a list, `-1` for its last.
    pub fn at(&self, path: &str) -> Option<Cow<'_, str>> {
        let value = match self {
            Self::Json(members) => text(inside(members, path)?)?,
            Self::Pairs(pairs) => {
                let (_, value) = pairs.iter().find(|(name, _)| name == path)?;
                Cow::Borrowed(value.as_str())
            }
        };
        (!matches!(&*value, "" | "-")).then_some(value)
    }
}

/// An object of JSON. nginx writes bytes that are no UTF-8 as they are with `escape=json`, and as `\xE9` without it; neither is
/// JSON.
pub fn object(line: &[u8]) -> serde_json::Result<Map<String, Value>> {
    serde_json::from_slice(line).or_else(|_| mended(line))
}

#[cold]
fn mended(line: &[u8]) -> serde_json::Result<Map<String, Value>> {
    serde_json::from_str(&String::from_utf8_lossy(line).replace("\\x", "\\\\x"))
}

fn inside<'a>(members: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    if let Some(value) = members.get(path) {
        return Some(value);
    }
    let mut dots = path.match_indices('.');
    dots.find_map(|(at, _)| below(members.get(&path[..at])?, &path[at + 1..]))
}

fn below<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    match value {
        Value::Object(members) => inside(members, path),
        Value::Array(items) => {
            let (place, rest) = path.split_once('.').unwrap_or((path, ""));
            let item = match place {
                "-1" => items.last(),
                place => items.get(place.parse::<usize>().ok()?),
            }?;
            if rest.is_empty() {
                Some(item)
            } else {
                below(item, rest)
            }
        }
        _ => None,
    }
}

/// What a value says; a list of one says what this one does, as headers do.
pub fn text(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Number(number) => Some(Cow::Owned(digits(number))),
        Value::Array(items) => match items.as_slice() {
            [one] => text(one),
            _ => None,
        },
        _ => None,
    }
}

/// A number without an exponent.
fn digits(number: &serde_json::Number) -> String {
    let text = number.to_string();
    match number.as_f64() {
        Some(float) if text.contains(['e', 'E']) => format!("{float:.9}"),
        _ => text,
    }
}

/// `name=value name="another value"`, at least two of them, with other words between or not.
fn spaced(line: &str) -> Option<Vec<(String, String)>> {
    let mut pairs = Vec::new();
    let mut rest = line;
    while let Some((before, behind)) = rest.split_once('=') {
        let name = before.rsplit([' ', '\t']).next().unwrap_or(before);
        let (value, behind) = if let Some(quoted) = behind.strip_prefix('"') {
            let end = end_of_quoted(quoted)?;
            let behind = quoted.get(end + 1..).unwrap_or_default();
            (quoted[..end].replace("\\\"", "\""), behind)
        } else {
            let (value, behind) = behind.split_once(' ').unwrap_or((behind, ""));
            (value.to_owned(), behind)
        };
        if !name.is_empty() {
            pairs.push((name.to_owned(), value));
        }
        rest = behind;
    }
    (pairs.len() > 1).then_some(pairs)
}

fn end_of_quoted(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.bytes().position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    })
}

/// `name:value` between tabs.
fn tabbed(line: &str) -> Option<Vec<(String, String)>> {
    let each = line.split('\t').filter(|it| !it.is_empty());
    let pair = |it: &str| {
        let (name, value) = it.split_once([':', '='])?;
        Some((name.to_owned(), value.to_owned()))
    };
    each.map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: &str, path: &str) -> Option<String> {
        Members::of(line.as_bytes())?.at(path).map(Cow::into_owned)
    }

    #[test]
    fn paths_lead_into_objects_and_lists_and_a_name_may_have_dots() {
        let line = r#"{"a":{"b":1.5,"c.d":"x","l":[{"ip":"p"},{"ip":"q"}],"h":["one"]},"a.b.c":7,"e":5.4e-07,"n":null,"z":"-"}"#;
        for (path, value) in [
            ("a.b", Some("1.5")),
            ("a.c.d", Some("x")),
            ("a.b.c", Some("7")),
            ("a.l.0.ip", Some("p")),
            ("a.l.-1.ip", Some("q")),
            ("a.h", Some("one")),
            ("e", Some("0.000000540")),
            ("a.l", None),
            ("a.l.2.ip", None),
            ("n", None),
            ("z", None),
            ("A.b", None),
        ] {
            assert_eq!(at(line, path).as_deref(), value, "{path}");
        }
    }

    #[test]
    fn pairs_are_read_as_logfmt_and_ltsv_have_them() {
        let logfmt = r#"lvl=info msg="a \"b\" c=d" took=17ms path=/a?b=c end="#;
        for (name, value) in [
            ("lvl", Some("info")),
            ("msg", Some("a \"b\" c=d")),
            ("took", Some("17ms")),
            ("path", Some("/a?b=c")),
            ("end", None),
            ("c", None),
        ] {
            assert_eq!(at(logfmt, name).as_deref(), value, "{name}");
        }
        let ltsv = "time:[23/Nov/2026:11:02:31 +0000]\tstatus:200\treqtime:0.017";
        assert_eq!(
            at(ltsv, "time").as_deref(),
            Some("[23/Nov/2026:11:02:31 +0000]")
        );
        assert_eq!(at(ltsv, "reqtime").as_deref(), Some("0.017"));
        assert!(Members::of(b"hello world").is_none());
        assert!(Members::of(b"a\tb").is_none());
    }
}
