//! What is known of one variant? Counts by tenths of a second, from all processes, and when what happened.

use std::ops::Range;
use std::time::Duration;

use super::clock::{BUCKET, bucket};
use super::tally::{Count, Counts, Line};
use super::told::Report;

/// What is left of a variant that came to its end.
#[derive(Debug, Clone, PartialEq)]
pub struct Held {
    pub recording: Recording,
    pub marks: Marks,
    pub report: Report,
}

/// When what happened, on the drill's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Marks {
    /// All clients have a connection.
    pub start: Duration,
    /// The server is killed.
    pub fault: Option<Duration>,
    /// A server listens again.
    pub up: Option<Duration>,
    /// Nothing is counted any more.
    pub end: Option<Duration>,
}

/// What has been told so far. Times are those of the drill's clock.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Recording {
    /// The connections that the servers have (`ws_connections_active`), at the end of each bucket.
    pub active: Vec<u32>,
    /// The clients that have a connection.
    pub open: Vec<u32>,
    counts: Vec<Counts>,
}

impl Recording {
    /// Adds what a server tells.
    pub fn add_server(&mut self, line: &Line) {
        *at(&mut self.active, line.bucket) += line.level;
        self.add(line);
    }

    /// Adds what a process of clients tells.
    pub fn add_clients(&mut self, line: &Line) {
        *at(&mut self.open, line.bucket) += line.level;
        self.add(line);
    }

    fn add(&mut self, line: &Line) {
        let counts = at(&mut self.counts, line.bucket).iter_mut();
        for (sum, count) in counts.zip(line.counts) {
            *sum += count;
        }
    }

    /// How many there were in this time.
    pub fn within(&self, count: Count, time: Range<Duration>) -> u64 {
        let counts = self.stretch(count, time);
        counts.map(u64::from).sum()
    }

    /// The most in one bucket of this time.
    pub fn peak(&self, count: Count, time: Range<Duration>) -> u32 {
        self.stretch(count, time).max().unwrap_or(0)
    }

    /// The number for each bucket of this time, as far as it is told.
    pub fn stretch(&self, count: Count, time: Range<Duration>) -> impl Iterator<Item = u32> + '_ {
        let (from, to) = (bucket(time.start), bucket(time.end + BUCKET / 2));
        let told = self.counts.iter().skip(from).take(to.saturating_sub(from));
        told.map(move |counts| counts[count as usize])
    }

    /// The fewest clients that had a connection in this time.
    pub fn least_open(&self, time: Range<Duration>) -> u32 {
        let (from, to) = (bucket(time.start), bucket(time.end));
        let told = self.open.iter().skip(from).take(to.saturating_sub(from));
        told.copied().min().unwrap_or(0)
    }
}

fn at<T: Default + Clone>(series: &mut Vec<T>, bucket: usize) -> &mut T {
    if series.len() <= bucket {
        series.resize(bucket + 1, T::default());
    }
    &mut series[bucket]
}

#[cfg(test)]
mod tests {
    use super::super::tally::KINDS;
    use super::*;

    #[test]
    fn lines_of_all_processes_add_up() {
        let mut recording = Recording::default();
        let line = |bucket, level, dials| {
            let mut counts = [0; KINDS];
            counts[Count::Dial as usize] = dials;
            Line {
                bucket,
                level,
                counts,
            }
        };
        recording.add_clients(&line(2, 5, 3));
        recording.add_clients(&line(2, 4, 1));
        recording.add_clients(&line(3, 2, 9));
        recording.add_server(&line(2, 8, 0));
        assert_eq!((recording.open[2], recording.active[2]), (9, 8));
        let time = |from, to| BUCKET * from..BUCKET * to;
        assert_eq!(recording.within(Count::Dial, time(2, 3)), 4);
        assert_eq!(recording.within(Count::Dial, time(0, 9)), 13);
        assert_eq!(recording.peak(Count::Dial, time(0, 9)), 9);
        assert_eq!(recording.least_open(time(2, 4)), 2);
    }
}
