//! What does each caller have of a store, and whose answer makes room?

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use becalm::time::Instant;

use super::answer::Answer;
use super::name::{Caller, Fingerprint, Name};

/// How much all callers may have together, and how much of it each may keep, whatever others send.
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
/// made in the logarithm of what is held.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    entries: HashMap<Name, Entry>,
    /// Answers that were promised, by age.
    promised: BTreeMap<u64, Name>,
    /// Answers under which nothing was done, by age. They belong to no share, and make room first.
    idle: BTreeMap<u64, Name>,
    shares: HashMap<Caller, Share>,
    by_answers: BTreeSet<(usize, Caller)>,
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
    expires: Instant,
}

/// What one caller has.
#[derive(Debug, Default)]
struct Share {
    running: usize,
    /// The numbers of its promised answers, and of those that have a body or headers.
    answers: BTreeSet<u64>,
    whole: BTreeSet<u64>,
    bytes: usize,
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
        // Who lets many run leaves as many places to others as it has.
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
    pub fn end(&mut self, name: Name, mut answer: Answer, expires: Instant, bounds: Bounds) {
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
            &mut self.promised
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
                expires,
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

    /// Forgets what has been kept for as long as it was promised.
    pub fn expire(&mut self, now: Instant) {
        for is_idle in [true, false] {
            loop {
                let rows = if is_idle { &self.idle } else { &self.promised };
                let Some((_, name)) = rows.first_key_value() else {
                    break;
                };
                let end = self.entries.get(name).and_then(|entry| entry.end.as_ref());
                if end.is_none_or(|end| end.expires > now) {
                    break;
                }
                self.forget(*name);
            }
        }
    }

    /// The answer that goes for a new operation of this caller: of who has most, unless that is a share that was promised.
    fn who_makes_room(&self, caller: Caller, share: usize) -> Option<Name> {
        let own = self.shares.get(&caller);
        let has = own.map_or(0, |own| own.answers.len() + own.running);
        let most = self.by_answers.last();
        let greedy = most.filter(|(most, _)| *most > share && *most > has + 1);
        let greedy = greedy.and_then(|(_, greedy)| self.shares.get(greedy));
        let number = greedy
            .or_else(|| own.filter(|own| own.answers.len() >= share))?
            .answers
            .first()?;
        self.promised.get(number).copied()
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
            self.promised.remove(&number);
            self.change(entry.caller, |share| {
                share.answers.remove(&number);
                share.whole.remove(&number);
                share.bytes -= bytes;
            });
        }
    }

    /// Takes body and headers of an answer away.
    fn strip(&mut self, number: u64) {
        let name = self.promised.get(&number);
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
        let (answers, bytes) = (share.answers.len(), share.bytes);
        change(share);
        let (answers_now, bytes_now) = (share.answers.len(), share.bytes);
        if share.running == 0 && answers_now == 0 {
            self.shares.remove(&caller);
        }
        place(&mut self.by_answers, caller, answers, answers_now);
        place(&mut self.by_bytes, caller, bytes, bytes_now);
    }
}

/// Who has nothing has no place.
fn place(places: &mut BTreeSet<(usize, Caller)>, caller: Caller, before: usize, now: usize) {
    if before != now {
        places.remove(&(before, caller));
        if now > 0 {
            places.insert((now, caller));
        }
    }
}
