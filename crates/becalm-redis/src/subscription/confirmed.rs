//! What has the server confirmed, and what may have been missed since?
//!
//! A server answers `SUBSCRIBE` in the order of its commands, among messages that come of themselves. What it publishes
//! before it confirms a topic, nobody gets. So a topic is told as subscribed when it is confirmed, and after a loss of the connection that
//! messages may be missing, when all are confirmed that were before: a program that reads the present state then misses nothing.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::io;

use becalm::classify::{Class, redis as words};
use redis::{Cmd, Msg, PushInfo, PushKind, RedisError, RedisResult, ServerError, Value, cmd};

use super::{Event, Topic};

/// What is known of topics, over all connections of a subscription.
#[derive(Default)]
pub(super) struct Confirmed {
    /// Those of which the caller was told that they are subscribed.
    told: HashSet<Topic>,
    /// Those that were asked for on this connection, by which question: one that was removed and added again is asked for twice.
    asked: HashMap<Topic, u64>,
    questions: u64,
    /// What is to be answered, in its order.
    awaited: VecDeque<Awaited>,
    /// How many of these are to be answered until nothing more is missed.
    again: usize,
    /// Those that the server cannot serve now, to be asked for again, or to be left (`false`).
    interrupted: VecDeque<(Topic, bool)>,
    /// Those of which the caller was told so, until they are heard.
    down: HashSet<Topic>,
    events: VecDeque<Event>,
}

/// What a node of a cluster says of one slot while it goes on with the others.
const OF_ONE: [&str; 2] = ["CLUSTERDOWN", "TRYAGAIN"];

/// As many topics are asked for again at once.
const AT_ONCE: usize = 100;

enum Awaited {
    Subscribed(Topic, u64),
    Unsubscribed(Topic),
    Pong,
}

impl Confirmed {
    /// Begins on a new connection: what to send.
    pub fn begin(&mut self, wanted: &BTreeSet<Topic>) -> Vec<Cmd> {
        self.told.retain(|topic| wanted.contains(topic));
        self.asked.clear();
        self.awaited.clear();
        self.interrupted.clear();
        self.down.clear();
        self.again = self.told.len();
        // Those first that are missing since the loss.
        let (again, new): (Vec<_>, Vec<_>) =
            wanted.iter().partition(|topic| self.told.contains(*topic));
        let all = again.into_iter().chain(new);
        all.map(|topic| self.subscribe(topic.clone())).collect()
    }

    /// What to send after a topic was added or removed, if anything.
    pub fn change(&mut self, topic: Topic, is_wanted: bool) -> Option<Cmd> {
        // What is to be left yet is to be left still.
        let is_other = |it: &(Topic, bool)| it.0 != topic || !(is_wanted || it.1);
        self.interrupted.retain(is_other);
        match (is_wanted, self.asked.contains_key(&topic)) {
            (true, false) => Some(self.subscribe(topic)),
            (false, true) => {
                self.forget(&topic);
                Some(self.unsubscribe(topic))
            }
            (false, false) => {
                self.forget(&topic);
                None
            }
            (true, true) => None,
        }
    }

    fn forget(&mut self, topic: &Topic) {
        self.asked.remove(topic);
        self.told.remove(topic);
        self.down.remove(topic);
    }

    /// Whether topics are to be asked for again.
    pub fn has_interrupted(&self) -> bool {
        !self.interrupted.is_empty()
    }

    /// What to send to ask for them again.
    pub fn ask_again(&mut self) -> Vec<Cmd> {
        let some = self.interrupted.len().min(AT_ONCE);
        let topics: Vec<_> = self.interrupted.drain(..some).collect();
        let asks = topics.into_iter().map(|(topic, is_wanted)| {
            if is_wanted {
                self.subscribe(topic)
            } else {
                self.unsubscribe(topic)
            }
        });
        asks.collect()
    }

    /// This topic is not heard, and will be.
    fn interrupt(&mut self, topic: Topic, error: RedisError) {
        self.asked.remove(&topic);
        if self.down.insert(topic.clone()) {
            let event = Event::Interrupted(topic.clone(), error);
            self.events.push_back(event);
        }
        self.interrupted.push_back((topic, true));
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
        match self.awaited.pop_front() {
            Some(Awaited::Subscribed(awaited, question)) if is_subscribed && awaited == topic => {
                if self.asked.get(&topic) == Some(&question) {
                    self.is_heard(topic);
                }
            }
            Some(Awaited::Unsubscribed(awaited)) if !is_subscribed && awaited == topic => {}
            // Its slot has left the node.
            other if !is_subscribed && self.asked.contains_key(&topic) => {
                if let Some(other) = other {
                    self.awaited.push_front(other);
                }
                self.interrupt(
                    topic,
                    io::Error::other("its slot has left the server").into(),
                );
                return Ok(());
            }
            _ => return Err(strange()),
        }
        self.was_answered();
        Ok(())
    }

    fn answered(&mut self, answer: Value) -> RedisResult<()> {
        match (self.awaited.pop_front(), answer) {
            (Some(Awaited::Subscribed(topic, question)), Value::ServerError(error)) => {
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
            }
            (Some(Awaited::Unsubscribed(topic)), Value::ServerError(error))
                if OF_ONE.contains(&error.code()) =>
            {
                if !self.asked.contains_key(&topic) {
                    self.interrupted.push_back((topic, false));
                }
            }
            (_, Value::ServerError(error)) => return Err(error.into()),
            (Some(Awaited::Pong), _) => {}
            _ => return Err(strange()),
        }
        self.was_answered();
        Ok(())
    }

    fn was_answered(&mut self) {
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

    fn unsubscribe(&mut self, topic: Topic) -> Cmd {
        let command = topic.unsubscribe();
        self.awaited.push_back(Awaited::Unsubscribed(topic));
        command
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

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Value {
        Value::BulkString(text.into())
    }

    fn confirms(kind: &str, name: &str) -> Value {
        Value::Array(vec![text(kind), text(name), Value::Int(1)])
    }

    fn wanted(names: &[&str]) -> BTreeSet<Topic> {
        names.iter().map(|name| Topic::from(*name)).collect()
    }

    fn events(confirmed: &mut Confirmed) -> Vec<String> {
        std::iter::from_fn(|| confirmed.event())
            .map(|event| format!("{event:?}"))
            .collect()
    }

    #[test]
    fn what_may_be_missing_is_told_when_all_are_confirmed_again() {
        let mut confirmed = Confirmed::default();
        assert_eq!(confirmed.begin(&wanted(&["a", "b"])).len(), 2);
        confirmed.heard(confirms("subscribe", "a")).expect("asked");
        assert_eq!(events(&mut confirmed), ["Subscribed(Channel(\"a\"))"]);
        confirmed.heard(confirms("subscribe", "b")).expect("asked");
        assert_eq!(events(&mut confirmed), ["Subscribed(Channel(\"b\"))"]);

        // Lost; c is new, a second loss comes before all are there again.
        for _ in 0..2 {
            assert_eq!(confirmed.begin(&wanted(&["0", "a", "b"])).len(), 3);
            confirmed.heard(confirms("subscribe", "a")).expect("asked");
            assert_eq!(events(&mut confirmed).len(), 0);
        }
        confirmed.heard(confirms("subscribe", "b")).expect("asked");
        assert_eq!(events(&mut confirmed), ["MayHaveMissed"]);
        confirmed.heard(confirms("subscribe", "0")).expect("asked");
        assert_eq!(events(&mut confirmed), ["Subscribed(Channel(\"0\"))"]);
        assert!(!confirmed.is_due());
    }

    #[test]
    fn what_is_refused_for_good_is_told_and_what_passes_is_asked_again() {
        let error = |line: &str| redis::parse_redis_value(line.as_bytes()).expect("a value");
        let mut confirmed = Confirmed::default();
        confirmed.begin(&wanted(&["a", "b"]));
        let refused = error("-NOPERM No permissions to access a channel\r\n");
        confirmed.heard(refused).expect("it is told");
        assert!(events(&mut confirmed)[0].starts_with("Refused(Channel(\"a\")"));
        let busy = error("-BUSY Redis is busy running a script\r\n");
        assert!(confirmed.heard(busy).is_err());
    }

    #[test]
    fn a_topic_that_a_node_cannot_serve_now_is_asked_for_again_and_the_others_go_on() {
        let down = b"-CLUSTERDOWN Hash slot not served\r\n";
        let down = || redis::parse_redis_value(down).expect("a value");
        let mut confirmed = Confirmed::default();
        confirmed.begin(&wanted(&["a", "b", "c"]));
        confirmed.heard(confirms("subscribe", "a")).expect("asked");
        confirmed.heard(down()).expect("the others go on");
        confirmed.heard(down()).expect("the others go on");
        let told = events(&mut confirmed);
        assert!(
            told[1].starts_with("Interrupted(Channel(\"b\")"),
            "{told:?}"
        );
        // It is told once; one that is wanted no more is not asked for.
        assert!(confirmed.change("c".into(), false).is_none());
        for _ in 0..2 {
            assert_eq!(confirmed.ask_again().len(), 1);
            confirmed.heard(down()).expect("the others go on");
            assert_eq!(events(&mut confirmed).len(), 0);
        }
        assert_eq!(confirmed.ask_again().len(), 1);
        confirmed.heard(confirms("subscribe", "b")).expect("asked");
        assert_eq!(events(&mut confirmed), ["Subscribed(Channel(\"b\"))"]);
        assert!(!confirmed.has_interrupted() && !confirmed.is_due());

        // Its slot leaves the node, while another question is open.
        confirmed.ping();
        confirmed.heard(confirms("unsubscribe", "b")).expect("told");
        assert_eq!(events(&mut confirmed).len(), 1);
        confirmed.heard(Value::Okay).expect("the ping's");
        confirmed.ask_again();
        confirmed.heard(confirms("subscribe", "b")).expect("asked");
        assert_eq!(events(&mut confirmed), ["MayHaveMissed"]);

        // Removed, while the node answers of its slot as before.
        assert!(confirmed.change("a".into(), false).is_some());
        confirmed.heard(down()).expect("the others go on");
        assert!(confirmed.change("a".into(), false).is_none());
        assert_eq!(confirmed.ask_again().len(), 1);
        confirmed
            .heard(confirms("unsubscribe", "a"))
            .expect("it is");
        assert!(!confirmed.has_interrupted() && !confirmed.is_due());
        events(&mut confirmed);

        // After a loss the others are told without it, and it by itself.
        confirmed.begin(&wanted(&["a", "b"]));
        confirmed.heard(confirms("subscribe", "b")).expect("asked");
        confirmed.heard(confirms("subscribe", "a")).expect("asked");
        events(&mut confirmed);
        confirmed.begin(&wanted(&["a", "b"]));
        confirmed.heard(confirms("subscribe", "a")).expect("asked");
        confirmed.heard(down()).expect("the others go on");
        let told = events(&mut confirmed);
        assert!(told[0].starts_with("Interrupted") && told[1] == "MayHaveMissed");
        confirmed.ask_again();
        confirmed.heard(confirms("subscribe", "b")).expect("asked");
        assert_eq!(events(&mut confirmed), ["MayHaveMissed"]);
    }

    #[test]
    fn what_was_removed_and_added_in_between_has_its_own_answers() {
        let mut confirmed = Confirmed::default();
        confirmed.begin(&wanted(&["a"]));
        assert!(confirmed.change("a".into(), false).is_some());
        assert!(confirmed.change("a".into(), false).is_none());
        assert!(confirmed.change("a".into(), true).is_some());
        for kind in ["subscribe", "unsubscribe", "subscribe"] {
            confirmed.heard(confirms(kind, "a")).expect("asked");
        }
        assert_eq!(events(&mut confirmed), ["Subscribed(Channel(\"a\"))"]);

        // What is published between the two is missing.
        confirmed.change("a".into(), false);
        confirmed.change("a".into(), true);
        confirmed.change("a".into(), false);
        confirmed.change("a".into(), true);
        for kind in ["unsubscribe", "subscribe", "unsubscribe"] {
            confirmed.heard(confirms(kind, "a")).expect("asked");
            assert_eq!(events(&mut confirmed).len(), 0, "{kind}");
        }
        confirmed.heard(confirms("subscribe", "a")).expect("asked");
        assert_eq!(events(&mut confirmed), ["Subscribed(Channel(\"a\"))"]);
        let unasked = confirmed.heard(confirms("sunsubscribe", "b"));
        assert!(unasked.is_err(), "a slot that has moved");
    }
}
