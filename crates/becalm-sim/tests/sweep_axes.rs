//! Is a sweep read as it is written, and refused with a sentence otherwise?

use std::time::Duration;

use becalm::{Budget, Jitter, Policy};
use becalm_sim::catalogue::{Kind, Parameter, Parameters};
use becalm_sim::change::Setting;
use becalm_sim::sweep::{InvalidSweep, Sweep};

const PARAMETERS: &[Parameter] = &[
    Parameter::new("load", Kind::Share, "0.7", "The share of the capacity"),
    Parameter::new("outage", Kind::Duration, "2s", "How long it lasts"),
    Parameter::new("clients", Kind::Count, "10", "How many"),
    Parameter::new(
        "queue",
        Kind::Choice(&["fifo", "lifo"]),
        "fifo",
        "Who is next",
    ),
];

fn parameters() -> Parameters {
    Parameters::of(PARAMETERS)
}

fn values(text: &str) -> Vec<Vec<String>> {
    let sweep = Sweep::read(text, &parameters()).unwrap_or_else(|error| panic!("{text}: {error}"));
    sweep.axes.into_iter().map(|axis| axis.values).collect()
}

fn refusal(text: &str) -> String {
    let sweep = Sweep::read(text, &parameters());
    let points = sweep.and_then(|it| it.points(&Policy::default(), &parameters()));
    points.unwrap_err().to_string()
}

#[test]
fn a_range_goes_by_equal_factors_and_keeps_its_ends() {
    assert_eq!(
        values("base=50ms..1s"),
        [["50ms", "106ms", "224ms", "473ms", "1s"]]
    );
    assert_eq!(values("ratio=0.05..0.5:3"), [["0.05", "0.158", "0.5"]]);
    assert_eq!(values("load=0..1"), [["0", "0.25", "0.5", "0.75", "1"]]);
    assert_eq!(values("outage=500ms..8s:2"), [["500ms", "8s"]]);
}

#[test]
fn whole_numbers_are_all_taken_where_they_are_few() {
    assert_eq!(values("attempts=2..5"), [["2", "3", "4", "5"]]);
    assert_eq!(values("clients=1..1000:4"), [["1", "10", "100", "1000"]]);
    assert_eq!(values("clients=1..4:100"), [["1", "2", "3", "4"]]);
}

#[test]
fn alternatives_ranges_and_commas_in_values_go_together() {
    assert_eq!(
        values("budget=none|ratio:0.1,burst:5,jitter=full|equal, attempts = 1|3..4"),
        [
            vec!["none", "ratio:0.1,burst:5"],
            vec!["full", "equal"],
            vec!["1", "3", "4"],
        ]
    );
    assert_eq!(values("queue=fifo|lifo"), [["fifo", "lifo"]]);
}

#[test]
fn points_are_the_grid_with_the_last_axis_fastest() {
    let sweep = Sweep::read("base=1ms|2ms,load=0.5|0.9", &parameters()).unwrap();
    let points = sweep.points(&Policy::default(), &parameters()).unwrap();
    let names: Vec<&str> = points.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "base=1ms load=0.5",
            "base=1ms load=0.9",
            "base=2ms load=0.5",
            "base=2ms load=0.9"
        ]
    );
    assert_eq!(points[3].policy.base, Duration::from_millis(2));
    assert_eq!(points[3].parameters.text("load"), "0.9");
    assert_eq!(points[3].parameters.text("outage"), "2s");
    assert_eq!(points[0].policy.attempts, Policy::default().attempts);
}

#[test]
fn every_setting_sets_its_field_and_no_other() {
    let by_default = Policy::default;
    let second = Duration::from_secs(1);
    for (name, value, expected) in vec![
        ("attempts", "7", by_default().attempts(7)),
        (
            "attempts",
            "unlimited",
            by_default().attempts(Policy::UNLIMITED),
        ),
        ("base", "1s", by_default().base(second)),
        ("cap", "1s", by_default().cap(second)),
        ("floor", "1s", by_default().floor(second)),
        ("multiplier", "3", by_default().multiplier(3.0)),
        ("jitter", "equal", by_default().jitter(Jitter::Equal)),
        (
            "backoff",
            "fixed",
            by_default().backoff(becalm::Backoff::Fixed),
        ),
        ("throttled-base", "1s", by_default().throttled_base(second)),
        ("deadline", "1s", by_default().deadline(second)),
        (
            "attempt_timeout",
            "1s",
            by_default().attempt_timeout(second),
        ),
        ("attempt-timeout", "none", by_default()),
        ("ratio", "0.3", by_default().budget(Budget::ratio(0.3))),
        (
            "burst",
            "3",
            by_default().budget(Budget::default().burst(3.0)),
        ),
        ("budget", "none", by_default().budget(Budget::None)),
        (
            "when-spent",
            "wait",
            by_default().when_spent("wait".parse().unwrap()),
        ),
        ("max-waiting", "9", by_default().max_waiting(9)),
        (
            "breaker",
            "consecutive:5",
            by_default().breaker("consecutive:5".parse::<becalm::Breaker>().unwrap()),
        ),
        (
            "hedge",
            "p95",
            by_default().hedge("p95".parse::<becalm::Hedge>().unwrap()),
        ),
        (
            "bulkhead",
            "calls:5",
            by_default().bulkhead("calls:5".parse::<becalm::Bulkhead>().unwrap()),
        ),
        (
            "throttle",
            "accepts:2",
            by_default().throttle("accepts:2".parse::<becalm::Throttle>().unwrap()),
        ),
        (
            "rate",
            "cubic",
            by_default().rate("cubic".parse::<becalm::rate::AdaptiveRate>().unwrap()),
        ),
        (
            "hint",
            "ignore",
            by_default().hint("ignore".parse().unwrap()),
        ),
        ("max-hint", "1s", by_default().max_hint(second)),
    ] {
        let mut policy = by_default();
        let setting = Setting::named(name).unwrap_or_else(|| panic!("{name}"));
        setting.set(&mut policy, value).unwrap();
        assert_eq!(policy, expected, "{name}");
    }
    assert!(Setting::names().count() > 20);
}

#[test]
fn the_ratio_of_a_joined_budget_is_changed_in_its_place() {
    let mut policy = Policy::default().budget(Budget::ratio(0.1).and(Budget::per_minute(60)));
    Setting::named("ratio")
        .unwrap()
        .set(&mut policy, "0.4")
        .unwrap();
    assert_eq!(
        policy.budget,
        Budget::ratio(0.4).and(Budget::per_minute(60))
    );
    policy.budget = Budget::None;
    Setting::named("burst")
        .unwrap()
        .set(&mut policy, "4")
        .unwrap();
    assert_eq!(policy.budget, Budget::default().burst(4.0));
}

#[test]
fn what_is_refused_names_the_axis_and_the_remedy() {
    for (text, words) in [
        ("", &["not an axis", "base=50ms..1s"][..]),
        ("base", &["\"base\" is not an axis"]),
        ("=3", &["not an axis"]),
        ("base=", &["base= ", "not an axis"]),
        ("base=1ms,,load=1", &["not an axis"]),
        ("lod=1", &["lod is not known", "base", "load"]),
        ("base=1ms,base=2ms", &["base is given twice", "|"]),
        ("base=soon", &["base: \"soon\" is refused"]),
        ("load=1.5", &["load: \"1.5\" is refused", "from 0 to 1"]),
        ("attempts=0", &["attempts: \"0\" is refused", "from 1 up"]),
        ("jitter=loud", &["jitter: \"loud\" is refused", "full"]),
        ("base=1s..50ms", &["base: the range 1s..50ms does not rise"]),
        ("base=1..5", &["needs a time at either end"]),
        ("attempts=0..5", &["needs a whole number from 1 up"]),
        ("ratio=a..b", &["needs a number at either end"]),
        ("base=1ms..2ms:1", &["from 2 to 100 steps"]),
        ("base=1ms..2s:101", &["from 2 to 100 steps"]),
        (
            "base=1ms..1s:50,cap=1s..9s:50",
            &["2500 points", "at most 1000"],
        ),
        ("base=1s,cap=10ms", &["base=1s cap=10ms: base is above cap"]),
    ] {
        let sentence = refusal(text);
        for word in words {
            let found = sentence.contains(word) || sentence.contains(word.trim());
            assert!(found, "{text}: \"{word}\" is not in: {sentence}");
        }
    }
}

#[test]
fn errors_are_typed() {
    let error = Sweep::read("lod=1", &parameters()).unwrap_err();
    assert!(matches!(error, InvalidSweep::UnknownAxis { ref name, .. } if name == "lod"));
}

#[test]
fn hostile_texts_are_refused_without_a_panic() {
    for text in [
        "base=..",
        "base=..:",
        "base=1ms..:5",
        "base=|||",
        "=,=",
        ",",
        "base=1ns..584y",
        "load=0..1e308:100",
        "load=nan..inf",
        "load=-1..1",
        "attempts=1..4294967295",
        "attempts=4294967295..99999999999",
        "floor=0..1s:100",
        "\u{0}=\u{0}",
        "base=é..ü:ß",
    ] {
        if let Ok(sweep) = Sweep::read(text, &parameters()) {
            let _ = sweep.points(&Policy::default(), &parameters());
        }
    }
}

#[test]
fn s2_an_axis_may_move_the_policy_of_one_place() {
    let parameters = Parameters::of(&[]);
    let read = |text: &str| Sweep::read(text, &parameters);
    let sweep =
        read("orders->db.attempts=1..3,base=1s,b.internal->c.budget=ratio:0.1,burst:5").unwrap();
    let points = sweep.points(&Policy::default(), &parameters).unwrap();
    assert_eq!(points.len(), 3);
    assert_eq!(
        points[2].name,
        "orders->db.attempts=3 base=1s b.internal->c.budget=ratio:0.1,burst:5"
    );
    let places: Vec<_> = points[2]
        .changes
        .iter()
        .map(becalm_sim::change::Change::place)
        .collect();
    assert_eq!(places, ["orders->db", "b.internal->c"]);
    assert_eq!(
        points[2].policy,
        Policy::default().base(Duration::from_secs(1))
    );
    // What names no place is about the one that is meant, and so no policy of all clients moves.
    let at = read("attempts=2").unwrap().at(Some("orders->db"));
    let points = at.points(&Policy::default(), &parameters).unwrap();
    assert_eq!(points[0].policy, Policy::default());
    assert_eq!(points[0].changes[0].place(), "orders->db");
    assert!(sweep.moves_policy() && !at.moves_policy());
    for (text, part) in [
        ("a->b.atempts=1", "did you mean `attempts`"),
        ("a->b.attempts=0", "from 1 up"),
        ("a-", "put quotes around"),
    ] {
        let refused = read(text).and_then(|it| it.points(&Policy::default(), &parameters));
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains(part), "{refused}");
    }
}
