//! How much do requests that are worked on at once slow each other down?

/// As many workers as are wanted.
pub(super) const UNLIMITED: u32 = u32::MAX;

/// The Universal Scalability Law: what waiting for each other, and agreeing with each other, costs the
/// requests that one instance works on at once.
///
/// With n at work, each goes on at 1/(1 + σ (n - 1) + κ n (n - 1)) of the speed that it has alone. So the
/// throughput of an instance rises ever more slowly, to at most 1/σ times that of one request, and
/// falls again once n is above √((1 - σ)/κ). A request that waits for calls of its own is not at work.
///
/// Source: Gunther, *Guerrilla Capacity Planning* (Springer, 2007), chapters 4 and 5.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Scalability {
    /// σ: the share of the work that only one request can do at a time (a lock, a single disk), from
    /// 0 to 1. Default 0.
    pub contention: f64,
    /// κ: what each pair of requests costs to agree (caches, row versions, garbage), as a share of the
    /// work, from 0 to 1. Default 0.
    pub coherency: f64,
}

impl Scalability {
    /// The speed of each of this many requests, as a share of that of one alone.
    pub fn speed(&self, at_work: u32) -> f64 {
        let others = f64::from(at_work.saturating_sub(1));
        1.0 / (1.0 + self.contention * others + self.coherency * f64::from(at_work) * others)
    }

    /// The most that this many workers do together, as a multiple of what one does alone: fewer of
    /// them at work may do more than all.
    pub fn most(&self, workers: u32) -> f64 {
        let together = |at_work: u32| f64::from(at_work) * self.speed(at_work);
        let best = ((1.0 - self.contention).max(0.0) / self.coherency).sqrt();
        if best.is_finite() {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // it saturates
            let best = (best as u32).clamp(1, workers.max(1));
            return together(best).max(together(best.saturating_add(1).min(workers.max(1))));
        }
        match workers {
            UNLIMITED => 1.0 / self.contention,
            workers => together(workers),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_is_that_of_the_best_number_at_work() {
        for (contention, coherency) in [
            (0.0, 0.0),
            (0.05, 0.0),
            (0.02, 0.001),
            (0.3, 0.2),
            (1.0, 0.5),
        ] {
            let law = Scalability {
                contention,
                coherency,
            };
            for workers in [1, 2, 3, 31, 32, 200] {
                let each = (1..=workers).map(|n| f64::from(n) * law.speed(n));
                let best = each.fold(0.0, f64::max);
                assert!((law.most(workers) - best).abs() < 1e-9, "{law:?} {workers}");
            }
        }
        let limit = Scalability {
            contention: 0.05,
            coherency: 0.0,
        };
        assert!((limit.most(UNLIMITED) - 20.0).abs() < 1e-9);
        assert!(Scalability::default().most(UNLIMITED).is_infinite());
    }
}
