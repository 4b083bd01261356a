//! What do the arguments of a command decide?

use redis::{Arg, Cmd};

use super::Repeat::{self, Dedicated, Freely, Once};

/// The words of a command: its name, then its arguments.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arguments<'a> {
    command: &'a Cmd,
}

impl<'a> Arguments<'a> {
    pub fn of(command: &'a Cmd) -> Self {
        Self { command }
    }

    /// From this word on.
    pub fn from(self, first: usize) -> impl Iterator<Item = &'a [u8]> + Clone {
        let words = self.command.args_iter().map(|word| match word {
            Arg::Simple(word) => word,
            _ => b"0", // a cursor
        });
        words.skip(first)
    }

    pub fn get(self, at: usize) -> Option<&'a [u8]> {
        self.from(at).next()
    }

    fn has(self, first: usize, options: &[&str]) -> bool {
        self.from(first).any(|word| is_one_of(word, options))
    }

    /// What follows this option.
    fn after(self, first: usize, option: &[&str]) -> Option<&'a [u8]> {
        let mut words = self.from(first);
        words.find(|word| is_one_of(word, option))?;
        words.next()
    }
}

pub(super) fn is_one_of(word: &[u8], options: &[&str]) -> bool {
    let is = |option: &&str| word.eq_ignore_ascii_case(option.as_bytes());
    options.iter().any(is)
}

fn once_if(condition: bool) -> Repeat {
    if condition { Once } else { Freely }
}

/// `SET key value [options]`
pub(super) fn set(words: Arguments<'_>) -> Repeat {
    const OPTIONS: [&str; 8] = [
        "NX", "XX", "GET", "KEEPTTL", "IFEQ", "IFNE", "IFDEQ", "IFDNE",
    ];
    once_if(words.has(3, &OPTIONS))
}

/// `ZADD key [options] score member ..`
pub(super) fn zadd(words: Arguments<'_>) -> Repeat {
    let is_option = |word: &&[u8]| is_one_of(word, &["NX", "XX", "GT", "LT", "CH", "INCR"]);
    let mut options = words.from(2).take_while(is_option);
    once_if(options.any(|option| is_one_of(option, &["INCR"])))
}

/// `XADD key [options] id field value ..`: an id of one's own is refused the second time.
pub(super) fn xadd(words: Arguments<'_>) -> Repeat {
    let mut options = words.from(2).take(8).take_while(|word| *word != b"*");
    once_if(!options.any(|option| is_one_of(option, &["IDMP"])))
}

/// `LREM key count element`
pub(super) fn lrem(words: Arguments<'_>) -> Repeat {
    once_if(words.get(2) != Some(b"0"))
}

/// `BITFIELD key [subcommands]`
pub(super) fn bitfield(words: Arguments<'_>) -> Repeat {
    once_if(words.has(2, &["INCRBY"]))
}

/// `SINTERSTORE destination source ..` and its like.
pub(super) fn store_first(words: Arguments<'_>) -> Repeat {
    store(words, 1)
}

/// `BITOP operation destination source ..`
pub(super) fn store_second(words: Arguments<'_>) -> Repeat {
    store(words, 2)
}

/// What is a source, too, is another the second time.
fn store(words: Arguments<'_>, destination: usize) -> Repeat {
    let stored = words.get(destination);
    once_if(words.from(destination + 1).any(|word| Some(word) == stored))
}

/// `SORT key [BY ..] [GET ..] [STORE destination]`: patterns may read what is stored.
pub(super) fn sort(words: Arguments<'_>) -> Repeat {
    match words.after(2, &["STORE"]) {
        Some(stored) => once_if(words.get(1) == Some(stored) || words.has(2, &["BY", "GET"])),
        None => Freely,
    }
}

/// `GEORADIUS key .. [STORE destination | STOREDIST destination]`
pub(super) fn georadius(words: Arguments<'_>) -> Repeat {
    let stored = words.after(2, &["STORE", "STOREDIST"]);
    once_if(stored.is_some() && stored == words.get(1))
}

/// `XGROUP SETID key group id`
pub(super) fn xgroup_setid(words: Arguments<'_>) -> Repeat {
    once_if(words.get(4) == Some(b"$"))
}

/// `XREAD [BLOCK ms] STREAMS ..`
pub(super) fn xread(words: Arguments<'_>) -> Repeat {
    if blocks(words) { Dedicated } else { Freely }
}

/// `XREADGROUP GROUP group consumer [BLOCK ms] STREAMS key .. id ..`
pub(super) fn xreadgroup(words: Arguments<'_>) -> Repeat {
    let mut ids = words.from(4);
    let takes_new = ids.any(|word| is_one_of(word, &["STREAMS"])) && ids.any(|id| id == b">");
    if blocks(words) {
        Dedicated
    } else {
        once_if(takes_new)
    }
}

fn blocks(words: Arguments<'_>) -> bool {
    let mut options = words
        .from(1)
        .take_while(|word| !is_one_of(word, &["STREAMS"]));
    options.any(|option| is_one_of(option, &["BLOCK"]))
}

/// `HSETEX key [FNX | FXX] ..`
pub(super) fn hash_fields(words: Arguments<'_>) -> Repeat {
    once_if(
        words
            .from(2)
            .take(1)
            .any(|word| is_one_of(word, &["FNX", "FXX"])),
    )
}

/// `MSETEX numkeys key value .. [NX | XX]`
pub(super) fn msetex(words: Arguments<'_>) -> Repeat {
    let pairs = words
        .get(1)
        .and_then(|count| std::str::from_utf8(count).ok()?.parse().ok());
    let options = pairs.and_then(|pairs: usize| pairs.checked_mul(2)?.checked_add(2));
    once_if(options.is_none_or(|first| words.has(first, &["NX", "XX"])))
}

/// `ACL LOG [RESET]`
pub(super) fn acl_log(words: Arguments<'_>) -> Repeat {
    once_if(words.has(2, &["RESET"]))
}
