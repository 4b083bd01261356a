//! Do the sections of the resilience handlers of .NET come out as they were written?

use serde_json::{Value, json};

use super::shapes::{Draw, table};
use super::{FILES, read_text};

/// A time of at least 10 ms, in milliseconds, as .NET writes it.
fn time(draw: &Draw, most: u64) -> (u64, Value) {
    let millis = 10 + draw.below(most);
    let (seconds, part) = (millis / 1000, millis % 1000);
    let text = format!(
        "{:02}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    );
    let text = if part > 0 {
        format!("{text}.{part:03}")
    } else {
        text
    };
    (millis, text.into())
}

fn retry(draw: &Draw) -> (Value, u64) {
    let retries = 1 + draw.below(9);
    let mut retry = table();
    let is_told = draw.maybe(&mut retry, "MaxRetryAttempts", retries.into());
    retry["UseJitter"] = draw.is().into();
    draw.maybe(
        &mut retry,
        "BackoffType",
        draw.one_of(&["Constant", "linear", "Exponential"]).into(),
    );
    draw.maybe(&mut retry, "Delay", time(draw, 3000).1);
    draw.maybe(&mut retry, "MaxDelay", time(draw, 60_000).1);
    draw.maybe(&mut retry, "ShouldRetryAfterHeader", draw.is().into());
    (retry, if is_told { retries + 1 } else { 4 })
}

fn protection(draw: &Draw, section: &mut Value) {
    let breaker = json!({"FailureRatio": 0.2, "MinimumThroughput": 2 + draw.below(99), "SamplingDuration": "00:01:00", "BreakDuration": "00:00:05"});
    draw.maybe(section, "CircuitBreaker", breaker);
    let limiter = json!({"DefaultRateLimiterOptions": {"PermitLimit": 1 + draw.below(5000), "QueueLimit": draw.below(100)}});
    draw.maybe(section, "RateLimiter", limiter);
}

#[test]
fn sections_of_the_handlers_are_read_as_they_were_written() {
    for seed in 0..FILES {
        let draw = &Draw::new(seed);
        let (mut clients, mut expected) = (table(), Vec::new());
        for at in 0..=draw.below(4) {
            let mut section = table();
            let (attempt, text) = time(draw, 15_000);
            let total = attempt + 10_000 + draw.below(9000);
            section["TotalRequestTimeout"] =
                json!({"Timeout": format!("00:00:{:02}", total / 1000)});
            let attempts = if draw.is() {
                let (retry, attempts) = retry(draw);
                section["Retry"] = retry;
                section["AttemptTimeout"] = json!({"Timeout": text});
                protection(draw, &mut section);
                attempts
            } else {
                let copies = 1 + draw.below(4);
                section["Hedging"] = json!({"MaxHedgedAttempts": copies, "Delay": "00:00:01"});
                let mut endpoint = json!({"Timeout": {"Timeout": text}});
                protection(draw, &mut endpoint);
                section["Endpoint"] = endpoint;
                copies + 1
            };
            clients[format!("Client{at}")] = json!({"Resilience": section});
            expected.push((attempts, attempt, total / 1000 * 1000));
        }
        let document = json!({"Logging": {"LogLevel": {"Default": "Debug"}}, "Clients": clients});
        let text = match draw.below(3) {
            0 => document.to_string(),
            1 => format!("{document:#}"),
            _ => format!("// a comment\n{document:#}\n"),
        };
        let checked = read_text(&text);
        let millis =
            |it: Option<std::time::Duration>| u64::try_from(it.unwrap().as_millis()).unwrap();
        let read: Vec<_> = checked
            .mappings
            .iter()
            .map(|it| &it.policy)
            .map(|it| {
                (
                    u64::from(it.attempts),
                    millis(it.attempt_timeout),
                    millis(it.deadline),
                )
            })
            .collect();
        assert_eq!(read, expected, "{document:#}\n{:#?}", checked.findings);
    }
}
