//! Do the properties of Spring Cloud Gateway and Resilience4j come out as they were written?

use serde_json::{Map, Value, json};

use super::shapes::{Draw, table};
use super::{FILES, read};

fn millis(draw: &Draw, most: u64) -> (u64, Value) {
    let drawn = 1 + draw.below(most);
    let text = match draw.below(4) {
        0 => Value::from(drawn),
        1 => format!("{drawn}ms").into(),
        2 => format!("{drawn}").into(),
        _ => format!("PT{}.{:03}S", drawn / 1000, drawn % 1000).into(),
    };
    (drawn, text)
}

/// The keys in kebab case here and there, as Spring Boot reads both.
fn spelled(draw: &Draw, value: Value) -> Value {
    match value {
        Value::Object(entries) => {
            let entries = entries.into_iter().map(|(key, value)| {
                let key = if draw.is() { key } else { kebab(&key) };
                (key, spelled(draw, value))
            });
            Value::Object(entries.collect::<Map<_, _>>())
        }
        other => other,
    }
}

fn kebab(key: &str) -> String {
    key.chars().fold(String::new(), |mut text, c| {
        if c.is_ascii_uppercase() {
            text.push('-');
        }
        text.push(c.to_ascii_lowercase());
        text
    })
}

/// A value below these keys, which stand in one or in several.
fn below(draw: &Draw, path: &[&str], value: Value) -> Value {
    let mut value = value;
    let mut name = String::new();
    for key in path.iter().rev() {
        name = if name.is_empty() {
            (*key).into()
        } else {
            format!("{key}.{name}")
        };
        if draw.is() {
            value = json!({name.as_str(): value});
            name.clear();
        }
    }
    if name.is_empty() {
        value
    } else {
        json!({name.as_str(): value})
    }
}

/// What was written of a mapping: attempts, base, cap and time-out of an attempt in milliseconds.
type Expected = (u64, u64, Option<u64>, Option<u64>);

fn same(document: &Value, draw: &Draw, expected: &[Expected]) {
    let checked = read(draw, document);
    assert_eq!(checked.mappings.len(), expected.len(), "{document:#}");
    for (mapping, (attempts, base, cap, timeout)) in checked.mappings.iter().zip(expected) {
        let policy = &mapping.policy;
        let millis = |it: std::time::Duration| u64::try_from(it.as_millis()).unwrap();
        assert_eq!(u64::from(policy.attempts), *attempts, "{document:#}");
        assert_eq!(millis(policy.base), *base, "{document:#}");
        assert!(
            cap.is_none_or(|it| it == millis(policy.cap)),
            "{document:#}"
        );
        assert_eq!(policy.attempt_timeout.map(millis), *timeout, "{document:#}");
    }
}

const STATUSES: [&str; 5] = [
    "SERVICE_UNAVAILABLE",
    "BAD_GATEWAY",
    "GATEWAY_TIMEOUT",
    "TOO_MANY_REQUESTS",
    "NOT_FOUND",
];
const METHODS: [&str; 5] = ["GET", "POST", "PUT", "DELETE", "PATCH"];

/// The words as a list or as a text.
fn list(draw: &Draw, words: &[&str]) -> Value {
    let words = draw.some_of(words);
    if draw.is() {
        words.join(", ").into()
    } else {
        json!(words)
    }
}

fn filter(draw: &Draw) -> (Value, u64, u64, Option<u64>) {
    let retries = 1 + draw.below(9);
    let first = 1 + draw.below(500);
    let most = first + draw.below(5000);
    if draw.below(4) == 0 {
        let status = draw.one_of(&STATUSES);
        let text = format!("Retry={retries},{status}, GET,{first}ms,{most}ms,2,false,0.5,9s");
        return (text.into(), retries + 1, first, Some(most));
    }
    let mut args = table();
    let is_told = draw.maybe(&mut args, "retries", retries.into());
    draw.maybe(&mut args, "statuses", list(draw, &STATUSES));
    draw.maybe(
        &mut args,
        "series",
        list(draw, &["SERVER_ERROR", "CLIENT_ERROR"]),
    );
    draw.maybe(&mut args, "methods", list(draw, &METHODS));
    draw.maybe(
        &mut args,
        "exceptions",
        list(draw, &["java.io.IOException", "com.example.Failure"]),
    );
    draw.maybe(&mut args, "timeout", millis(draw, 60_000).1);
    let has_waits = draw.is();
    if has_waits {
        let back_off = json!({
            "firstBackoff": format!("{first}ms"),
            "maxBackoff": most,
            "factor": 1 + draw.below(4),
            "basedOnPreviousValue": draw.is(),
        });
        args["backoff"] = back_off;
        draw.maybe(&mut args, "jitter", json!({"randomFactor": 0.3}));
    }
    let filter = json!({"name": "Retry", "args": spelled(draw, args)});
    let attempts = if is_told { retries + 1 } else { 4 };
    (
        filter,
        attempts,
        if has_waits { first } else { 0 },
        has_waits.then_some(most),
    )
}

#[test]
fn routes_of_spring_cloud_gateway_are_read_as_they_were_written() {
    for seed in 0..FILES {
        let draw = &Draw::new(seed);
        let (timeout, text) = millis(draw, 20_000);
        let (mut routes, mut expected) = (Vec::new(), Vec::new());
        for at in 0..=draw.below(4) {
            let (filter, attempts, base, cap) = filter(draw);
            let mut route = json!({
                "id": format!("route-{at}"),
                "uri": draw.one_of(&["lb://orders", "http://orders:8080"]),
                "predicates": ["Path=/orders/**"],
                "filters": ["StripPrefix=1", filter],
            });
            let own = 1 + draw.below(9000);
            let metadata = json!({"response-timeout": own, "owner": "shop"});
            let timeout = if draw.maybe(&mut route, "metadata", metadata) {
                own
            } else {
                timeout
            };
            routes.push(route);
            expected.push((attempts, base, cap, Some(timeout)));
        }
        let client = json!({"connectTimeout": 1000, "responseTimeout": text});
        let server = json!({"httpclient": spelled(draw, client), "routes": routes});
        let path = ["spring", "cloud", "gateway", "server", "webflux"];
        same(&below(draw, &path, server), draw, &expected);
    }
}

#[test]
fn instances_of_resilience4j_are_read_as_they_were_written() {
    for seed in 0..FILES {
        let draw = &Draw::new(seed);
        let (mut instances, mut limits, mut expected) = (table(), table(), Vec::new());
        for at in 0..=draw.below(4) {
            let name = format!("instance{at}");
            let attempts = 1 + draw.below(9);
            let mut given = table();
            let is_told = draw.maybe(&mut given, "maxAttempts", attempts.into());
            let (mut base, mut cap) = (500, None);
            if draw.is() {
                let (wait, text) = millis(draw, 3000);
                base = wait;
                given["waitDuration"] = text;
                let grows = draw.maybe(&mut given, "enableExponentialBackoff", true.into());
                if draw.maybe(&mut given, "enableRandomizedWait", true.into()) {
                    given["randomizedWaitFactor"] = 0.25.into();
                }
                if grows {
                    let most = base + draw.below(9000);
                    cap = Some(most);
                    given["exponentialBackoffMultiplier"] = 2.into();
                    given["exponentialMaxWaitDuration"] = format!("{most}ms").into();
                }
            }
            draw.maybe(
                &mut given,
                "retryExceptions",
                list(draw, &["java.io.IOException", "com.example.Failure"]),
            );
            draw.maybe(
                &mut given,
                "ignoreExceptions",
                list(draw, &["java.net.ConnectException", "com.example.Known"]),
            );
            draw.maybe(&mut given, "failAfterMaxAttempts", true.into());
            draw.maybe(&mut given, "eventConsumerBufferSize", 10.into());
            let (timeout, text) = millis(draw, 9000);
            let limited = json!({"timeoutDuration": text, "cancelRunningFuture": true});
            let is_limited = draw.maybe(&mut limits, &name, limited);
            instances[&name] = spelled(draw, given);
            expected.push((
                if is_told { attempts } else { 3 },
                base,
                cap,
                is_limited.then_some(timeout),
            ));
        }
        let kind = draw.one_of(&["instances", "backends"]);
        let retry = below(draw, &["retry", kind], instances);
        let mut all = retry;
        all["timelimiter"] = json!({"instances": limits});
        let document = below(draw, &["resilience4j"], all);
        same(&document, draw, &expected);
    }
}
