//! How does a message move between the keys of its group? Each move is one script, and may be sent twice.

use std::sync::Arc;
use std::time::Duration;

use redis::{ErrorKind, RedisError, RedisResult, Value, cmd};

use crate::Connection;
use crate::script::Script;

use super::message::{Message, Place, Source};

/// The keys of a group, and its scripts.
#[derive(Debug, Clone)]
pub(super) struct Store {
    /// All that is sent may be sent again.
    redis: Connection,
    keys: Keys,
    group: String,
    name: String,
    order_field: String,
    deletes: bool,
    scripts: Arc<Scripts>,
}

#[derive(Debug, Clone)]
struct Keys {
    stream: String,
    again: String,
    later: String,
    dead: String,
    holds: String,
    held: String,
    trimmed: String,
}

#[derive(Debug)]
struct Scripts {
    take: Script,
    settle: Script,
    keep: Script,
    leave: Script,
}

/// What was taken.
pub(super) struct Taken {
    pub messages: Vec<Message>,
    /// When the next message comes back.
    pub due: Option<Duration>,
    /// Where both streams ended, if nothing was taken.
    pub ends: [String; 2],
}

/// Where a message goes.
#[derive(Debug, Clone)]
pub(super) enum Move {
    Done,
    Later { delay: Duration, has_failed: bool },
    Dead { reason: &'static str },
}

impl Store {
    pub fn new(
        redis: &Connection,
        [stream, group, name]: [String; 3],
        order_field: Option<String>,
        deletes: bool,
    ) -> Self {
        let of_group = |what: &str| format!("{stream}:{group}:{what}");
        Self {
            redis: redis.numbered(),
            keys: Keys {
                again: of_group("again"),
                later: of_group("later"),
                dead: of_group("dead"),
                holds: of_group("holds"),
                held: of_group("held:"),
                trimmed: of_group("trimmed"),
                stream,
            },
            group,
            name,
            order_field: order_field.unwrap_or_default(),
            deletes,
            scripts: Arc::new(Scripts {
                take: Script::new(include_str!("scripts/take.lua")),
                settle: Script::new(include_str!("scripts/settle.lua")),
                keep: Script::new(include_str!("scripts/keep.lua")),
                leave: Script::new(include_str!("scripts/leave.lua")),
            }),
        }
    }

    pub fn streams(&self) -> [&str; 2] {
        [&self.keys.stream, &self.keys.again]
    }

    /// Makes the group, to begin with this entry of the stream, where it is not there.
    pub async fn create(&self, start: &str) -> RedisResult<()> {
        for (key, start) in [(&self.keys.stream, start), (&self.keys.again, "0")] {
            let mut create = cmd("XGROUP").arg("CREATE").take();
            create.arg(key).arg(&self.group).arg(start).arg("MKSTREAM");
            let created: RedisResult<()> = create.query_async(&mut self.redis.clone()).await;
            match created {
                Err(error) if error.code() == Some("BUSYGROUP") => {}
                other => other?,
            }
        }
        Ok(())
    }

    /// Takes so many, at most, first of this stream; claims what was left alone for so long.
    pub async fn take(
        self,
        count: usize,
        first: Source,
        claim: Option<Duration>,
    ) -> RedisResult<Taken> {
        let keys = &self.keys;
        let mut take = self.scripts.take.call();
        take.key(&keys.stream)
            .key(&keys.again)
            .key(&keys.later)
            .key(&keys.holds);
        take.key(&keys.trimmed);
        take.arg(&self.group).arg(&self.name).arg(count);
        take.arg(first as u8).arg(&self.order_field);
        take.arg(claim.map_or(0, millis)).arg(&keys.held);
        take.arg(u8::from(self.deletes));
        let answer = take.send(&self.redis).await?;
        taken(answer).ok_or_else(|| {
            RedisError::from((
                ErrorKind::UnexpectedReturnType,
                "a script answered strangely",
            ))
        })
    }

    /// Moves a message, unless it has been moved.
    pub async fn settle(&self, message: &Message, to: &Move) -> RedisResult<()> {
        let (keys, history) = (&self.keys, &message.history);
        let (what, delay, reason, has_failed) = match to {
            Move::Done => ("ack", Duration::ZERO, "", false),
            Move::Later { delay, has_failed } => ("later", *delay, "", *has_failed),
            Move::Dead { reason } => ("dead", Duration::ZERO, *reason, true),
        };
        let is_own = message.place.source == Source::Again;
        let from = if is_own { &keys.again } else { &keys.stream };
        let key = message.get(&self.order_field);
        let list = key.map(|key| [keys.held.as_bytes(), key].concat());
        let mut settle = self.scripts.settle.call();
        settle.key(from).key(&keys.again).key(&keys.later);
        settle.key(&keys.dead).key(&keys.holds);
        settle.key(&keys.trimmed);
        settle.arg(what).arg(&self.group).arg(&self.name);
        settle
            .arg(&message.place.id)
            .arg(u8::from(is_own || self.deletes));
        settle
            .arg(list.unwrap_or_default())
            .arg(key.unwrap_or_default());
        settle
            .arg(millis(delay))
            .arg(reason)
            .arg(u8::from(has_failed));
        settle
            .arg(&history.id)
            .arg(history.failed)
            .arg(history.charged);
        settle.arg(history.seen);
        settle.arg(
            history
                .failed_at
                .map(|at| at.to_string())
                .unwrap_or_default(),
        );
        settle.arg(&history.error);
        for (name, value) in &message.fields {
            settle.arg(name).arg(value);
        }
        settle.send(&self.redis).await
    }

    /// Says that these are still worked on.
    pub async fn keep(self, places: Vec<Place>) -> RedisResult<()> {
        let mut keep = self.scripts.keep.call();
        keep.key(&self.keys.stream)
            .key(&self.keys.again)
            .key(&self.keys.trimmed);
        keep.arg(&self.group).arg(&self.name);
        for place in places {
            keep.arg(place.source as u8).arg(place.id);
        }
        keep.send(&self.redis).await
    }

    /// Forgets this consumer, if it has nothing left.
    pub async fn leave(&self) -> RedisResult<()> {
        let mut leave = self.scripts.leave.call();
        leave
            .key(&self.keys.stream)
            .key(&self.keys.again)
            .arg(&self.group)
            .arg(&self.name);
        leave.send(&self.redis).await
    }
}

fn taken(answer: Value) -> Option<Taken> {
    let Value::Array(parts) = answer else {
        return None;
    };
    let [now, due, stream, again, entries] = <[Value; 5]>::try_from(parts).ok()?;
    let Value::Array(entries) = entries else {
        return None;
    };
    let now = redis::from_redis_value(now).ok()?;
    let due: i64 = redis::from_redis_value(due).ok()?;
    let messages = entries.into_iter().map(|entry| Message::of(entry, now));
    Some(Taken {
        messages: messages.collect::<Option<_>>()?,
        due: u64::try_from(due).ok().map(Duration::from_millis),
        ends: [
            redis::from_redis_value(stream).ok()?,
            redis::from_redis_value(again).ok()?,
        ],
    })
}

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
