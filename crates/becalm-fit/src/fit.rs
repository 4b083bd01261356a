//! How are requests, as a log tells them, taken in?

use crate::conclude::{self, Concluded};
use crate::reading::Reading;
use crate::request::Client;
use crate::sample::quantile;
use crate::{Fitted, Options, Request};

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
///         at_upstream: None,
///     });
/// }
/// let fitted = fit.finish();
/// assert_eq!(fitted.knee, Knee::Open); // it was never filled
/// println!("{}", fitted.scenario("orders"));
/// ```
#[derive(Debug)]
pub struct Fit {
    options: Options,
    /// The first requests, until there are enough to tell what is long.
    first: Vec<Request>,
    /// What the log may mean: the first is what it says, and others begin where it may say something else.
    readings: Vec<Reading>,
    /// What is longer than this, in microseconds, may be a conversation and no work.
    long: u64,
    /// By how much more than the upstream's a time may be, in microseconds, by the steps of its clocks alone.
    slack: u64,
    requests: u64,
    /// Those among them whose clients were slow at an unknown moment.
    slow: u64,
    unread: [u64; 2],
}

/// So many requests tell what is long.
const ENOUGH: usize = 2000;
/// A request that takes this many times what half of them take, and this many microseconds, may be a long poll or a stream.
const LONG: (u64, u64) = (50, 5_000_000);
/// One in this many that are slow makes a difference, if there are some.
const MANY: u64 = 200;
const SOME: u64 = 20;

impl Fit {
    /// Begins a fit.
    pub fn new(options: Options) -> Self {
        Self {
            options,
            first: Vec::new(),
            readings: Vec::new(),
            long: u64::MAX,
            slack: 0,
            requests: 0,
            slow: 0,
            unread: [0; 2],
        }
    }

    /// Takes the request of the next line in. Lines are in the order in which requests ended, or began, or nearly so.
    pub fn push(&mut self, request: Request) {
        if !self.readings.is_empty() {
            self.take(request);
            return;
        }
        self.first.push(request);
        if self.first.len() >= ENOUGH {
            self.begin();
        }
    }

    /// Takes in that so many lines could not be read, beside so many that were requests, of whatever upstream. From one in a
    /// hundred on, nobody can count what requests found.
    pub fn unread(&mut self, lines: u64, requests: u64) {
        self.unread[0] += lines;
        self.unread[1] += requests;
    }

    /// Says what the log says.
    pub fn finish(mut self) -> Fitted {
        if self.readings.is_empty() {
            self.begin();
        }
        let [lines, requests] = self.unread;
        self.readings.retain(Reading::tells_the_load);
        let is_before = |it: &Reading| it.client() == Client::Before;
        let is_one_of_two = self.readings.iter().any(is_before);
        let each = self.readings.into_iter().map(|mut reading| {
            reading.unread(lines, requests);
            reading.finish(is_one_of_two)
        });
        conclude::best(each.collect::<Vec<Concluded>>())
    }

    fn begin(&mut self) {
        let answered = self.first.iter().filter(|it| !it.has_failed());
        let mut times: Vec<u64> = answered
            .map(|it| it.served(Client::Behind).duration)
            .collect();
        times.sort_unstable();
        let median = quantile(&times, 0.5);
        self.long = median.saturating_mul(LONG.0).max(LONG.1);
        self.slack = 2_000 + median / 50;
        let reading = Reading::new(self.options, Client::Behind);
        self.readings.push(reading);
        // From the first line on: what was put in order for one reading is not in order for the other.
        let slow = self.first.iter().filter(|it| self.is_slow(it)).count() as u64;
        if slow > SOME + self.first.len() as u64 / MANY {
            let reading = Reading::new(self.options, Client::Before);
            self.readings.push(reading);
        }
        for request in std::mem::take(&mut self.first) {
            self.take(request);
        }
    }

    fn take(&mut self, request: Request) {
        self.requests += 1;
        let time = request.served(Client::Behind).duration;
        let is_new = |it: &Reading| it.longest().is_none();
        if time > self.long && self.readings.iter().all(is_new) && self.options.longest.is_none() {
            let without: Vec<_> = self
                .readings
                .iter()
                .map(|it| it.without(self.long))
                .collect();
            self.readings.extend(without);
        }
        self.slow += u64::from(self.is_slow(&request));
        let is_behind = |it: &Reading| it.client() == Client::Behind;
        if self.slow > SOME + self.requests / MANY && self.readings.iter().all(is_behind) {
            let before: Vec<_> = self.readings.iter().map(Reading::before).collect();
            self.readings.extend(before);
        }
        for reading in &mut self.readings {
            reading.push(request);
        }
    }

    /// Whether its client was slow, at a moment that the log does not tell.
    fn is_slow(&self, request: &Request) -> bool {
        let room = request.at_upstream.map_or(0, |it| it.latest - it.earliest);
        room > self.slack
    }
}
