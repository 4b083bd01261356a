//! Does any policy survive the way to a file and back, as texts and as tables, and any text at all the
//! reader?
#![cfg(feature = "serde")]

use std::sync::Arc;
use std::time::Duration;

use crate::any_policy::parts::valid_parts;
use becalm::budget::{Tokens, WhenSpent};
use becalm::classify::FailureKind;
use becalm::retry_on::{Codes, Failures, Methods, RetryOn, Statuses};
use becalm::{Backoff, Budget, Jitter, Policy, hint::HintMode, scope::Nested};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::Value;

fn duration() -> impl Strategy<Value = Duration> {
    prop_oneof![
        any::<u64>().prop_map(Duration::from_nanos),
        (0_u64..100_000).prop_map(Duration::from_millis),
    ]
}

fn jitter() -> impl Strategy<Value = Jitter> {
    prop_oneof![
        5 => prop::sample::select(Jitter::SAMPLES),
        1 => (f64::MIN_POSITIVE..=1.0).prop_map(Jitter::Proportional),
        1 => duration().prop_map(Jitter::Additive),
    ]
}

fn budget() -> impl Strategy<Value = Budget> {
    let ratio = (1e-6..1e3, 1.0..1e6, prop_oneof![Just(0.0), 0.0..1e4]);
    let ratio = ratio.prop_map(|(ratio, burst, floor): (f64, f64, f64)| {
        Budget::ratio(ratio).burst(burst).floor_per_second(floor)
    });
    let tokens = (100..1_000_000_u32, 1..100_u32, any::<bool>(), 0..100_u32);
    let tokens = tokens.prop_map(|(capacity, cost, refund_last, clean)| {
        let mut tokens = Tokens::default();
        (tokens.capacity, tokens.cost) = (capacity, cost);
        (tokens.refund_last, tokens.clean_success) = (refund_last, clean);
        Budget::Tokens(tokens)
    });
    let ttl = (1_000_000_000..60_000_000_000_u64).prop_map(Duration::from_nanos);
    let window = (prop_oneof![Just(0.0), 1e-6..1e3], ttl, 0.1..1e4);
    let window = window.prop_map(|(share, ttl, floor)| Budget::window(share, ttl, floor));
    let grpc = (1..1000_u32, 0.001..1e3).prop_map(|(most, ratio)| Budget::grpc(most, ratio));
    let concurrency = (prop_oneof![Just(0.0), 1e-6..1.0], 1..1_000_000_u32);
    let concurrency = concurrency.prop_map(|(share, floor)| Budget::concurrency(share, floor));
    let per_minute = (1..1_000_000_u32).prop_map(Budget::per_minute);
    // Each kind or none: one of them, several, or no budget at all.
    let maybe = |budget: BoxedStrategy<Budget>| prop_oneof![2 => Just(Budget::None), 1 => budget];
    (
        maybe(ratio.boxed()),
        maybe(tokens.boxed()),
        maybe(grpc.boxed()),
        maybe(window.boxed()),
        maybe(concurrency.boxed()),
        maybe(per_minute.boxed()),
    )
        .prop_map(|(a, b, c, d, e, f)| a.and(b).and(c).and(d).and(e).and(f))
}

fn lists() -> impl Strategy<Value = RetryOn> {
    use proptest::{collection::vec, option::of};
    let methods = prop_oneof![
        Just(Methods::Any),
        proptest::collection::btree_set("[A-Z]{6,9}", 0..4)
            .prop_map(|it| Methods::Listed(it.into_iter().collect())),
    ];
    let statuses = vec(400_u16..600, 0..200).prop_map(Statuses::from_iter);
    let codes = vec(1_u32..=16, 0..9).prop_map(Codes::from_iter);
    let failures = proptest::sample::subsequence(FailureKind::ALL, 0..=FailureKind::ALL.len());
    let failures = failures.prop_map(Failures::from_iter);
    (of(methods), of(statuses), of(codes), of(failures)).prop_map(
        |(methods, statuses, codes, failures)| {
            RetryOn::new()
                .methods(methods)
                .statuses(statuses)
                .codes(codes)
                .failures(failures)
        },
    )
}

pub fn policy() -> impl Strategy<Value = Policy> {
    use proptest::option::of;
    let delays = (
        prop_oneof![
            Just(Backoff::Fixed),
            Just(Backoff::Linear),
            Just(Backoff::Exponential),
            Just(Backoff::Fibonacci),
        ],
        [duration(), duration(), duration()],
        of(duration()),
        prop_oneof![1.0..10.0, 1.0..f64::MAX],
        jitter(),
    );
    let bounds = (
        prop_oneof![1_u32..20, 1..=u32::MAX],
        of(duration()),
        of(duration()),
        prop_oneof![
            Just(HintMode::Honor),
            Just(HintMode::Clamp),
            Just(HintMode::Ignore)
        ],
        duration(),
        budget(),
        of(1_u32..),
        prop_oneof![
            Just(Nested::Nearest),
            Just(Nested::Outermost),
            Just(Nested::Allow),
            Just(Nested::ShareBudget)
        ],
    );
    (delays, bounds, valid_parts(), of(lists())).prop_filter_map(
        "does not validate",
        |(delays, bounds, parts, lists)| {
            let (backoff, mut lengths, throttled_base, multiplier, jitter) = delays;
            lengths.sort();
            let [floor, base, cap] = lengths;
            let mut policy = Policy::default()
                .backoff(backoff)
                .floor(floor)
                .base(base)
                .cap(cap)
                .multiplier(multiplier)
                .jitter(jitter)
                .attempts(bounds.0)
                .hint(bounds.3)
                .max_hint(bounds.4)
                .budget(bounds.5)
                .nested(bounds.7);
            policy.throttled_base = throttled_base.filter(|throttled| *throttled <= cap);
            policy.deadline = bounds.1;
            policy.attempt_timeout = bounds.2;
            policy.max_waiting = bounds.6;
            // One of the two: it needs a deadline.
            if policy.deadline.is_some() && policy.attempts % 2 == 0 {
                policy.when_spent = WhenSpent::Wait;
            }
            parts.set(&mut policy);
            policy.retry_on = lists.map(Arc::new);
            policy.validate().is_ok().then_some(policy)
        },
    )
}

/// The text of a part as a table: `p95,copies:2` as `{"p": 95, "copies": 2}`.
fn table(text: &str) -> Value {
    let entry = |entry: &str| match entry.split_once(':') {
        Some((name, value)) => (name.replace('-', "_"), number_or_text(value)),
        None if entry.starts_with('p') => ("p".to_owned(), number_or_text(&entry[1..])),
        None => ("kind".to_owned(), entry.into()),
    };
    Value::Object(text.split(',').map(entry).collect())
}

fn number_or_text(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

/// The file of a policy with tables in place of texts, where that is possible.
fn with_tables(policy: &Policy) -> Value {
    let mut file = serde_json::to_value(policy).unwrap();
    for key in [
        "jitter", "budget", "throttle", "rate", "hedge", "bulkhead", "breaker",
    ] {
        let Some(text) = file[key].as_str().filter(|text| *text != "none") else {
            continue;
        };
        // The digits of a share, moved by two places, may be more than a number of a file holds.
        if text.starts_with('p') && text.find(',').is_some_and(|end| end > 15) && key == "hedge" {
            continue;
        }
        let mut tables: Vec<_> = text.split(" + ").map(table).collect();
        file[key] = match tables.len() {
            1 => tables.remove(0),
            _ => tables.into(),
        };
    }
    // Of what is not there, reading a key made a null.
    file.as_object_mut()
        .unwrap()
        .retain(|_, value| !value.is_null());
    file
}

fn validator() -> jsonschema::Validator {
    let schema = include_str!("../../../../docs/policy.schema.json");
    let schema = serde_json::from_str(schema).expect("the schema is JSON");
    jsonschema::draft202012::new(&schema).expect("a schema of draft 2020-12")
}

fn errors(validator: &jsonschema::Validator, file: &Value) -> Vec<String> {
    let errors = validator.iter_errors(file);
    errors.map(|error| format!("{error}")).collect()
}

#[test]
fn b6_a_table_says_what_its_text_says_and_the_schema_accepts_both() {
    let validator = validator();
    let config = ProptestConfig {
        cases: 500,
        rng_seed: RngSeed::Fixed(0x62_65_63_61_6c_6d),
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    proptest!(config, |(policy in policy())| {
        let written = serde_json::to_value(&policy).unwrap();
        prop_assert_eq!(errors(&validator, &written), Vec::<String>::new(), "{}", written);
        let tables = with_tables(&policy);
        prop_assert_eq!(errors(&validator, &tables), Vec::<String>::new(), "{}", tables);
        let read: Policy = serde_json::from_value(tables.clone()).unwrap();
        prop_assert_eq!(read, policy, "{}", tables);
    });
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: RngSeed::Fixed(0x62_65_63_61_6c_6d),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn nothing_is_lost_on_the_way_to_toml_and_back(policy in policy()) {
        let text = toml::to_string(&policy).unwrap();
        prop_assert_eq!(toml::from_str::<Policy>(&text).unwrap(), policy, "{}", text);
    }

    #[test]
    fn nothing_is_lost_on_the_way_to_json_and_back(policy in policy()) {
        let text = serde_json::to_string(&policy).unwrap();
        prop_assert_eq!(serde_json::from_str::<Policy>(&text).unwrap(), policy, "{}", text);
    }

    #[test]
    fn no_text_panics(text in ".*") {
        let _ = toml::from_str::<Policy>(&text);
        let _ = serde_json::from_str::<Policy>(&text);
    }

    #[test]
    fn no_value_panics(
        key in "(preset|backoff|base|multiplier|jitter|attempts|budget|nested|throttle|rate|hedge|bulkhead|breaker)",
        value in any::<f64>(),
        text in ".{0,20}",
    ) {
        let _ = toml::from_str::<Policy>(&format!("{key} = {value:?}"));
        let _ = serde_json::from_value::<Policy>(serde_json::json!({ &key: text }));
        let _ = serde_json::from_value::<Policy>(serde_json::json!({ key: { text: value } }));
    }
}
