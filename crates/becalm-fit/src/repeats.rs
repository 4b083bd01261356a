//! Which requests repeat others?

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

use crate::delays::delays;
use crate::sample::Sample;
use crate::{By, Known, Request, Retries};

/// What is under way for one call, found by its id or by client and target.
#[derive(Debug, Clone, Copy)]
struct Call {
    end: i64,
    attempts: u32,
    has_failed: bool,
}

/// Finds out which requests repeat others, in the order of their starts.
#[derive(Debug, Clone)]
pub struct Repeats {
    by: By,
    calls: HashMap<u64, Call, BuildHasherDefault<AsItIs>>,
    /// The keys in the order in which they are forgotten; an attempt makes an entry.
    order: VecDeque<(i64, u64)>,
    is_told: bool,
    repeated: u64,
    failed_calls: u64,
    /// By the number of attempts, calls whose last one failed.
    given_up: Vec<u64>,
    /// By the number of the retry, from the end of an attempt to the start of the next.
    gaps: Vec<Sample>,
    /// Where there are no ids, of some requests that succeeded: those that were followed by one that looks the same; and all.
    followed: (u64, u64),
    failed: u64,
}

/// What begins this much later, in microseconds, repeats nothing.
const FORGOTTEN: i64 = 60_000_000;
/// More calls than this are not kept in mind: some 50 MB.
const MOST_CALLS: usize = 1 << 20;
/// One key in so many is looked at after it succeeded.
const WATCHED: u64 = 16;
/// Fewer calls are an exception.
const FEW: u64 = 5;
/// Attempts that stand in, unless more were seen.
const USUAL: u32 = 4;
/// Retries of a call beyond this are counted alone.
const MOST_RETRIES: usize = 12;

impl Repeats {
    /// Finds them out by this.
    pub fn by(by: By) -> Self {
        Self {
            by,
            calls: HashMap::default(),
            order: VecDeque::new(),
            is_told: false,
            repeated: 0,
            failed_calls: 0,
            given_up: Vec::new(),
            gaps: Vec::new(),
            followed: (0, 0),
            failed: 0,
        }
    }

    /// By what they are found.
    pub const fn by_what(&self) -> By {
        self.by
    }

    /// How many requests repeat others, without those that seem to because clients share addresses.
    #[expect(clippy::cast_precision_loss)]
    pub fn likely(&self) -> f64 {
        self.repeated as f64 * (1.0 - self.collisions())
    }

    /// Whether the log tells what this looks at.
    pub const fn is_told(&self) -> bool {
        self.is_told
    }

    /// Takes the next request by start in; whether it repeats another.
    pub fn is_repeat(&mut self, request: &Request) -> bool {
        let Some(key) = key(self.by, request) else {
            return false;
        };
        self.is_told = true;
        self.forget(request.start);
        let before = self.calls.get(&key).copied();
        let before = before.filter(|it| request.start.saturating_sub(it.end) <= FORGOTTEN);
        let gap = before.map_or(0, |it| request.start.saturating_sub(it.end));
        let has_failed = request.has_failed();
        self.failed += u64::from(has_failed);
        let is_repeat = before.is_some_and(|it| match self.by {
            By::Id => it.has_failed,
            By::ClientAndTarget => it.has_failed && gap >= 0,
        });
        let is_followed = before.is_some_and(|it| !it.has_failed && gap >= 0);
        self.followed.0 += u64::from(is_followed && !is_repeat);
        // Of those that succeed, a few tell as much.
        let is_watched = !has_failed && self.by == By::ClientAndTarget && key % WATCHED == 0;
        self.followed.1 += u64::from(is_watched);
        let attempts = if let Some(before) = before.filter(|_| is_repeat) {
            self.repeat(before, gap);
            before.attempts.saturating_add(1)
        } else {
            if let Some(before) = before {
                self.over(before);
            }
            self.failed_calls += u64::from(has_failed);
            1
        };
        if has_failed || is_watched {
            let call = Call {
                end: request.end(),
                attempts,
                has_failed,
            };
            self.calls.insert(key, call);
            self.order.push_back((request.start, key));
        } else if before.is_some() {
            self.calls.remove(&key);
        }
        is_repeat
    }

    fn repeat(&mut self, before: Call, gap: i64) {
        self.repeated += 1;
        let retry = before.attempts as usize - 1;
        if before.has_failed && gap >= 0 && retry < MOST_RETRIES {
            if retry >= self.gaps.len() {
                self.gaps.resize_with(retry + 1, Sample::default);
            }
            self.gaps[retry].add(gap.unsigned_abs());
        }
    }

    fn forget(&mut self, now: i64) {
        while let Some((start, key)) = self.order.front().copied() {
            let is_old = start < now.saturating_sub(2 * FORGOTTEN);
            if !is_old && self.order.len() < MOST_CALLS {
                break;
            }
            self.order.pop_front();
            let is_over = |it: &Call| it.end < now.saturating_sub(FORGOTTEN);
            if !is_old || self.calls.get(&key).is_some_and(is_over) {
                if let Some(call) = self.calls.remove(&key) {
                    self.over(call);
                }
            }
        }
    }

    fn over(&mut self, call: Call) {
        if call.has_failed {
            let at = call.attempts as usize;
            if at >= self.given_up.len() {
                self.given_up.resize(at.min(10_000) + 1, 0);
            }
            if let Some(count) = self.given_up.get_mut(at) {
                *count += 1;
            }
        }
    }

    /// Of what looks like a retry, the share that would have come all the same: clients share addresses. 0 where requests have
    /// ids.
    #[expect(clippy::cast_precision_loss)]
    pub fn collisions(&self) -> f64 {
        if self.by == By::Id || self.repeated == 0 {
            return 0.0;
        }
        let usual = self.followed.0 as f64 / self.followed.1.max(1) as f64;
        let repeated = self.repeated as f64 / self.failed.max(1) as f64;
        (usual / repeated).min(1.0)
    }

    /// Requests for each first try of all that were read.
    #[expect(clippy::cast_precision_loss)]
    pub fn amplification(&self, requests: u64) -> f64 {
        requests as f64 / requests.saturating_sub(self.repeated).max(1) as f64
    }

    /// What clients do after a failure.
    pub fn retries(mut self) -> Known<Retries> {
        let open: Vec<Call> = self.calls.drain().map(|(_, call)| call).collect();
        for call in open {
            self.over(call);
        }
        #[expect(clippy::cast_precision_loss)]
        let amplification =
            (self.failed_calls + self.repeated) as f64 / self.failed_calls.max(1) as f64;
        let (base, multiplier, jitter) = delays(&self.gaps);
        let attempts = self.attempts();
        let least = (!self.is_end(attempts)).then(|| self.most_seen());
        let retries = Retries {
            by: self.is_told.then_some(self.by),
            repeated: self.repeated,
            failed_calls: self.failed_calls,
            amplification,
            attempts: least.map_or(attempts, |it| it.max(USUAL)),
            base,
            multiplier,
            jitter,
        };
        let seen = retries.repeated;
        if seen >= 100 {
            let mut because = format!(
                "{seen} requests repeat others, by {}",
                match retries.by {
                    Some(By::Id) => "their ids",
                    _ => "client and target",
                }
            );
            let Some(least) = least else {
                return Known::measured(retries.clone(), retries.clone(), retries, because);
            };
            because += "; hardly a call was given up that was repeated before, so after how many attempts are they? four or more stand in";
            let low = Retries {
                attempts: least,
                ..retries.clone()
            };
            return Known::measured(retries, low, None, because);
        }
        let because = match retries.by {
            _ if self.failed < 100 => {
                "hardly a request failed, so the log does not show what clients do then"
            }
            None => {
                "the log has neither ids nor clients, so nobody can see which requests repeat others"
            }
            Some(_) => "failed requests are not repeated; is that so",
        };
        Known::ask(retries, because)
    }

    /// The most attempts after which a good part of the calls gave up.
    fn attempts(&self) -> u32 {
        let total: u64 = self.given_up.iter().sum();
        let most = self.given_up.iter().rposition(|it| *it * 20 > total);
        most.and_then(|it| u32::try_from(it).ok())
            .unwrap_or(1)
            .max(1)
    }

    /// Whether calls that fail so many times are given up: some were, and more than were tried once more.
    fn is_end(&self, attempts: u32) -> bool {
        let at = attempts as usize;
        let given_up = self.given_up.get(at).copied().unwrap_or(0);
        attempts > 1 && given_up >= FEW && given_up >= self.retried(at)
    }

    /// The most attempts of a call that are no exception, whether it succeeded or not.
    fn most_seen(&self) -> u32 {
        let seen = (1..=self.gaps.len()).rev();
        let most = seen.into_iter().find(|it| self.retried(*it) >= FEW);
        u32::try_from(most.unwrap_or(0) + 1).unwrap_or(u32::MAX)
    }

    /// Calls that were tried again after so many attempts.
    fn retried(&self, attempts: usize) -> u64 {
        self.gaps.get(attempts - 1).map_or(0, Sample::added)
    }
}

/// What a request shares with those that it repeats; `None` where the log does not say.
fn key(by: By, request: &Request) -> Option<u64> {
    let is_told = match by {
        By::Id => request.id != 0,
        By::ClientAndTarget => request.client != 0 && request.target != 0,
    };
    is_told.then(|| match by {
        By::Id => request.id,
        By::ClientAndTarget => {
            let mixed = request.client.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            mixed.rotate_left(31) ^ request.target
        }
    })
}

/// Keys are hashes already.
#[derive(Debug, Clone, Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, key: u64) {
        // The map looks at the highest bits as well as the lowest.
        self.0 = key.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
