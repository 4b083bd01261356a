//! How does what a log says become a scenario of the storm simulator?

use std::fmt::{Display, Write};
use std::time::Duration;

use becalm::Policy;
use becalm::support::Human;

use crate::worst::longer;
use crate::{Fitted, How, Knee, Known};

/// The fault that is asked about begins after so long.
const FROM: Duration = Duration::from_secs(10);
/// It lasts so long, if clients do not wait for longer than a quarter of that.
const HANG: Duration = Duration::from_secs(2);
/// For so long the service may come back.
const AFTER: Duration = Duration::from_secs(48);

impl Fitted {
    /// The scenario of this name, as TOML: what `becalm storm` reads. Each value has a comment above it: *measured* with its 95 %
    /// interval, *assumed*, or *ask*.
    ///
    /// It holds no address, path or id of the log. Arrivals are a rate, with bursts where there are some;
    /// [the trace](crate::FirstTries::trace) can take their place.
    pub fn scenario(&self, name: &str) -> String {
        let mut text = Text::default();
        text.line("# Fitted by `becalm fit`. Each value says how it is known: measured, with its 95 % interval;");
        text.line(
            "# ask: somebody knows it, and the log does not; given: somebody said so; or assumed.",
        );
        text.line("# Of each interval the end stands here at which the service does worse, so that no verdict is better than the truth.");
        for warning in &self.warnings {
            text.comment(&warning.to_string());
        }
        text.key("name", &format_args!("\"{}\"", escaped(name)));
        let hang = HANG.max(self.timeout.value.saturating_mul(4));
        let horizon = (FROM + hang.saturating_mul(10)).max(FROM + hang + AFTER);
        text.key("horizon", &quoted(whole_seconds(horizon)));
        // A figure has a million steps at most.
        if horizon > Duration::from_secs(100_000) {
            text.key("bucket", &quoted(whole_seconds(horizon / 1_000_000)));
        }
        self.service(&mut text);
        self.population(&mut text);

        text.line("\n[[trigger]]");
        text.comment("assumed: the fault that is asked about, longer than clients wait");
        text.key("from", &quoted(FROM));
        text.key("length", &quoted(hang));
        text.key("effect", &"\"hang\"");
        text.key("service", &"\"service\"");
        text.0
    }

    fn service(&self, text: &mut Text) {
        text.line("\n[[service]]");
        text.key("name", &"\"service\"");
        text.known(&self.workers, &|it| it.to_string());
        if self.knee == Knee::Open {
            text.comment("the true number may be greater, so that a storm here need be none there");
        }
        text.key("workers", &self.workers.value);
        text.known(&self.time, &|it| quoted_millis(*it));
        let by = self.slower();
        if self.times.is_empty() {
            text.comment("ask: how are times spread; exponential ones stand in");
            let time = Duration::from_secs_f64((self.time.value * by).clamp(1e-6, 1e6));
            text.key("time", &format_args!("\"exponential:{}\"", Human(time)));
        } else {
            let times = self.times.iter().map(|it| quoted(longer(*it, by)));
            let times: Vec<String> = times.collect();
            text.key("time", &format_args!("[{}]", times.join(", ")));
        }
        text.known(&self.queue, &|it| bound(*it));
        text.key("queue", &bound_value(self.longest_queue()));
        text.known(&self.failures, &|it| format!("{it:.4}"));
        text.key(
            "failures",
            &format_args!("{:?}", rounded(self.failures.most())),
        );
    }

    fn population(&self, text: &mut Text) {
        text.line("\n[[population]]");
        text.key("name", &"\"clients\"");
        text.comment("assumed: processes that each have a budget of their own");
        text.key("clients", &100);
        text.key("target", &"\"service\"");
        text.known(&self.arrivals, &|it| format!("{:.1}", it.rate));
        let arrivals = self.busiest();
        match arrivals.bursts {
            Some(it) => text.key(
                "arrivals",
                &format_args!(
                    "\"bursty:{:?},burst-rate:{:?},burst:{},pause:{}\"",
                    rounded(it.rate),
                    rounded(it.burst_rate),
                    Human(it.burst),
                    Human(it.pause)
                ),
            ),
            None => text.key(
                "arrivals",
                &format_args!("\"poisson:{:?}\"", rounded(arrivals.rate).max(0.001)),
            ),
        }
        text.known(&self.timeout, &|it| Human(*it).to_string());
        text.key("timeout", &quoted(self.timeout.value));

        let retries = &self.retries;
        text.comment(&format!("{}: {}", retries.how, retries.because));
        text.line("\n[population.policy]");
        if retries.is_measured() {
            text.key("attempts", &retries.value.attempts);
            text.key("base", &quoted(retries.value.base));
            text.key(
                "multiplier",
                &format_args!("{:?}", retries.value.multiplier),
            );
            text.key("jitter", &format_args!("\"{}\"", retries.value.jitter));
            let cap = Policy::default().cap;
            if retries.value.base > cap {
                text.comment("ask: what is the longest delay; the first one stands in");
                text.key("cap", &quoted(retries.value.base));
            }
        } else {
            text.comment("four attempts without a budget stand in");
            text.key("attempts", &4);
        }
        text.comment("ask: have clients a retry budget; none is assumed");
        text.key("budget", &"\"none\"");
    }
}

#[derive(Default)]
struct Text(String);

impl Text {
    fn line(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }

    /// Without line breaks, which would end the comment.
    fn comment(&mut self, comment: &str) {
        let comment: String = comment
            .chars()
            .map(|it| if it.is_control() { ' ' } else { it })
            .collect();
        self.line(&format!("# {comment}"));
    }

    fn key(&mut self, key: &str, value: &dyn Display) {
        // A String takes whatever is written.
        let _ = writeln!(self.0, "{key} = {value}");
    }

    fn known<T>(&mut self, known: &Known<T>, show: &dyn Fn(&T) -> String) {
        let how = match &known.how {
            How::Measured {
                low,
                high: Some(high),
            } => format!("measured, {} to {}", show(low), show(high)),
            How::Measured { low, high: None } => format!("measured, {} or more", show(low)),
            other => other.to_string(),
        };
        self.comment(&format!("{how}: {}", known.because));
    }
}

fn quoted(time: Duration) -> String {
    format!("\"{}\"", Human(time))
}

fn quoted_millis(seconds: f64) -> String {
    format!("{:.3} ms", seconds * 1e3)
}

fn whole_seconds(time: Duration) -> Duration {
    Duration::from_secs(time.as_secs() + u64::from(time.subsec_nanos() > 0))
}

fn bound(queue: Option<u32>) -> String {
    queue.map_or("no bound".into(), |it| it.to_string())
}

fn bound_value(queue: Option<u32>) -> String {
    queue.map_or("\"unlimited\"".into(), |it| it.to_string())
}

/// To six digits: more of a measured value says nothing.
fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

/// As TOML has it in a basic string.
fn escaped(name: &str) -> String {
    let mut escaped = String::new();
    for character in name.chars() {
        match character {
            '"' | '\\' => escaped.extend(['\\', character]),
            it if it.is_control() => escaped.push(' '),
            it => escaped.push(it),
        }
    }
    escaped
}
