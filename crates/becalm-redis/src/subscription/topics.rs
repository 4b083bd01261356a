//! To what does a subscription listen? It may change while it runs.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use redis::{Cmd, PushKind, cmd};

/// What is subscribed to. A text is a channel.
///
/// ```
/// use becalm_redis::subscription::Topic;
///
/// assert_eq!(Topic::from("orders"), Topic::Channel("orders".into()));
/// let all = Topic::pattern("orders.*");
/// # let _ = all;
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Topic {
    /// All that is published in this channel (`SUBSCRIBE`).
    Channel(Vec<u8>),
    /// All that is published in channels that this pattern matches (`PSUBSCRIBE`).
    Pattern(Vec<u8>),
    /// All that is published in this channel by `SPUBLISH` (`SSUBSCRIBE`, since Redis 7.0).
    Sharded(Vec<u8>),
}

impl Topic {
    /// The channels that this pattern matches: `orders.*`.
    pub fn pattern(pattern: impl Into<Vec<u8>>) -> Self {
        Self::Pattern(pattern.into())
    }

    /// The channel of `SPUBLISH`.
    pub fn sharded(channel: impl Into<Vec<u8>>) -> Self {
        Self::Sharded(channel.into())
    }

    /// What the server confirms, and of which name.
    pub(super) fn of(kind: &PushKind, name: Vec<u8>) -> Option<Self> {
        Some(match kind {
            PushKind::Subscribe | PushKind::Unsubscribe => Self::Channel(name),
            PushKind::PSubscribe | PushKind::PUnsubscribe => Self::Pattern(name),
            PushKind::SSubscribe | PushKind::SUnsubscribe => Self::Sharded(name),
            _ => return None,
        })
    }

    pub(super) fn subscribe(&self) -> Cmd {
        self.command("SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE")
    }

    pub(super) fn unsubscribe(&self) -> Cmd {
        self.command("UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE")
    }

    fn command(&self, channel: &str, pattern: &str, sharded: &str) -> Cmd {
        let (name, topic) = match self {
            Self::Channel(topic) => (channel, topic),
            Self::Pattern(topic) => (pattern, topic),
            Self::Sharded(topic) => (sharded, topic),
        };
        cmd(name).arg(topic).take()
    }
}

impl From<&str> for Topic {
    fn from(channel: &str) -> Self {
        Self::Channel(channel.into())
    }
}

impl From<String> for Topic {
    fn from(channel: String) -> Self {
        Self::Channel(channel.into())
    }
}

impl fmt::Debug for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, name) = match self {
            Self::Channel(name) => ("Channel", name),
            Self::Pattern(name) => ("Pattern", name),
            Self::Sharded(name) => ("Sharded", name),
        };
        write!(f, "{kind}({:?})", String::from_utf8_lossy(name))
    }
}

/// The topics of a subscription, to add and remove while it runs. Clones are one.
#[derive(Clone)]
pub struct Topics(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    wanted: BTreeSet<Topic>,
    /// Of what was added or removed since the subscription looked.
    changed: BTreeSet<Topic>,
    waker: Option<Waker>,
}

impl Topics {
    pub(super) fn new(wanted: BTreeSet<Topic>) -> Self {
        Self(Arc::new(Mutex::new(State {
            wanted,
            ..State::default()
        })))
    }

    /// Adds a topic. When it is heard, [`Event::Subscribed`](super::Event::Subscribed) tells, unless it was heard already.
    pub fn add(&self, topic: impl Into<Topic>) {
        let topic = topic.into();
        self.change(|wanted| wanted.insert(topic.clone()).then_some(topic));
    }

    /// Removes a topic. Messages that are on their way may still come.
    pub fn remove(&self, topic: impl Into<Topic>) {
        let topic = topic.into();
        self.change(|wanted| wanted.remove(&topic).then_some(topic));
    }

    /// All that are there.
    pub fn all(&self) -> Vec<Topic> {
        self.state().wanted.iter().cloned().collect()
    }

    fn change(&self, change: impl FnOnce(&mut BTreeSet<Topic>) -> Option<Topic>) {
        let mut state = self.state();
        if let Some(topic) = change(&mut state.wanted) {
            state.changed.insert(topic);
            let waker = state.waker.take();
            drop(state);
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }

    /// Those that are there, for a new connection.
    pub(super) fn anew(&self) -> BTreeSet<Topic> {
        let mut state = self.state();
        state.changed.clear();
        state.wanted.clone()
    }

    /// Those that have changed, with whether they are there. The next change wakes.
    pub(super) fn changes(&self, waker: &Waker) -> Vec<(Topic, bool)> {
        let mut state = self.state();
        if !state.waker.as_ref().is_some_and(|it| it.will_wake(waker)) {
            state.waker = Some(waker.clone());
        }
        let State {
            wanted, changed, ..
        } = &mut *state;
        std::mem::take(changed)
            .into_iter()
            .map(|topic| {
                let is_wanted = wanted.contains(&topic);
                (topic, is_wanted)
            })
            .collect()
    }

    /// Forgets what the server refuses.
    pub(super) fn refused(&self, topic: &Topic) {
        self.state().wanted.remove(topic);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Topics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(&self.state().wanted).finish()
    }
}
