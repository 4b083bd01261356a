//! What came of each request, and of each call that requests were attempts of?

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::StatusCode;
use tokio::time::Instant;

use super::call::Call;
use crate::fault::seen::{Bucket, Counts, News, Seen};
use crate::ledger::BUCKET;

/// Calls that are remembered. Half a day's at 20 a second; when there are more, all are forgotten and those that come are
/// new.
const CALLS: usize = 1 << 20;

/// Buckets that are kept: half an hour, longer than any drill of which something is judged.
const BUCKETS: usize = 180_000;

/// Rows of the table of attempts: the last is of that many and more.
const ATTEMPTS: usize = 32;

/// A call that says no id is over when nothing was heard of it for so long: the longest wait of most policies.
const FORGOTTEN: Duration = Duration::from_secs(60);

/// Counts from its creation on.
pub struct Tally {
    began: Instant,
    counts: Mutex<Counts>,
    calls: Mutex<Calls>,
}

/// One of the counts.
type Name = fn(&mut Counts) -> &mut u64;

#[derive(Default)]
struct Calls {
    known: HashMap<u64, Known>,
    buckets: Vec<Bucket>,
    /// The buckets before this one were told as they are.
    told: usize,
    by_attempts: Vec<u64>,
    identified: [u64; 3],
}

#[derive(Clone, Copy)]
struct Known {
    attempts: usize,
    running: u32,
    is_good: bool,
    /// Where it began.
    bucket: usize,
    heard: Instant,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            counts: Mutex::default(),
            calls: Mutex::default(),
        }
    }
}

impl Tally {
    /// A connection of a client, as long as it is there.
    pub fn connection(&self) -> Now<'_> {
        self.add(|it| &mut it.connections);
        self.now(|it| &mut it.open)
    }

    /// A request that is kept and sent later, until it is answered.
    pub fn pouring(&self) -> Now<'_> {
        self.now(|it| &mut it.pouring)
    }

    fn now(&self, name: Name) -> Now<'_> {
        self.add(name);
        Now { tally: self, name }
    }

    /// A request that has come, until its answer begins or its client leaves. What is no request that can be read has no call.
    pub fn request(&self, call: Option<Call>) -> Request<'_> {
        self.add(|it| &mut it.requests);
        if let Some(call) = call {
            let bucket = self.bucket();
            self.calls().begins(call, bucket);
        }
        Request {
            tally: self,
            call,
            is_over: false,
        }
    }

    /// Connections that are open now.
    pub fn open(&self) -> u64 {
        self.counts().open
    }

    /// What has been seen since this was asked last.
    pub fn news(&self) -> News {
        let mut calls = self.calls();
        let until = calls.buckets.len();
        let from = std::mem::replace(&mut calls.told, until);
        let seen = Seen {
            counts: *self.counts(),
            since: self.began.elapsed(),
            buckets: calls.buckets[from..].to_vec(),
            calls_by_attempts: calls.by_attempts.clone(),
            identified: calls.identified,
        };
        News { from, seen }
    }

    fn add(&self, name: Name) {
        *name(&mut self.counts()) += 1;
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn bucket(&self) -> usize {
        let bucket = self.began.elapsed().as_millis() / BUCKET.as_millis();
        usize::try_from(bucket).unwrap_or(usize::MAX)
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Calls {
    fn begins(&mut self, call: Call, bucket: usize) {
        self.identified[call.kind()] += 1;
        self.at(bucket, |it| it.attempts += 1);
        let now = Instant::now();
        let known = self.known.get_mut(&call.key()).filter(|known| {
            // Without an id, another request is another call unless it follows one that failed.
            let is_over = known.is_good || known.running > 0 || now - known.heard > FORGOTTEN;
            !matches!(call, Call::Client(_)) || !is_over
        });
        if let Some(known) = known {
            known.attempts += 1;
            known.running += 1;
            known.heard = now;
            let attempts = known.attempts;
            self.row(attempts - 1, |it| *it -= 1);
            self.row(attempts, |it| *it += 1);
            return;
        }
        if self.known.len() >= CALLS {
            self.known.clear();
        }
        let new = Known {
            attempts: 1,
            running: 1,
            is_good: false,
            bucket,
            heard: now,
        };
        self.known.insert(call.key(), new);
        self.row(1, |it| *it += 1);
        self.at(bucket, |it| it.calls += 1);
    }

    fn ends(&mut self, call: Call, bucket: usize, is_good: bool) {
        let Some(known) = self.known.get_mut(&call.key()) else {
            return;
        };
        known.running = known.running.saturating_sub(1);
        known.heard = Instant::now();
        if is_good && !known.is_good {
            known.is_good = true;
            let began = known.bucket;
            self.at(began, |it| it.good += 1);
            self.at(bucket, |it| it.answers += 1);
        }
    }

    fn row(&mut self, attempts: usize, change: impl FnOnce(&mut u64)) {
        let row = attempts.min(ATTEMPTS) - 1;
        let rows = self.by_attempts.len().max(row + 1);
        self.by_attempts.resize(rows, 0);
        change(&mut self.by_attempts[row]);
    }

    fn at(&mut self, bucket: usize, change: impl FnOnce(&mut Bucket)) {
        if bucket < BUCKETS {
            let buckets = self.buckets.len().max(bucket + 1);
            self.buckets.resize(buckets, Bucket::default());
            self.told = self.told.min(bucket);
            change(&mut self.buckets[bucket]);
        }
    }
}

/// What is counted as long as it is there.
pub struct Now<'a> {
    tally: &'a Tally,
    name: Name,
}

impl Drop for Now<'_> {
    fn drop(&mut self) {
        *(self.name)(&mut self.tally.counts()) -= 1;
    }
}

/// A request. Dropped before anything came of it, its client has left.
pub struct Request<'a> {
    tally: &'a Tally,
    call: Option<Call>,
    is_over: bool,
}

impl Request<'_> {
    pub fn held(&self) {
        self.tally.add(|it| &mut it.held);
    }

    pub fn forwarded(&self) {
        self.tally.add(|it| &mut it.forwarded);
    }

    /// The service has got it, and nobody can say more of it.
    pub fn passed(mut self) {
        self.forwarded();
        self.is_over = true;
    }

    /// The service has answered, and the client is given the answer.
    pub fn answered(mut self, status: StatusCode) {
        let is_good = !status.is_server_error() && status != StatusCode::TOO_MANY_REQUESTS;
        self.over(|it| &mut it.answered, is_good);
    }

    /// The fault has answered, reset or lost it.
    pub fn broken(&mut self) {
        self.over(|it| &mut it.broken, false);
    }

    /// No service was there for it, or broke it off.
    pub fn unreachable(mut self) {
        self.over(|it| &mut it.unreachable, false);
    }

    fn over(&mut self, name: Name, is_good: bool) {
        if !std::mem::replace(&mut self.is_over, true) {
            self.tally.add(name);
            if let Some(call) = self.call {
                let bucket = self.tally.bucket();
                self.tally.calls().ends(call, bucket, is_good);
            }
        }
    }
}

impl Drop for Request<'_> {
    fn drop(&mut self) {
        self.over(|it| &mut it.left, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn attempts_of_one_call_are_counted_together() {
        let tally = Tally::default();
        let call = |id| tally.request(Some(Call::RequestId(id)));
        call(1).answered(StatusCode::OK);
        call(2).answered(StatusCode::SERVICE_UNAVAILABLE);
        tokio::time::sleep(Duration::from_millis(250)).await;
        drop(call(2));
        call(2).answered(StatusCode::NOT_FOUND);
        call(2).answered(StatusCode::OK);
        call(3).broken();
        let seen = tally.news().seen;
        assert_eq!(seen.calls_by_attempts, [2, 0, 0, 1]);
        assert_eq!(seen.identified, [6, 0, 0]);
        let bucket = |calls, good, attempts, answers| Bucket {
            calls,
            good,
            attempts,
            answers,
        };
        assert_eq!(seen.buckets.len(), 26);
        assert_eq!(seen.buckets[0], bucket(2, 2, 2, 1));
        assert_eq!(seen.buckets[25], bucket(1, 0, 4, 1));
        let counts = seen.counts;
        assert_eq!(
            (counts.requests, counts.answered, counts.left, counts.broken),
            (6, 4, 1, 1)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn without_an_id_a_request_is_an_attempt_of_the_call_that_failed_before_it() {
        let tally = Tally::default();
        let request = || tally.request(Some(Call::Client(1)));
        request().answered(StatusCode::OK);
        request().unreachable();
        request().answered(StatusCode::OK);
        assert_eq!(tally.news().seen.calls_by_attempts, [1, 1]);
        let (one, other) = (request(), request());
        drop((one, other));
        assert_eq!(tally.news().seen.calls_by_attempts, [3, 1]);
        tokio::time::sleep(FORGOTTEN * 2).await;
        drop(request());
        assert_eq!(tally.news().seen.calls_by_attempts, [4, 1]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_told_bit_by_bit_is_what_was_seen() {
        let tally = Tally::default();
        let mut known = Vec::new();
        let mut told = Vec::new();
        let slow = tally.request(Some(Call::RequestId(0)));
        for id in 1..=50 {
            tally
                .request(Some(Call::RequestId(id)))
                .answered(StatusCode::OK);
            let news = tally.news();
            told.push(news.seen.buckets.len());
            news.onto(&mut known);
            tokio::time::sleep(BUCKET).await;
        }
        assert_eq!(told, [1; 50], "as many as have changed");
        // A call that began long ago is counted where it began.
        slow.answered(StatusCode::OK);
        let seen = tally.news().onto(&mut known);
        assert_eq!(seen.buckets, tally.calls().buckets);
        assert_eq!((seen.buckets[0].good, seen.buckets.len()), (2, 51));
        assert_eq!(tally.news().seen.buckets, []);
    }

    #[tokio::test]
    async fn nothing_grows_without_bound() {
        let mut calls = Calls::default();
        for id in 0..=CALLS as u64 {
            calls.begins(Call::RequestId(id), 0);
        }
        assert_eq!(calls.known.len(), 1);
        for bucket in [BUCKETS, usize::MAX] {
            calls.begins(Call::RequestId(u64::MAX), bucket);
        }
        assert_eq!(calls.buckets.len(), 1);
        for _ in 0..100 {
            calls.begins(Call::RequestId(u64::MAX), 0);
        }
        assert_eq!(calls.by_attempts.len(), ATTEMPTS);
        assert_eq!(calls.by_attempts.iter().sum::<u64>(), CALLS as u64 + 2);
    }
}
