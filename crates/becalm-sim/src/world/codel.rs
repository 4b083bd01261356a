//! Which of those that waited are dropped? `CoDel`, RFC 8289 section 5.

/// The state of one queue.
#[derive(Debug, Clone, Default)]
pub(super) struct CoDel {
    /// When the waits will have been above the target for an interval; 0 where they are not.
    first_above: u64,
    drop_next: u64,
    count: u32,
    last_count: u32,
    is_dropping: bool,
}

/// Who waited.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    pub request: u32,
    pub arrived_at: u64,
    /// Whether nobody is behind: the last is never dropped, as a packet alone is not.
    pub is_last: bool,
}

/// The target and the interval, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub target: u64,
    pub interval: u64,
}

impl CoDel {
    /// Takes the next out; those before it that are to be dropped are named in `dropped`.
    pub fn dequeue(
        &mut self,
        now: u64,
        bounds: Bounds,
        mut pop: impl FnMut() -> Option<Head>,
        mut dropped: impl FnMut(u32),
    ) -> Option<u32> {
        let mut take = |codel: &mut Self| {
            let head = pop();
            (head, codel.is_above(now, bounds, head))
        };
        let (mut head, mut is_above) = take(self);
        if self.is_dropping {
            self.is_dropping = is_above;
            while self.is_dropping && now >= self.drop_next {
                dropped(head?.request);
                self.count = self.count.saturating_add(1);
                (head, is_above) = take(self);
                self.is_dropping = is_above;
                if is_above {
                    self.drop_next = control_law(self.drop_next, bounds.interval, self.count);
                }
            }
        } else if is_above {
            dropped(head?.request);
            (head, _) = take(self);
            self.is_dropping = true;
            // Where it dropped a short while ago, it goes on at about that rate.
            let delta = self.count.saturating_sub(self.last_count);
            let is_recent = now.saturating_sub(self.drop_next) < bounds.interval.saturating_mul(16);
            self.count = if delta > 1 && is_recent { delta } else { 1 };
            self.drop_next = control_law(now, bounds.interval, self.count);
            self.last_count = self.count;
        }
        head.map(|head| head.request)
    }

    /// Whether waits have been above the target for an interval.
    fn is_above(&mut self, now: u64, bounds: Bounds, head: Option<Head>) -> bool {
        let Some(head) = head else {
            self.first_above = 0;
            return false;
        };
        if now.saturating_sub(head.arrived_at) < bounds.target || head.is_last {
            self.first_above = 0;
            false
        } else if self.first_above == 0 {
            self.first_above = now.saturating_add(bounds.interval);
            false
        } else {
            now >= self.first_above
        }
    }
}

/// The next drop comes after interval / sqrt(count).
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]
fn control_law(from: u64, interval: u64, count: u32) -> u64 {
    from.saturating_add((interval as f64 / f64::from(count).sqrt()) as u64)
}

#[cfg(test)]
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    /// Those of the RFC.
    const BOUNDS: Bounds = Bounds {
        target: 5 * MS,
        interval: 100 * MS,
    };
    /// Between two looks at the queue.
    const STEP: u64 = MS / 100;

    /// When requests are dropped from a long queue, one of which is taken out every step and has
    /// waited for so long.
    fn drops(codel: &mut CoDel, from: u64, until: u64, waited: u64) -> Vec<u64> {
        let mut drops = Vec::new();
        for now in (from..until).step_by(usize::try_from(STEP).unwrap()) {
            let head = Head {
                request: 0,
                arrived_at: now - waited,
                is_last: false,
            };
            let taken = codel.dequeue(now, BOUNDS, || Some(head), |_| drops.push(now));
            assert_eq!(taken, Some(0));
        }
        drops
    }

    fn gaps(drops: &[u64]) -> Vec<u64> {
        drops.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    /// Late by a step at most, of this gap or the one before.
    fn assert_gaps(gaps: &[u64], counts: std::ops::Range<u32>) {
        assert!(gaps.len() >= counts.len(), "{gaps:?}");
        for (gap, count) in gaps.iter().zip(counts) {
            let expected = BOUNDS.interval as f64 / f64::from(count).sqrt();
            let error = *gap as f64 - expected;
            assert!(error.abs() <= STEP as f64 + 1.0, "{count}: {gap}");
        }
    }

    #[test]
    fn drops_come_after_an_interval_and_then_by_the_inverse_square_root() {
        let mut codel = CoDel::default();
        let begin = 1000 * MS;
        let drops = drops(&mut codel, begin, begin + 1500 * MS, 6 * MS);
        assert_eq!(drops[0], begin + BOUNDS.interval);
        assert_gaps(&gaps(&drops), 1..40);
    }

    #[test]
    fn short_waits_are_never_dropped() {
        let mut codel = CoDel::default();
        let begin = 1000 * MS;
        assert!(drops(&mut codel, begin, begin + 1000 * MS, 5 * MS - 1).is_empty());
        // Above the target for less than an interval, again and again.
        for round in 0..10 {
            let from = begin + (1000 + 100 * round) * MS;
            assert!(drops(&mut codel, from, from + 99 * MS, 6 * MS).is_empty());
            assert!(drops(&mut codel, from + 99 * MS, from + 100 * MS, 0).is_empty());
        }
    }

    #[test]
    fn soon_after_a_bout_drops_go_on_at_its_rate_and_later_from_the_first() {
        for (pause, first_count) in [(100, 9), (5000, 1)] {
            let mut codel = CoDel::default();
            let begin = 1000 * MS;
            // Ten drops: the first of count 1, nine more.
            let mut until = begin + BOUNDS.interval + STEP;
            for count in 1..10 {
                until += (BOUNDS.interval as f64 / f64::from(count).sqrt()) as u64;
            }
            let bout = drops(&mut codel, begin, until + STEP, 6 * MS);
            assert_eq!(bout.len(), 10);
            let calm = until + pause * MS;
            assert!(drops(&mut codel, until + STEP, calm, 0).is_empty());
            let again = drops(&mut codel, calm, calm + 300 * MS, 6 * MS);
            assert_eq!(again[0], calm + BOUNDS.interval);
            assert_gaps(&gaps(&again), first_count..first_count + 1);
        }
    }

    #[test]
    fn the_last_in_the_queue_is_kept() {
        let mut codel = CoDel::default();
        for now in (1000 * MS..2000 * MS).step_by(1_000_000) {
            let alone = Head {
                request: 7,
                arrived_at: 0,
                is_last: true,
            };
            let taken = codel.dequeue(now, BOUNDS, || Some(alone), |_| panic!("dropped"));
            assert_eq!(taken, Some(7));
        }
    }
}
