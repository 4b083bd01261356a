//! How many may wait? As many as those found who were refused at once, less those at work: if they were refused because others
//! waited.

use crate::Known;
use crate::number::{group, least};
use crate::sample::{Sample, quantile};

/// What requests found who were refused at once, and who were not.
#[derive(Debug, Clone, Default)]
pub struct Refusals {
    /// While that was known.
    known: Found,
    /// While the service may have had others, whose clients had left.
    unknown: Found,
    /// The most that a request found which was not refused.
    most: usize,
}

#[derive(Debug, Clone, Default)]
struct Found {
    refused: Sample,
    /// Of the others, how many, by the group of the number found.
    admitted: Vec<u64>,
}

/// Fewer refusals say nothing.
const FEW: u64 = 20;

impl Refusals {
    /// Adds a request that found so many and was refused at once.
    pub fn refuse(&mut self, found: u64, is_known: bool) {
        self.side(is_known).refused.add(found);
    }

    /// Adds a request that found so many and was not.
    pub fn admit(&mut self, found: usize, is_known: bool) {
        self.most = self.most.max(found);
        let (at, side) = (group(found), self.side(is_known));
        if at >= side.admitted.len() {
            side.admitted.resize(at + 1, 0);
        }
        side.admitted[at] += 1;
    }

    /// Those who seemed to be refused were served.
    pub fn none_was_refused(&mut self) {
        for side in [&mut self.known, &mut self.unknown] {
            side.refused = Sample::default();
        }
    }

    fn side(&mut self, is_known: bool) -> &mut Found {
        if is_known {
            &mut self.known
        } else {
            &mut self.unknown
        }
    }

    /// The places of the queue; and how many requests were refused for another reason than that it was full, as far as the log shows.
    pub fn queue(&self, workers: &Known<u32>) -> (Known<Option<u32>>, u64) {
        let is_known = self.known.refused.added() >= FEW;
        let side = if is_known { &self.known } else { &self.unknown };
        let count = side.refused.added();
        let asked = |because: String| Known::ask(None, because + " no bound stands in");
        if count < FEW {
            let waited = self.most.saturating_sub(workers.value as usize);
            let because =
                format!("no request was refused at once, and up to {waited} waited: how many may?");
            return (asked(because), 0);
        }
        let sorted = side.refused.sorted();
        let median = quantile(&sorted, 0.5);
        let admitted = side.admitted_from(median);
        let is_idle = workers.is_measured() && median < u64::from(workers.value);
        if is_idle || admitted >= side.refused_from(median) {
            let found = format!(
                "{count} requests were refused at once, half of which found {median} others or fewer, and {admitted} that found as \
                 many or more were not"
            );
            if is_known {
                let all = count + self.unknown.refused.added();
                let because = "they met no full queue, and count as failures. How many may wait?";
                return (asked(format!("{found}: {because}")), all);
            }
            let because =
                "but the service may have had others, whose clients had left. How many may wait?";
            return (asked(format!("{found}, {because}")), 0);
        }
        if !workers.is_measured() {
            let because = format!(
                "requests that found {median} others were refused at once: how many of those wait?"
            );
            return (asked(because), 0);
        }
        let [low, median, high] = [0.025, 0.5, 0.975].map(|share| {
            let found = u32::try_from(quantile(&sorted, share)).unwrap_or(u32::MAX);
            Some(found.saturating_sub(workers.value))
        });
        let known = if is_known {
            let because =
                format!("{count} requests were refused at once: what they found, less the workers");
            Known::measured(median, low, high, because)
        } else {
            let because = format!(
                "at least this: {count} requests were refused at once, where the service may have had others, whose clients had left"
            );
            Known::measured(median, low, None::<Option<u32>>, because)
        };
        (known, 0)
    }
}

impl Found {
    /// Of those that were not refused, how many found so many or more.
    fn admitted_from(&self, number: u64) -> u64 {
        let groups = self.admitted.iter().enumerate();
        let from = groups.filter(|(at, _)| least(*at) as u64 >= number);
        from.map(|(_, count)| count).sum()
    }

    /// Of those that were refused.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss
    )]
    fn refused_from(&self, number: u64) -> u64 {
        let sorted = self.refused.sorted();
        let from = sorted.len() - sorted.partition_point(|it| *it < number);
        let share = from as f64 / sorted.len().max(1) as f64;
        (share * self.refused.added() as f64).round() as u64
    }
}
