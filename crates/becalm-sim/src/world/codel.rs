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
