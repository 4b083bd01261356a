//! What does a log say about the service that wrote it?

use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::{Known, Warning};

/// What a log says, each value with how it is known.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Fitted {
    /// Requests that were read.
    pub requests: u64,
    /// From the first start to the last: what the rates are of.
    pub length: Duration,
    /// Of all requests, how they ended.
    pub ends: Ends,
    /// Whether the log shows how much the service can do.
    pub knee: Knee,
    /// Requests that the service works on at once.
    pub workers: Known<u32>,
    /// Requests per second that it can serve: workers by the mean service time.
    pub capacity: Known<f64>,
    /// The mean service time, in seconds.
    pub time: Known<f64>,
    /// Service times, each equally likely, in order, with the mean above.
    pub times: Vec<Duration>,
    /// Requests that may wait; one more is refused. `None` in it: no bound.
    pub queue: Known<Option<u32>>,
    /// When clients give an attempt up.
    pub timeout: Known<Duration>,
    /// The share of requests that the service answered with an error of its own, other than refusals by a full queue.
    pub failures: Known<f64>,
    /// When first tries begin.
    pub arrivals: Known<FirstTries>,
    /// What clients do after a failure.
    pub retries: Known<Retries>,
    /// Mean time by the number found, the picture that the workers are read from; in the order of the number.
    pub curve: Vec<Found>,
    /// Stretches of the log, each fitted apart, in the order of time.
    pub windows: Vec<Window>,
    /// What to beware of.
    pub warnings: Vec<Warning>,
}

/// How many requests ended how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct Ends {
    /// With an answer of the service.
    pub answered: u64,
    /// With a quick 429, 502 or 503, where these are quick more often than other answers: a full queue, a limit, or nobody there.
    pub refused: u64,
    /// Of those answered, with another status from 500 on.
    pub failed: u64,
    /// Their client left first, or a proxy gave them up: with a 504, after longer than half of the answers took.
    pub abandoned: u64,
}

/// Whether a log shows how much a service can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Knee {
    /// Yes: requests that found all workers busy waited.
    Seen,
    /// No: it was never filled. Workers and capacity are lower bounds.
    Open,
    /// The log cannot say; the [warnings](Fitted::warnings) say why. Workers and capacity are to be asked.
    Refused,
}

/// When first tries begin.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FirstTries {
    /// First tries per second, on average.
    pub rate: f64,
    /// Variance by mean of the counts in steps of 100 ms and of 1 s: 1 where they come independently of each other.
    pub dispersion: (f64, f64),
    /// Bursts, if there are any.
    pub bursts: Option<Bursts>,
    /// Starts of first tries since the first of them, in order; empty where the log has more than [`Self::MOST_TRACED`].
    pub trace: Vec<Duration>,
}

impl FirstTries {
    /// The longest trace that is kept.
    pub const MOST_TRACED: usize = 200_000;
}

/// First tries that come in bursts: at random, at two rates in turn.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Bursts {
    /// Per second, between bursts.
    pub rate: f64,
    /// Per second, in one.
    pub burst_rate: f64,
    /// How long one lasts, on average.
    pub burst: Duration,
    /// The time between two, on average.
    pub pause: Duration,
}

/// What clients do after a failure.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Retries {
    /// What tells that a request repeats another. `None`: neither ids nor clients are in the log, so that every request counts
    /// as a first try.
    pub by: Option<By>,
    /// Requests that repeat another.
    pub repeated: u64,
    /// Calls that failed at their first try.
    pub failed_calls: u64,
    /// Requests by calls, over the calls that failed at their first try.
    pub amplification: f64,
    /// The most attempts of a call that are no exception; the first one included. Where hardly a call was given up, or none was repeated, four stand in, or more if more were seen.
    pub attempts: u32,
    /// The ceiling of the first delay.
    pub base: Duration,
    /// By what the ceiling grows with each retry.
    pub multiplier: f64,
    /// How the delay is spread below its ceiling: `none`, `equal`, `full` or `proportional:F`, as in a policy file.
    pub jitter: String,
}

/// What tells that a request repeats another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum By {
    /// Both have one id.
    Id,
    /// One client asks for the same again after a failure. Clients behind one address look like one.
    ClientAndTarget,
}

/// The requests that found this many others under way when they began.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Found {
    /// The others, of a group of numbers their mean.
    pub number: f64,
    /// How many requests found so many.
    pub requests: u64,
    /// Their mean time, in seconds.
    #[serde(rename = "mean_s")]
    pub mean: f64,
    /// The ends of the 95 % interval of the mean.
    #[serde(flatten, serialize_with = "ends")]
    pub interval: (f64, f64),
    /// What the workers and the mean service time say: S below W, S(n+1)/W above.
    #[serde(rename = "fitted_s")]
    pub fitted: Option<f64>,
}

/// A stretch of a log, fitted apart.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Window {
    /// Its beginning, since the first start.
    #[serde(rename = "from_s", serialize_with = "seconds")]
    pub from: Duration,
    /// Its length.
    #[serde(rename = "length_s", serialize_with = "seconds")]
    pub length: Duration,
    /// Requests that began in it.
    pub requests: u64,
    /// First tries per second.
    pub rate: f64,
    /// Whether it shows how much the service can do.
    pub knee: Knee,
    /// Requests that the service works on at once.
    #[serde(serialize_with = "measured")]
    pub workers: Known<u32>,
    /// Requests per second that it can serve.
    #[serde(serialize_with = "measured")]
    pub capacity: Known<f64>,
    /// The mean service time, in seconds.
    #[serde(rename = "time_s", serialize_with = "measured")]
    pub time: Known<f64>,
}

fn seconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    time.as_secs_f64().serialize(serializer)
}

fn ends<S: Serializer>(interval: &(f64, f64), serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map([("low_s", interval.0), ("high_s", interval.1)])
}

/// The value, where the log shows it.
fn measured<T: Serialize, S: Serializer>(
    known: &Known<T>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let value = known.is_measured().then_some(&known.value);
    value.serialize(serializer)
}
