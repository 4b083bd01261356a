//! How are requests, as a log tells them, taken in?

use std::time::Duration;

use crate::arrivals::Arrivals;
use crate::order::ByStart;
use crate::queue::Refusals;
use crate::repeats::Repeats;
use crate::sample::{Sample, quantile};
use crate::stamps::Stamps;
use crate::tally::Scale;
use crate::underway::Underway;
use crate::windows::Windows;
use crate::{By, Ended, Ends, Fitted, Request, conclude};

/// What is known of a log beside its lines.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Options {
    /// The share of the requests that is in the log, above 0 and at most 1. Default 1: all.
    ///
    /// Nothing in a log shows that it was sampled, and what requests found cannot be counted in one that was.
    pub sampled: f64,
    /// Whether one pool of workers is known to have written the log. Default no.
    pub is_one_pool: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            sampled: 1.0,
            is_one_pool: false,
        }
    }
}

/// Takes requests in, in the order of the lines of a log, and keeps what a [`Fitted`] needs: some megabytes, however long
/// the log is.
///
/// ```
/// use becalm_fit::{Ended, Fit, Knee, Options, Request};
///
/// let mut fit = Fit::new(Options::default());
/// for number in 0..2000_i64 {
///     fit.push(Request {
///         start: number * 10_007,
///         duration: 3_000,
///         ended: Ended::Answered(200),
///         client: 0,
///         target: 0,
///         id: 0,
///         upstream: 0,
///     });
/// }
/// let fitted = fit.finish();
/// assert_eq!(fitted.knee, Knee::Open); // it was never filled
/// println!("{}", fitted.scenario("orders"));
/// ```
#[derive(Debug)]
pub struct Fit {
    options: Options,
    order: ByStart,
    stamps: Stamps,
    /// The first requests by start, until there are enough to tell short times from long ones.
    first: Vec<Request>,
    /// Requests that came too late, until they can be counted.
    late: Vec<Request>,
    /// Once there are; and below how many microseconds an answer is quick.
    scale: Option<(Scale, u64)>,
    /// What is longer than this between two starts is a hole of the log, in microseconds.
    hole: i64,
    gathered: Gathered,
    /// By what tells that a request repeats another, as everything that comes twice.
    repeats: [Repeats; 2],
    underway: Underway,
}

/// What is gathered of a log.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    pub step: Duration,
    pub requests: u64,
    pub late: u64,
    /// Lines that could not be read, and those that were requests.
    pub unread: u64,
    pub lines: u64,
    pub ends: Ends,
    /// Of the first requests, in microseconds.
    pub median: u64,
    pub first: Option<i64>,
    pub last: i64,
    /// How long nothing at all began, in microseconds: it is no part of the time.
    pub silent: i64,
    /// Requests that a proxy answered itself.
    pub unsent: u64,
    pub windows: Windows,
    pub arrivals: [Arrivals; 2],
    /// How long those waited who left, in microseconds.
    pub left: Sample,
    /// Of those who left, those to whom a proxy or the service said 504.
    pub given_up: u64,
    /// The longest answer, in microseconds.
    pub longest: u64,
    pub refusals: Refusals,
    /// Up to [`MOST_UPSTREAMS`] that are not 0.
    pub upstreams: Vec<u32>,
}

/// Told apart up to this many.
pub(crate) const MOST_UPSTREAMS: usize = 1000;
/// So many requests tell what is short.
const ENOUGH: usize = 2000;
/// So many times what is usual between two starts, and a minute at least, is a hole: a night is none.
const HOLE: (i64, i64) = (1000, 60_000_000);

impl Gathered {
    /// Microseconds since the first start, without holes, as time passes to this one.
    fn pass(&mut self, start: i64, hole: i64) -> i64 {
        let first = *self.first.get_or_insert(start);
        let gap = start.saturating_sub(self.last);
        if start != first && gap > hole {
            self.silent = self.silent.saturating_add(gap);
        }
        self.last = start;
        self.since(start)
    }

    /// Microseconds since the first start, without holes.
    pub fn since(&self, moment: i64) -> i64 {
        let first = self.first.unwrap_or(moment);
        moment.saturating_sub(first).saturating_sub(self.silent)
    }

    /// Whether a proxy that names those to whom it sends requests sent this one to nobody, and did not refuse it for want of
    /// somebody: what it has on its own disk, a redirect.
    fn is_unsent(&self, request: &Request) -> bool {
        let is_own =
            matches!(request.ended, Ended::Answered(status) if !matches!(status, 429 | 502..=504));
        is_own && request.upstream == 0 && !self.upstreams.is_empty()
    }

    fn name(&mut self, upstream: u32) {
        let has_room = upstream != 0 && self.upstreams.len() < MOST_UPSTREAMS;
        if has_room && !self.upstreams.contains(&upstream) {
            self.upstreams.push(upstream);
        }
    }

    /// Counts a request that began then, and, as either tells, repeats another.
    fn begun(&mut self, since: u64, is_repeat: [bool; 2]) {
        let window = self.windows.at(since);
        window.requests += 1;
        let tries = window.first_tries.iter_mut().zip(&mut self.arrivals);
        for ((tries, arrivals), _) in tries.zip(is_repeat).filter(|it| !it.1) {
            *tries += 1;
            arrivals.add(since);
        }
    }

    /// How a request ended for the service. Where a proxy gave up and answered 504 after longer than most answers take, nobody knows
    /// when the service was done with it, just as if its client had left.
    const fn ended(&self, request: &Request) -> Ended {
        match request.ended {
            Ended::Answered(504) if request.duration > self.median => Ended::Abandoned,
            ended => ended,
        }
    }

    /// Counts a request that comes too late to say what it found: the load has it all the same.
    fn late(&mut self, request: &Request) {
        self.late += 1;
        let Ok(since) = u64::try_from(self.since(request.start)) else {
            return;
        };
        if self.first.is_some() && !self.is_unsent(request) {
            self.begun(since, [false; 2]);
            self.windows
                .answered(since.saturating_add(request.duration));
        }
    }
}

impl Fit {
    /// Begins a fit.
    pub fn new(options: Options) -> Self {
        Self {
            options,
            order: ByStart::default(),
            stamps: Stamps::default(),
            first: Vec::new(),
            late: Vec::new(),
            scale: None,
            hole: i64::MAX,
            gathered: Gathered::default(),
            repeats: [By::Id, By::ClientAndTarget].map(Repeats::by),
            underway: Underway::default(),
        }
    }

    /// Takes the request of the next line in. Lines are in the order in which requests ended, or began, or nearly so.
    pub fn push(&mut self, request: Request) {
        if self.gathered.requests == 0 {
            self.underway = Underway::since(request.end());
        }
        self.gathered.requests += 1;
        self.gathered.name(request.upstream);
        self.stamps.add(&request);
        if !self.order.push(request) {
            self.underway.add(request.end());
            self.late.push(request);
            if self.scale.is_some() || self.late.len() >= ENOUGH {
                self.begin();
            }
        }
        while let Some(request) = self.order.next() {
            self.take(request);
        }
    }

    /// Takes in that so many lines could not be read, beside so many that were requests, of whatever upstream. From one in a
    /// hundred on, nobody can count what requests found.
    pub fn unread(&mut self, lines: u64, requests: u64) {
        self.gathered.unread += lines;
        self.gathered.lines += requests;
    }

    /// Says what the log says.
    pub fn finish(mut self) -> Fitted {
        while let Some(request) = self.order.rest() {
            self.take(request);
        }
        self.begin();
        self.gathered.late += self.order.strays();
        self.gathered.step = self.stamps.step();
        let [by_id, by_client] = self.repeats;
        // Proxies draw ids of their own: then few are told twice, while clients repeat a lot.
        let has_ids = by_id.is_told() && by_id.likely() >= by_client.likely() / 2.0;
        let repeats = if has_ids { by_id } else { by_client };
        conclude::conclude(self.gathered, repeats, self.options)
    }

    /// Takes the next request by start in.
    fn take(&mut self, request: Request) {
        if self.scale.is_some() {
            self.count(&request);
            return;
        }
        self.first.push(request);
        if self.first.len() >= ENOUGH {
            self.begin();
        }
    }

    /// Finds out what is short, and counts what waited for that.
    fn begin(&mut self) {
        if self.scale.is_none() {
            self.measure();
        }
        for request in std::mem::take(&mut self.first) {
            self.count(&request);
        }
        for request in self.late.drain(..) {
            self.gathered.late(&request);
        }
    }

    fn measure(&mut self) {
        let mut gaps: Vec<u64> = self
            .first
            .windows(2)
            .map(|it| it[1].start.abs_diff(it[0].start))
            .collect();
        gaps.sort_unstable();
        let gap = i64::try_from(quantile(&gaps, 0.5)).unwrap_or(i64::MAX);
        self.hole = gap.saturating_mul(HOLE.0).max(HOLE.1);
        let answered = self.first.iter().filter(|it| !it.has_failed());
        let answered = answered.filter(|it| !self.gathered.is_unsent(it));
        let mut times: Vec<u64> = answered.map(|it| it.duration).collect();
        times.sort_unstable();
        let median = quantile(&times, 0.5);
        self.gathered.median = median;
        #[expect(clippy::cast_precision_loss)] // below 2^52
        let extremes = extremes(&times, median).map(|it| it as f64);
        let scale = Scale::of(extremes, self.stamps.step().as_secs_f64() * 1e6);
        self.scale = Some((scale, median / 4));
    }

    fn count(&mut self, request: &Request) {
        let Some((scale, quick)) = self.scale else {
            return;
        };
        let gathered = &mut self.gathered;
        let since = gathered.pass(request.start, self.hole).unsigned_abs();
        if gathered.is_unsent(request) {
            gathered.unsent += 1;
            return;
        }

        let is_repeat = self.repeats.each_mut().map(|it| it.is_repeat(request));
        let ended = gathered.ended(request);
        gathered.begun(since, is_repeat);
        let is_known = self.underway.is_known(request);
        let found = self.underway.found_by(request);
        let number = found.len() as u64;
        match ended {
            Ended::Answered(status @ (429 | 502 | 503)) if request.duration < quick => {
                gathered.ends.refused += 1;
                // A rate that was exceeded says nothing about the queue.
                if status != 429 {
                    gathered.refusals.refuse(number, is_known);
                }
            }
            Ended::Answered(status) => {
                gathered.ends.answered += 1;
                gathered.ends.failed += u64::from(status >= 500);
                gathered.longest = gathered.longest.max(request.duration);
                gathered.refusals.admit(found.len(), is_known);
                let tally = &mut gathered.windows.at(since).tally;
                if is_known {
                    tally.add(request.duration, request.end(), found, scale);
                } else {
                    tally.unknown += 1;
                }
                self.underway.answered(request);
                gathered
                    .windows
                    .answered(since.saturating_add(request.duration));
            }
            Ended::Abandoned => {
                gathered.given_up += u64::from(request.ended != Ended::Abandoned);
                gathered.ends.abandoned += 1;
                gathered.refusals.admit(found.len(), is_known);
                // Who did not wait at all tells no time-out.
                if request.duration > 0 {
                    gathered.left.add(request.duration);
                }
                let tally = &mut gathered.windows.at(since).tally;
                tally.unknown += 1;
                if is_known {
                    tally.left(request.duration, found.len());
                }
                self.underway.abandoned(request);
            }
        }
    }
}

/// From what times on, in microseconds, the longer ones of these, in order, would decide about all.
///
/// Three medians; and, where most requests are short and a few do nearly all of the work, as behind files and redirects,
/// a quarter more than what half of the work is done within.
fn extremes(times: &[u64], median: u64) -> [u64; 2] {
    let work: u64 = times.iter().sum();
    let mut so_far = 0;
    let half = times.iter().find(|it| {
        so_far += **it;
        so_far * 2 >= work
    });
    let half = half.copied().unwrap_or(0);
    let medians = median.saturating_mul(3);
    [medians, medians.max(half.saturating_add(half / 4))]
}
