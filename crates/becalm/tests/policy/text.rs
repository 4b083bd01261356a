//! Are all parts of a policy read by one reader, which says what is wrong and what was meant?

use becalm::policy::Unreadable;
use becalm::{
    Backoff, Breaker, Budget, Bulkhead, Hedge, Jitter, Throttle, hint::HintMode,
    rate::AdaptiveRate, scope::Nested,
};

/// Why this text of this part is refused.
fn refused(part: &str, text: &str) -> Unreadable {
    let refusal = match part {
        "backoff" => text.parse::<Backoff>().err(),
        "jitter" => text.parse::<Jitter>().err(),
        "hint" => text.parse::<HintMode>().err(),
        "nested" => text.parse::<Nested>().err(),
        "budget" => text.parse::<Budget>().err(),
        "breaker" => text.parse::<Breaker>().err(),
        "bulkhead" => text.parse::<Bulkhead>().err(),
        "hedge" => text.parse::<Hedge>().err(),
        "throttle" => text.parse::<Throttle>().err(),
        "rate" => text.parse::<AdaptiveRate>().err(),
        _ => panic!("{part}"),
    };
    refusal.unwrap_or_else(|| panic!("{part} `{text}` is accepted"))
}

#[test]
fn b6_an_unknown_kind_is_refused_with_the_one_that_was_meant_or_with_all() {
    for (part, text, sentence) in [
        (
            "backoff",
            "exponetial",
            "there is no backoff `exponetial`; did you mean `exponential`?",
        ),
        (
            "backoff",
            "custom",
            "there is no backoff `custom`; write fixed, linear, exponential or fibonacci",
        ),
        (
            "jitter",
            "ful",
            "there is no jitter `ful`; did you mean `full`?",
        ),
        (
            "jitter",
            "half",
            "there is no jitter `half`; write none, full, equal, decorrelated, decorrelated-clamped, proportional:0.25 or additive:1s",
        ),
        (
            "hint",
            "honour",
            "there is no hint mode `honour`; did you mean `honor`?",
        ),
        (
            "nested",
            "share_budget",
            "there is no way with nested retries `share_budget`; did you mean `share-budget`?",
        ),
        (
            "nested",
            "yes",
            "there is no way with nested retries `yes`; write nearest, outermost, allow or share-budget",
        ),
        (
            "budget",
            "ratios:0.1",
            "there is no budget `ratios`; did you mean `ratio`?",
        ),
        (
            "budget",
            "none + ratio:0.1",
            "there is no budget `none`; write ratio:0.1, first-tries:0.1, tokens:500, grpc:10, concurrency:0.2, per-minute:60 or window:0.2",
        ),
        (
            "budget",
            "ratio:0.1 +",
            "there is no budget ``; write ratio:0.1, first-tries:0.1, tokens:500, grpc:10, concurrency:0.2, per-minute:60 or window:0.2",
        ),
        (
            "breaker",
            "consecutve:5",
            "there is no breaker `consecutve`; did you mean `consecutive`?",
        ),
        (
            "breaker",
            "none",
            "there is no breaker `none`; write consecutive:5 or share:0.5",
        ),
        (
            "bulkhead",
            "vegas:20",
            "there is no bulkhead `vegas`; write calls:50, gradient:20 or aimd:20",
        ),
        (
            "bulkhead",
            "50",
            "there is no bulkhead `50`; write calls:50, gradient:20 or aimd:20",
        ),
        (
            "hedge",
            "afer:50ms",
            "there is no hedge `afer`; did you mean `after`?",
        ),
        (
            "hedge",
            "p-95",
            "there is no hedge `p-95`; write after:50ms or p95",
        ),
        (
            "throttle",
            "acepts:2",
            "there is no throttle `acepts`; did you mean `accepts`?",
        ),
        ("throttle", "2", "there is no throttle `2`; write accepts:2"),
        (
            "rate",
            "cubik",
            "there is no adaptive rate `cubik`; did you mean `cubic`?",
        ),
    ] {
        let refusal = refused(part, text);
        assert_eq!(refusal.to_string(), sentence, "{part} {text}");
    }
}

#[test]
fn b6_an_unknown_parameter_is_refused_with_the_one_that_was_meant_or_with_all() {
    for (part, text, sentence) in [
        (
            "budget",
            "ratio:0.1,brust:3",
            "the budget `ratio` has no parameter `brust`; did you mean `burst`?",
        ),
        (
            "budget",
            "grpc:10,max:1",
            "the budget `grpc` has no parameter `max`; it has ratio",
        ),
        (
            "budget",
            "concurrency:0.2,share:1",
            "the budget `concurrency` has no parameter `share`; it has floor",
        ),
        (
            "budget",
            "per-minute:60,burst:1",
            "the budget `per-minute` has no parameter `burst`; it has none",
        ),
        (
            "breaker",
            "consecutive:5,opne:5s",
            "the breaker `consecutive` has no parameter `opne`; did you mean `open`?",
        ),
        (
            "breaker",
            "consecutive:5,within:10s",
            "the breaker `consecutive` has no parameter `within`; it has min, slow, open, open-max, jitter, probes, successes and refuses",
        ),
        (
            "bulkhead",
            "calls:50,wating:3",
            "the bulkhead `calls` has no parameter `wating`; did you mean `waiting`?",
        ),
        (
            "bulkhead",
            "calls:50,tolerance:2",
            "the bulkhead `calls` has no parameter `tolerance`; it has waiting, max-wait and order",
        ),
        (
            "hedge",
            "p95,mni:1ms",
            "the hedge `p` has no parameter `mni`; did you mean `min`?",
        ),
        (
            "hedge",
            "after:1s,min:1ms",
            "the hedge `after` has no parameter `min`; it has copies",
        ),
        (
            "throttle",
            "accepts:2,with:2m",
            "the throttle `accepts` has no parameter `with`; did you mean `within`?",
        ),
        (
            "rate",
            "cubic,wait:5s",
            "the adaptive rate `cubic` has no parameter `wait`; it has max-wait",
        ),
        (
            "rate",
            "cubic,",
            "the adaptive rate `cubic` has no parameter ``; it has max-wait",
        ),
    ] {
        let refusal = refused(part, text);
        assert_eq!(refusal.to_string(), sentence, "{part} {text}");
    }
}

#[test]
fn b6_a_parameter_given_twice_is_refused_and_both_are_named() {
    for (part, text, one, other) in [
        ("budget", "ratio:0.1,burst:3,burst:4", "burst:3", "burst:4"),
        ("budget", "ratio:0.1,ratio:0.2", "ratio:0.1", "ratio:0.2"),
        (
            "breaker",
            "consecutive:5,open:5s,open:6s",
            "open:5s",
            "open:6s",
        ),
        (
            "breaker",
            "share:0.5,calls:10,within:10s",
            "calls:10",
            "within:10s",
        ),
        (
            "bulkhead",
            "calls:50,waiting:1,waiting:1",
            "waiting:1",
            "waiting:1",
        ),
        (
            "hedge",
            "p95,min:1ms,copies:1,min:2ms",
            "min:1ms",
            "min:2ms",
        ),
        (
            "throttle",
            "accepts:2,max:0.9,max:0.8",
            "max:0.9",
            "max:0.8",
        ),
        (
            "rate",
            "cubic,max-wait:1s,max-wait:2s",
            "max-wait:1s",
            "max-wait:2s",
        ),
    ] {
        let refusal = refused(part, text);
        let sentence = format!("has both `{one}` and `{other}`; keep one");
        assert!(refusal.to_string().ends_with(&sentence), "{refusal}");
    }
    let twice = refused("budget", "ratio:0.1,burst:10 + ratio:0.2");
    assert_eq!(
        twice.to_string(),
        "the budget names a kind twice; keep one of them"
    );
}

fn refused_value(part: &str, text: &str) -> String {
    refused(part, text).to_string()
}

#[test]
fn b6_a_value_that_cannot_be_read_is_refused_by_its_parameter() {
    for (part, text, sentence) in [
        (
            "jitter",
            "proportional",
            "the jitter's proportional has no value: write proportional:0.25",
        ),
        (
            "jitter",
            "additive:5",
            "the jitter's additive is `5`: the duration has no unit; write 250ms, 1.5s or 2m",
        ),
        (
            "jitter",
            "full:1",
            "the jitter's full is `1`: leave the value out",
        ),
        (
            "budget",
            "ratio:0.1,burst:x",
            "the budget's burst is `x`: write a number such as 10, or a duration such as 5s",
        ),
        (
            "budget",
            "ratio:",
            "the budget's ratio has no value: write a number",
        ),
        (
            "budget",
            "tokens:5.5",
            "the budget's tokens is `5.5`: write a whole number",
        ),
        (
            "budget",
            "tokens:500,refund:all",
            "the budget's refund is `all`: write last or none",
        ),
        (
            "budget",
            "window:0.2,ttl:10",
            "the budget's ttl is `10`: the duration has no unit; write 250ms, 1.5s or 2m",
        ),
    ] {
        assert_eq!(refused_value(part, text), sentence, "{part} {text}");
    }
}

#[test]
fn b6_a_value_of_the_protection_that_cannot_be_read_is_refused_by_its_parameter() {
    for (part, text, sentence) in [
        (
            "breaker",
            "consecutive",
            "the breaker's consecutive has no value: write consecutive:5",
        ),
        (
            "breaker",
            "consecutive:-1",
            "the breaker's consecutive is `-1`: write a whole number",
        ),
        (
            "breaker",
            "consecutive:5,open",
            "the breaker's open has no value: write a duration such as 250ms",
        ),
        (
            "bulkhead",
            "calls",
            "the bulkhead's calls has no value: write calls:50",
        ),
        (
            "bulkhead",
            "calls:50,order:lfo",
            "the bulkhead's order is `lfo`: did you mean `lifo`?",
        ),
        (
            "bulkhead",
            "calls:50,waiting:3,max-wait:5",
            "the bulkhead's max-wait is `5`: the duration has no unit; write 250ms, 1.5s or 2m",
        ),
        (
            "hedge",
            "after:",
            "the hedge's after has no value: the duration is empty; write a number and a unit, such as 250ms",
        ),
        ("hedge", "p", "the hedge's p has no value: write p95"),
        (
            "hedge",
            "p95%",
            "the hedge's p is `95%`: write a number such as 95 or 99.9",
        ),
        (
            "throttle",
            "accepts:two",
            "the throttle's accepts is `two`: write a number",
        ),
        (
            "throttle",
            "accepts:2,within",
            "the throttle's within has no value: write a duration such as 250ms",
        ),
        (
            "rate",
            "cubic:3",
            "the adaptive rate's cubic is `3`: leave the value out",
        ),
        (
            "rate",
            "cubic,max-wait:5",
            "the adaptive rate's max-wait is `5`: the duration has no unit; write 250ms, 1.5s or 2m",
        ),
    ] {
        assert_eq!(refused_value(part, text), sentence, "{part} {text}");
    }
}

#[test]
fn spaces_and_the_order_of_parameters_count_for_nothing() {
    let breaker = "share:0.5,calls:100,min:30,open:10m,open-max:20m".parse::<Breaker>();
    let shuffled = " share : 0.5, open-max: 20m , min:30,open:10m,calls:100 ".parse();
    assert_eq!(shuffled, breaker);
    assert!(breaker.is_ok());
    let short = "share:0.5,open-max:4s,open:5s".parse::<Breaker>();
    assert!(short.is_err(), "an open-max is not raised: {short:?}");
}
