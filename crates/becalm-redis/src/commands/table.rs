//! What does the table say of a command?

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::arguments::Arguments;
use super::row::Row;
use super::rows::TABLE;

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
