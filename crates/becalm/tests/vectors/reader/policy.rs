//! How long is a wait? Growth, jitter, the timer's tick.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::{same, text};

pub struct Policy {
    growth: String,
    pub base: u64,
    throttled_base: u64,
    multiplier: f64,
    pub cap: u64,
    pub floor: u64,
    jitter: Jitter,
    /// `u64::MAX` for no bound.
    pub attempts: u64,
    pub deadline: Option<u64>,
    pub hint: String,
    pub max_hint: u64,
    pub budget: String,
    pub max_waiting: u64,
    pub nested: String,
    pub waits_for_tokens: bool,
    pub observes: bool,
}

enum Jitter {
    None,
    Full,
    Equal,
    Decorrelated,
    Clamped,
    Proportional(f64),
    Additive(u64),
}

/// Nanoseconds of `250ms`, `1.5s`, `1m`.
pub fn time(text: &str) -> u64 {
    let at = text
        .find(|c: char| c.is_ascii_alphabetic())
        .expect("a unit");
    let unit = match &text[at..] {
        "h" => 3600e9,
        "m" => 60e9,
        "s" => 1e9,
        "ms" => 1e6,
        "us" => 1e3,
        _ => 1.0,
    };
    (text[..at].parse::<f64>().expect("a number") * unit).round() as u64
}

impl Policy {
    pub fn of(table: &Value) -> Self {
        let optional = |key: &str| table[key].as_str().map(time);
        let needed = |key: &str| optional(key).expect("a duration");
        let word = |key: &str| text(&table[key]).to_owned();
        let (jitter, parameter) = text(&table["jitter"])
            .split_once(':')
            .unwrap_or((text(&table["jitter"]), ""));
        Self {
            growth: word("backoff"),
            base: needed("base"),
            throttled_base: optional("throttled_base").unwrap_or(needed("base")),
            multiplier: table["multiplier"].as_f64().expect("a factor"),
            cap: needed("cap"),
            floor: needed("floor"),
            jitter: match jitter {
                "none" => Jitter::None,
                "full" => Jitter::Full,
                "equal" => Jitter::Equal,
                "decorrelated" => Jitter::Decorrelated,
                "decorrelated-clamped" => Jitter::Clamped,
                "proportional" => Jitter::Proportional(parameter.parse().expect("a share")),
                _ => Jitter::Additive(time(parameter)),
            },
            attempts: table["attempts"].as_u64().unwrap_or(u64::MAX),
            deadline: optional("deadline"),
            hint: word("hint"),
            max_hint: needed("max_hint"),
            budget: word("budget"),
            max_waiting: table["max_waiting"].as_u64().unwrap_or(u64::MAX),
            nested: word("nested"),
            waits_for_tokens: table["when_spent"] == "wait",
            observes: table["mode"] == "observe",
        }
    }

    /// The ceiling of the first retry.
    pub fn first_ceiling(&self, throttled: bool) -> u64 {
        if throttled {
            self.throttled_base
        } else {
            self.base
        }
    }

    /// What the delay of the n-th retry is drawn below, n from 0.
    pub fn ceiling(&self, base: u64, n: u64) -> u64 {
        let factor = match self.growth.as_str() {
            "fixed" => 1.0,
            "linear" => n as f64 + 1.0,
            "fibonacci" => {
                (0..n)
                    .fold((1.0, 1.0), |(this, next), _| (next, this + next))
                    .0
            }
            _ => (0..n).fold(1.0, |power, _| power * self.multiplier),
        };
        ((base as f64 * factor) as u64).min(self.cap)
    }

    /// The interval of the draw. Decorrelated jitters look at the delay before.
    fn interval(&self, base: u64, ceiling: u64, previous: u64) -> (u64, u64) {
        let (floor, cap) = (self.floor, self.cap);
        let tripled = 3 * previous;
        let (low, high, reach) = match self.jitter {
            // These two have no interval to move above a floor.
            Jitter::None => return (ceiling.max(floor), ceiling.max(floor)),
            Jitter::Clamped => return (base.max(floor), tripled.max(base.max(floor))),
            Jitter::Full => (0, ceiling, ceiling),
            Jitter::Equal => (ceiling - ceiling / 2, ceiling, ceiling),
            Jitter::Decorrelated => (base, tripled.min(cap), tripled.min(cap)),
            Jitter::Proportional(share) => {
                let swing = (ceiling as f64 * share) as u64;
                (ceiling - swing, cap.min(ceiling + swing), ceiling)
            }
            Jitter::Additive(width) => {
                let start = ceiling.min(cap - width);
                (start, start + width, ceiling)
            }
        };
        if reach <= floor && floor > 0 {
            (floor, cap.min(floor + reach))
        } else {
            (low.max(floor), high.max(low.max(floor)))
        }
    }

    /// A computed delay as it is drawn.
    pub fn draw(&self, base: u64, n: u64, previous: Option<u64>, draws: &mut Draws) -> u64 {
        let previous = previous.unwrap_or(0).max(base);
        let (low, high) = self.interval(base, self.ceiling(base, n), previous);
        let drawn = draws.between(low, high);
        match self.jitter {
            Jitter::Clamped => drawn.min(self.cap),
            _ => drawn,
        }
    }
}

/// The bits that a decision draws, in order.
pub struct Draws(pub VecDeque<u64>);

impl Draws {
    /// U(low, high), both included; nothing is drawn where they are equal.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        if high <= low {
            return low;
        }
        let word = self.0.pop_front().unwrap_or(0);
        let width = u128::from(high - low) + 1;
        low + ((u128::from(word) * width) >> 64) as u64
    }

    /// To a whole number of ticks, between these.
    pub fn rounded(&mut self, delay: u64, tick: u64, low: u64, high: u64) -> u64 {
        if tick == 0 || delay % tick == 0 {
            return delay;
        }
        let down = delay / tick * tick;
        let up = down + tick;
        let mut odds = |of: u64| self.between(0, tick - 1) < of;
        match (down >= low, up <= high) {
            (true, true) if odds(delay - down) => up,
            (true, true) => down,
            // One of the two lies outside: there, or one further in.
            (false, true) if up + tick <= high => up + if odds(delay - low) { tick } else { 0 },
            (true, false) if down >= low + tick => down - if odds(high - delay) { tick } else { 0 },
            _ => delay,
        }
    }
}

pub fn replay_schedule(line: &Value) -> Result<(), String> {
    let policy = Policy::of(&line["policy"]);
    let retries = policy.attempts.saturating_sub(1).min(10);
    let (mut least, mut most) = (None::<u64>, None::<u64>);
    let steps = (0..retries).map(|n| {
        let bound = |previous: Option<u64>, word| {
            let mut draws = Draws([word].into());
            policy.draw(policy.base, n, previous, &mut draws)
        };
        (least, most) = (Some(bound(least, 0)), Some(bound(most, u64::MAX)));
        json!({ "retry": n + 1, "least": least, "most": most })
    });
    let steps: Vec<_> = steps.collect();
    same("the schedule", &line["then"], &json!(steps))
}
