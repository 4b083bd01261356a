//! Which buckets lie before, during and after what goes wrong?

use std::ops::Range;
use std::time::Duration;

use super::arrivals::Arrivals;
use super::whole::Scenario;

/// The buckets of a run. Without triggers all of them lie after.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Phases {
    /// Until the first trigger begins.
    pub before: Range<usize>,
    /// From then until the last trigger is over.
    pub during: Range<usize>,
    /// From then to the end of the run.
    pub after: Range<usize>,
    /// The buckets over which goodput is judged: those of a second, and at least ten.
    pub window: usize,
    /// The last buckets before the first trigger, whose calls it may hit: they do not say what is usual. A
    /// window, or half of what is before.
    pub hit: usize,
    /// The first bucket that is too late to judge: a call that begins there may be running at
    /// the end of the run. Where all calls are recorded, their end is that of the run: in silence everything recovers.
    pub settled: usize,
}

/// Buckets that no run needs more of: what a hostile configuration can make of memory.
const MOST_BUCKETS: u128 = 2_000_000;

impl Phases {
    /// The phases of a scenario.
    pub fn of(scenario: &Scenario) -> Self {
        let bucket = scenario.bucket.max(Duration::from_nanos(1)).as_nanos();
        let buckets = |time: Duration| count(time.as_nanos().div_ceil(bucket));
        let all = buckets(scenario.horizon);
        let begins = scenario.triggers.iter().map(|trigger| trigger.from);
        let from = begins.min().map_or(0, |from| buckets(from).min(all));
        let to = buckets(scenario.triggers_end()).clamp(from, all);
        let window = buckets(Duration::from_secs(1)).max(10);
        let grace = buckets(longest_attempt(scenario)) + window;
        let end = last_recorded(scenario).map_or(all, |last| buckets(last).min(all));
        let end = if end >= to + 2 * window { end } else { all };
        Self {
            hit: window.min(from / 2),
            before: 0..from,
            during: from..to,
            after: to..all,
            window,
            settled: end - grace.min((end - to) / 4),
        }
    }

    /// Where calls that begin so long before the first trigger may still wait for their answer when it comes: they do not say
    /// what is usual either.
    #[must_use]
    pub fn sparing(self, lead: Duration, bucket: Duration) -> Self {
        let lead = count(lead.as_nanos().div_ceil(bucket.as_nanos().max(1)));
        let hit = self.hit.max(lead.min(self.before.len()));
        Self { hit, ..self }
    }

    /// Whether enough time is left after the triggers to see what comes of them: two windows.
    pub fn leave_time(&self) -> bool {
        self.after.len() >= 2 * self.window
    }

    /// The buckets that say what is usual: those before the trigger but for the last, whose calls it may
    /// hit; without a trigger the first of the run.
    pub(crate) fn usual(&self) -> Range<usize> {
        if self.before.is_empty() && self.during.is_empty() {
            let first = (2 * self.window).min(self.after.len() / 4);
            return 0..first;
        }
        0..self.before.len() - self.hit
    }

    /// Where recordings keep latencies apart: at the ends of what is usual, of each phase and of what
    /// can be judged.
    pub(crate) fn cuts(&self) -> [usize; 4] {
        let usual = self.usual().end;
        [usual, self.during.start, self.during.end, self.settled]
    }

    /// The last quarter of what is after the triggers: what it all came to.
    pub(crate) fn tail(&self) -> Range<usize> {
        let after = self.after.start..self.settled;
        after.end - after.len().div_ceil(4)..after.end
    }
}

/// When the last call begins of those that were all recorded.
fn last_recorded(scenario: &Scenario) -> Option<Duration> {
    let populations = scenario.populations.iter();
    let last = populations.map(|it| match &it.arrivals {
        Arrivals::Trace(recorded) => recorded.last(),
        _ => None,
    });
    last.collect::<Option<Vec<_>>>()?.into_iter().max()
}

/// The longest time for which a client waits for one attempt; zero where none has a bound.
fn longest_attempt(scenario: &Scenario) -> Duration {
    let timeouts = scenario.populations.iter().flat_map(|population| {
        let variants = population.variants.iter();
        variants.filter_map(|variant| variant.policy.attempt_timeout.or(population.timeout))
    });
    timeouts.max().unwrap_or_default()
}

fn count(buckets: u128) -> usize {
    usize::try_from(buckets.min(MOST_BUCKETS)).unwrap_or(usize::MAX)
}
