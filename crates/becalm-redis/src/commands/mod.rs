//! What does it do to send a command again? As each command of Redis 8.8 says, with its arguments where they decide.

mod arguments;
mod table;

use redis::{Arg, Cmd, Pipeline};

pub(crate) use arguments::Arguments;

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
    /// It changes or holds the connection, which others share: `SELECT`, `WATCH`, `BLPOP`, `SUBSCRIBE`.
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

/// Why the table says so of the command of this name, such as `"INCR"` or `"CONFIG|SET"`; `None` of one that it does not know.
pub fn reason(name: &str) -> Option<&'static str> {
    table::named(name).map(|row| row.why)
}

/// What sending all of these again would do: what the worst of them does.
pub(crate) fn repeat_all(pipeline: &Pipeline) -> Repeat {
    let repeats = pipeline.cmd_iter().map(repeat);
    repeats.max().unwrap_or(Repeat::Freely)
}

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
