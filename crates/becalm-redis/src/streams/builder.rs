//! Which messages, how many at once, and how long before another takes over?

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use becalm::policy::InvalidPolicy;
use becalm::rng::{Random, Seed};
use becalm_fleet::consumer::{Consume, Settle};

use crate::Connection;

use super::consumer::Observe;
use super::store::Store;
use super::{Consumer, Message};

/// The settings of a [`Consumer`].
///
/// | setting | default |
/// |---|---|
/// | [`consume`](Self::consume) | [`Consume::default`]: 5 charges, 4 days, a pause after 3 failures in a row |
/// | [`concurrency`](Self::concurrency) | 16 handlers at once |
/// | [`claim_after`](Self::claim_after) | 30 s |
/// | [`start`](Self::start) | a new group begins with the first entry of the stream |
/// | [`order_by`](Self::order_by) | any order |
/// | [`delete`](Self::delete) | entries of the stream stay |
/// | [`name`](Self::name) | drawn |
#[must_use = "settings do nothing until they are built"]
pub struct Builder {
    redis: Connection,
    stream: String,
    group: String,
    name: Option<String>,
    consume: Consume,
    concurrency: usize,
    claim_after: Duration,
    start: String,
    order_by: Option<String>,
    deletes: bool,
    observer: Option<Arc<Observe>>,
}

impl Consumer {
    /// A consumer of this stream in this group.
    pub fn builder(
        redis: Connection,
        stream: impl Into<String>,
        group: impl Into<String>,
    ) -> Builder {
        Builder {
            redis,
            stream: stream.into(),
            group: group.into(),
            name: None,
            consume: Consume::default(),
            concurrency: 16,
            claim_after: Duration::from_secs(30),
            start: "0".into(),
            order_by: None,
            deletes: false,
            observer: None,
        }
    }
}

impl Builder {
    /// Sets delays, ends and pauses. Its policy's `attempt_timeout` ends a handler that takes longer; without one a handler may take as
    /// long as it likes.
    pub fn consume(mut self, consume: Consume) -> Self {
        self.consume = consume;
        self
    }

    /// Sets how many handlers run at once: at least 1.
    pub fn concurrency(mut self, concurrency: usize) -> Self {
        self.concurrency = concurrency;
        self
    }

    /// Sets after how long without a sign of life another consumer takes what one had taken: at least 100 ms. A consumer gives one three times as often for
    /// all that it has, however long its handlers take; it cannot while they block its thread. Shorter is sooner after a crash; longer
    /// bears longer stalls without a message handled twice.
    pub fn claim_after(mut self, claim_after: Duration) -> Self {
        self.claim_after = claim_after;
        self
    }

    /// Sets the entry behind which a new group begins: `$` for what is published from now on. A group that is there goes on where it is; one that is
    /// lost while a consumer runs, by `XGROUP DESTROY` or with its server's data, begins again with all that is there.
    pub fn start(mut self, start: impl Into<String>) -> Self {
        self.start = start.into();
        self
    }

    /// Keeps messages in order that have the same value in this field: a message begins when all before it are acknowledged or dead, whichever
    /// consumer took them. All consumers of the group must say the same. Messages without the field are in any order.
    pub fn order_by(mut self, field: impl Into<String>) -> Self {
        self.order_by = Some(field.into());
        self
    }

    /// Deletes what is done from the stream: right where no other group reads it.
    pub fn delete(mut self, deletes: bool) -> Self {
        self.deletes = deletes;
        self
    }

    /// Sets the consumer's name in the group. No two that run may have the same.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Tells what is decided about each message, with [`Message::last_error`]: for logs and counts.
    pub fn observe(mut self, observer: impl Fn(&Message, &Settle) + Send + Sync + 'static) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// The consumer.
    ///
    /// # Errors
    ///
    /// A setting is out of range, or the policy invalid.
    pub fn build(self) -> Result<Consumer, InvalidConsumer> {
        let concurrency =
            NonZeroUsize::new(self.concurrency).ok_or(InvalidConsumer::Concurrency)?;
        if self.claim_after < Duration::from_millis(100) {
            return Err(InvalidConsumer::ClaimAfter);
        }
        let is_own = |field: &String| field.starts_with("becalm-");
        if self.order_by.as_ref().is_some_and(is_own) {
            return Err(InvalidConsumer::OrderBy);
        }
        let machine = becalm_fleet::consumer::Consumer::new(self.consume.clone())?;
        let drawn = || format!("{:016x}", Seed::entropy().stream().next_u64());
        let name = self.name.unwrap_or_else(drawn);
        let store = Store::new(
            &self.redis,
            [self.stream, self.group, name],
            self.order_by,
            self.deletes,
        );
        Ok(Consumer {
            redis: self.redis,
            store,
            machine,
            handler_timeout: self.consume.policy.attempt_timeout,
            concurrency,
            claim_after: self.claim_after,
            start: self.start,
            observer: self.observer,
        })
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("stream", &self.stream)
            .field("group", &self.group)
            .field("consume", &self.consume)
            .finish_non_exhaustive()
    }
}

/// Settings that make no consumer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidConsumer {
    /// `concurrency` is 0.
    Concurrency,
    /// The field of `order_by` is one of the consumer's own.
    OrderBy,
    /// `claim_after` is too short.
    ClaimAfter,
    /// The policy or the pause is invalid.
    Policy(InvalidPolicy),
}

impl fmt::Display for InvalidConsumer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Concurrency => f.write_str("concurrency is 0: no handler would run; set at least 1"),
            Self::OrderBy => f.write_str(
                "order_by names a field that begins with becalm-: those are the consumer's own, and change from life to life; name one of yours",
            ),
            Self::ClaimAfter => f.write_str(
                "claim_after is below 100ms: messages would be taken from consumers that live; use 30s",
            ),
            Self::Policy(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for InvalidConsumer {}

impl From<InvalidPolicy> for InvalidConsumer {
    fn from(error: InvalidPolicy) -> Self {
        Self::Policy(error)
    }
}
