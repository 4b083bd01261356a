//! What is a message, and what is known of its history?

use std::collections::HashSet;
use std::time::Duration;

use becalm_fleet::consumer::Delivery;
use redis::Value;

/// A message as a handler gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub(super) place: Place,
    pub(super) fields: Vec<Pair>,
    pub(super) history: History,
    pub(super) delivery: Delivery,
}

pub(super) type Pair = (Vec<u8>, Vec<u8>);

/// Where its entry lies: in which of the two streams, by which id.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub source: Source,
    pub id: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Source {
    /// The stream that publishers fill.
    Stream = 1,
    /// The group's own, of what comes back.
    Again = 2,
}

/// Milliseconds are those of the server's clock.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct History {
    /// The id of its first entry.
    pub id: String,
    pub failed: u32,
    pub charged: u32,
    pub seen: u64,
    pub failed_at: Option<u64>,
    pub error: String,
}

impl Message {
    /// The id of its entry in the stream, the same however often it comes back: fit for an idempotency key.
    pub fn id(&self) -> &str {
        &self.history.id
    }

    /// The value of this field.
    pub fn get(&self, field: &str) -> Option<&[u8]> {
        let mut fields = self.fields.iter();
        let found = fields.find(|(name, _)| name == field.as_bytes());
        found.map(|(_, value)| &**value)
    }

    /// The value of this field, where it is text.
    pub fn text(&self, field: &str) -> Option<&str> {
        std::str::from_utf8(self.get(field)?).ok()
    }

    /// All fields, as they were published, but those whose names begin with `becalm-`: they are of an earlier life, of which a dead letter
    /// that was put back knows.
    pub fn fields(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.fields.iter().map(|(name, value)| (&**name, &**value))
    }

    /// What is known of its past: how often it has failed, was charged, how old it is.
    pub fn delivery(&self) -> &Delivery {
        &self.delivery
    }

    /// What its handler has last failed with, in its own words: at most 1,000 bytes of them.
    pub fn last_error(&self) -> Option<&str> {
        Some(&*self.history.error).filter(|error| !error.is_empty())
    }

    /// What a script handed out at this time of the server.
    pub(super) fn of(entry: Value, now: u64) -> Option<Self> {
        let Value::Array(parts) = entry else {
            return None;
        };
        let [source, id, Value::Array(fields)] = <[Value; 3]>::try_from(parts).ok()? else {
            return None;
        };
        let source = match source {
            Value::Int(1) => Source::Stream,
            _ => Source::Again,
        };
        let id = String::from_utf8(bytes(id)?).ok()?;
        let mut values = fields.into_iter();
        let mut fields = Vec::with_capacity(values.len() / 2);
        let published = id
            .split_once('-')
            .and_then(|(millis, _)| millis.parse().ok());
        let mut history = History {
            id: id.clone(),
            // An id that is no time of this millennium is its publisher's own.
            seen: published
                .filter(|at| (1_000_000_000_000..=now).contains(at))
                .unwrap_or(now),
            ..History::default()
        };
        // A dead letter that was put back and held behind another has two: its own is the first.
        let mut read = HashSet::new();
        while let (Some(name), Some(value)) = (values.next(), values.next()) {
            let (name, value) = (bytes(name)?, bytes(value)?);
            if !name.starts_with(b"becalm-") {
                fields.push((name, value));
            } else if source == Source::Again && !read.contains(&name) {
                history.read(&name, &value);
                read.insert(name);
            }
        }
        let since = |then: u64| Duration::from_millis(now.saturating_sub(then));
        let delivery = Delivery::default()
            .failed(history.failed)
            .charged(history.charged)
            .age(since(history.seen))
            .since_failed(history.failed_at.map(since));
        Some(Self {
            place: Place { source, id },
            fields,
            history,
            delivery,
        })
    }
}

impl History {
    fn read(&mut self, name: &[u8], value: &[u8]) {
        let text = String::from_utf8_lossy(value);
        match name {
            b"becalm-id" => self.id = text.into_owned(),
            b"becalm-failed" => self.failed = text.parse().unwrap_or_default(),
            b"becalm-charged" => self.charged = text.parse().unwrap_or_default(),
            b"becalm-seen" => self.seen = text.parse().unwrap_or(self.seen),
            b"becalm-failed-at" => self.failed_at = text.parse().ok(),
            b"becalm-error" => self.error = text.into_owned(),
            _ => {}
        }
    }
}

fn bytes(value: Value) -> Option<Vec<u8>> {
    match value {
        Value::BulkString(bytes) => Some(bytes),
        _ => None,
    }
}
