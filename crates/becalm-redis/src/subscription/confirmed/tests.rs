//! Is what a server says of topics understood, in whatever order it comes?

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

fn sharded(names: &[&str]) -> BTreeSet<Topic> {
    names.iter().map(|name| Topic::sharded(*name)).collect()
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
    let asks_again = |confirmed: &mut Confirmed| {
        confirmed.begin_round();
        confirmed.ask_again().len()
    };
    let mut confirmed = Confirmed::default();
    confirmed.begin(&sharded(&["a", "b", "c"]));
    confirmed.heard(confirms("ssubscribe", "a")).expect("asked");
    confirmed.heard(down()).expect("the others go on");
    confirmed.heard(down()).expect("the others go on");
    let told = events(&mut confirmed);
    assert!(
        told[1].starts_with("Interrupted(Sharded(\"b\")"),
        "{told:?}"
    );
    // It is told once; one that is wanted no more is not asked for.
    assert!(confirmed.change(Topic::sharded("c"), false).is_empty());
    for _ in 0..2 {
        assert_eq!(asks_again(&mut confirmed), 1);
        confirmed.heard(down()).expect("the others go on");
        assert_eq!(events(&mut confirmed).len(), 0);
    }
    assert_eq!(asks_again(&mut confirmed), 1);
    confirmed.heard(confirms("ssubscribe", "b")).expect("asked");
    assert_eq!(events(&mut confirmed), ["Subscribed(Sharded(\"b\"))"]);
    assert!(!confirmed.has_interrupted() && !confirmed.is_due());

    // Its slot leaves the node, while another question is open.
    confirmed.ping();
    confirmed
        .heard(confirms("sunsubscribe", "b"))
        .expect("told");
    assert_eq!(events(&mut confirmed).len(), 1);
    confirmed.heard(Value::Okay).expect("the ping's");
    asks_again(&mut confirmed);
    confirmed.heard(confirms("ssubscribe", "b")).expect("asked");
    assert_eq!(events(&mut confirmed), ["MayHaveMissed"]);

    // Removed, while the node answers of its slot as before.
    let leave = |confirmed: &mut Confirmed| confirmed.change(Topic::sharded("a"), false).len();
    assert_eq!(leave(&mut confirmed), 2);
    confirmed.heard(down()).expect("the others go on");
    confirmed.heard(Value::Okay).expect("the ping's");
    assert_eq!(leave(&mut confirmed), 0);
    assert_eq!(asks_again(&mut confirmed), 2);
    confirmed
        .heard(confirms("sunsubscribe", "a"))
        .expect("it is");
    confirmed.heard(Value::Okay).expect("the ping's");
    assert!(!confirmed.has_interrupted() && !confirmed.is_due());
    events(&mut confirmed);

    // After a loss the others are told without it, and it by itself.
    confirmed.begin(&sharded(&["a", "b"]));
    confirmed.heard(confirms("ssubscribe", "b")).expect("asked");
    confirmed.heard(confirms("ssubscribe", "a")).expect("asked");
    events(&mut confirmed);
    confirmed.begin(&sharded(&["a", "b"]));
    confirmed.heard(confirms("ssubscribe", "a")).expect("asked");
    confirmed.heard(down()).expect("the others go on");
    let told = events(&mut confirmed);
    assert!(told[0].starts_with("Interrupted") && told[1] == "MayHaveMissed");
    asks_again(&mut confirmed);
    confirmed.heard(confirms("ssubscribe", "b")).expect("asked");
    assert_eq!(events(&mut confirmed), ["MayHaveMissed"]);
}

/// Its slot leaves the node before the node reads that the topic is to be left, or between both.
#[test]
fn a_topic_that_is_removed_while_its_slot_leaves_takes_no_other_with_it() {
    let value = |line: &str| redis::parse_redis_value(line.as_bytes()).expect("a value");
    let leaves = || confirms("sunsubscribe", "a");
    for answer in [
        leaves(),
        value("-MOVED 15495 127.0.0.1:7001\r\n"),
        value("-CLUSTERDOWN Hash slot not served\r\n"),
    ] {
        for is_first_question in [true, false] {
            let mut confirmed = Confirmed::default();
            confirmed.begin(&sharded(&["a"]));
            confirmed.heard(confirms("ssubscribe", "a")).expect("asked");
            if !is_first_question {
                confirmed.change("b".into(), true);
            }
            assert_eq!(confirmed.change(Topic::sharded("a"), false).len(), 2);
            confirmed.change("c".into(), true);
            confirmed.change(Topic::sharded("a"), true);
            confirmed.heard(leaves()).expect("of itself");
            if !is_first_question {
                confirmed.heard(confirms("subscribe", "b")).expect("asked");
            }
            confirmed.heard(answer.clone()).expect("its answer");
            let pong = Value::Array(vec![text("pong"), text("")]);
            confirmed.heard(pong).expect("the ping's");
            confirmed.heard(confirms("subscribe", "c")).expect("asked");
            confirmed.heard(confirms("ssubscribe", "a")).expect("asked");
            let told = events(&mut confirmed);
            let last = &told[told.len() - 2..];
            let expected = ["Subscribed(Channel(\"c\"))", "Subscribed(Sharded(\"a\"))"];
            assert_eq!(last, expected, "{answer:?}");
            let topics = if is_first_question { 3 } else { 4 };
            assert_eq!(told.len(), topics, "{told:?}");
            assert!(!confirmed.has_interrupted() && !confirmed.is_due());
        }
    }
}

#[test]
fn ten_thousand_topics_come_back_in_ten_round_trips_of_one_round() {
    let down = b"-CLUSTERDOWN Hash slot not served\r\n";
    let names: Vec<_> = (0..10_000).map(|number| format!("{number:04}")).collect();
    let all: BTreeSet<_> = names.iter().map(|name| Topic::sharded(&**name)).collect();
    let mut confirmed = Confirmed::default();
    confirmed.begin(&all);
    for _ in &all {
        let down = redis::parse_redis_value(down).expect("a value");
        confirmed.heard(down).expect("it is asked again");
    }
    assert_eq!(events(&mut confirmed).len(), 10_000);
    assert!(confirmed.ask_again().is_empty(), "it is not time");
    confirmed.begin_round();
    let mut names = names.iter();
    for _ in 0..10 {
        let asks = confirmed.ask_again();
        assert!(confirmed.ask_again().is_empty() && !confirmed.is_settled());
        for name in names.by_ref().take(asks.len()) {
            confirmed
                .heard(confirms("ssubscribe", name))
                .expect("asked");
        }
    }
    assert_eq!(events(&mut confirmed).len(), 10_000);
    assert!(confirmed.is_settled() && !confirmed.has_interrupted());
}

#[test]
fn topics_that_others_add_and_remove_keep_no_round_waiting() {
    let down = || redis::parse_redis_value(b"-CLUSTERDOWN Hash slot not served\r\n");
    let mut confirmed = Confirmed::default();
    confirmed.begin(&sharded(&["a"]));
    confirmed.change("0".into(), true);
    confirmed.heard(down().expect("a value")).expect("it waits");
    // From here on a question is always open.
    for number in 0..10 {
        confirmed.begin_round();
        assert_eq!(confirmed.ask_again().len(), 1, "{number}");
        let open = number.to_string();
        confirmed.change((number + 1).to_string().into(), true);
        confirmed
            .heard(confirms("subscribe", &open))
            .expect("asked");
        assert!(!confirmed.is_settled() && confirmed.ask_again().is_empty());
        confirmed.heard(down().expect("a value")).expect("it waits");
        assert!(confirmed.is_settled() && confirmed.is_due());
    }
}

#[test]
fn what_was_removed_and_added_in_between_has_its_own_answers() {
    let mut confirmed = Confirmed::default();
    confirmed.begin(&wanted(&["a"]));
    assert!(confirmed.change("a".into(), false).len() == 1);
    assert!(confirmed.change("a".into(), false).is_empty());
    assert!(confirmed.change("a".into(), true).len() == 1);
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
    let unasked = confirmed.heard(confirms("unsubscribe", "b"));
    assert!(unasked.is_err(), "of another");
}
