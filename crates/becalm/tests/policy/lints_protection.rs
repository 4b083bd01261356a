//! Is every danger of what stands around the attempts named, and not just beside it?

use std::time::Duration;

use becalm::{Budget, Policy, lint::Lint};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

/// With an end to every attempt and call, so that nothing hangs.
fn calm() -> Policy {
    Policy::default()
        .attempt_timeout(SECOND)
        .deadline(30 * SECOND)
}

/// Without an end to anything.
fn endless() -> Policy {
    Policy::default()
}

/// The policy with this part, as in a policy file.
fn with(policy: Policy, key: &str, text: &str) -> Policy {
    match key {
        "throttle" => policy.throttle(text.parse::<becalm::Throttle>().expect(text)),
        "rate" => policy.rate(text.parse::<becalm::rate::AdaptiveRate>().expect(text)),
        "hedge" => policy.hedge(text.parse::<becalm::Hedge>().expect(text)),
        "bulkhead" => policy.bulkhead(text.parse::<becalm::Bulkhead>().expect(text)),
        "breaker" => policy.breaker(text.parse::<becalm::Breaker>().expect(text)),
        _ => panic!("no part {key}"),
    }
}

fn codes(policy: &Policy) -> Vec<&'static str> {
    policy.lints().iter().map(|lint| lint.code).collect()
}

/// The only lint of a policy.
fn message(policy: &Policy) -> String {
    let lints = policy.lints();
    assert_eq!(lints.len(), 1, "{lints:?}");
    lints[0].message.clone()
}

/// A code, a policy that has it and no other, and a policy beside it that has none.
type Pair = (&'static str, Policy, Policy);

fn pairs() -> Vec<Pair> {
    let mut pairs = of_throttle_and_rate();
    pairs.extend(of_hedge());
    pairs.extend(of_bulkhead());
    pairs.extend(of_breaker());
    pairs
}

fn of_throttle_and_rate() -> Vec<Pair> {
    let throttle = |text| with(calm(), "throttle", text);
    let rate = |policy, text| with(policy, "rate", text);
    vec![
        (
            "throttle-eager",
            throttle("accepts:1.09"),
            throttle("accepts:1.1"),
        ),
        (
            "throttle-stops-probing",
            throttle("accepts:2,max:1"),
            throttle("accepts:2,max:0.999"),
        ),
        (
            "rate-waits-forever",
            rate(endless(), "cubic"),
            rate(endless(), "cubic,max-wait:24h"),
        ),
        (
            "rate-waits-forever",
            rate(endless().attempts(1), "cubic"),
            rate(endless().attempts(1).deadline(SECOND), "cubic"),
        ),
    ]
}

fn of_hedge() -> Vec<Pair> {
    let hedge = |text| with(calm(), "hedge", text);
    let few = |attempts, text| with(calm().attempts(attempts), "hedge", text);
    let timed = |timeout, text| with(endless().attempt_timeout(timeout), "hedge", text);
    let due = |deadline, text| with(endless().deadline(deadline), "hedge", text);
    let placed = |places, text| with(hedge(text), "bulkhead", places);
    vec![
        ("hedge-eager", hedge("after:999us"), hedge("after:1ms")),
        ("hedge-eager", hedge("p89.9"), hedge("p90")),
        (
            "hedge-never-starts",
            few(1, "after:50ms"),
            few(2, "after:50ms"),
        ),
        ("hedge-never-starts", few(1, "p50"), few(2, "p95")),
        (
            "hedge-never-starts",
            few(3, "p95,copies:3"),
            few(4, "p95,copies:3"),
        ),
        (
            "hedge-never-starts",
            timed(SECOND, "after:1s"),
            timed(SECOND, "after:999ms"),
        ),
        (
            "hedge-never-starts",
            timed(SECOND, "p95,min:1s"),
            timed(SECOND, "p95,min:999ms"),
        ),
        (
            "hedge-never-starts",
            due(20 * SECOND, "after:10s,copies:2"),
            due(20 * SECOND, "after:9999ms,copies:2"),
        ),
        (
            "hedge-never-starts",
            placed("calls:1", "p95"),
            placed("calls:2", "p95"),
        ),
        (
            "hedge-never-starts",
            placed("gradient:1,min:1,max:2", "p95,copies:2"),
            placed("gradient:1,min:1,max:3", "p95,copies:2"),
        ),
        (
            "hedge-needs-traffic",
            hedge("p99.9,window:49s"),
            hedge("p99.9,window:50s"),
        ),
        (
            "hedge-needs-traffic",
            hedge("p95,samples:101,window:1s"),
            hedge("p95,samples:100,window:1s"),
        ),
    ]
}

fn of_bulkhead() -> Vec<Pair> {
    let bulkhead = |policy, text| with(policy, "bulkhead", text);
    let timed = || endless().attempt_timeout(SECOND);
    vec![
        (
            "bulkhead-waits-forever",
            bulkhead(timed(), "calls:50,waiting:1,order:lifo"),
            bulkhead(timed(), "calls:50,waiting:1,order:lifo,max-wait:1h"),
        ),
        (
            "bulkhead-waits-forever",
            bulkhead(timed(), "gradient:20,waiting:1,order:lifo"),
            bulkhead(
                timed().deadline(3600 * SECOND),
                "gradient:20,waiting:1,order:lifo",
            ),
        ),
        (
            "bulkhead-waits-forever",
            bulkhead(timed(), "calls:50,waiting:500,order:lifo"),
            bulkhead(timed(), "calls:50,waiting:500"),
        ),
        (
            "bulkhead-held-by-hangs",
            bulkhead(endless(), "calls:50"),
            bulkhead(timed(), "calls:50"),
        ),
        (
            "bulkhead-held-by-hangs",
            bulkhead(endless(), "calls:50,waiting:500"),
            bulkhead(timed(), "calls:50,waiting:500"),
        ),
        (
            "bulkhead-held-by-hangs",
            bulkhead(endless(), "gradient:20"),
            bulkhead(endless().deadline(SECOND), "gradient:20"),
        ),
        (
            "bulkhead-wait-fills-deadline",
            bulkhead(calm(), "calls:50,waiting:10,max-wait:30s"),
            bulkhead(calm(), "calls:50,waiting:10,max-wait:29s"),
        ),
        (
            "bulkhead-long-queue",
            bulkhead(calm(), "calls:5,waiting:51"),
            bulkhead(calm(), "calls:5,waiting:50"),
        ),
        (
            "bulkhead-long-queue",
            bulkhead(calm(), "aimd:5,waiting:1000"),
            bulkhead(calm(), "aimd:5,waiting:1000,max-wait:1s"),
        ),
        (
            "bulkhead-long-queue",
            bulkhead(calm(), "gradient:20,waiting:201"),
            bulkhead(calm(), "gradient:20,waiting:201,order:lifo"),
        ),
    ]
}

fn of_breaker() -> Vec<Pair> {
    let breaker = |text| with(calm(), "breaker", text);
    let tried = |attempts, text| with(calm().attempts(attempts), "breaker", text);
    let untimed = |text| with(endless().deadline(30 * SECOND), "breaker", text);
    vec![
        (
            "breaker-hair-trigger",
            tried(2, "consecutive:2"),
            tried(2, "consecutive:3"),
        ),
        (
            "breaker-hair-trigger",
            breaker("share:0.5,min:4"),
            breaker("share:0.5,min:5"),
        ),
        (
            "breaker-hair-trigger",
            breaker("share:0.1,calls:100,min:20"),
            breaker("share:0.1,calls:100,min:21"),
        ),
        (
            "breaker-hair-trigger",
            breaker("share:0.099,min:100"),
            breaker("share:0.1,min:100"),
        ),
        (
            "breaker-opened-by-one-call",
            tried(4, "consecutive:4"),
            tried(4, "consecutive:5"),
        ),
        (
            "breaker-opened-by-one-call",
            tried(Policy::UNLIMITED, "consecutive:1000"),
            tried(Policy::UNLIMITED, "share:0.5"),
        ),
        (
            "breaker-blind-to-hangs",
            untimed("share:0.5"),
            untimed("share:0.5,slow:5s"),
        ),
        (
            "breaker-blind-to-hangs",
            untimed("consecutive:5"),
            breaker("consecutive:5"),
        ),
        (
            "breaker-needs-traffic",
            breaker("share:0.5,within:10s,min:1001"),
            breaker("share:0.5,within:10s,min:1000"),
        ),
        (
            "breaker-needs-traffic",
            breaker("share:0.5,within:10s,min:1001"),
            breaker("share:0.5,calls:2000,min:1001"),
        ),
        (
            "breaker-no-jitter",
            breaker("share:0.5,jitter:0.16"),
            breaker("share:0.5,jitter:0.17"),
        ),
        // On average they come every 75 ms, or every 101 ms.
        (
            "breaker-probes-often",
            breaker("share:0.5,open:1ms,open-max:100ms"),
            breaker("share:0.5,open:1ms,open-max:135ms"),
        ),
        (
            "breaker-probes-often",
            breaker("share:0.5,open:1s,open-max:1s,probes:8"),
            breaker("share:0.5,open:1s,open-max:1s,probes:7"),
        ),
        (
            "breaker-open-long",
            breaker("share:0.5,open-max:301s"),
            breaker("share:0.5,open-max:300s"),
        ),
    ]
}

#[test]
fn each_danger_has_its_code_and_no_other_and_its_neighbour_has_none() {
    for (code, dangerous, beside) in pairs() {
        assert_eq!(dangerous.validate(), Ok(()), "{code}: for legal policies");
        assert_eq!(codes(&dangerous), [code], "{dangerous}");
        assert_eq!(beside.validate(), Ok(()), "{code}: beside it");
        assert_eq!(codes(&beside), [""; 0], "beside {code}: {beside}");
    }
}

/// Those of retries have specimens of their own; a hedge needs a retry, and so a budget.
#[test]
fn every_code_of_a_part_has_a_pair() {
    let parts = ["throttle-", "rate-", "hedge-", "bulkhead-", "breaker-"];
    let shown: Vec<_> = pairs().into_iter().map(|(code, ..)| code).collect();
    for code in Lint::CODES {
        if parts.iter().any(|part| code.starts_with(part)) {
            assert!(
                shown.contains(code) || *code == "hedge-without-budget",
                "{code}"
            );
        }
    }
}

#[test]
fn a_message_is_one_sentence_with_the_remedy() {
    let remedies = ["set ", "lower ", "raise "];
    for (code, policy, _) in pairs() {
        let message = message(&policy);
        let remedy = message.rsplit("; ").next().unwrap_or_default();
        assert!(
            remedies.iter().any(|verb| remedy.starts_with(verb)),
            "{code}: {message}"
        );
        assert!(
            !message.contains("  ") && !message.ends_with('.'),
            "{code}: {message}"
        );
    }
}

#[test]
fn a_hedge_without_a_budget_is_a_danger_besides_that_of_the_retries() {
    let unbounded = |policy: Policy| policy.budget(Budget::None);
    let policy = unbounded(with(calm(), "hedge", "p95,copies:2"));
    assert_eq!(codes(&policy), ["no-budget", "hedge-without-budget"]);
    assert!(policy.lints()[1].message.contains("up to 3 times"));
    let policy = unbounded(with(calm().attempts(1), "hedge", "p95"));
    assert_eq!(codes(&policy), ["hedge-never-starts"]);
}

#[test]
fn the_defaults_of_every_part_have_no_lints_where_attempts_and_calls_end() {
    for (key, text) in [
        ("throttle", "accepts:2"),
        ("rate", "cubic"),
        ("hedge", "p95"),
        ("hedge", "p99"),
        ("hedge", "after:50ms"),
        ("bulkhead", "calls:50"),
        ("bulkhead", "calls:50,waiting:10"),
        ("bulkhead", "gradient:20"),
        ("bulkhead", "aimd:20"),
        ("breaker", "consecutive:5"),
        ("breaker", "share:0.5"),
        ("breaker", "share:0.5,calls:100"),
    ] {
        let policy = with(calm(), key, text);
        assert_eq!(codes(&policy), [""; 0], "{policy}");
        let once = with(calm().attempts(1), key, text);
        let expected: &[&str] = match key {
            "hedge" => &["hedge-never-starts"],
            _ => &[],
        };
        assert_eq!(codes(&once), expected, "{once}");
    }
}

/// The tightest of several bounds is named, with the policy's figures.
#[test]
fn the_figures_are_those_of_the_policy() {
    let part = |key, text| message(&with(calm(), key, text));
    let contains = |message: &str, words: &[&str]| {
        for word in words {
            assert!(message.contains(word), "{word}: {message}");
        }
    };

    // 1 - 1/1.05
    contains(&part("throttle", "accepts:1.05"), &["4.8 %"]);
    contains(&part("throttle", "accepts:1,within:30s"), &["0.0 %"]);
    contains(&part("throttle", "accepts:2,max:1,within:30s"), &["30s"]);
    contains(&part("hedge", "after:0s"), &["every attempt"]);
    contains(&part("hedge", "p50"), &["50 % of all attempts"]);
    contains(&part("hedge", "p99.9"), &["5000", "167 attempts", "30s"]);

    // Before 1 s comes one copy at 600 ms, before 30 s three of 9 s each.
    contains(
        &part("hedge", "after:600ms,copies:2"),
        &["at most 1 of 2 copies", "600ms", "attempt timeout of 1s"],
    );
    let slow = with(
        endless().deadline(30 * SECOND).attempts(9),
        "hedge",
        "after:9s,copies:4",
    );
    contains(
        &message(&slow),
        &["at most 3 of 4", "deadline of 30s", "9s"],
    );
    let crowded = with(slow, "bulkhead", "calls:3");
    contains(&message(&crowded), &["at most 2 of 4", "3 run at once"]);
    contains(
        &message(&with(crowded.attempts(2), "hedge", "after:9s,copies:4")),
        &["at most 1 of 4", "attempts is 2"],
    );

    contains(
        &part("bulkhead", "calls:10,waiting:500"),
        &["last of 500", "50 times", "lower waiting to 10"],
    );
    contains(
        &part("bulkhead", "calls:10,waiting:5,max-wait:1m"),
        &["wait 1m", "deadline of 30s"],
    );
    contains(&part("breaker", "consecutive:1"), &["one failure opens"]);
    contains(&part("breaker", "consecutive:2"), &["two failures open"]);
    contains(&part("breaker", "share:0.025,min:200"), &["2.5 %"]);
    contains(
        &part("breaker", "consecutive:3"),
        &["3 of its 4 attempts", "raise consecutive"],
    );
    contains(
        &part("breaker", "share:0.5,within:1s,min:500"),
        &["500 attempts", "1s", "min of 500"],
    );
    contains(
        &part("breaker", "share:0.5,open:50ms,open-max:50ms,jitter:1"),
        &["40 probes"],
    );
    contains(&part("breaker", "share:0.5,open-max:2h"), &["2h"]);
}

#[test]
fn several_dangers_are_told_from_the_outside_in() {
    let mut policy = endless().attempts(2);
    for (key, text) in [
        ("breaker", "consecutive:1,jitter:0,open-max:24h"),
        ("bulkhead", "calls:1,waiting:1000,order:lifo"),
        ("hedge", "after:0s"),
        ("rate", "cubic"),
        ("throttle", "accepts:1,max:1"),
    ] {
        policy = with(policy, key, text);
    }
    assert_eq!(
        codes(&policy),
        [
            "throttle-eager",
            "throttle-stops-probing",
            "rate-waits-forever",
            "hedge-eager",
            "hedge-never-starts",
            "bulkhead-waits-forever",
            "bulkhead-held-by-hangs",
            "breaker-hair-trigger",
            "breaker-blind-to-hangs",
            "breaker-no-jitter",
            "breaker-open-long",
        ]
    );
}

/// The extremes of parts that nobody has validated.
#[test]
fn no_part_panics_valid_or_not() {
    use becalm::breaker::{Breaker, Span};
    use becalm::bulkhead::{Aimd, Bulkhead, Limit};
    use becalm::{Hedge, Throttle, rate::AdaptiveRate};

    let numbers = [f64::NAN, f64::INFINITY, -1.0, 0.0, 1e-300, f64::MAX];
    let times = [Duration::ZERO, MS, Duration::MAX];
    for number in numbers {
        for time in times {
            for count in [0, 1, u32::MAX] {
                let policy = Policy::default()
                    .attempts(count)
                    .deadline(time)
                    .budget(Budget::window(number, time, number))
                    .throttle(Throttle::accepts(number).within(time).max(number))
                    .rate(AdaptiveRate::cubic().max_wait(time))
                    .hedge(
                        Hedge::at_quantile(number)
                            .min(time)
                            .window(time)
                            .copies(count),
                    )
                    .bulkhead(Bulkhead::calls(count).waiting(u32::MAX))
                    .breaker(
                        Breaker::share(number, Span::Time(time))
                            .min_calls(count)
                            .open_max(time)
                            .jitter(number)
                            .probes(count),
                    );
                let _ = policy.lints();
                let mut aimd = Aimd::default();
                (aimd.initial, aimd.max) = (count, count);
                let limit = Limit::Aimd(aimd);
                let policy = policy
                    .hedge(Hedge::after(time).copies(count))
                    .bulkhead(Bulkhead::limited(limit).max_wait(time))
                    .breaker(Breaker::consecutive(count));
                let _ = policy.lints();
            }
        }
    }
}
