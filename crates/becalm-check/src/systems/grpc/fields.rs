//! How does a client of gRPC read the fields of a service config?

use std::time::Duration;

use crate::code;
use crate::document::{Key, Node, Span, Value};
use crate::reading::Reading;
use crate::told::Told;

/// Whose reading of a config it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client {
    /// C-core: numbers may be texts, codes are names in capital letters.
    Core,
    /// grpc-js: numbers are numbers, codes are names in any letters, or numbers.
    Js,
    /// grpc-go: numbers are numbers, fields have any letters (`service_config.go`, read by `encoding/json`).
    Go,
    /// grpc-java: numbers may be texts, it hedges (`ManagedChannelServiceConfig`, `ServiceConfigUtil`, `RetriableStream`).
    Java,
}

impl Client {
    pub fn of(version: &str) -> Self {
        match version.split('-').next() {
            Some("js") => Self::Js,
            Some("go") => Self::Go,
            Some("java") => Self::Java,
            _ => Self::Core,
        }
    }

    /// How a choice of a TXT record names it (gRFC A2), in small letters.
    pub const fn language(self) -> &'static str {
        match self {
            Self::Core => "c++",
            Self::Js => "node",
            Self::Go => "go",
            Self::Java => "java",
        }
    }

    /// Whether numbers have no quotes.
    pub const fn has_plain_numbers(self) -> bool {
        matches!(self, Self::Js | Self::Go)
    }

    /// Whether it reads a `hedgingPolicy`.
    pub const fn hedges(self) -> bool {
        matches!(self, Self::Js | Self::Java)
    }
}

/// The value of a field.
pub fn field<'n>(reading: &mut Reading<'_>, of: &'n Node, name: &str) -> Option<&'n Node> {
    spelled(reading, of, name).map(|(_, node)| node)
}

/// The field of this name; one in other letters is told.
pub fn spelled<'n>(
    reading: &mut Reading<'_>,
    of: &'n Node,
    name: &str,
) -> Option<(&'n Key, &'n Node)> {
    if let Some(exact) = of.entry(name) {
        return Some(exact).filter(|(_, node)| !node.is_null());
    }
    let (key, node) = misspelled(of, name)?;
    if Client::of(reading.version) == Client::Go {
        return Some((key, node)).filter(|(_, node)| !node.is_null());
    }
    let sentence = format!(
        "{} does not read `{}`, only `{name}`; grpc-go reads it in any letters",
        reading.who(),
        key.name
    );
    let remedy = format!("write `{name}`");
    reading.find(key.span, code::KEY_NOT_READ, sentence, remedy);
    None
}

fn misspelled<'n>(of: &'n Node, name: &str) -> Option<(&'n Key, &'n Node)> {
    let mut entries = of.entries().iter();
    let (key, node) = entries.find(|(key, _)| key.name.eq_ignore_ascii_case(name))?;
    key.asked.set(true);
    Some((key, node))
}

/// The field that has to be there. One in other letters, which makes the config as bad as one that lacks it, is read as
/// grpc-go reads it.
pub fn required<'n>(
    reading: &mut Reading<'_>,
    of: &'n Node,
    name: &str,
    span: Span,
) -> Option<&'n Node> {
    let who = reading.who();
    let is_exact = Client::of(reading.version) != Client::Go;
    if let (true, None, Some((key, node))) = (is_exact, of.entry(name), misspelled(of, name)) {
        let about = format!("`{}` is no `{name}`", key.name);
        let cause = format!(
            "{who} reads fields in these letters alone, and refuses the config without them: all calls fail; grpc-go reads any letters"
        );
        let remedy =
            "write fields as gRPC's documentation has them, or read the file with `--as grpc@go`";
        reading.find_of(&about, key.span, code::NO_SUCH_FIELD, &cause, remedy);
        return Some(node);
    }
    let found = field(reading, of, name);
    if found.is_none() {
        let sentence = format!("{who} refuses the config, as `{name}` is missing: all calls fail");
        reading.find(span, code::REFUSED, sentence, format!("add `{name}`"));
    }
    found
}

/// A number that has to be there, in the form that this client reads.
pub fn number(
    reading: &mut Reading<'_>,
    of: &Node,
    name: &str,
    span: Span,
    is_taken: impl Fn(f64, &Node) -> bool,
) -> Option<(f64, Span)> {
    let node = required(reading, of, name, span)?;
    let form = format!("a value that {} takes for `{name}`", reading.who());
    reading.needed(node, &form, |text| {
        let number: f64 = text.parse().ok()?;
        (number.is_finite() && is_taken(number, node)).then_some(number)
    })
}

/// How durations are written.
const SPAN: &str = "a text such as \"1.5s\"";

/// A duration.
pub fn span(reading: &mut Reading<'_>, node: &Node) -> Told<Duration> {
    let client = Client::of(reading.version);
    reading.told(Some(node), SPAN, |text| parsed(client, node, text))
}

/// A duration that has to be there.
pub fn needed_span(reading: &mut Reading<'_>, node: &Node) -> Option<(Duration, Span)> {
    let client = Client::of(reading.version);
    reading.needed(node, SPAN, |text| parsed(client, node, text))
}

fn parsed(client: Client, node: &Node, given: &str) -> Option<Duration> {
    let is_whole = client != Client::Js
        || given.starts_with(|c: char| c.is_ascii_digit()) && !given.contains(".s");
    // grpc-go alone takes `.5s`.
    let is_bare = client == Client::Go && given.starts_with('.') && given != ".s";
    let text = is_bare.then(|| format!("0{given}"));
    let text = text.as_deref().unwrap_or(given);
    (!is_number(node) && is_whole).then(|| crate::durations::proto_duration(text))?
}

/// Whether it is a number of JSON, and no text.
pub fn is_number(node: &Node) -> bool {
    matches!(&node.value, Value::Scalar { text, quoted: false } if text.parse::<f64>().is_ok())
}

pub const fn is_quoted(node: &Node) -> bool {
    matches!(&node.value, Value::Scalar { quoted: true, .. })
}

pub const fn is_list(node: &Node) -> bool {
    matches!(node.value, Value::List(_))
}
