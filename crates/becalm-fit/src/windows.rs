//! How is a log of any length fitted in stretches, of which there are never many?

use std::time::Duration;

use crate::tally::Tally;

/// At most two dozen stretches of one length, which doubles as the log goes on.
#[derive(Debug, Clone)]
pub struct Windows {
    /// In microseconds.
    width: u64,
    all: Vec<Stretch>,
    /// Answers in each, and behind the last, to whatever began before.
    answers: Vec<u64>,
}

/// A stretch of a log.
#[derive(Debug, Clone, Default)]
pub struct Stretch {
    /// What its requests found that were answered.
    pub tally: Tally,
    /// What those found whose answer says that there was nobody to serve them: not at once, and at once.
    pub unserved: [Tally; 2],
    /// Those who were certainly served, where that is known and not all of them were.
    served: Option<Tally>,
    /// Requests that began in it.
    pub requests: u64,
    /// Of those, first tries, by what tells that a request repeats another ([`crate::By`]).
    pub first_tries: [u64; 2],
}

impl Stretch {
    /// Whether some may not have been served.
    pub const fn is_doubtful(&self) -> bool {
        self.served.is_some()
    }

    /// Those who certainly were.
    pub fn served(&self) -> &Tally {
        self.served.as_ref().unwrap_or(&self.tally)
    }
}

const MOST: usize = 24;
/// In microseconds: shorter ones would show chance.
const SHORTEST: u64 = 5_000_000;

impl Default for Windows {
    fn default() -> Self {
        Self {
            width: SHORTEST,
            all: Vec::new(),
            answers: Vec::new(),
        }
    }
}

impl Windows {
    /// The stretch of a moment, in microseconds since the first start.
    pub fn at(&mut self, since: u64) -> &mut Stretch {
        while since / self.width >= MOST as u64 {
            self.double();
        }
        let at = usize::try_from(since / self.width).unwrap_or(0);
        if at >= self.all.len() {
            self.all.resize_with(at + 1, Stretch::default);
        }
        &mut self.all[at]
    }

    /// Counts an answer at this moment. What comes long after the last start is no part of any stretch.
    pub fn answered(&mut self, since: u64) {
        let at = usize::try_from(since / self.width).unwrap_or(usize::MAX);
        if at > 2 * MOST {
            return;
        }
        if at >= self.answers.len() {
            self.answers.resize(at + 1, 0);
        }
        self.answers[at] += 1;
    }

    fn double(&mut self) {
        self.width = self.width.saturating_mul(2);
        let mut stretches = std::mem::take(&mut self.all).into_iter();
        while let Some(mut stretch) = stretches.next() {
            if let Some(next) = stretches.next() {
                stretch.tally.merge(&next.tally);
                for (tally, more) in stretch.unserved.iter_mut().zip(&next.unserved) {
                    tally.merge(more);
                }
                stretch.requests += next.requests;
                for (tries, more) in stretch.first_tries.iter_mut().zip(next.first_tries) {
                    *tries += more;
                }
            }
            self.all.push(stretch);
        }
        let pairs = self.answers.chunks(2);
        self.answers = pairs.map(|it| it.iter().sum()).collect();
    }

    /// Counts those who were not served as work: all of them where they are as the others are, else those who were not refused at
    /// once.
    pub fn settle(&mut self, are_as_others: bool) {
        for stretch in &mut self.all {
            let [late, at_once] = std::mem::take(&mut stretch.unserved);
            if late.requests() > 0 {
                stretch.served = Some(stretch.tally.clone());
            }
            stretch.tally.merge(&late);
            if are_as_others {
                stretch.tally.merge(&at_once);
            }
        }
    }

    /// Answers in each of the stretches, in the order of time, and behind the last.
    pub fn answers(&self) -> &[u64] {
        &self.answers
    }

    /// How long each is.
    pub const fn width(&self) -> Duration {
        Duration::from_micros(self.width)
    }

    /// In the order of time.
    pub fn all(&self) -> &[Stretch] {
        &self.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_log_has_longer_stretches_and_no_more_of_them() {
        let mut windows = Windows::default();
        for second in 0..86_400 {
            windows.at(second * 1_000_000).requests += 1;
        }
        assert_eq!(windows.width(), Duration::from_secs(5120));
        assert_eq!(windows.all().len(), 17);
        let requests: Vec<u64> = windows.all().iter().map(|it| it.requests).collect();
        assert_eq!(requests.iter().sum::<u64>(), 86_400);
        assert!(requests[..16].iter().all(|it| *it == 5120));
    }
}
