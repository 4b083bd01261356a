//! How is a budget written, and read back?

use core::fmt;
use core::str::FromStr;

use super::{AllOf, Budget, Concurrency, Grpc, InvalidBudget, PerMinute, Ratio, Tokens, Window};
use crate::duration::{self, Human};

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            // Left out, its floor has a default of its own.
            Self::Ratio(ratio) => {
                write!(f, "ratio:{ratio},floor:{}", Floor(ratio.floor_per_second))
            }
            Self::FirstTries(ratio) => {
                write!(f, "first-tries:{ratio}")?;
                match ratio.floor_per_second {
                    0.0 => Ok(()),
                    floor => write!(f, ",floor:{}", Floor(floor)),
                }
            }
            budget => budget.all_of().fmt(f),
        }
    }
}

/// The kinds, joined by ` + `.
impl fmt::Display for AllOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ratio = self.ratio.map(Budget::Ratio);
        let first_tries = self.first_tries.map(Budget::FirstTries);
        let parts: [Option<&dyn fmt::Display>; 7] = [
            ratio.as_ref().map(|ratio| ratio as _),
            first_tries.as_ref().map(|ratio| ratio as _),
            self.tokens.as_ref().map(|tokens| tokens as _),
            self.grpc.as_ref().map(|grpc| grpc as _),
            self.window.as_ref().map(|window| window as _),
            self.concurrency
                .as_ref()
                .map(|concurrency| concurrency as _),
            self.per_minute.as_ref().map(|per_minute| per_minute as _),
        ];
        for (index, part) in parts.into_iter().flatten().enumerate() {
            if index > 0 {
                f.write_str(" + ")?;
            }
            part.fmt(f)?;
        }
        Ok(())
    }
}

/// Behind the name of what earns it, and before the floor.
impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},burst:{}", self.ratio, self.burst)
    }
}

/// Tokens a second, written for a second, a minute or an hour: the first in which it is short and
/// reads back as it is.
struct Floor(f64);

/// What stands behind a floor, and the seconds that it is for.
const PER: [(&str, f64); 3] = [("", 1.0), ("/m", 60.0), ("/h", 3600.0)];

impl fmt::Display for Floor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(per_second) = *self;
        #[expect(
            clippy::float_cmp, // it must read back to the last bit
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            clippy::cast_sign_loss
        )]
        let short = PER.into_iter().find_map(|(unit, seconds)| {
            let thousandths = (per_second * seconds * 1000.0 + 0.5) as u64;
            let tokens = thousandths as f64 / 1000.0;
            (tokens / seconds == per_second).then_some((tokens, unit))
        });
        let (tokens, unit) = short.unwrap_or((per_second, ""));
        write!(f, "{tokens}{unit}")
    }
}

impl FromStr for Floor {
    type Err = InvalidBudget;

    fn from_str(text: &str) -> Result<Self, InvalidBudget> {
        let (tokens, unit) = text.split_at(text.find('/').unwrap_or(text.len()));
        let unit = if unit == "/s" { "" } else { unit };
        let per = PER.into_iter().find(|(name, _)| *name == unit);
        let (_, seconds) = per.ok_or(InvalidBudget::Parameter)?;
        Ok(Self(number::<f64>(tokens)? / seconds))
    }
}

impl fmt::Display for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            capacity,
            cost,
            throttled_cost,
            refund_last,
            clean_success,
        } = self;
        let refund = if *refund_last { LAST } else { NOTHING };
        write!(
            f,
            "tokens:{capacity},cost:{cost},throttled:{throttled_cost},refund:{refund},clean:{clean_success}"
        )
    }
}

impl fmt::Display for Grpc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "grpc:{},ratio:{}", self.max_tokens, self.token_ratio)
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (share, ttl) = (self.share, Human(self.ttl));
        write!(
            f,
            "window:{share},ttl:{ttl},floor:{}",
            self.floor_per_second
        )
    }
}

impl fmt::Display for Concurrency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "concurrency:{},floor:{}", self.share, self.floor)
    }
}

impl fmt::Display for PerMinute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "per-minute:{}", self.retries)
    }
}

/// What a success after retries gets back.
const LAST: &str = "last";
const NOTHING: &str = "none";

impl FromStr for Budget {
    type Err = InvalidBudget;

    fn from_str(text: &str) -> Result<Self, InvalidBudget> {
        if text == "none" {
            return Ok(Self::None);
        }
        let mut budget = Self::None;
        let mut rest = Some(text);
        while let Some(text) = rest {
            let part;
            (part, rest) = first_part(text);
            budget = budget.and(simple(part.trim())?);
        }
        budget.validate().map(|()| budget)
    }
}

/// What stands before the first `+` that joins, and what behind it. In `1e+3` it does not join.
fn first_part(text: &str) -> (&str, Option<&str>) {
    let joins = |behind: &str| {
        !behind
            .trim_start()
            .starts_with(|c: char| c.is_ascii_digit())
    };
    let plus = text
        .match_indices('+')
        .find(|(at, _)| joins(&text[at + 1..]));
    match plus {
        Some((at, _)) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    }
}

/// One kind with its parameters.
fn simple(text: &str) -> Result<Budget, InvalidBudget> {
    let (kind, parameters) = text.split_once(':').ok_or(InvalidBudget::Kind)?;
    let mut parameters = parameters.split(',').map(str::trim);
    let first = parameters.next().unwrap_or_default();
    let mut named = parameters.map(|part| part.split_once(':').ok_or(InvalidBudget::Parameter));
    match kind {
        "ratio" | "first-tries" => {
            let (of, default): (fn(Ratio) -> Budget, _) = match kind {
                "ratio" => (Budget::Ratio, Ratio::DEFAULT),
                _ => (Budget::FirstTries, Ratio::OF_FIRST_TRIES),
            };
            let mut ratio = Ratio {
                ratio: number(first)?,
                ..default
            };
            named.try_for_each(|part| {
                match part? {
                    ("burst", tokens) => ratio.burst = number(tokens)?,
                    ("floor", tokens) => Floor(ratio.floor_per_second) = tokens.parse()?,
                    _ => return Err(InvalidBudget::Parameter),
                }
                Ok(())
            })?;
            Ok(of(ratio))
        }
        "tokens" => {
            let mut tokens = Tokens {
                capacity: number(first)?,
                ..Tokens::default()
            };
            named.try_for_each(|part| {
                match part? {
                    ("cost", cost) => tokens.cost = number(cost)?,
                    ("throttled", cost) => tokens.throttled_cost = number(cost)?,
                    ("refund", LAST) => tokens.refund_last = true,
                    ("refund", NOTHING) => tokens.refund_last = false,
                    ("clean", deposit) => tokens.clean_success = number(deposit)?,
                    _ => return Err(InvalidBudget::Parameter),
                }
                Ok(())
            })?;
            Ok(Budget::Tokens(tokens))
        }
        "grpc" => {
            let mut grpc = Grpc {
                max_tokens: number(first)?,
                ..Grpc::default()
            };
            named.try_for_each(|part| {
                match part? {
                    ("ratio", tokens) => grpc.token_ratio = number(tokens)?,
                    _ => return Err(InvalidBudget::Parameter),
                }
                Ok(())
            })?;
            Ok(Budget::Grpc(grpc))
        }
        "window" => {
            let mut window = Window {
                share: number(first)?,
                ..Window::default()
            };
            named.try_for_each(|part| {
                match part? {
                    ("ttl", ttl) => {
                        window.ttl = duration::parse(ttl).map_err(|_| InvalidBudget::Ttl)?;
                    }
                    ("floor", retries) => window.floor_per_second = number(retries)?,
                    _ => return Err(InvalidBudget::Parameter),
                }
                Ok(())
            })?;
            Ok(Budget::Window(window))
        }
        "concurrency" => {
            let mut concurrency = Concurrency {
                share: number(first)?,
                ..Concurrency::default()
            };
            named.try_for_each(|part| {
                match part? {
                    ("floor", retries) => concurrency.floor = number(retries)?,
                    _ => return Err(InvalidBudget::Parameter),
                }
                Ok(())
            })?;
            Ok(Budget::Concurrency(concurrency))
        }
        "per-minute" => match named.next() {
            None => Ok(Budget::per_minute(number(first)?)),
            Some(_) => Err(InvalidBudget::Parameter),
        },
        _ => Err(InvalidBudget::Kind),
    }
}

fn number<T: FromStr>(text: &str) -> Result<T, InvalidBudget> {
    text.parse().map_err(|_| InvalidBudget::Parameter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_budget_reads_back_what_it_displays() {
        for text in [
            "none",
            "ratio:0.1,burst:10,floor:10/h",
            "ratio:0.25,burst:3.5,floor:1.5",
            "ratio:0.25,burst:3.5,floor:2.5/m",
            "ratio:0.25,burst:3.5,floor:0",
            "first-tries:0.2,burst:5",
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
             grpc:10,ratio:0.1 + window:0.2,ttl:10s,floor:10 + concurrency:0.2,floor:3 + \
             per-minute:60",
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
                Budget::ratio(100.0).and(Budget::per_minute(60)),
            ),
        ] {
            assert_eq!(text.parse(), Ok(budget), "{text}");
        }
    }

    #[test]
    fn out_of_range_is_refused_by_name() {
        for (text, reason) in [
            ("10%", InvalidBudget::Kind),
            ("", InvalidBudget::Kind),
            ("none + ratio:0.1", InvalidBudget::Kind),
            ("ratio:0.1 +", InvalidBudget::Kind),
            ("shares:0.1", InvalidBudget::Kind),
            ("ratio:", InvalidBudget::Parameter),
            ("ratio:0.1,brust:3", InvalidBudget::Parameter),
            ("ratio:0.1,burst:10 + ratio:0.2", InvalidBudget::Twice),
            ("ratio:0.0000001", InvalidBudget::Ratio),
            ("ratio:nan", InvalidBudget::Ratio),
            ("ratio:inf", InvalidBudget::Ratio),
            ("ratio:-1", InvalidBudget::Ratio),
            ("ratio:0.1,burst:0.5", InvalidBudget::Burst),
            ("ratio:0.1,floor:-1", InvalidBudget::Floor),
            ("ratio:0.1,floor:10/d", InvalidBudget::Parameter),
            ("first-tries:0.1,burst:0.5", InvalidBudget::Burst),
            ("tokens:0", InvalidBudget::Capacity),
            ("tokens:1000001", InvalidBudget::Capacity),
            ("tokens:5.5", InvalidBudget::Parameter),
            ("tokens:10", InvalidBudget::Cost),
            ("tokens:500,cost:0", InvalidBudget::Cost),
            ("tokens:500,throttled:0", InvalidBudget::ThrottledCost),
            ("tokens:500,throttled:501", InvalidBudget::ThrottledCost),
            ("tokens:500,clean:501", InvalidBudget::CleanSuccess),
            ("tokens:500,refund:all", InvalidBudget::Parameter),
            ("grpc:0", InvalidBudget::MaxTokens),
            ("grpc:1001", InvalidBudget::MaxTokens),
            ("grpc:10,ratio:0.0009", InvalidBudget::TokenRatio),
            ("grpc:10,ratio:nan", InvalidBudget::TokenRatio),
            ("grpc:10,max:1", InvalidBudget::Parameter),
            ("window:0,floor:0", InvalidBudget::Share),
            ("window:nan", InvalidBudget::Share),
            ("window:0.2,ttl:10", InvalidBudget::Ttl),
            ("window:0.2,ttl:999ms", InvalidBudget::Ttl),
            ("window:0.2,ttl:61s", InvalidBudget::Ttl),
            ("window:0.2,floor:-1", InvalidBudget::Floor),
            ("window:0.2,burst:1", InvalidBudget::Parameter),
            ("concurrency:1.1", InvalidBudget::ConcurrencyShare),
            ("concurrency:nan", InvalidBudget::ConcurrencyShare),
            ("concurrency:0,floor:0", InvalidBudget::ConcurrencyFloor),
            (
                "concurrency:0.2,floor:1000001",
                InvalidBudget::ConcurrencyFloor,
            ),
            ("concurrency:0.2,share:1", InvalidBudget::Parameter),
            ("per-minute:0", InvalidBudget::PerMinute),
            ("per-minute:1000001", InvalidBudget::PerMinute),
            ("per-minute:60,burst:1", InvalidBudget::Parameter),
        ] {
            assert_eq!(text.parse::<Budget>(), Err(reason), "{text}");
        }
    }

    #[test]
    fn several_kinds_are_as_many_as_they_say() {
        let ratio = Budget::ratio(0.1);
        assert_eq!(ratio.and(Budget::None), ratio);
        assert_eq!(Budget::None.and(ratio), ratio);
        assert!(Budget::None.all_of().is_empty());
        let none = Budget::AllOf(AllOf::default());
        assert_eq!(none.validate(), Err(InvalidBudget::Empty));
        let twice = ratio.and(ratio).and(Budget::per_minute(1));
        assert_eq!(twice.validate(), Err(InvalidBudget::Twice));
        let both = ratio.and(Budget::per_minute(1));
        assert_eq!(both.burst(3.0), ratio.burst(3.0).and(Budget::per_minute(1)));
    }
}
