//! What does the table say of a command?

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::Repeat;
use super::answers::Answer;
use super::arguments::Arguments;
use super::rows::TABLE;
use super::touch::Touch;

/// What the table says of a command.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub rule: Rule,
    /// What it answers the second time, if it may be sent again.
    pub answer: Answer,
    pub touch: Touching,
    pub why: &'static str,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Rule {
    Is(Repeat),
    /// Its arguments decide.
    By(fn(Arguments<'_>) -> Repeat),
}

impl Rule {
    pub fn repeat(self, arguments: Arguments<'_>) -> Repeat {
        match self {
            Self::Is(repeat) => repeat,
            Self::By(decide) => decide(arguments),
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Touching {
    Is(Touch),
    /// Its arguments decide.
    By(fn(Arguments<'_>) -> Touch),
}

impl Touching {
    pub fn of(self, arguments: Arguments<'_>) -> Touch {
        match self {
            Self::Is(touch) => touch,
            Self::By(decide) => decide(arguments),
        }
    }
}

/// The longest name.
const LONGEST: usize = 32;

/// The row of this command; that of its subcommand, where it has such.
pub(super) fn row(arguments: Arguments<'_>) -> Option<Row> {
    let mut words = arguments.from(0);
    let (first, second) = (words.next()?, words.next());
    let mut name = [0; LONGEST];
    let length = first.len();
    name.get_mut(..length)?.copy_from_slice(first);
    name[..length].make_ascii_uppercase();
    if let Some(row) = ROWS.get(&name[..length]) {
        return Some(*row);
    }
    let second = second?;
    let end = length + 1 + second.len();
    let rest = name.get_mut(length..end)?;
    rest[0] = b'|';
    rest[1..].copy_from_slice(second);
    rest.make_ascii_uppercase();
    ROWS.get(&name[..end]).copied()
}

pub(super) fn named(name: &str) -> Option<Row> {
    let name = name.to_ascii_uppercase().replace(' ', "|");
    ROWS.get(name.as_bytes()).copied()
}

pub(super) fn names() -> impl Iterator<Item = &'static str> {
    TABLE
        .iter()
        .flat_map(|(_, commands)| commands.split_whitespace())
}

static ROWS: LazyLock<FxHashMap<&'static [u8], Row>> = LazyLock::new(|| {
    let rows = TABLE.iter().flat_map(|(row, commands)| {
        let names = commands.split_whitespace();
        names.map(|name| (name.as_bytes(), *row))
    });
    rows.collect()
});
