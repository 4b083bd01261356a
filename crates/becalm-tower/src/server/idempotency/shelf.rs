//! What does each caller have of a store, and whose answer makes room?

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use becalm::time::Instant;

use super::answer::Answer;
use super::name::{Caller, Fingerprint, Name};

/// How much all callers may have together, and which part of it is one caller's.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub entries: usize,
    pub bytes: usize,
    /// Of the entries; of the bytes each has as large a part.
    pub share: usize,
}

/// What an operation takes besides body and fields of its answer, at most.
const EACH: usize = 1024;

impl Bounds {
    /// How many operations there may be: those for which there are bytes, too.
    fn most(self) -> usize {
        self.entries.min(self.bytes / EACH).max(1)
    }

    fn share_of_bytes(self) -> usize {
        self.bytes / self.entries * self.share
    }
}

/// The operations that run and the answers of those that have ended.
///
/// Answers are numbered by age. Every set that is looked up by the number, or by who has most, is sorted: a room is
/// made in the logarithm of what is held. An answer grows old once.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    entries: HashMap<Name, Entry>,
    /// Answers under which something was done, by age.
    done: BTreeMap<u64, Name>,
    /// The first of them that is promised still.
    promised: u64,
    /// Answers under which nothing was done, by age. They belong to no share, and make room first.
    idle: BTreeMap<u64, Name>,
    shares: HashMap<Caller, Share>,
    /// Of callers that have answers older than the promise.
    by_answers: BTreeSet<Rank>,
    by_bytes: BTreeSet<(usize, Caller)>,
    running: usize,
    bytes: usize,
    ended: u64,
    pub forgotten_early: u64,
}

#[derive(Debug)]
struct Entry {
    fingerprint: Fingerprint,
    caller: Caller,
    /// `None` while it runs.
    end: Option<End>,
}

#[derive(Debug)]
struct End {
    answer: Arc<Answer>,
    bytes: usize,
    number: u64,
    until: Until,
}

/// How long an answer is kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Until {
    /// It makes room for no other caller.
    pub promised: Instant,
    pub expires: Instant,
}

/// How many answers a caller has, and the oldest of them: of two with as many, the one with the older comes first.
type Rank = (usize, Reverse<u64>);

/// What one caller has.
#[derive(Debug, Default)]
struct Share {
    running: usize,
    /// The numbers of its answers under which something was done, and of those that have a body or headers.
    answers: BTreeSet<u64>,
    whole: BTreeSet<u64>,
    bytes: usize,
    /// `None` where all its answers are promised.
    rank: Option<Rank>,
}

impl Shelf {
    /// The operation of this name: what tells its payload, and its answer unless it runs.
    pub fn get(&self, name: &Name) -> Option<(Fingerprint, Option<Arc<Answer>>)> {
        let entry = self.entries.get(name)?;
        let answer = entry.end.as_ref().map(|end| Arc::clone(&end.answer));
        Some((entry.fingerprint, answer))
    }

    /// Adds an operation that runs. False where that is possible only by breaking what was promised to another.
    pub fn begin(
        &mut self,
        name: Name,
        fingerprint: Fingerprint,
        caller: Caller,
        bounds: Bounds,
    ) -> bool {
        // Who lets many run leaves as many places to others as it has. Each of these holds a request open.
        let runs = self.shares.get(&caller).map_or(0, |share| share.running);
        if runs >= bounds.most().saturating_sub(self.running) {
            return false;
        }
        while self.entries.len() >= bounds.most() {
            if self.forget_idle() {
                continue;
            }
            let Some(oldest) = self.who_makes_room(caller, bounds.share) else {
                return false;
            };
            self.forget(oldest);
            self.forgotten_early += 1;
        }
        let end = None;
        let entry = Entry {
            fingerprint,
            caller,
            end,
        };
        self.entries.insert(name, entry);
        self.running += 1;
        self.change(caller, |share| share.running += 1);
        true
    }

    /// Keeps the answer of one that runs. Where bytes are short, the answer of who has most of them loses its body, but
    /// its operation stays known.
    pub fn end(&mut self, name: Name, mut answer: Answer, until: Until, bounds: Bounds) {
        let Some(caller) = self.entries.get(&name).map(|entry| entry.caller) else {
            return;
        };
        let mut bytes = answer.size();
        while self.bytes + bytes > bounds.bytes && bytes > 0 {
            if self.forget_idle() {
                continue;
            }
            if answer.did_nothing() {
                return self.release(&name);
            }
            let longest = self.who_makes_bytes(caller, bytes, bounds.share_of_bytes());
            if let Some(number) = longest {
                self.strip(number);
            } else {
                answer = answer.without_body();
                bytes = 0;
            }
            self.forgotten_early += 1;
        }
        let number = self.ended;
        self.ended += 1;
        self.bytes += bytes;
        self.running -= 1;
        let is_idle = answer.did_nothing();
        let rows = if is_idle {
            &mut self.idle
        } else {
            &mut self.done
        };
        rows.insert(number, name);
        self.change(caller, |share| {
            share.running -= 1;
            if !is_idle {
                share.answers.insert(number);
                share.bytes += bytes;
                if bytes > 0 {
                    share.whole.insert(number);
                }
            }
        });
        if let Some(entry) = self.entries.get_mut(&name) {
            let answer = Arc::new(answer);
            entry.end = Some(End {
                answer,
                bytes,
                number,
                until,
            });
        }
    }

    /// Forgets one that runs.
    pub fn release(&mut self, name: &Name) {
        if let Some(entry) = self.entries.remove(name) {
            self.running -= 1;
            self.change(entry.caller, |share| share.running -= 1);
        }
    }

    /// Forgets what has expired, and notes which answers are older than the promise.
    pub fn expire(&mut self, now: Instant) {
        for is_idle in [true, false] {
            loop {
                let rows = if is_idle { &self.idle } else { &self.done };
                let Some((_, name)) = rows.first_key_value() else {
                    break;
                };
                let end = self.entries.get(name).and_then(|entry| entry.end.as_ref());
                if end.is_none_or(|end| end.until.expires > now) {
                    break;
                }
                self.forget(*name);
            }
        }
        while let Some((number, name)) = self.done.range(self.promised..).next() {
            let entry = self.entries.get(name);
            let Some((entry, end)) = entry.and_then(|entry| Some((entry, entry.end.as_ref()?)))
            else {
                break;
            };
            if end.until.promised > now {
                break;
            }
            let caller = entry.caller;
            self.promised = number + 1;
            self.change(caller, |_| ());
        }
    }

    /// The answer that goes for a new operation of this caller: the oldest of who has most among those with answers older
    /// than the promise, or else its own oldest, unless it has less than its share.
    fn who_makes_room(&self, caller: Caller, share: usize) -> Option<Name> {
        let old = self.by_answers.last().map(|(_, Reverse(number))| number);
        let own = || {
            let own = &self.shares.get(&caller)?.answers;
            own.first().filter(|_| own.len() >= share)
        };
        self.done.get(old.or_else(own)?).copied()
    }

    /// The answer that loses its body for one of this caller.
    fn who_makes_bytes(&self, caller: Caller, bytes: usize, share: usize) -> Option<u64> {
        let own = self.shares.get(&caller);
        let has = own.map_or(0, |own| own.bytes) + bytes;
        let most = self.by_bytes.last();
        let greedy = most.filter(|(most, _)| *most > share && *most > has);
        let greedy = greedy.and_then(|(_, greedy)| self.shares.get(greedy));
        greedy.or(own)?.whole.first().copied()
    }

    fn forget_idle(&mut self) -> bool {
        let Some(name) = self.idle.first_key_value().map(|(_, name)| *name) else {
            return false;
        };
        self.forget(name);
        true
    }

    /// Forgets one that has ended.
    fn forget(&mut self, name: Name) {
        let Some(entry) = self.entries.remove(&name) else {
            return;
        };
        let Some(End { number, bytes, .. }) = entry.end else {
            return;
        };
        self.bytes -= bytes;
        if self.idle.remove(&number).is_none() {
            self.done.remove(&number);
            self.change(entry.caller, |share| {
                share.answers.remove(&number);
                share.whole.remove(&number);
                share.bytes -= bytes;
            });
        }
    }

    /// Takes body and headers of an answer away.
    fn strip(&mut self, number: u64) {
        let name = self.done.get(&number);
        let Some(entry) = name.and_then(|name| self.entries.get_mut(name)) else {
            return;
        };
        let Some(end) = &mut entry.end else {
            return;
        };
        let bytes = std::mem::take(&mut end.bytes);
        end.answer = Arc::new(end.answer.without_body());
        let caller = entry.caller;
        self.bytes -= bytes;
        self.change(caller, |share| {
            share.whole.remove(&number);
            share.bytes -= bytes;
        });
    }

    /// Changes what a caller has, and its place among all.
    fn change(&mut self, caller: Caller, change: impl FnOnce(&mut Share)) {
        let share = self.shares.entry(caller).or_default();
        let bytes = share.bytes;
        change(share);
        let oldest = share.answers.first().copied();
        let old = oldest.filter(|number| *number < self.promised);
        let rank = old.map(|number| (share.answers.len(), Reverse(number)));
        let rank_before = std::mem::replace(&mut share.rank, rank);
        let bytes_now = share.bytes;
        if share.running == 0 && oldest.is_none() {
            self.shares.remove(&caller);
        }
        place(&mut self.by_answers, rank_before, rank);
        let by_bytes = |bytes| (bytes > 0).then_some((bytes, caller));
        place(&mut self.by_bytes, by_bytes(bytes), by_bytes(bytes_now));
    }
}

fn place<T: Ord>(places: &mut BTreeSet<T>, before: Option<T>, now: Option<T>) {
    if before != now {
        if let Some(before) = before {
            places.remove(&before);
        }
        places.extend(now);
    }
}
