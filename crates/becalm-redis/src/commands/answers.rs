//! Could this answer be that of a repetition?
//!
//! `SADD` counts what it added. The second of two that did one thing counts 0: to the caller, "somebody else was
//! first". So after a repetition an answer is the caller's only if the first sending would have answered it, too.

use redis::Value;

use super::arguments::{Arguments, is_one_of};

/// What a command answers the second time.
#[derive(Debug, Clone, Copy)]
pub(super) enum Answer {
    /// What it answers is always one word: `OK`.
    Constant,
    /// What it has answered the first time, unless others have written in between.
    Again,
    /// 1 says that it was this sending; any other number may come of the first.
    One,
    /// How many things it has changed: all of them, or what is missing may have been the first's.
    Count(fn(Arguments<'_>) -> usize),
    /// Another, in a way that the answer decides.
    Decides(fn(Arguments<'_>, &Value) -> bool),
    /// Another, and nothing tells.
    Differs,
}

impl Answer {
    /// Whether it tells anything about the data.
    pub const fn tells(self) -> bool {
        !matches!(self, Self::Constant)
    }

    /// Whether the first sending would have answered so, as far as an answer can tell.
    pub fn is_certain(self, words: Arguments<'_>, answer: &Value) -> bool {
        match self {
            Self::Constant | Self::Again => true,
            Self::One => is_one(answer),
            Self::Count(all) => match answer {
                Value::Int(count) => usize::try_from(*count).is_ok_and(|count| count >= all(words)),
                _ => false,
            },
            Self::Decides(is_certain) => is_certain(words, answer),
            Self::Differs => false,
        }
    }
}

fn is_one(answer: &Value) -> bool {
    matches!(answer, Value::Int(1) | Value::Boolean(true))
}

/// Counts the different words at `first` and at each `step`th place after it.
fn different(words: Arguments<'_>, first: usize, step: usize) -> usize {
    let mut all: Vec<_> = words.from(first).step_by(step).collect();
    all.sort_unstable();
    all.dedup();
    all.len()
}

/// `DEL key ..`
pub(super) fn keys(words: Arguments<'_>) -> usize {
    different(words, 1, 1)
}

/// `SADD key member ..`, `HDEL key field ..`
pub(super) fn members(words: Arguments<'_>) -> usize {
    different(words, 2, 1)
}

/// `XACK key group id ..`
pub(super) fn ids(words: Arguments<'_>) -> usize {
    different(words, 3, 1)
}

/// `HSET key field value ..`
pub(super) fn fields(words: Arguments<'_>) -> usize {
    different(words, 2, 2)
}

/// `ZADD key [options] score member ..`
pub(super) fn scores(words: Arguments<'_>) -> usize {
    placed(words, 2)
}

/// `GEOADD key [options] longitude latitude member ..`
pub(super) fn positions(words: Arguments<'_>) -> usize {
    placed(words, 3)
}

/// With `XX` and without `CH` nothing is counted. With `CH` a member that is named twice may change twice each time.
fn placed(words: Arguments<'_>, words_of_each: usize) -> usize {
    let options = || words.flags(2, &super::SCORES);
    let has = |name: &str| options().any(|option| is_one_of(option, &[name]));
    let first = 2 + options().count() + words_of_each - 1;
    let (named, different) = (
        words.from(first).step_by(words_of_each).count(),
        different(words, first, words_of_each),
    );
    match (has("CH"), has("XX")) {
        (false, true) => 0,
        (true, _) if named > different => usize::MAX,
        _ => different,
    }
}

/// `SETBIT key offset value` answers the bit that was there.
pub(super) fn old_bit(words: Arguments<'_>, answer: &Value) -> bool {
    let written: Option<i64> = words.number(3);
    matches!(answer, Value::Int(old) if written.is_some_and(|written| written != *old))
}

/// `BITFIELD key ..` answers what was there where it sets.
pub(super) fn old_field(words: Arguments<'_>, _: &Value) -> bool {
    !words.from(2).any(|word| is_one_of(word, &["SET"]))
}

/// `GETEX key [EX ..]`: it may have expired by the first.
pub(super) fn is_there(_: Arguments<'_>, answer: &Value) -> bool {
    !matches!(answer, Value::Nil)
}

/// `HGETEX key .. FIELDS ..`: none may have expired by the first.
pub(super) fn are_there(_: Arguments<'_>, answer: &Value) -> bool {
    each(answer, |field| !matches!(field, Value::Nil))
}

/// `HEXPIRE key .. FIELDS ..`, `XACKDEL key .. IDS ..`: 1 or, of what was to go at once, 2 for each.
pub(super) fn each_is_done(_: Arguments<'_>, answer: &Value) -> bool {
    each(answer, |code| matches!(code, Value::Int(1 | 2)))
}

/// `HPERSIST key FIELDS ..`: -1 says of a field that it does not expire, which the first may have brought about.
pub(super) fn each_is_not_persistent(_: Arguments<'_>, answer: &Value) -> bool {
    each(answer, |code| matches!(code, Value::Int(1 | -2)))
}

fn each(answer: &Value, is_certain: impl Fn(&Value) -> bool) -> bool {
    match answer {
        Value::Array(answers) => answers.iter().all(is_certain),
        _ => false,
    }
}
