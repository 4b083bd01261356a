//! What has a proxy seen, as every drill records it?

use std::collections::BTreeMap;
use std::time::Duration;

use crate::fault::{Bucket, Seen};
use crate::ledger::{BUCKET, Count, Recording};

/// When the first request came, from the proxy's own beginning.
pub fn first(seen: &Seen) -> Option<Duration> {
    let first = seen.buckets.iter().position(|it| it.attempts > 0)?;
    Some(BUCKET.saturating_mul(u32::try_from(first).unwrap_or(u32::MAX)))
}

/// What was seen from the first request on, as long as the drill is, whether or not something came until then.
pub fn recording(seen: &Seen, length: Duration) -> Recording {
    let first = seen.buckets.iter().position(|it| it.attempts > 0);
    let from = first.map_or(&[][..], |first| &seen.buckets[first..]);
    let buckets = usize::try_from(length.as_nanos() / BUCKET.as_nanos()).unwrap_or(0);
    let of = |count: fn(&Bucket) -> u32| {
        let mut counts: Vec<_> = from.iter().take(buckets).map(count).collect();
        counts.resize(buckets, 0);
        counts
    };
    let counts = |kind| match kind {
        Count::Call | Count::FirstTry => of(|it| it.calls),
        Count::Retry => of(|it| it.attempts.saturating_sub(it.calls)),
        Count::Arrived => of(|it| it.attempts),
        Count::Succeeded => of(|it| it.answers),
        Count::SucceededOf => of(|it| it.good),
        _ => vec![0; buckets],
    };
    Recording::of(counts, BTreeMap::new(), 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_begins_with_the_first_request_and_lasts_as_long_as_the_drill() {
        let bucket = |calls, attempts| Bucket {
            calls,
            good: 1,
            attempts,
            answers: 2,
        };
        let mut seen = Seen {
            buckets: vec![Bucket::default(), bucket(3, 5), bucket(0, 2), bucket(9, 9)],
            ..Seen::default()
        };
        assert_eq!(first(&seen), Some(BUCKET));
        let watched = recording(&seen, 2 * BUCKET);
        assert_eq!(watched.buckets(Count::Call), [3, 0]);
        assert_eq!(watched.buckets(Count::Retry), [2, 2]);
        assert_eq!(watched.buckets(Count::Succeeded), [2, 2]);
        assert_eq!(watched.buckets(Count::SucceededOf), [1, 1]);
        let watched = recording(&seen, 5 * BUCKET);
        assert_eq!(watched.buckets(Count::Arrived), [5, 2, 9, 0, 0]);
        seen.buckets.clear();
        assert_eq!(first(&seen), None);
        assert_eq!(recording(&seen, BUCKET).total(Count::Call), 0);
    }
}
