//! How is a budget written?

use core::fmt;

use super::reader::read_text;
use super::writer;
use super::{InvalidPolicy, Kind, Unreadable, Written};
use crate::budget::Budget;

impl Written for Budget {
    const NOUN: &'static str = "budget";

    const KINDS: &'static [Kind<Self>] = Self::TEXTS;

    const JOIN: Option<fn(Self, Self) -> Self> = Some(Self::and);

    fn check(&self) -> Result<(), InvalidPolicy> {
        self.validate().map_err(InvalidPolicy::Budget)
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut kinds = self.kinds();
        match kinds.next() {
            None => f.write_str("none")?,
            Some(first) => writer::write(&first, f)?,
        }
        kinds.try_for_each(|kind| {
            f.write_str(" + ")?;
            writer::write(&kind, f)
        })
    }

    /// Kinds are joined by `+`.
    fn of_text(text: &str) -> Result<Self, Unreadable> {
        if text == "none" {
            return Ok(Self::None);
        }
        // In `1e+3` it does not join.
        let joins = |at: &usize| {
            let behind = text[at + 1..].trim_start();
            !behind.starts_with(|c: char| c.is_ascii_digit())
        };
        let pluses = text.match_indices('+').map(|(at, _)| at);
        let (mut budget, mut start) = (Self::None, 0);
        for end in pluses.filter(joins).chain([text.len()]) {
            budget = budget.and(read_text(text[start..end].trim())?);
            start = end + 1;
        }
        Ok(budget)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::{Concurrency, InvalidBudget, PerMinute, Window};
    use alloc::string::ToString;
    use core::time::Duration;

    #[test]
    fn a_budget_reads_back_what_it_displays() {
        for text in [
            "none",
            "ratio:0.1,burst:10,floor:10/h",
            "ratio:0.25,burst:3.5,floor:1.5",
            "ratio:0.25,burst:3.5,floor:2.5/m",
            "ratio:0.25,burst:3.5,floor:0",
            "ratio:0.25,burst:5s,min:10,floor:0",
            "ratio:0.25,burst:1.5s,min:3.5,floor:10/h",
            "first-tries:0.2,burst:5",
            "first-tries:0.2,burst:500ms,min:1",
            "first-tries:0.2,burst:5,floor:7.125/h",
            "tokens:500,cost:14,throttled:5,refund:last,clean:1",
            "tokens:100,cost:1,throttled:2,refund:none,clean:0",
            "grpc:10,ratio:0.1",
            "window:0.2,ttl:10s,floor:10",
            "window:0,ttl:1.5s,floor:0.5",
            "concurrency:0.2,floor:3",
            "per-minute:60",
            "ratio:0.1,burst:10,floor:10/h + per-minute:60",
            "ratio:0.1,burst:10,floor:0 + first-tries:0.1,burst:10 + tokens:500,cost:14,throttled:5,refund:last,clean:1 + \
             grpc:10,ratio:0.1 + concurrency:0.2,floor:3 + per-minute:60 + \
             window:0.2,ttl:10s,floor:10",
        ] {
            assert_eq!(text.parse::<Budget>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_left_out_has_its_default() {
        for (text, budget) in [
            ("ratio:0.1", Budget::default()),
            (
                "ratio:0.1,floor:600/m",
                Budget::default().floor_per_second(10.0),
            ),
            (
                "ratio:0.1,floor:10/s",
                Budget::default().floor_per_second(10.0),
            ),
            (
                "ratio:0.1,burst:5s",
                Budget::ratio(0.1).burst(Duration::from_secs(5)),
            ),
            (
                "ratio:0.1,min:10,burst:5s",
                Budget::ratio(0.1).burst(Duration::from_secs(5)),
            ),
            ("first-tries:0.1", Budget::first_tries(0.1)),
            ("tokens:500", Budget::aws_2026_11()),
            ("tokens:500,cost:5", Budget::aws_v2()),
            ("tokens:500,cost:10", Budget::aws_crt()),
            ("grpc:10", Budget::grpc(10, 0.1)),
            ("window:0.2", Budget::Window(Window::default())),
            (
                "concurrency:0.2",
                Budget::Concurrency(Concurrency::default()),
            ),
            ("per-minute:60", Budget::PerMinute(PerMinute::default())),
            (
                "per-minute:60+ratio:1e+2,burst:1e+1",
                Budget::ratio(100.0).burst(10.0).and(Budget::per_minute(60)),
            ),
        ] {
            assert_eq!(text.parse(), Ok(budget), "{text}");
        }
    }

    #[test]
    fn out_of_range_is_refused_by_name() {
        for (text, reason) in [
            ("ratio:0.1,burst:10 + ratio:0.2", InvalidBudget::Twice),
            ("ratio:0.0000001", InvalidBudget::Ratio),
            ("ratio:nan", InvalidBudget::Ratio),
            ("ratio:inf", InvalidBudget::Ratio),
            ("ratio:-1", InvalidBudget::Ratio),
            ("ratio:0.1,burst:0.5", InvalidBudget::Burst),
            ("ratio:0.1,burst:99ms", InvalidBudget::BurstSpan),
            ("ratio:0.1,burst:61s", InvalidBudget::BurstSpan),
            ("ratio:0.1,burst:20,min:10", InvalidBudget::BurstSpan),
            ("ratio:0.1,burst:5s,min:0.5", InvalidBudget::Burst),
            ("ratio:0.1,burst:5s,min:nan", InvalidBudget::Burst),
            ("first-tries:0.1,burst:1h", InvalidBudget::BurstSpan),
            ("ratio:0.1,floor:-1", InvalidBudget::Floor),
            ("first-tries:0.1,burst:0.5", InvalidBudget::Burst),
            ("tokens:0", InvalidBudget::Capacity),
            ("tokens:1000001", InvalidBudget::Capacity),
            ("tokens:10", InvalidBudget::Cost),
            ("tokens:500,cost:0", InvalidBudget::Cost),
            ("tokens:500,throttled:0", InvalidBudget::ThrottledCost),
            ("tokens:500,throttled:501", InvalidBudget::ThrottledCost),
            ("tokens:500,clean:501", InvalidBudget::CleanSuccess),
            ("grpc:0", InvalidBudget::MaxTokens),
            ("grpc:1001", InvalidBudget::MaxTokens),
            ("grpc:10,ratio:0.0009", InvalidBudget::TokenRatio),
            ("grpc:10,ratio:nan", InvalidBudget::TokenRatio),
            ("window:0,floor:0", InvalidBudget::Share),
            ("window:nan", InvalidBudget::Share),
            ("window:0.2,ttl:999ms", InvalidBudget::Ttl),
            ("window:0.2,ttl:61s", InvalidBudget::Ttl),
            ("window:0.2,floor:-1", InvalidBudget::Floor),
            ("concurrency:1.1", InvalidBudget::ConcurrencyShare),
            ("concurrency:nan", InvalidBudget::ConcurrencyShare),
            ("concurrency:0,floor:0", InvalidBudget::ConcurrencyFloor),
            (
                "concurrency:0.2,floor:1000001",
                InvalidBudget::ConcurrencyFloor,
            ),
            ("per-minute:0", InvalidBudget::PerMinute),
            ("per-minute:1000001", InvalidBudget::PerMinute),
        ] {
            assert_eq!(
                text.parse::<Budget>(),
                Err(InvalidPolicy::Budget(reason).into()),
                "{text}"
            );
        }
    }

    #[test]
    fn several_kinds_are_as_many_as_they_say() {
        let ratio = Budget::ratio(0.1);
        assert_eq!(ratio.and(Budget::None), ratio);
        assert_eq!(Budget::None.and(ratio), ratio);
        assert_eq!(Budget::None.kinds().count(), 0);
        let twice = ratio.and(ratio).and(Budget::per_minute(1));
        assert_eq!(twice.validate(), Err(InvalidBudget::Twice));
        let both = ratio.and(Budget::per_minute(1));
        assert_eq!(both.burst(3.0), ratio.burst(3.0).and(Budget::per_minute(1)));
    }
}
