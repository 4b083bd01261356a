//! What is asked of the target? A GET or HEAD of its address, or what a file says.

use std::path::Path;

use http::header::{CONTENT_LENGTH, HeaderName, TRANSFER_ENCODING};
use http::{HeaderValue, Method};
use serde::Deserialize;

use crate::ask::{Ask, CALL};

const KEY: &str = "idempotency-key";

/// A file of `--request`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default = "get")]
    method: String,
    path: Option<String>,
    #[serde(default)]
    headers: toml::Table,
    #[serde(default)]
    body: String,
}

fn get() -> String {
    "GET".into()
}

/// Reads the request of a file; it is made at `path` if the file has none.
///
/// # Errors
///
/// A sentence that names the file and the remedy.
pub fn read(file: &Path, path: &str) -> Result<Ask, String> {
    let refused = |sentence: String| format!("--request {}: {sentence}", file.display());
    let text = std::fs::read_to_string(file).map_err(|error| refused(error.to_string()))?;
    ask(&text, path).map_err(refused)
}

fn ask(text: &str, path: &str) -> Result<Ask, String> {
    let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
    let method = Method::from_bytes(file.method.as_bytes())
        .map_err(|_| format!("`{}` is no method; write one such as POST", file.method))?;
    let headers = file.headers.into_iter().map(header);
    let ask = Ask {
        headers: headers.collect::<Result<_, String>>()?,
        path: file.path.unwrap_or_else(|| path.into()),
        body: file.body,
        method,
        ..Ask::default()
    };
    let has_key = |(name, value): &(HeaderName, String)| name == KEY && value.contains(CALL);
    if !may_be_repeated(&ask.method) && !ask.headers.iter().any(has_key) {
        return Err(format!(
            "a {} that is sent again may take effect twice; give it a key of its call, under \
             [headers]: Idempotency-Key = \"{CALL}\"",
            ask.method
        ));
    }
    let path = ask.path.starts_with('/');
    let built = ask.request(0).map_err(|error| error.to_string());
    if path {
        built.map(|_| ask)
    } else {
        Err(format!(
            "the path `{}` must begin with a slash, as in /orders?limit=1",
            ask.path
        ))
    }
}

/// Methods that are sent without a key.
fn may_be_repeated(method: &Method) -> bool {
    [Method::GET, Method::HEAD].contains(method)
}

fn header((name, value): (String, toml::Value)) -> Result<(HeaderName, String), String> {
    let header = HeaderName::try_from(&name)
        .map_err(|_| format!("`{name}` is no name of a header; it may have letters and hyphens"))?;
    if [CONTENT_LENGTH, TRANSFER_ENCODING].contains(&header) {
        return Err(format!(
            "leave out the header {name}: how long the body is differs from call to call, and is said of each by itself"
        ));
    }
    match value {
        toml::Value::String(value) if HeaderValue::try_from(&value).is_ok() => Ok((header, value)),
        _ => Err(format!(
            "the header {name} needs a text without line breaks, in quotes"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the published schema takes this file.
    fn fits(text: &str) -> bool {
        // Read when the test runs: no page is in the package.
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../docs/request.schema.json"
        );
        let schema = std::fs::read_to_string(path).unwrap();
        let schema = serde_json::from_str(&schema).unwrap();
        let table: toml::Table = toml::from_str(text).unwrap();
        jsonschema::is_valid(&schema, &serde_json::to_value(table).unwrap())
    }

    #[test]
    fn a_request_is_read_with_what_differs_in_each_call() {
        let text = "method = \"POST\"\npath = \"/orders?now\"\nbody = '{\"item\": 1}'\n\
                    [headers]\nContent-Type = \"application/json\"\nIdempotency-Key = \"{call}\"\n";
        assert!(fits(text) && fits("method = \"HEAD\""));
        let ask = ask(text, "/").unwrap();
        let request = ask.request(7).unwrap();
        assert_eq!(request.method(), Method::POST);
        assert_eq!(request.uri(), "/orders?now");
        assert_eq!(request.headers()[KEY], "7");
        assert_eq!(super::ask("", "/here").unwrap().path, "/here");
    }

    #[test]
    fn what_could_do_harm_twice_or_is_no_request_is_refused_with_a_remedy() {
        for (text, words) in [
            ("method = \"POST\"", "Idempotency-Key = \"{call}\""),
            (
                "method = \"DELETE\"\n[headers]\nIdempotency-Key = \"one\"",
                "take effect twice",
            ),
            ("method = \"P O\"", "no method"),
            ("path = \"orders\"", "slash"),
            ("path = \"/a b\"", "uri"),
            ("[headers]\n\"a b\" = \"c\"", "no name of a header"),
            ("[headers]\na = 1", "in quotes"),
            ("[headers]\na = \"b\\nc\"", "line breaks"),
            (
                "[headers]\ncontent-Length = \"3\"",
                "leave out the header content-Length",
            ),
            (
                "[headers]\nTransfer-Encoding = \"chunked\"",
                "leave out the header Transfer-Encoding",
            ),
            ("verb = \"GET\"", "unknown field"),
        ] {
            assert!(!fits(text), "the schema takes {text}");
            let refused = ask(text, "/").unwrap_err();
            assert!(
                refused.to_lowercase().contains(&words.to_lowercase()),
                "{text}: {refused}"
            );
        }
    }
}
