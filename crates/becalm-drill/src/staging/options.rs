//! What does it take to hold a drill of a target? Plain data, as it was asked for.

use std::path::PathBuf;
use std::time::Duration;

use becalm::Policy;

use super::trouble::Trouble;

/// What it takes to hold the drill. Sentences about it name the flags of `becalm drill --target`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Options {
    /// Where the calls go: `http://HOST:PORT/PATH`.
    pub url: String,
    /// The hosts that may be broken, spelled as in the URL, as far as they are not this machine.
    pub owned: Vec<String>,
    /// A file that says what is asked: method, path, headers, body.
    pub request: Option<PathBuf>,
    /// Whether HEAD is asked in place of GET.
    pub head: bool,
    /// How many calls come, and when.
    pub load: Load,
    /// What goes wrong, and where.
    pub fault: Breakage,
    /// How long everything takes.
    pub course: Course,
    /// The policies, in the order in which they are held.
    pub candidates: Vec<Candidate>,
    /// The scenario file with the service that the simulator plays.
    pub simulate: Option<PathBuf>,
    /// What arrivals and delays are drawn from.
    pub seed: u64,
    /// The command that repeats the drill, for its reports.
    pub command: String,
}

/// How many calls come, and when.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// First tries per second, at random times (Poisson), however the earlier ones end.
    pub rate: Option<f64>,
    /// A file with the moments of the calls, in place of random ones.
    pub arrivals: Option<PathBuf>,
    /// Time after which a client drops an attempt and its connection, unless the policy has an attempt timeout.
    pub client_timeout: Duration,
    /// The most first tries per second.
    pub max_rate: u32,
}

impl Default for Load {
    fn default() -> Self {
        Self {
            rate: None,
            arrivals: None,
            client_timeout: Duration::from_secs(1),
            max_rate: 500,
        }
    }
}

/// What goes wrong, and where.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Breakage {
    /// What goes wrong; by default requests are held, or the process is stopped.
    pub fault: Option<Trouble>,
    /// What the target calls: where to listen, and where that leads, as in `:5433=127.0.0.1:5432`.
    pub dependency: Option<String>,
    /// The process to stop.
    pub pid: Option<i32>,
}

/// How long everything takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Course {
    /// Time before the fault.
    pub before: Duration,
    /// How long the fault lasts.
    pub trigger: Duration,
    /// Time after the fault; it goes on while more and more calls succeed.
    pub after: Duration,
    /// The most time under one policy.
    pub max_time: Duration,
    /// How long the target may take, without load, until it is well again.
    pub settle: Duration,
}

impl Default for Course {
    fn default() -> Self {
        Self {
            before: Duration::from_secs(3),
            trigger: Duration::from_secs(2),
            after: Duration::from_secs(8),
            max_time: Duration::from_secs(120),
            settle: Duration::from_secs(30),
        }
    }
}

/// A policy to hold the drill with.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The name in the JSON document.
    pub name: String,
    /// The name for people.
    pub title: String,
    /// The policy.
    pub policy: Policy,
}

impl Candidate {
    /// A policy that is called so.
    pub fn new(name: &str, policy: Policy) -> Self {
        Self {
            name: name.into(),
            title: name.into(),
            policy,
        }
    }
}
