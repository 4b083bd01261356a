//! What does a service config say that becalm does not do? A user who reads it does not rely on it.

use std::fmt;

use serde_json::Value;

/// Something that a service config says and that has no effect here.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotDone {
    /// The field, such as `methodConfig[0].waitForReady`.
    pub path: String,
    /// What follows from it, as the rest of a sentence that begins with the field.
    pub sentence: &'static str,
}

/// One sentence.
impl fmt::Display for NotDone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.path, self.sentence)
    }
}

/// A field that gRPC knows, and what becalm makes of it; `None` where it does it.
type Known = (&'static str, Option<&'static str>);

const CONFIG: &[Known] = &[
    ("methodConfig", None),
    ("retryThrottling", None),
    ("loadBalancingPolicy", Some(BALANCING)),
    ("loadBalancingConfig", Some(BALANCING)),
    (
        "healthCheckConfig",
        Some("is not done: the channel checks no health"),
    ),
    (
        "connectionScaling",
        Some("is not done: the channel decides on its connections"),
    ),
];
const METHOD: &[Known] = &[
    ("name", None),
    ("retryPolicy", None),
    ("hedgingPolicy", None),
    ("timeout", None),
    (
        "waitForReady",
        Some(
            "is not done: a call that finds no connection fails, and is repeated as its policy says, in place of waiting for one",
        ),
    ),
    (
        "maxRequestMessageBytes",
        Some("is not done: set `max_encoding_message_size` of the generated client"),
    ),
    (
        "maxResponseMessageBytes",
        Some("is not done: set `max_decoding_message_size` of the generated client"),
    ),
];
const RETRY: &[Known] = &[
    ("maxAttempts", None),
    ("initialBackoff", None),
    ("maxBackoff", None),
    ("backoffMultiplier", None),
    ("retryableStatusCodes", None),
    (
        "perAttemptRecvTimeout",
        Some(
            "is not done: an attempt has no time limit but the call's; `attempt_timeout` of a policy of your own is one, which servers hear of",
        ),
    ),
];
const HEDGING: &[Known] = &[
    ("maxAttempts", None),
    ("hedgingDelay", None),
    ("nonFatalStatusCodes", None),
];
const THROTTLING: &[Known] = &[("maxTokens", None), ("tokenRatio", None)];
const NAME: &[Known] = &[("service", None), ("method", None)];

const BALANCING: &str = "is not done: the channel decides where calls go";
const UNKNOWN: &str = "is no field that gRPC's service config has here, and has no effect";
const AGAIN: &str = "stands there already in other letters, and has no effect";

/// Everything that this config says and that is not done, in its order. Whatever shape it has.
pub(super) fn read(config: &Value) -> Vec<NotDone> {
    let mut all = Vec::new();
    fields(config, "", CONFIG, &mut all);
    if let Some(throttling) = get(config, "retryThrottling") {
        fields(throttling, "retryThrottling", THROTTLING, &mut all);
    }
    for (at, method) in list(config, "methodConfig") {
        let path = format!("methodConfig[{at}]");
        fields(method, &path, METHOD, &mut all);
        for (name, known) in [("retryPolicy", RETRY), ("hedgingPolicy", HEDGING)] {
            if let Some(policy) = get(method, name) {
                fields(policy, &format!("{path}.{name}"), known, &mut all);
            }
        }
        for (at, name) in list(method, "name") {
            fields(name, &format!("{path}.name[{at}]"), NAME, &mut all);
        }
    }
    all
}

fn fields(value: &Value, path: &str, known: &[Known], all: &mut Vec<NotDone>) {
    let Some(object) = value.as_object() else {
        return;
    };
    for (at, (name, value)) in object.iter().enumerate() {
        let is_same = |other: &str| other.eq_ignore_ascii_case(name);
        let sentence = match known.iter().find(|(known, _)| is_same(known)) {
            // As gRPC has it without a word.
            _ if value.is_null() || *value == Value::Bool(false) => None,
            Some(_) if object.keys().take(at).any(|other| is_same(other)) => Some(AGAIN),
            Some((_, sentence)) => *sentence,
            None => Some(UNKNOWN),
        };
        if let Some(sentence) = sentence {
            let dot = if path.is_empty() { "" } else { "." };
            let name = if name.is_empty() { "\"\"" } else { name };
            let path = format!("{path}{dot}{name}");
            all.push(NotDone { path, sentence });
        }
    }
}

/// The field of this name in any case of letters.
fn get<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    let mut fields = value.as_object()?.iter();
    let (_, value) = fields.find(|(other, _)| other.eq_ignore_ascii_case(name))?;
    Some(value)
}

fn list<'v>(value: &'v Value, name: &str) -> impl Iterator<Item = (usize, &'v Value)> {
    let list = get(value, name).and_then(Value::as_array);
    list.into_iter().flatten().enumerate()
}
