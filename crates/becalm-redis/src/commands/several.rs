//! What does it do to send several commands again, one after the other?
//!
//! Each may be harmless, and all together not: what `GET` reads is gone when `DEL` has run, and the second `GET` answers
//! nothing. So none may read what itself or a later one writes. A command that leaves what its arguments say reads for
//! its answer alone, which does not count where the caller ignores it.

use std::cell::LazyCell;

use redis::{ConnectionLike, Pipeline, RedisResult, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Repeat;
use super::arguments::Arguments;
use super::table;
use super::touch::{Aspects, Place, Places, Touch, places};

/// What sending all of these again would do, to a caller who reads the answers that the pipeline does not ignore.
///
/// ```
/// use becalm_redis::commands::{Repeat, repeat_all};
/// use redis::pipe;
///
/// assert_eq!(repeat_all(pipe().get("stock").set("seen", 1)), Repeat::Freely);
/// assert_eq!(repeat_all(pipe().get("stock").del("stock")), Repeat::Once);
/// ```
pub fn repeat_all(pipeline: &Pipeline) -> Repeat {
    repeat_of(pipeline, || ignored_of(pipeline))
}

/// To one who reads none.
pub(crate) fn repeat_all_unread(pipeline: &Pipeline) -> Repeat {
    repeat_of(pipeline, || (0..pipeline.len()).collect())
}

fn repeat_of(pipeline: &Pipeline, ignored: impl FnOnce() -> FxHashSet<usize>) -> Repeat {
    let worst = pipeline.cmd_iter().map(super::repeat).max();
    let worst = worst.unwrap_or(Repeat::Freely);
    if worst == Repeat::Freely && reads_what_is_written_later(pipeline, ignored) {
        return Repeat::Once;
    }
    worst
}

fn reads_what_is_written_later(
    pipeline: &Pipeline,
    ignored: impl FnOnce() -> FxHashSet<usize>,
) -> bool {
    let ignored = LazyCell::new(ignored);
    let mut later = Written::default();
    let commands: Vec<_> = pipeline.cmd_iter().collect();
    for (at, command) in commands.into_iter().enumerate().rev() {
        let words = Arguments::of(command);
        let Some(row) = table::row(words) else {
            return true;
        };
        let touch = row.touch.of(words);
        let matters = || touch.depends || row.answer.tells() && !ignored.contains(&at);
        if later.meets(touch, words) && matters() {
            return true;
        }
        later.add(touch, words);
    }
    false
}

/// What later commands write.
#[derive(Default)]
struct Written<'a> {
    anything: bool,
    keys: FxHashMap<&'a [u8], OfKey<'a>>,
}

/// What they write in a key: in all of it, and in its members.
#[derive(Default)]
struct OfKey<'a> {
    whole: Aspects,
    any: Aspects,
    members: FxHashMap<&'a [u8], Aspects>,
}

impl<'a> Written<'a> {
    fn add(&mut self, touch: Touch, words: Arguments<'a>) {
        if touch.writes == Aspects::NONE {
            return;
        }
        self.anything = true;
        for (key, member) in places(touch.places, words) {
            let key = self.keys.entry(key).or_default();
            key.any |= touch.writes;
            match member {
                Some(member) => *key.members.entry(member).or_default() |= touch.writes,
                None => key.whole |= touch.writes,
            }
        }
    }

    /// Whether any of it is read.
    fn meets(&self, touch: Touch, words: Arguments<'_>) -> bool {
        let is_read = |aspects: Aspects| aspects.meet(touch.reads);
        let is_written = |(key, member): Place<'_>| {
            self.keys.get(key).is_some_and(|key| match member {
                Some(member) => {
                    is_read(key.whole) || key.members.get(member).is_some_and(|it| is_read(*it))
                }
                None => is_read(key.any),
            })
        };
        match touch.places {
            _ if !self.anything || touch.reads == Aspects::NONE => false,
            Places::Everywhere => true,
            Places::Nowhere => false,
            named => places(named, words).into_iter().any(is_written),
        }
    }
}

/// The places of the commands whose answers the caller ignores ([`Pipeline::ignore`]). A pipeline does not say it, but
/// drops their answers.
pub(crate) fn ignored_of(pipeline: &Pipeline) -> FxHashSet<usize> {
    let count = pipeline.len();
    let numbered = (0i64..).take(count).map(Value::Int).collect();
    let kept: RedisResult<Vec<usize>> = pipeline.query(&mut Numbered(numbered));
    let kept: FxHashSet<usize> = kept.map_or_else(|_| (0..count).collect(), FxHashSet::from_iter);
    (0..count).filter(|at| !kept.contains(at)).collect()
}

/// Answers each command with its number.
struct Numbered(Vec<Value>);

impl ConnectionLike for Numbered {
    fn req_packed_command(&mut self, _: &[u8]) -> RedisResult<Value> {
        Ok(Value::Nil)
    }

    fn req_packed_commands(
        &mut self,
        _: &[u8],
        offset: usize,
        _: usize,
    ) -> RedisResult<Vec<Value>> {
        let numbered = std::mem::take(&mut self.0);
        let is_transaction = offset > 0;
        Ok(if is_transaction {
            vec![Value::Array(numbered)]
        } else {
            numbered
        })
    }

    fn get_db(&self) -> i64 {
        0
    }

    fn check_connection(&mut self) -> bool {
        true
    }

    fn is_open(&self) -> bool {
        true
    }
}
