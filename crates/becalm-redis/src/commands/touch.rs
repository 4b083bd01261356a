//! What of the data does a command read, and what does it write?

use std::ops::BitOrAssign;

use super::arguments::{Arguments, is_one_of};

/// Aspects of a key: what it holds, until when, and whether it is gone soon.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Aspects(u8);

impl BitOrAssign for Aspects {
    fn bitor_assign(&mut self, more: Self) {
        self.0 |= more.0;
    }
}

impl Aspects {
    pub const NONE: Self = Self(0);
    pub const VALUE: Self = Self(1);
    pub const TTL: Self = Self(2);
    /// What it holds, for one who reads it and minds that it is gone.
    pub const READ: Self = Self(5);
    /// Until when, and that is soon.
    pub const SOON: Self = Self(6);
    pub const ALL: Self = Self(7);

    pub fn meet(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// What a command does to the data.
#[derive(Debug, Clone, Copy)]
pub(super) struct Touch {
    /// What its answer or its effect comes of.
    pub reads: Aspects,
    pub writes: Aspects,
    /// Whether what it writes comes of what it reads, and not of its arguments alone.
    pub depends: bool,
    pub places: Places,
}

/// Where.
#[derive(Debug, Clone, Copy)]
pub(super) enum Places {
    Nowhere,
    /// In all keys, or in some that are not named.
    Everywhere,
    /// In the key that is this word.
    Key(usize),
    /// In the keys that are the words from here on.
    Keys(usize),
    /// In the keys that are every second word.
    Pairs,
    /// In members of the key that is the first argument: the first member is this word, and this number of words lies from one to
    /// the next.
    Members(fn(Arguments<'_>) -> usize, usize),
    /// In keys among its words, which are not told apart from the others.
    Words,
}

impl Touch {
    pub const NOTHING: Self = Self::of(Aspects::NONE, Aspects::NONE, false, Places::Nowhere);
    /// It asks for something about all keys.
    pub const ASKS: Self = Self::of(Aspects::ALL, Aspects::NONE, false, Places::Everywhere);

    /// It writes what no key holds.
    pub const LOADS: Self = Self::of(Aspects::NONE, Aspects::VALUE, false, Places::Nowhere);

    const fn of(reads: Aspects, writes: Aspects, depends: bool, places: Places) -> Self {
        Self {
            reads,
            writes,
            depends,
            places,
        }
    }

    pub fn writes_a_key(self) -> bool {
        self.writes != Aspects::NONE && !matches!(self.places, Places::Nowhere)
    }

    pub const fn reads(places: Places) -> Self {
        Self::of(Aspects::READ, Aspects::NONE, false, places)
    }

    /// It reads until when.
    pub const fn reads_ttl(places: Places) -> Self {
        Self::of(Aspects::ALL, Aspects::NONE, false, places)
    }

    /// It leaves what its arguments say, whatever was there.
    pub const fn sets(places: Places) -> Self {
        Self::of(Aspects::VALUE, Aspects::ALL, false, places)
    }

    /// It leaves what comes of what was there.
    pub const fn changes(places: Places) -> Self {
        Self::of(Aspects::ALL, Aspects::ALL, true, places)
    }

    /// It changes until when, alone: the time is long.
    pub const fn expires(places: Places) -> Self {
        Self::of(Aspects::ALL, Aspects::TTL, true, places)
    }

    /// It changes until when, and may be over before the last repetition comes.
    pub const fn expires_soon(places: Places) -> Self {
        Self::of(Aspects::ALL, Aspects::SOON, true, places)
    }
}

/// A key, or one of its members.
pub(super) type Place<'a> = (&'a [u8], Option<&'a [u8]>);

/// What [`Places`] are in a command.
pub(super) fn places(places: Places, words: Arguments<'_>) -> Vec<Place<'_>> {
    let whole = |key| (key, None);
    match places {
        Places::Nowhere | Places::Everywhere => Vec::new(),
        Places::Key(at) => words.get(at).map(whole).into_iter().collect(),
        Places::Keys(first) => words.from(first).map(whole).collect(),
        Places::Words => words.from(1).map(whole).collect(),
        Places::Pairs => words.from(1).step_by(2).map(whole).collect(),
        Places::Members(first, step) => {
            let Some(key) = words.get(1) else {
                return Vec::new();
            };
            let members = words.from(first(words)).step_by(step);
            members.map(|member| (key, Some(member))).collect()
        }
    }
}

/// Seconds from which on a time to live is over after most repetitions, and from which on after the last one: four attempts wait for a
/// connection for 15 s each.
const TIMES: [u64; 2] = [60, 300];

/// `EXPIRE key seconds ..`, `PEXPIRE key milliseconds ..`
pub(super) fn expire(words: Arguments<'_>) -> Touch {
    let milliseconds = words
        .get(0)
        .is_some_and(|name| is_one_of(name, &["PEXPIRE"]));
    lives(words, 2, milliseconds)
}

/// `GETEX key [EX seconds | PX milliseconds | PERSIST]`
pub(super) fn getex(words: Arguments<'_>) -> Touch {
    let is = |option| words.get(2).is_some_and(|word| is_one_of(word, &[option]));
    match words.get(2) {
        None => Touch::reads(Places::Key(1)),
        Some(_) if is("PERSIST") => Touch::expires(Places::Key(1)),
        Some(_) => lives(words, 3, is("PX")),
    }
}

fn lives(words: Arguments<'_>, at: usize, milliseconds: bool) -> Touch {
    let unit = if milliseconds { 1_000 } else { 1 };
    let [soon, late] = TIMES.map(|seconds| seconds * unit);
    match words.number::<u64>(at) {
        Some(time) if time >= late => Touch::expires(Places::Key(1)),
        Some(time) if time >= soon => Touch::expires_soon(Places::Key(1)),
        _ => Touch::changes(Places::Key(1)),
    }
}

/// `ZADD key [options] score member ..`
pub(super) fn zadd(words: Arguments<'_>) -> Touch {
    places_members(words, |words| 3 + options(words).count(), 2)
}

/// `GEOADD key [options] longitude latitude member ..`
pub(super) fn geoadd(words: Arguments<'_>) -> Touch {
    places_members(words, |words| 4 + options(words).count(), 3)
}

fn places_members(words: Arguments<'_>, first: fn(Arguments<'_>) -> usize, step: usize) -> Touch {
    let has_condition = options(words).any(|option| !is_one_of(option, &["CH"]));
    if has_condition {
        return Touch::changes(Places::Key(1));
    }
    Touch::sets(Places::Members(first, step))
}

fn options(words: Arguments<'_>) -> impl Iterator<Item = &[u8]> {
    words.flags(2, &super::SCORES)
}

/// `SORT key [BY ..] [GET ..] [STORE destination]`: patterns name keys.
pub(super) fn sort(words: Arguments<'_>) -> Touch {
    let stores = words.from(2).any(|word| is_one_of(word, &["STORE"]));
    if stores {
        Touch::changes(Places::Words)
    } else {
        Touch::ASKS
    }
}
