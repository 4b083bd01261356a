//! Who gets which token, and when?
//!
//! A bucket in debt is a queue. Each call that waits owns the token that brings `supplied` to its
//! own mark; marks are a token apart. So no token has two owners, nobody is overtaken by rights,
//! and when the rate changes all who wait are moved with it. A place that is given up in the
//! middle is a hole, which the next call takes; those behind it stay where they are.

use crate::time::Instant;

/// A token, in the unit of the bucket.
pub(super) const TOKEN: i64 = 1_000_000;
/// Tokens per second below which the rate does not fall.
pub(super) const MIN_RATE: f64 = 0.5;

/// A call's own token: there already, or to be waited for.
///
/// Not `Clone`: it can be cancelled once. A call that starts just drops it.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a place is waited for; if its call never starts, it is cancelled"]
pub struct Place {
    at: Instant,
    /// What must have been supplied; `None` where nothing was taken.
    pub(super) mark: Option<u64>,
}

impl Place {
    /// When the token is there, at the rate of the moment at which it was taken.
    pub const fn at(&self) -> Instant {
        self.at
    }

    pub(super) const fn free(now: Instant) -> Self {
        Self {
            at: now,
            mark: None,
        }
    }
}

/// A token bucket, in millionths of a token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bucket {
    /// Tokens per second.
    pub rate: f64,
    /// What it holds when full.
    pub capacity: i64,
    /// What it holds and nobody owns.
    pub level: i64,
    /// What must come before the last who waits has its token.
    pub debt: i64,
    /// The n-th bit: the n-th place before the last was given up. Where more than 64 wait, the
    /// token of one further ahead comes unused.
    pub holes: u64,
    /// All that ever came, modulo 2^64.
    pub supplied: u64,
    /// What came below a millionth.
    pub fraction: f64,
    pub filled_at: Instant,
}

impl Bucket {
    /// An empty bucket.
    pub const fn new(now: Instant) -> Self {
        Self {
            rate: MIN_RATE,
            capacity: TOKEN,
            level: 0,
            debt: 0,
            holes: 0,
            supplied: 0,
            fraction: 0.0,
            filled_at: now,
        }
    }

    /// Fills in what the time since the last look has brought.
    pub fn fill(&mut self, now: Instant) {
        if now <= self.filled_at {
            return;
        }
        let nanos = now.as_nanos() - self.filled_at.as_nanos();
        self.filled_at = now;
        #[expect(clippy::cast_precision_loss)]
        let brought = nanos as f64 * self.rate / 1000.0 + self.fraction;
        #[expect(clippy::cast_possible_truncation)]
        let whole = brought as i64;
        #[expect(clippy::cast_precision_loss)]
        let fraction = brought - whole as f64;
        self.fraction = fraction.min(1.0); // more where the bucket overflows anyhow
        self.supply(whole);
    }

    fn supply(&mut self, micros: i64) {
        self.supplied = self.supplied.wrapping_add(micros.unsigned_abs());
        let ahead = self.debt - micros;
        let passed = self.holes & !below(ahead.max(0).unsigned_abs().div_ceil(TOKEN as u64));
        self.holes &= !passed;
        self.debt = ahead.max(0);
        self.keep(ahead.min(0).saturating_neg());
        self.keep(i64::from(passed.count_ones()) * TOKEN);
    }

    /// Adds what nobody owns.
    fn keep(&mut self, micros: i64) {
        self.level = self.level.saturating_add(micros).min(self.capacity);
    }

    /// Goes on at this rate. What the old one brought must have been filled in.
    pub fn set_rate(&mut self, rate: f64) {
        self.rate = rate.max(MIN_RATE);
        #[expect(clippy::cast_possible_truncation)]
        let capacity = (rate * 1e6) as i64;
        self.capacity = capacity.max(TOKEN);
        self.level = self.level.min(self.capacity);
    }

    /// Takes a token, unless it is further away than this many nanoseconds; then says when it
    /// would be there.
    pub fn take(&mut self, now: Instant, max_wait: u64) -> Result<Place, Instant> {
        if self.level >= TOKEN {
            self.level -= TOKEN;
            return Ok(self.place(0, now));
        }
        let foremost = 63_u32.checked_sub(self.holes.leading_zeros());
        let ahead = match foremost {
            Some(hole) => self.debt - i64::from(hole) * TOKEN,
            None if self.debt > 0 => self.debt.saturating_add(TOKEN),
            None => TOKEN - self.level,
        };
        let place = self.place(ahead, now);
        if place.at.since(now).as_nanos() > u128::from(max_wait) {
            return Err(place.at);
        }
        if let Some(hole) = foremost {
            self.holes &= !(1 << hole);
        } else {
            if self.debt == 0 {
                self.level = 0; // the token's first part
            }
            self.debt = ahead; // behind no hole, or that would have been taken
        }
        Ok(place)
    }

    /// Takes a token back.
    pub fn put_back(&mut self, mark: u64) {
        let ahead = self.ahead(mark);
        if ahead <= 0 {
            return self.keep(TOKEN);
        }
        let behind = (self.debt - ahead) / TOKEN;
        if behind < 64 {
            self.holes |= 1 << behind;
        }
        // Holes at the end are nobody's.
        while self.holes & 1 == 1 {
            self.holes >>= 1;
            self.debt -= TOKEN;
        }
        if self.debt < 0 {
            self.keep(-self.debt);
            self.debt = 0;
        }
    }

    /// When this mark is reached, at the rate of now; not after `now` if it has been.
    pub fn reached(&self, mark: u64, now: Instant) -> Instant {
        self.place(self.ahead(mark), now).at
    }

    fn ahead(&self, mark: u64) -> i64 {
        #[expect(clippy::cast_possible_wrap)] // the two are never half of 2^64 apart
        let ahead = mark.wrapping_sub(self.supplied) as i64;
        ahead
    }

    fn place(&self, ahead: i64, now: Instant) -> Place {
        let mark = Some(self.supplied.wrapping_add(ahead.unsigned_abs()));
        if ahead <= 0 {
            return Place { at: now, mark };
        }
        #[expect(clippy::cast_precision_loss)]
        let nanos = (ahead as f64 - self.fraction) * 1000.0 / self.rate;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let nanos = (nanos as u64).saturating_add(1); // the token is there, not nearly there
        // Another thread may have looked at the clock later and come here first.
        let from = now.max(self.filled_at).as_nanos();
        Place {
            at: Instant::from_nanos(from.saturating_add(nanos)),
            mark,
        }
    }
}

/// The bits below this one.
fn below(bit: u64) -> u64 {
    match bit {
        0..64 => (1 << bit) - 1,
        _ => u64::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Random, SplitMix64};
    use alloc::vec::Vec;

    /// The queue written down as a list of the marks that have not been reached.
    struct Queue {
        level: i64,
        capacity: i64,
        supplied: i64,
        /// From the first to the last; whether somebody owns it.
        marks: Vec<(i64, bool)>,
    }

    impl Queue {
        /// A millionth of a token comes.
        fn tick(&mut self) {
            self.supplied += 1;
            match self.marks.first() {
                None => self.level += 1,
                Some((mark, owned)) if *mark == self.supplied => {
                    self.level += if *owned { 0 } else { TOKEN };
                    self.marks.remove(0);
                }
                Some(_) => {}
            }
            self.level = self.level.min(self.capacity);
        }

        fn take(&mut self) -> i64 {
            if self.level >= TOKEN {
                self.level -= TOKEN;
                return self.supplied;
            }
            if let Some(hole) = self.marks.iter_mut().find(|(_, owned)| !owned) {
                hole.1 = true;
                return hole.0;
            }
            let mark = match self.marks.last() {
                Some((last, _)) => last + TOKEN,
                None => self.supplied + TOKEN - core::mem::take(&mut self.level),
            };
            self.marks.push((mark, true));
            mark
        }

        fn put_back(&mut self, mark: i64) {
            match self.marks.iter_mut().find(|(of, _)| *of == mark) {
                None => self.level = (self.level + TOKEN).min(self.capacity),
                Some(place) => place.1 = false,
            }
            while let Some((mark, false)) = self.marks.last().copied() {
                self.marks.pop();
                if self.marks.is_empty() {
                    // What has come of its token is nobody's.
                    let come = TOKEN - (mark - self.supplied);
                    self.level = (self.level + come).min(self.capacity);
                }
            }
        }
    }

    /// A thousand queues of a thousand steps, of at most 64 that wait. What comes is some parts of
    /// 16 of a token, so that the list may be ticked slowly.
    #[test]
    fn over_a_million_random_steps_it_equals_a_list_of_marks() {
        let mut random = SplitMix64::new(7);
        let mut up_to = |most: u64| random.next_u64() % (most + 1);
        let (mut holes, mut longest) = (0_u32, 0);
        for round in 0..1000_i64 {
            let mut bucket = Bucket::new(Instant::ZERO);
            bucket.capacity = TOKEN * (1 + round % 5) + TOKEN / 16 * (round % 16);
            let mut queue = Queue {
                level: 0,
                capacity: bucket.capacity,
                supplied: 0,
                marks: Vec::new(),
            };
            let mut out: Vec<u64> = Vec::new();
            let wanted = 1 + up_to(40);
            for step in 0..1000 {
                match up_to(9) {
                    0..=3 if queue.marks.len() < 64 => {
                        let place = bucket.take(Instant::ZERO, u64::MAX).unwrap();
                        let mark = queue.take();
                        assert_eq!(place.mark, Some(mark.unsigned_abs()), "{round}, {step}");
                        out.push(mark.unsigned_abs());
                    }
                    4..=5 if !out.is_empty() => {
                        let mark =
                            out.swap_remove(usize::try_from(up_to(out.len() as u64 - 1)).unwrap());
                        bucket.put_back(mark);
                        queue.put_back(i64::try_from(mark).unwrap());
                    }
                    6..=7 => {
                        let parts = up_to(wanted);
                        bucket.supply(TOKEN / 16 * i64::try_from(parts).unwrap());
                        for _ in 0..parts {
                            pass_a_sixteenth(&mut queue);
                        }
                    }
                    _ => {
                        // Those who are ready start.
                        out.retain(|mark| up_to(3) > 0 || bucket.ahead(*mark) > 0);
                    }
                }
                holes += bucket.holes.count_ones();
                longest = longest.max(queue.marks.len());
                let owed = queue
                    .marks
                    .last()
                    .map_or(0, |(mark, _)| mark - queue.supplied);
                assert_eq!(
                    (bucket.level, bucket.debt),
                    (queue.level, owed),
                    "{round}, {step}"
                );
            }
        }
        assert!(
            holes > 100_000 && longest > 20,
            "{holes} holes, {longest} waiting"
        );
    }

    /// All marks and levels of the test are whole sixteenths, so nothing happens in between.
    fn pass_a_sixteenth(queue: &mut Queue) {
        queue.supplied += TOKEN / 16 - 1;
        if queue.marks.is_empty() {
            queue.level += TOKEN / 16 - 1;
        }
        queue.tick();
    }

    #[test]
    fn what_comes_below_a_millionth_is_kept() {
        let mut bucket = Bucket::new(Instant::ZERO);
        for nanos in 1..=2_000_000 {
            // Half a token a second, looked at every microsecond and a bit.
            bucket.fill(Instant::from_nanos(nanos * 700));
        }
        // But for what 2 000 000 sums round away.
        assert!(
            (699_999..=700_000).contains(&bucket.level),
            "{}",
            bucket.level
        );
    }
}
