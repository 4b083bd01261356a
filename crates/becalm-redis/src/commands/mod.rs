//! What does it do to send a command again? As each command of Redis 8.8 says, with its arguments where they decide.

mod answers;
mod arguments;
mod options;
mod row;
mod rows;
mod several;
mod table;
mod touch;

use redis::{Arg, Cmd, ErrorKind, RedisError, Value};

pub(crate) use arguments::Arguments;
pub use several::repeat_all;
pub(crate) use several::{ignored_of, repeat_all_unread};

/// What sending a command again would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Repeat {
    /// It leaves the data as one sending does. The reply may tell less: the second `DEL` counts 0.
    ///
    /// A repetition may overwrite what somebody else has written in between, as one of HTTP's `PUT` does.
    Freely,
    /// It may do it twice, or its reply decides and the second answers otherwise: `INCR`, `LPOP`, `SET` with `NX`, a script.
    Once,
    /// It changes or holds the connection, which others share: `SELECT`, `WATCH`, `BLPOP`; `SUBSCRIBE` has a connection of its own kind
    /// ([`Connection::subscribe`](crate::Connection::subscribe)).
    Dedicated,
}

/// What sending this command again would do, by its name and by the arguments that decide. A command that is in no table,
/// such as a module's, is sent once.
///
/// ```
/// use becalm_redis::commands::{Repeat, repeat};
/// use redis::cmd;
///
/// assert_eq!(repeat(cmd("SET").arg("stock").arg(17)), Repeat::Freely);
/// assert_eq!(repeat(cmd("SET").arg("lock").arg(17).arg("NX")), Repeat::Once);
/// assert_eq!(repeat(cmd("BLPOP").arg("orders").arg(0)), Repeat::Dedicated);
/// ```
pub fn repeat(command: &Cmd) -> Repeat {
    let arguments = Arguments::of(command);
    match table::row(arguments) {
        Some(row) => row.rule.repeat(arguments),
        None => Repeat::Once,
    }
}

/// Whether a copy of this command that comes late may change anything.
pub(crate) fn writes(command: &Cmd) -> bool {
    let words = Arguments::of(command);
    table::row(words).is_none_or(|row| {
        row.rule.repeat(words) != Repeat::Freely || row.touch.of(words).writes_a_key()
    })
}

/// Why the table says so of the command of this name, such as `"INCR"` or `"CONFIG|SET"`; `None` of one that it does not know.
pub fn reason(name: &str) -> Option<&'static str> {
    table::named(name).map(|row| row.why)
}

/// Whether this answer to the second sending of a command says what the first has done, too. If not it is returned as an
/// error ([`is_answer_unknown`](crate::is_answer_unknown)).
pub fn is_certain(command: &Cmd, answer: &Value) -> bool {
    let words = Arguments::of(command);
    table::row(words).is_some_and(|row| row.answer.is_certain(words, answer))
}

/// Where a command is to be sent after which the server sends of itself: over a connection of commands that would shift their answers.
pub(crate) fn elsewhere(command: &Cmd) -> Option<RedisError> {
    let is = |names: &[&str]| arguments::is_one_of(name(command).as_bytes(), names);
    let sentence = if is(&SUBSCRIPTIONS) {
        "what is published does not come over a connection of commands: receive it by Connection::subscribe()"
    } else if is(&["MONITOR", "PSYNC", "SYNC"]) {
        "the command makes a stream of the connection, which becalm-redis does not read: send it by redis's own client"
    } else {
        return None;
    };
    Some((ErrorKind::Client, sentence).into())
}

const SUBSCRIPTIONS: [&str; 6] = [
    "SUBSCRIBE",
    "UNSUBSCRIBE",
    "PSUBSCRIBE",
    "PUNSUBSCRIBE",
    "SSUBSCRIBE",
    "SUNSUBSCRIBE",
];

/// The options of `ZADD` and `GEOADD`.
const SCORES: [&str; 6] = ["NX", "XX", "GT", "LT", "CH", "INCR"];

/// The name of a command, as it was given.
pub(crate) fn name(command: &Cmd) -> &str {
    match command.args_iter().next() {
        Some(Arg::Simple(name)) => std::str::from_utf8(name).unwrap_or_default(),
        _ => "",
    }
}

/// Those that the table knows, by the names that Redis gives them (`COMMAND LIST`), in capitals.
pub fn names() -> impl Iterator<Item = &'static str> {
    table::names()
}
