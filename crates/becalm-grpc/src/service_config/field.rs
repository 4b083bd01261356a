//! How is one field of a config read, so that what is wrong with it is told with its path?

use std::time::Duration;

use becalm::support::Human;
use serde_json::{Map, Value};

use super::invalid::Fault;

/// A value with the way to it from the root.
pub(super) struct Field<'v> {
    path: String,
    value: &'v Value,
}

impl<'v> Field<'v> {
    pub fn root(value: &'v Value) -> Self {
        Self {
            path: String::new(),
            value,
        }
    }

    pub fn path(&self) -> &str {
        &self.path
    }

    /// The field of this name in any case of letters; `None` where there is none, or null.
    pub fn get(&self, name: &str) -> Option<Self> {
        let fields = self.value.as_object()?;
        let mut fields = fields.iter();
        let (_, value) = fields.find(|(other, _)| other.eq_ignore_ascii_case(name))?;
        let dot = if self.path.is_empty() { "" } else { "." };
        (!value.is_null()).then(|| Self {
            path: format!("{}{dot}{name}", self.path),
            value,
        })
    }

    /// The field of this name, which has to be there.
    pub fn required(&self, name: &str, faults: &mut Vec<Fault>) -> Option<Self> {
        let found = self.get(name);
        if found.is_none() {
            let path = format!("{}.{name}", self.path);
            faults.push(Fault::new(path, "is missing"));
        }
        found
    }

    pub fn refuse(&self, wanted: &str, faults: &mut Vec<Fault>) {
        let sentence = format!("has to be {wanted}, and is {}", self.value);
        faults.push(Fault::new(&self.path, sentence));
    }

    pub fn object(&self, faults: &mut Vec<Fault>) -> Option<&'v Map<String, Value>> {
        let object = self.value.as_object();
        if object.is_none() {
            self.refuse("an object", faults);
        }
        object
    }

    /// The elements of a list.
    pub fn list(&self, faults: &mut Vec<Fault>) -> Option<Vec<Self>> {
        let Some(list) = self.value.as_array() else {
            self.refuse("a list", faults);
            return None;
        };
        let element = |(at, value)| Self {
            path: format!("{}[{at}]", self.path),
            value,
        };
        Some(list.iter().enumerate().map(element).collect())
    }

    pub fn is_empty_list(&self) -> bool {
        self.value.as_array().is_some_and(Vec::is_empty)
    }

    /// A text; what is not there is empty.
    pub fn text(&self, name: &str, faults: &mut Vec<Fault>) -> Option<String> {
        let Some(field) = self.get(name) else {
            return Some(String::new());
        };
        let text = field.value.as_str();
        if text.is_none() {
            field.refuse("a text", faults);
        }
        text.map(Into::into)
    }

    pub fn as_text(&self) -> Option<&'v str> {
        self.value.as_str()
    }

    /// A whole number, also one that is written as a text or with a fraction of zero: both are the JSON form
    /// of a whole number (proto3).
    pub fn as_whole(&self) -> Option<u64> {
        let number = match self.value {
            Value::String(text) => text.parse().ok()?,
            value => value.as_f64()?,
        };
        let is_whole = number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "whole, and within 32 bits"
        )]
        is_whole.then_some(number as u64)
    }

    pub fn as_number(&self) -> Option<f64> {
        match self.value {
            Value::String(text) => text.parse().ok(),
            value => value.as_f64(),
        }
    }

    /// A length of time in the JSON form of `google.protobuf.Duration`, such as `1.5s`, more than zero.
    pub fn span(&self, faults: &mut Vec<Fault>) -> Option<Duration> {
        let span = self.value.as_str().and_then(seconds);
        let span = span.filter(|span| !span.is_zero());
        if span.is_none() {
            let example = Human(Duration::from_millis(1500));
            let wanted =
                format!("more than zero seconds in the form \"1.5s\", which means {example}");
            self.refuse(&wanted, faults);
        }
        span
    }
}

/// Digits, a fraction of at most nine, and `s`. A fraction alone is taken, as grpc-go does.
pub(super) fn seconds(text: &str) -> Option<Duration> {
    let number = text.strip_suffix('s')?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_number = digits(whole) && digits(fraction) && !(whole.is_empty() && fraction.is_empty());
    if !is_number || fraction.len() > 9 {
        return None;
    }
    let whole = if whole.is_empty() { "0" } else { whole };
    let nanos: u32 = format!("{fraction:0<9}").parse().ok()?;
    Some(Duration::new(whole.parse().ok()?, nanos))
}
