//! A share of what earns it: `ratio` and `first-tries`, in millionths of a token.

use super::super::policy::time;
use super::{Fill, TOKEN, Terms, millionths};

#[derive(Default)]
pub struct Share {
    /// What a success earns, or a first try.
    each: u64,
    /// Millionths that each hour adds.
    floor: u64,
    least: u64,
    /// The time that earns the burst; 0 where that is a number.
    span: u64,
    /// It may be above what is held, and is cut when a retry is paid from it.
    balance: u64,
    /// What has earned so far.
    count: u64,
    /// Times and counts at which the rate was looked at: the older look, and the newer.
    looks: [(u64, u64); 2],
}

impl Share {
    pub fn open(&mut self, terms: Terms<'_>, fill: Fill, now: u64) {
        self.each = millionths(terms.first());
        self.floor = match terms.value("floor").unwrap_or("0").split_once('/') {
            Some((number, _)) => millionths(number.parse().expect("an hourly floor")),
            None => 3600 * millionths(terms.number("floor")),
        };
        let burst = terms.value("burst").unwrap_or("10");
        let tokens = burst.parse();
        self.span = if tokens.is_ok() { 0 } else { time(burst) };
        let least = tokens.unwrap_or_else(|_| terms.number("min"));
        self.least = millionths(least).max(TOKEN + self.each);
        if self.count == 0 {
            self.looks = [(now, 0); 2];
        }
        let most = self.most(now);
        self.balance = match fill {
            Fill::Own { left, .. } => left.min(most),
            Fill::New(fill) => (most as f64 * fill) as u64,
        };
    }

    pub fn pass(&mut self, nanos: u64) {
        let earned = u128::from(self.floor) * u128::from(nanos);
        let an_hour = 3_600_000_000_000;
        assert_eq!(earned % an_hour, 0, "whole millionths between two events");
        self.balance += (earned / an_hour) as u64;
    }

    pub fn deposit(&mut self) {
        self.count += 1;
        self.balance += self.each;
    }

    /// What it holds when it is full: a look at the rate.
    fn most(&mut self, now: u64) -> u64 {
        if self.span == 0 {
            return self.least;
        }
        let [older, newer] = &mut self.looks;
        if now - newer.0 >= self.span {
            (*older, *newer) = (*newer, (now, self.count));
        }
        let earned = u128::from(self.count - older.1) * u128::from(self.each);
        let time = (now - older.0).max(self.span);
        let in_a_span = earned * u128::from(self.span) / u128::from(time);
        self.least.max(in_a_span as u64)
    }

    pub fn state(&mut self, now: u64) -> (u64, f64) {
        let most = self.most(now);
        let left = self.balance.min(most);
        (left, (left as f64 / 1e6) / (most as f64 / 1e6))
    }

    pub fn take(&mut self, now: u64) -> Option<u64> {
        let left = self.balance.min(self.most(now));
        self.balance = left.checked_sub(TOKEN).unwrap_or(self.balance);
        (left >= TOKEN).then_some(TOKEN)
    }

    pub fn give_back(&mut self) {
        self.balance += TOKEN;
    }
}
