//! What do the options of a command decide?
//!
//! Each is read as its page of redis.io says: which words are options, how many words each takes along, and where the
//! next begins. What cannot be read is sent once.

use super::Repeat::{self, Dedicated, Freely, Once};
use super::arguments::{Arguments, is_one_of};

fn once_if(condition: bool) -> Repeat {
    if condition { Once } else { Freely }
}

/// An option, and how many words it takes along.
type Known = (&'static str, usize);

/// The expiries that `SET` and its kin know.
const EXPIRIES: [Known; 4] = [("EX", 1), ("PX", 1), ("EXAT", 1), ("PXAT", 1)];

/// `SET key value [NX | XX | IFEQ .. ] [GET] [EX .. | KEEPTTL]`, in any order. What `KEEPTTL` keeps may have expired
/// before the repetition, which then stays for ever.
pub(super) fn set(words: Arguments<'_>) -> Repeat {
    once_if(!words.are_options(3, &EXPIRIES))
}

/// `ZADD key [options] score member ..`
pub(super) fn zadd(words: Arguments<'_>) -> Repeat {
    once_if(
        words
            .flags(2, &super::SCORES)
            .any(|option| is_one_of(option, &["INCR"])),
    )
}

/// `XADD key [options] id field value ..`: an id of one's own is refused the second time, and without `IDMP` (Redis
/// 8.6) there are two entries.
pub(super) fn xadd(words: Arguments<'_>) -> Repeat {
    let (mut at, mut is_known_by_id) = (2, false);
    while let Some(word) = words.get(at) {
        at += if is_one_of(word, &["NOMKSTREAM", "KEEPREF", "DELREF", "ACKED"]) {
            1
        } else if is_one_of(word, &["IDMP", "IDMPAUTO"]) {
            is_known_by_id = true;
            1 + usize::from(is_one_of(word, &["IDMP"])) + 1
        } else if is_one_of(word, &["MAXLEN", "MINID"]) {
            2 + usize::from(
                words
                    .get(at + 1)
                    .is_some_and(|word| word == b"=" || word == b"~"),
            )
        } else if is_one_of(word, &["LIMIT"]) {
            2
        } else {
            break;
        };
    }
    once_if(!is_known_by_id || words.get(at) != Some(b"*"))
}

/// `XTRIM key MAXLEN | MINID [= | ~] threshold [LIMIT count]`: with `~` or `LIMIT` the
/// second sending removes more.
pub(super) fn xtrim(words: Arguments<'_>) -> Repeat {
    once_if(
        words
            .from(3)
            .any(|word| word == b"~" || is_one_of(word, &["LIMIT"])),
    )
}

/// `LREM key count element`
pub(super) fn lrem(words: Arguments<'_>) -> Repeat {
    once_if(words.get(2) != Some(b"0"))
}

/// `BITFIELD key [GET | SET | INCRBY | OVERFLOW ..]`
pub(super) fn bitfield(words: Arguments<'_>) -> Repeat {
    const KNOWN: [Known; 3] = [("GET", 2), ("SET", 3), ("OVERFLOW", 1)];
    once_if(!words.are_options(2, &KNOWN))
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

/// `SORT key [BY pattern] [LIMIT offset count] [GET pattern ..] [ASC | DESC] [ALPHA] [STORE destination]`: patterns may
/// read what is stored.
pub(super) fn sort(words: Arguments<'_>) -> Repeat {
    const KNOWN: [Known; 4] = [("LIMIT", 2), ("ASC", 0), ("DESC", 0), ("ALPHA", 0)];
    const READS: [Known; 6] = [
        KNOWN[0],
        KNOWN[1],
        KNOWN[2],
        KNOWN[3],
        ("BY", 1),
        ("GET", 1),
    ];
    const STORES: [Known; 5] = [KNOWN[0], KNOWN[1], KNOWN[2], KNOWN[3], ("STORE", 1)];
    let stores_what_it_reads = || words.from(2).any(|word| Some(word) == words.get(1));
    once_if(
        !words.are_options(2, &READS) && (!words.are_options(2, &STORES) || stores_what_it_reads()),
    )
}

/// `GEORADIUS key longitude latitude radius unit [options]`
pub(super) fn georadius(words: Arguments<'_>) -> Repeat {
    stores_elsewhere(words, 6)
}

/// `GEORADIUSBYMEMBER key member radius unit [options]`
pub(super) fn georadius_by_member(words: Arguments<'_>) -> Repeat {
    stores_elsewhere(words, 5)
}

/// Of several destinations the last one is written; one that is read, too, is emptied or grows.
fn stores_elsewhere(words: Arguments<'_>, first: usize) -> Repeat {
    once_if(words.from(first).any(|word| Some(word) == words.get(1)))
}

/// `GETEX key [EX .. | EXAT .. | PERSIST]`: a time that has passed deletes, and the value is in the lost reply.
pub(super) fn getex(words: Arguments<'_>) -> Repeat {
    const KNOWN: [Known; 3] = [("EX", 1), ("PX", 1), ("PERSIST", 0)];
    once_if(!words.are_options(2, &KNOWN))
}

/// `HGETEX key [EX .. | EXAT .. | PERSIST] FIELDS numfields field ..`
pub(super) fn hgetex(words: Arguments<'_>) -> Repeat {
    const KNOWN: [Known; 3] = [("EX", 1), ("PX", 1), ("PERSIST", 0)];
    once_if(!words.are_options_and_fields(2, &KNOWN, 1))
}

/// `HSETEX key [FNX | FXX] [EX .. | KEEPTTL] FIELDS numfields field value ..`
pub(super) fn hsetex(words: Arguments<'_>) -> Repeat {
    once_if(!words.are_options_and_fields(2, &EXPIRIES, 2))
}

/// `MSETEX numkeys key value .. [NX | XX] [EX .. | KEEPTTL]`
pub(super) fn msetex(words: Arguments<'_>) -> Repeat {
    let pairs = words.number(1);
    let options = pairs.and_then(|pairs: usize| pairs.checked_mul(2)?.checked_add(2));
    once_if(options.is_none_or(|first| !words.are_options(first, &EXPIRIES)))
}

/// `XGROUP SETID key group id ..`: the last id is another by then.
pub(super) fn xgroup_setid(words: Arguments<'_>) -> Repeat {
    once_if(words.get(4) == Some(b"$"))
}

/// `XREAD [BLOCK ms] STREAMS ..`
pub(super) fn xread(words: Arguments<'_>) -> Repeat {
    if blocks(words) { Dedicated } else { Freely }
}

/// `XREADGROUP GROUP group consumer [COUNT count] [BLOCK ms] [CLAIM ms] [NOACK] STREAMS key .. id ..`, in any order: also what was read before
/// counts one more delivery.
pub(super) fn xreadgroup(words: Arguments<'_>) -> Repeat {
    if blocks(words) { Dedicated } else { Once }
}

fn blocks(words: Arguments<'_>) -> bool {
    let mut at = 1;
    while let Some(option) = words.get(at) {
        at += match option {
            _ if is_one_of(option, &["BLOCK"]) => return true,
            _ if is_one_of(option, &["GROUP"]) => 3,
            _ if is_one_of(option, &["COUNT", "CLAIM"]) => 2,
            _ if is_one_of(option, &["NOACK"]) => 1,
            _ => break,
        };
    }
    false
}

/// `ACL LOG [RESET]`
pub(super) fn acl_log(words: Arguments<'_>) -> Repeat {
    once_if(words.from(2).any(|word| is_one_of(word, &["RESET"])))
}
