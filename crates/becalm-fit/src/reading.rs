//! How are requests taken in, if their log is understood in one of the ways that it may be?

use std::time::Duration;

use crate::conclude::{self, Concluded};
use crate::gathered::Gathered;
use crate::options::Options;
use crate::order::ByStart;
use crate::repeats::Repeats;
use crate::request::Client;
use crate::sample::quantile;
use crate::stamps::Stamps;
use crate::tally::{Place, Scale};
use crate::underway::Underway;
use crate::{By, Ended, Request};

/// Takes requests in as the log is understood, if clients took their time then.
#[derive(Debug, Clone)]
pub struct Reading {
    options: Options,
    client: Client,
    /// In microseconds, where longer ones are left out unasked.
    longest: Option<u64>,
    order: ByStart,
    stamps: Stamps,
    /// The first requests by start, until there are enough to tell short times from long ones.
    first: Vec<Request>,
    /// Those that began within one step of the clock.
    together: Vec<Request>,
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

/// So many requests tell what is short.
const ENOUGH: usize = 2000;
/// One in this many may be left out.
const FEW: u64 = 10;
/// A client that takes this many microseconds more than the upstream is slow.
const SLOW: u64 = 2_000;
/// So many times what is usual between two starts, and a minute at least, is a hole: a night is none.
const HOLE: (i64, i64) = (1000, 60_000_000);

impl Reading {
    /// Begins.
    pub fn new(options: Options, client: Client) -> Self {
        Self {
            options,
            client,
            longest: None,
            order: ByStart::default(),
            stamps: Stamps::default(),
            first: Vec::new(),
            together: Vec::new(),
            late: Vec::new(),
            scale: None,
            hole: i64::MAX,
            gathered: Gathered::default(),
            repeats: [By::Id, By::ClientAndTarget].map(Repeats::by),
            underway: Underway::default(),
        }
    }

    /// A reading that leaves out requests above this length, in microseconds.
    pub fn without(&self, longest: u64) -> Self {
        let longest = Some(longest);
        Self {
            longest,
            ..self.clone()
        }
    }

    /// A reading in which clients take their time before the service has their requests.
    pub fn before(&self) -> Self {
        let client = Client::Before;
        Self {
            client,
            ..self.clone()
        }
    }

    /// When clients take their time.
    pub const fn client(&self) -> Client {
        self.client
    }

    /// What is left out unasked, in microseconds.
    pub const fn longest(&self) -> Option<u64> {
        self.longest
    }

    /// Whether what was left out unasked is so little that the others tell the load: a backlog is no long poll.
    pub const fn tells_the_load(&self) -> bool {
        self.longest.is_none() || self.gathered.long * FEW <= self.gathered.requests
    }

    /// Takes the request of the next line in.
    pub fn push(&mut self, request: Request) {
        let served = request.served(self.client);
        if self.gathered.requests == 0 {
            self.underway = Underway::since(served.end());
        }
        self.gathered.requests += 1;
        self.gathered.name(request.upstream);
        let said = self.options.longest.map(|it| it.as_micros());
        let longest = self.longest.map(u128::from).or(said);
        if longest.is_some_and(|it| u128::from(served.duration) > it) {
            self.gathered.long += 1;
            return;
        }
        self.gathered.slow += u64::from(request.duration > served.duration.saturating_add(SLOW));
        self.stamps.add(&request);
        if !self.order.push(request, served.start) {
            self.underway.add(served.end());
            self.late.push(served);
            if self.scale.is_some() || self.late.len() >= ENOUGH {
                self.begin();
            }
        }
        while let Some(request) = self.order.next() {
            self.take(request);
        }
    }

    /// Takes in that this many lines could not be read, beside this many that were requests.
    pub fn unread(&mut self, lines: u64, requests: u64) {
        self.gathered.unread += lines;
        self.gathered.lines += requests;
    }

    /// Says what the log says, if that is one of two ways to understand its clients, or the only one.
    pub fn finish(mut self, is_one_of_two: bool) -> Concluded {
        while let Some(request) = self.order.rest() {
            self.take(request);
        }
        self.begin();
        self.count_together();
        self.gathered.late += self.order.strays();
        self.gathered.step = self.stamps.step();
        let [by_id, by_client] = self.repeats;
        // Proxies draw ids of their own: then few are told twice, while clients repeat a lot.
        let has_ids = by_id.is_told() && by_id.likely() >= by_client.likely() / 2.0;
        let repeats = if has_ids { by_id } else { by_client };
        let longest = self.longest.map(Duration::from_micros);
        let levels = self.underway.levels();
        conclude::conclude(
            self.gathered,
            repeats,
            &levels,
            longest,
            is_one_of_two,
            self.options,
        )
    }

    /// Takes the next request by start in.
    fn take(&mut self, request: Request) {
        if self.scale.is_some() {
            self.gather(request);
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
            self.gather(request);
        }
        for request in self.late.drain(..) {
            self.gathered.late(&request);
        }
    }

    fn measure(&mut self) {
        let client = self.client;
        let first: Vec<Request> = self.first.iter().map(|it| it.served(client)).collect();
        let mut gaps: Vec<u64> = first
            .windows(2)
            .map(|it| it[1].start.abs_diff(it[0].start))
            .collect();
        gaps.sort_unstable();
        let gap = i64::try_from(quantile(&gaps, 0.5)).unwrap_or(i64::MAX);
        self.hole = gap.saturating_mul(HOLE.0).max(HOLE.1);
        let answered = first.iter().filter(|it| !it.has_failed());
        let answered = answered.filter(|it| !self.gathered.is_unsent(it));
        let mut times: Vec<u64> = answered.map(|it| it.duration).collect();
        times.sort_unstable();
        let median = quantile(&times, 0.5);
        self.gathered.median = median;
        #[expect(clippy::cast_precision_loss)] // below 2^52
        let extremes = extremes(&times, median).map(|it| it as f64);
        let scale = Scale::of(extremes, self.stamps.step().as_secs_f64() * 1e6);
        self.scale = Some((scale, median / 4));
        let stretch = i64::try_from(median / 4).unwrap_or(i64::MAX);
        #[expect(clippy::cast_possible_truncation)] // a second at most
        self.underway.begin(stretch, scale.step as i64);
    }

    /// Takes the next request by start in, with those that began at once, as far as its clock tells: each moment may be a step too early or too late.
    fn gather(&mut self, request: Request) {
        let start = |it: &Request| it.served(self.client).start;
        #[expect(clippy::cast_possible_truncation)] // a second at most
        let step = self.scale.map_or(0, |it| it.0.step as i64);
        // A start that is told as an end and a duration is a step too early or too late.
        let together = |first: &Request| start(&request).saturating_sub(start(first)) <= 2 * step;
        if !self.together.first().is_some_and(together) {
            self.count_together();
        }
        self.together.push(request);
    }

    fn count_together(&mut self) {
        let mut together = std::mem::take(&mut self.together);
        // Steps of the clock may put one that ended later before another, which would seem to have waited for it: what comes behind finds
        // those that ended first.
        let mut ends: Vec<i64> = together
            .iter()
            .map(|it| it.served(self.client).end())
            .collect();
        let is_work = |it: &Request| !it.has_failed() && !self.gathered.is_unsent(it);
        if together.iter().all(is_work) {
            ends.sort_unstable();
        }
        let each = together.iter().zip(ends).zip((0..together.len()).rev());
        for ((request, end), behind) in each {
            let place = Place {
                behind,
                is_alone: together.len() == 1,
            };
            self.count(request, end, place);
        }
        together.clear();
        self.together = together;
    }

    /// Counts a request; from this end on those behind it find one fewer.
    fn count(&mut self, whole: &Request, until: i64, place: Place) {
        let Some((scale, quick)) = self.scale else {
            return;
        };
        let request = &whole.served(self.client);
        let gathered = &mut self.gathered;
        let since = gathered.pass(request.start, self.hole).unsigned_abs();
        gathered.latest = gathered.latest.max(request.end());
        if gathered.is_unsent(request) {
            gathered.unsent += 1;
            return;
        }

        let is_repeat = self.repeats.each_mut().map(|it| it.is_repeat(whole));
        let ended = gathered.ended(request);
        gathered.begun(since, is_repeat);
        let is_known = self.underway.is_known(request);
        let found = self.underway.found_by(request);
        let number = found.len() as u64;
        match ended {
            Ended::Answered(status @ (429 | 502 | 503)) if request.duration < quick => {
                gathered.ends.refused += 1;
                gathered.quick.unserved(true);
                // A rate that was exceeded says nothing about the queue.
                if status != 429 {
                    gathered.refusals.refuse(number, is_known);
                }
                if is_known {
                    let [_, at_once] = &mut gathered.windows.at(since).unserved;
                    at_once.add(request.duration, request.end(), found, place, scale);
                }
            }
            Ended::Answered(status) => {
                gathered.ends.answered += 1;
                gathered.ends.failed += u64::from(status >= 500);
                gathered.longest = gathered.longest.max(request.duration);
                gathered.refusals.admit(found.len(), is_known);
                let stretch = gathered.windows.at(since);
                let is_served = !matches!(status, 429 | 502..=504);
                let tally = if is_served {
                    &mut stretch.tally
                } else {
                    &mut stretch.unserved[0]
                };
                if is_known {
                    tally.add(request.duration, request.end(), found, place, scale);
                } else {
                    tally.unknown += 1;
                }
                self.underway.answered(request.start, until);
                if is_served {
                    gathered.quick.served(request.duration < quick);
                    let end = since.saturating_add(request.duration);
                    gathered.windows.answered(end);
                } else if status != 504 {
                    gathered.quick.unserved(false);
                }
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
