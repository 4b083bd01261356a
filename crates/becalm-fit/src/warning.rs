//! What may make a fit lie?

use std::fmt;
use std::time::Duration;

use becalm::support::Human;
use serde::ser::{Serialize, SerializeStruct as _, Serializer};

/// What to beware of. `Display` says it, and what to do.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Warning {
    /// Only a share of the requests is in the log.
    Sampled {
        /// The share, from 0 to 1.
        share: f64,
    },
    /// Moments are told in steps too long to order requests by them.
    CoarseStamps {
        /// The step.
        step: Duration,
        /// What half of the requests take at most.
        median: Duration,
    },
    /// No request was answered well: the log does not say how long a good answer takes.
    NoneServed,
    /// Lines could not be read: requests are missing that others found.
    UnreadLines {
        /// How many.
        lines: u64,
        /// Their share of all lines that are, or may be, requests; from 0 to 1.
        share: f64,
    },
    /// Too few requests to say anything.
    TooFew {
        /// How many there are.
        requests: u64,
        /// How many it takes.
        least: u64,
    },
    /// Clients left, or a proxy gave requests up, so often that nobody knows what the service worked on.
    Abandoned {
        /// The share of requests whose place in the queue is not known, from 0 to 1.
        share: f64,
    },
    /// Requests did not wait in one queue, first come, first served.
    NotInOrder {
        /// The share of waiting requests that ended before their turn, from 0 to 1.
        share: f64,
    },
    /// Times of requests that waited do not fit those of requests that did not, whatever the workers.
    Misfit,
    /// The log names several upstreams, and they were fitted as one.
    SeveralPools {
        /// How many.
        upstreams: usize,
    },
    /// Nothing in the log says how many services wrote it.
    OnePoolAssumed,
    /// The service did not stay the same.
    Drift {
        /// The mean service time of its fastest window, in seconds.
        fastest: f64,
        /// And that of its slowest, which the scenario gets.
        slowest: f64,
    },
    /// Lines came much later than the order of their starts; what they found is not known.
    OutOfOrder {
        /// How many requests.
        requests: u64,
    },
    /// A proxy answered requests without an upstream: they are left out.
    WithoutUpstream {
        /// How many requests.
        requests: u64,
    },
    /// Nothing was logged for so long that it is no part of the time.
    Silence {
        /// How long, altogether.
        length: Duration,
    },
    /// Different clients may have looked like one that repeats.
    Collisions {
        /// The share of repeats after which a first success was repeated as well, from 0 to 1.
        share: f64,
    },
    /// Requests are left out because they are long, as long polls and streams are.
    LongLeftOut {
        /// How many requests.
        requests: u64,
        /// Those that the service had for longer.
        longest: Duration,
    },
    /// Requests took longer than their upstream had them: that time is left out.
    SlowClients {
        /// The share of requests, from 0 to 1.
        share: f64,
    },
    /// The number of requests that the service had hardly varied, as in a load test whose clients wait for their answers.
    ClosedLoop {
        /// How many others a request found on average.
        others: f64,
    },
    /// Requests repeat others: the rate of all requests is not that of first tries.
    Retrying {
        /// Requests by first tries.
        amplification: f64,
    },
}

impl Warning {
    /// Its short name, for programs.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Sampled { .. } => "sampled",
            Self::CoarseStamps { .. } => "coarse-stamps",
            Self::NoneServed => "none-served",
            Self::UnreadLines { .. } => "unread-lines",
            Self::TooFew { .. } => "too-few",
            Self::Abandoned { .. } => "abandoned",
            Self::NotInOrder { .. } => "not-in-order",
            Self::Misfit => "misfit",
            Self::SeveralPools { .. } => "several-pools",
            Self::OnePoolAssumed => "one-pool-assumed",
            Self::Drift { .. } => "drift",
            Self::OutOfOrder { .. } => "out-of-order",
            Self::WithoutUpstream { .. } => "without-upstream",
            Self::Silence { .. } => "silence",
            Self::Collisions { .. } => "collisions",
            Self::LongLeftOut { .. } => "long-left-out",
            Self::SlowClients { .. } => "slow-clients",
            Self::ClosedLoop { .. } => "closed-loop",
            Self::Retrying { .. } => "retrying",
        }
    }
}

const NONE_SERVED: &str = "no request was answered well, so that service times, workers and capacity are not known; fit a time at \
                           which the service worked";

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sampled { share } => write!(
                f,
                "{:.0} % of the requests are in the log, so nobody can count what a request found: workers and capacity \
                 are not known; write a log of all requests for a minute",
                share * 100.0
            ),
            Self::CoarseStamps { step, median } => write!(
                f,
                "moments are told in steps of {}, and half of the requests take {} at most: nobody can tell which began \
                 first, so that workers and capacity are not known; let the log say finer moments ($msec in nginx has milliseconds)",
                Human(*step),
                Human(*median)
            ),
            Self::NoneServed => f.write_str(NONE_SERVED),
            Self::UnreadLines { lines, share } => write!(
                f,
                "{lines} lines could not be read, {:.0} %: if they are requests, nobody can count what the others found, so that workers \
                 and capacity are not known; take out what is no request, or give a log of one format",
                share * 100.0
            ),
            Self::TooFew { requests, least } => write!(
                f,
                "{requests} request{} nothing; it takes {least} or more",
                if *requests == 1 { " says" } else { "s say" }
            ),
            Self::Abandoned { share } => write!(
                f,
                "clients left, or a proxy gave requests up, and for {:.0} % of the requests nobody knows what the service still worked on: workers and \
                 capacity are not known; fit a quieter stretch",
                share * 100.0
            ),
            Self::NotInOrder { share } => write!(
                f,
                "{:.0} % of the requests that waited ended before their turn: several pools wrote this log, the service does not serve in \
                 order, or clients were slow; fit each upstream apart, and let the log say how long the upstream took \
                 ($upstream_response_time in nginx)",
                share * 100.0
            ),
            Self::Misfit => f.write_str(
                "no number of workers explains the times: several pools wrote this log, the workers did not stay the same, or requests slow each other down",
            ),
            Self::SeveralPools { upstreams } => write!(
                f,
                "{upstreams} upstreams wrote this log, and were fitted as one; fit each of them apart"
            ),
            Self::OnePoolAssumed => f.write_str(
                "one pool is assumed; if several servers stand behind this log, let it name them, or fit one server's log",
            ),
            Self::Drift { fastest, slowest } => write!(
                f,
                "the service did not stay the same: {:.1} ms a request in one window, {:.1} ms in another, which the \
                 scenario has",
                fastest * 1e3,
                slowest * 1e3
            ),
            Self::OutOfOrder { requests } => write!(
                f,
                "{requests} requests stand elsewhere in the log than where they belong by time, so that nobody knows what they found; \
                 sort it by time, or name each server's log as a file of its own"
            ),
            Self::WithoutUpstream { requests } => write!(
                f,
                "{requests} requests were answered without an upstream, as files and redirects are: they are left out"
            ),
            Self::Silence { length } => write!(
                f,
                "nothing was logged for {} altogether: that time is left out",
                Human(*length)
            ),
            Self::Collisions { share } => write!(
                f,
                "clients share addresses: {:.0} % of what looks like a retry follows a success; give requests an id for \
                 figures of retries to trust",
                share * 100.0
            ),
            Self::LongLeftOut { requests, longest } => write!(
                f,
                "{requests} requests took longer than {}, as long polls and streams do: they are left out; if they are work, they take \
                 workers, and the service can do less",
                Human(*longest)
            ),
            Self::SlowClients { share } => write!(
                f,
                "{:.0} % of the requests took longer than their upstream had them, by slow clients: that time is left out",
                share * 100.0
            ),
            Self::ClosedLoop { others } => write!(
                f,
                "requests found {others:.0} others, and hardly more or fewer, as in a load test whose clients wait for their answers: the capacity is \
                 how fast the service answered, workers are not known, and the rate of requests is no load; fit a log of real traffic"
            ),
            Self::Retrying { amplification } => write!(
                f,
                "requests repeat others: {amplification:.2} requests for each first try; only first tries are in the scenario"
            ),
        }
    }
}

impl Serialize for Warning {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut record = serializer.serialize_struct("Warning", 2)?;
        record.serialize_field("code", self.code())?;
        record.serialize_field("sentence", &self.to_string())?;
        record.end()
    }
}
