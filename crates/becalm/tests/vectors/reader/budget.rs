//! What may be repeated? Budgets by their laws, in millionths of a token.

use serde_json::{Value, json};

const TOKEN: u64 = 1_000_000;

pub struct Budget {
    kind: String,
    /// What a call earns: a success, a first try, or a success without retries.
    earned: u64,
    burst: u64,
    /// Millionths that each hour adds.
    floor: u64,
    costs: [u64; 2],
    balance: u64,
    at: u64,
}

fn millionths(text: &str) -> u64 {
    let (number, unit) = text.split_once('/').unwrap_or((text, "s"));
    let an_hour = if unit == "h" { 3600.0 } else { 1.0 };
    (number.parse::<f64>().expect("a number") * TOKEN as f64 / an_hour).round() as u64
}

impl Budget {
    pub fn of(text: &str) -> Self {
        let value = |name: &str| {
            let parts = text.split(',').filter_map(|part| part.split_once(':'));
            parts
                .into_iter()
                .find(|(of, _)| *of == name)
                .map(|(_, value)| value)
        };
        let kind = text.split(':').next().expect("a kind").to_owned();
        let tokens = |name| value(name).map_or(0, millionths);
        let (first, of_tokens) = (tokens(&kind), kind == "tokens");
        let by_the_hour = |text: &str| match text.split_once('/') {
            Some((number, "h")) => millionths(number),
            _ => 3600 * millionths(text),
        };
        let burst = if of_tokens {
            first
        } else {
            tokens("burst").max(TOKEN + first)
        };
        Self {
            earned: if of_tokens { tokens("clean") } else { first },
            burst,
            floor: value("floor").map_or(0, by_the_hour),
            costs: if of_tokens {
                [tokens("cost"), tokens("throttled")]
            } else {
                [TOKEN; 2]
            },
            balance: burst,
            at: 0,
            kind,
        }
    }

    fn add(&mut self, millionths: u64) {
        self.balance = self.burst.min(self.balance + millionths);
    }

    /// Time has come to `at`.
    pub fn pass(&mut self, at: u64) {
        let earned = u128::from(self.floor) * u128::from(at - self.at);
        assert_eq!(
            earned % 3_600_000_000_000,
            0,
            "whole millionths between two events"
        );
        self.add((earned / 3_600_000_000_000) as u64);
        self.at = at;
    }

    pub fn first_try(&mut self) {
        if self.kind == "first-tries" {
            self.add(self.earned);
        }
    }

    /// A call has succeeded, whose last retry has cost this.
    pub fn success(&mut self, last: Option<u64>) {
        match (self.kind.as_str(), last) {
            ("tokens", Some(cost)) => self.add(cost),
            ("tokens" | "ratio", _) => self.add(self.earned),
            _ => (),
        }
    }

    /// Takes what a retry costs, if it is there.
    pub fn take(&mut self, throttled: bool) -> Option<u64> {
        if self.kind == "none" {
            return Some(0);
        }
        let cost = self.costs[usize::from(throttled)];
        self.balance = self.balance.checked_sub(cost)?;
        Some(cost)
    }

    pub fn give_back(&mut self, cost: u64) {
        self.add(cost);
    }

    pub fn left(&self) -> Value {
        if self.kind == "none" {
            return json!({});
        }
        json!({ self.kind.as_str(): self.balance })
    }
}
