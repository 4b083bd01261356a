//! What has the server confirmed, and what may have been missed since?
//!
//! A server answers `SUBSCRIBE` in the order of its commands, among messages that come of themselves. What it publishes
//! before it confirms a topic, nobody gets. So a topic is told as subscribed when it is confirmed, and after a loss of the connection that
//! messages may be missing, when all are confirmed that were before: a program that reads the present state then misses nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::io;
use std::mem;

use becalm::classify::{Class, redis as words};
use redis::{Cmd, Msg, PushInfo, PushKind, RedisError, RedisResult, ServerError, Value, cmd};

use super::{Event, Topic};

#[cfg(test)]
mod tests;

/// What is known of topics, over all connections of a subscription.
#[derive(Default)]
pub(super) struct Confirmed {
    /// Those of which the caller was told that they are subscribed.
    told: HashSet<Topic>,
    /// Those that were asked for on this connection, by which question: one that was removed and added again is asked for twice. [`HEARD`]
    /// when its answer has come.
    asked: HashMap<Topic, u64>,
    questions: u64,
    /// What is to be answered, in its order.
    awaited: VecDeque<Awaited>,
    /// How many of these are to be answered until nothing more is missed.
    again: usize,
    /// How many are to be answered until the last is that was asked on a new connection, or in a piece of a round. What is asked behind it counts
    /// for nothing: a program that always adds and removes some must not keep the others waiting.
    ahead: usize,
    /// Those that the server cannot serve now, to be asked for again, or to be left (`false`).
    interrupted: BTreeMap<Topic, bool>,
    /// Those of them that are asked for again in this round.
    round: BTreeMap<Topic, bool>,
    /// Those of which the caller was told so, until they are heard.
    down: HashSet<Topic>,
    events: VecDeque<Event>,
}

/// What a node of a cluster says of one slot while it goes on with the others.
const OF_ONE: [&str; 2] = ["CLUSTERDOWN", "TRYAGAIN"];

/// So many topics are asked for again in one round trip: the server has others to serve.
const AT_ONCE: usize = 1_000;

/// No question has this number.
const HEARD: u64 = 0;

enum Awaited {
    Subscribed(Topic, u64),
    Unsubscribed(Topic),
    /// Of a sharded topic. A server whose slot leaves says the same of itself, so that only the answer to the `PING` behind it is its end.
    Left(Topic),
    Pong,
}

impl Confirmed {
    /// Begins on a new connection: what to send.
    pub fn begin(&mut self, wanted: &BTreeSet<Topic>) -> Vec<Cmd> {
        self.told.retain(|topic| wanted.contains(topic));
        self.asked.clear();
        self.awaited.clear();
        self.interrupted.clear();
        self.round.clear();
        self.down.clear();
        self.again = self.told.len();
        // Those first that are missing since the loss.
        let (again, new): (Vec<_>, Vec<_>) =
            wanted.iter().partition(|topic| self.told.contains(*topic));
        let all = again.into_iter().chain(new);
        let all = all.map(|topic| self.subscribe(topic.clone())).collect();
        self.expect_all();
        all
    }

    fn expect_all(&mut self) {
        let is_answered = |it: &&Awaited| !matches!(it, Awaited::Left(_));
        self.ahead = self.awaited.iter().filter(is_answered).count();
    }

    /// What to send after a topic was added or removed.
    pub fn change(&mut self, topic: Topic, is_wanted: bool) -> Vec<Cmd> {
        for waiting in [&mut self.interrupted, &mut self.round] {
            // What is to be left yet is to be left still.
            if is_wanted || waiting.get(&topic) == Some(&true) {
                waiting.remove(&topic);
            }
        }
        let is_asked = self.asked.contains_key(&topic);
        if !is_wanted {
            self.forget(&topic);
        }
        match (is_wanted, is_asked) {
            (true, false) => vec![self.subscribe(topic)],
            (false, true) => self.unsubscribe(topic),
            _ => Vec::new(),
        }
    }

    fn forget(&mut self, topic: &Topic) {
        self.asked.remove(topic);
        self.told.remove(topic);
        self.down.remove(topic);
    }

    /// Whether topics wait for the next round.
    pub fn has_interrupted(&self) -> bool {
        !self.interrupted.is_empty()
    }

    /// Whether a round is answered, and nothing is left of it.
    pub fn is_settled(&self) -> bool {
        self.ahead == 0 && self.round.is_empty()
    }

    /// Asks for all of them again, once.
    pub fn begin_round(&mut self) {
        self.round.append(&mut self.interrupted);
    }

    /// What to send of this round: the next piece when the last is answered.
    pub fn ask_again(&mut self) -> Vec<Cmd> {
        if self.round.is_empty() || self.ahead > 0 {
            return Vec::new();
        }
        let later = self.round.keys().nth(AT_ONCE).cloned();
        let later = later.map(|first| self.round.split_off(&first));
        let piece = mem::replace(&mut self.round, later.unwrap_or_default());
        let asks = piece.into_iter().flat_map(|(topic, is_wanted)| {
            if is_wanted {
                vec![self.subscribe(topic)]
            } else {
                self.unsubscribe(topic)
            }
        });
        let asks = asks.collect();
        self.expect_all();
        asks
    }

    /// This topic is not heard, and will be.
    fn interrupt(&mut self, topic: Topic, error: RedisError) {
        self.asked.remove(&topic);
        if self.down.insert(topic.clone()) {
            let event = Event::Interrupted(topic.clone(), error);
            self.events.push_back(event);
        }
        self.interrupted.insert(topic, true);
    }

    /// What to send to hear whether the server is there.
    pub fn ping(&mut self) -> Cmd {
        self.awaited.push_back(Awaited::Pong);
        cmd("PING")
    }

    /// Whether an answer is due.
    pub fn is_due(&self) -> bool {
        !self.awaited.is_empty()
    }

    /// What is to be told.
    pub fn event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Takes what the server has sent. An error says that the connection is of no use.
    pub fn heard(&mut self, value: Value) -> RedisResult<()> {
        let (kind, data) = match pushed(value) {
            Ok(pushed) => pushed,
            Err(answer) => return self.answered(answer),
        };
        if is_message(&kind) {
            let message = Msg::from_push_info(PushInfo { kind, data });
            self.events
                .push_back(Event::Message(message.ok_or_else(strange)?));
            return Ok(());
        }
        let Some(Value::BulkString(name)) = data.into_iter().next() else {
            return Ok(()); // of another kind, such as those of caches
        };
        let is_subscribed = matches!(
            kind,
            PushKind::Subscribe | PushKind::PSubscribe | PushKind::SSubscribe
        );
        let Some(topic) = Topic::of(&kind, name) else {
            return Ok(());
        };
        if is_subscribed {
            return self.subscribed(topic);
        }
        match self.awaited.front() {
            Some(Awaited::Unsubscribed(awaited)) if *awaited == topic => {
                self.awaited.pop_front();
                self.was_answered();
            }
            // Its own, or that of the server.
            Some(Awaited::Left(awaited)) if *awaited == topic => {
                self.interrupted.remove(&topic);
            }
            // Its slot has left the node. While a question is open this is of what was before it.
            _ if self.asked.get(&topic) == Some(&HEARD) => {
                let left = io::Error::other("its slot has left the server");
                self.interrupt(topic, left.into());
            }
            _ if matches!(topic, Topic::Sharded(_)) => {}
            _ => return Err(strange()),
        }
        Ok(())
    }

    fn subscribed(&mut self, topic: Topic) -> RedisResult<()> {
        match self.awaited.pop_front() {
            Some(Awaited::Subscribed(awaited, question)) if awaited == topic => {
                if let Some(asked) = self.asked.get_mut(&topic)
                    && *asked == question
                {
                    *asked = HEARD;
                    self.is_heard(topic);
                }
            }
            _ => return Err(strange()),
        }
        self.was_answered();
        Ok(())
    }

    fn answered(&mut self, answer: Value) -> RedisResult<()> {
        let Value::ServerError(error) = answer else {
            return self.ponged();
        };
        match self.awaited.pop_front() {
            Some(Awaited::Subscribed(topic, question)) => {
                let is_asked = self.asked.get(&topic) == Some(&question);
                if OF_ONE.contains(&error.code()) {
                    if is_asked {
                        self.interrupt(topic, error.into());
                    }
                } else if passes(&error) {
                    return Err(error.into());
                } else if is_asked {
                    self.forget(&topic);
                    self.events.push_back(Event::Refused(topic, error.into()));
                }
                self.was_answered();
            }
            Some(Awaited::Left(topic)) => {
                if OF_ONE.contains(&error.code()) {
                    if !self.asked.contains_key(&topic) {
                        self.interrupted.insert(topic.clone(), false);
                    }
                } else if error.code() != "MOVED" {
                    return Err(error.into());
                }
                // A node that has lost a slot has left its channels. The answer to its PING is due.
                self.awaited.push_front(Awaited::Left(topic));
            }
            _ => return Err(error.into()),
        }
        Ok(())
    }

    fn ponged(&mut self) -> RedisResult<()> {
        if matches!(self.awaited.front(), Some(Awaited::Left(_))) {
            self.awaited.pop_front();
        }
        let Some(Awaited::Pong) = self.awaited.pop_front() else {
            return Err(strange());
        };
        self.was_answered();
        Ok(())
    }

    fn was_answered(&mut self) {
        self.ahead = self.ahead.saturating_sub(1);
        if self.again > 0 {
            self.again -= 1;
            if self.again == 0 {
                self.may_have_missed();
            }
        }
    }

    fn is_heard(&mut self, topic: Topic) {
        let was_down = self.down.remove(&topic);
        if self.told.insert(topic.clone()) {
            self.events.push_back(Event::Subscribed(topic));
        } else if was_down {
            self.may_have_missed();
        }
    }

    /// Once for those that come back together.
    fn may_have_missed(&mut self) {
        if !matches!(self.events.back(), Some(Event::MayHaveMissed)) {
            self.events.push_back(Event::MayHaveMissed);
        }
    }

    fn unsubscribe(&mut self, topic: Topic) -> Vec<Cmd> {
        let command = topic.unsubscribe();
        if !matches!(topic, Topic::Sharded(_)) {
            self.awaited.push_back(Awaited::Unsubscribed(topic));
            return vec![command];
        }
        self.awaited.push_back(Awaited::Left(topic));
        vec![command, self.ping()]
    }

    fn subscribe(&mut self, topic: Topic) -> Cmd {
        let command = topic.subscribe();
        self.questions += 1;
        self.asked.insert(topic.clone(), self.questions);
        let awaited = Awaited::Subscribed(topic, self.questions);
        self.awaited.push_back(awaited);
        command
    }
}

/// Whether the state of the server that this tells of passes.
fn passes(error: &ServerError) -> bool {
    let reply = format!("{} {}", error.code(), error.details().unwrap_or_default());
    // Channels that live elsewhere stay there: one server is all that is known.
    let is_elsewhere = ["MOVED", "ASK"].contains(&error.code());
    words::classify("SUBSCRIBE", &reply).class != Class::Permanent && !is_elsewhere
}

fn is_message(kind: &PushKind) -> bool {
    matches!(
        kind,
        PushKind::Message | PushKind::PMessage | PushKind::SMessage
    )
}

/// What a server sends of itself, in both protocols, or what is an answer.
fn pushed(value: Value) -> Result<(PushKind, Vec<Value>), Value> {
    let parts = match value {
        Value::Push { kind, data } => return Ok((kind, data)),
        Value::Array(parts) => parts,
        other => return Err(other),
    };
    let kind = match parts.first() {
        Some(Value::BulkString(kind)) => match &**kind {
            b"message" => PushKind::Message,
            b"pmessage" => PushKind::PMessage,
            b"smessage" => PushKind::SMessage,
            b"subscribe" => PushKind::Subscribe,
            b"psubscribe" => PushKind::PSubscribe,
            b"ssubscribe" => PushKind::SSubscribe,
            b"unsubscribe" => PushKind::Unsubscribe,
            b"punsubscribe" => PushKind::PUnsubscribe,
            b"sunsubscribe" => PushKind::SUnsubscribe,
            _ => return Err(Value::Array(parts)),
        },
        _ => return Err(Value::Array(parts)),
    };
    Ok((kind, parts.into_iter().skip(1).collect()))
}

fn strange() -> RedisError {
    let sentence = "the server sent what no subscription has asked for";
    io::Error::new(io::ErrorKind::InvalidData, sentence).into()
}
