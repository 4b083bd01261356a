//! What do codes and field values mean?

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::dictionary::{members, whole_number};
use super::{same, text};

const SECOND: u128 = 1_000_000_000;
const MILLI: u128 = 1_000_000;

pub fn replay(kind: &str, line: &Value) -> Result<(), String> {
    let code = line["code"]
        .as_u64()
        .or(line["status"].as_u64())
        .unwrap_or(0);
    let expected = match kind {
        "close" => close(text(&line["dialect"]), code),
        "status" => status(code),
        "pushback" => pushback(&line["values"]),
        "scope" => scope(text(&line["text"])),
        "told" => told(text(&line["text"])),
        "field" => {
            let now = u128::from(line["now"].as_u64().expect("seconds"));
            field(text(&line["name"]), text(&line["text"]), now)
        }
        other => return Err(format!("{other:?} is no kind of history")),
    };
    same("then", &line["then"], &expected)
}

fn failure(class: &str, effect: &str, hint: Value) -> Value {
    json!({ "class": class, "effect": effect, "hint": hint })
}

fn close(dialect: &str, code: u64) -> Value {
    let later = json!({ "at_least": SECOND as u64 });
    let (class, hint) = match (dialect, code) {
        ("centrifugo", 3013) | ("discord", 4008) => ("throttled", Value::Null),
        ("centrifugo", 3000..=3499 | 4000..=4499) => ("transient", Value::Null),
        ("centrifugo", 3500..=3999 | 4500..=4999) => ("permanent", Value::Null),
        ("pusher", 4000..=4099) => ("permanent", Value::Null),
        ("pusher", 4100..=4199) => ("throttled", later),
        ("pusher", 4200..=4299) => ("transient", Value::Null),
        ("discord", 4004 | 4010..=4014) => ("permanent", Value::Null),
        ("discord", 1000 | 4000..=4009) => ("transient", Value::Null),
        ("graphql-ws", 4004 | 4005 | 4400 | 4401 | 4406 | 4409 | 4429 | 4500) => {
            ("permanent", Value::Null)
        }
        ("graphql-ws", 4000..=4999) => ("transient", Value::Null),
        (_, 1012) => {
            let restart = json!({ "after": 5 * SECOND as u64, "over": 25 * SECOND as u64 });
            ("transient", restart)
        }
        (_, 1013 | 4429) => ("throttled", Value::Null),
        (_, 1001 | 1005 | 1006 | 1011 | 1014 | 1015 | 3008) => ("transient", Value::Null),
        (_, 4400..=4599) => {
            let class = status(code - 4000)["class"].clone();
            return failure(text(&class), "unknown", Value::Null);
        }
        (_, 4000..=4999) => ("transient", Value::Null),
        _ => ("permanent", Value::Null),
    };
    failure(class, "unknown", hint)
}

fn status(status: u64) -> Value {
    let (class, effect) = match status {
        425 => ("transient", "unsent"),
        429 => ("throttled", "unknown"),
        408 | 600.. => ("transient", "unknown"),
        501 | 505..=508 | 510 | 511 => ("permanent", "unknown"),
        500.. => ("transient", "unknown"),
        _ => ("permanent", "unknown"),
    };
    failure(class, effect, Value::Null)
}

/// One number of 32 bits, with or without a sign; below 0, and all else, means "do not".
fn pushback(values: &Value) -> Value {
    let values: Vec<_> = values.as_array().into_iter().flatten().map(text).collect();
    let delay = match values[..] {
        [] => return Value::Null,
        [one] => one.parse::<i32>().ok().filter(|millis| *millis >= 0),
        _ => None,
    };
    delay.map_or(
        "stop".into(),
        |millis| json!({ "exactly": i64::from(millis) * MILLI as i64 }),
    )
}

/// Of members of one key the last counts, whatever it says.
fn last<'a>(members: &[(&str, &'a str)], key: &str) -> Option<&'a str> {
    let of_key = members.iter().rev().find(|(name, _)| *name == key);
    of_key.map(|(_, value)| *value)
}

fn told(field: &str) -> Value {
    let members = members(field).unwrap_or_default();
    match (last(&members, "do-not-retry"), last(&members, "gave-up")) {
        (Some(value), _) if value != "?0" => "do_not_retry".into(),
        (_, Some(reason @ ("budget_exhausted" | "breaker_open"))) => reason.into(),
        _ => Value::Null,
    }
}

fn scope(field: &str) -> Value {
    let members = members(field).unwrap_or_default();
    let number = |key| last(&members, key).and_then(whole_number);
    let is = |key| last(&members, key) == Some("?1");
    let attempt = number("attempt").unwrap_or(0).min(255);
    let remaining = number("remaining");
    json!({
        "attempt": attempt,
        "is_first_try": attempt < 2 && !is("retry"),
        "is_repeated_above": is("repeated"),
        "remaining": remaining.map(|millis| millis * MILLI as u64),
        "stop": (remaining == Some(0)).then_some("deadline_exceeded"),
    })
}

fn field(name: &str, field: &str, now: u128) -> Value {
    let field = field.trim_matches([' ', '\t']);
    let delay = match name {
        "retry-after" => whole(field, SECOND).or_else(|| {
            let date = httpdate::parse_http_date(field).ok()?;
            let at = date
                .duration_since(SystemTime::UNIX_EPOCH)
                .unwrap_or(Duration::ZERO);
            Some(at.as_nanos().saturating_sub(now * SECOND))
        }),
        "x-amz-retry-after" => whole(field, MILLI),
        "retry-after-ms" => decimal(field, MILLI),
        "x-ratelimit-reset-after" => decimal(field, SECOND),
        // Its size tells seconds from now on, seconds since 1970 and milliseconds since 1970 apart.
        _ => decimal(field, SECOND).map(|number| {
            if number < 1_000_000_000 * SECOND {
                return number;
            }
            let is_millis = number >= 100_000_000_000 * SECOND;
            let date = if is_millis {
                decimal(field, MILLI)
            } else {
                None
            };
            date.unwrap_or(number).saturating_sub(now * SECOND)
        }),
    };
    match delay.map(|delay| u64::try_from(delay).unwrap_or(u64::MAX)) {
        None => Value::Null,
        Some(delay) if delay < 1 << 53 => delay.into(),
        Some(delay) => delay.to_string().into(),
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn whole(text: &str, unit: u128) -> Option<u128> {
    is_digits(text).then(|| {
        text.parse::<u128>()
            .unwrap_or(u128::MAX)
            .saturating_mul(unit)
    })
}

/// With or without a fraction, rounded up to a nanosecond.
fn decimal(text: &str, unit: u128) -> Option<u128> {
    let Some((before, fraction)) = text.split_once('.') else {
        return whole(text, unit);
    };
    let scale = 10_u128.pow(u32::try_from(fraction.len()).ok()?);
    let fraction = whole(fraction, unit)?.div_ceil(scale);
    Some(whole(before, unit)?.saturating_add(fraction))
}
