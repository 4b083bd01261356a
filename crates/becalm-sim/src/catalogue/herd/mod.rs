//! `herd`: what do clients do to a server that comes back, when all lost it at once?

mod check;

use std::time::Duration;

use becalm::{Budget, Policy};

use super::entry::Studied;
use super::fleet;
use super::{Candidate, Entry, InvalidParameter, Parameters};
use crate::study::{Plan, Study};

/// The entry.
pub const HERD: Entry = Entry {
    name: "herd",
    title: "a fleet reconnects after an outage",
    question: "How many clients try to connect at the same moment, and when is the last one back?",
    answer: "Without jitter all clients come at once, in every wave. With full jitter N clients make \
             N b/base attempts in each bucket b of the first wave (1.565 times as many at its end, \
             where later waves have begun), with equal jitter 2 N b/base in its second half. At a cap \
             C the fleet settles at N over the mean delay: 2N/C attempts per second with full jitter, \
             4N/3C with equal. After a long outage half of the fleet is back within C (1 - 1/sqrt 2) \
             and 99 % within 0.9 C with full jitter, half within 3C/8 with equal.",
    sources: &[
        source!("Marc Brooker: Exponential Backoff And Jitter, AWS Architecture Blog, 2015"
            at "https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/"),
        source!("Marc Brooker: Timeouts, retries, and backoff with jitter, Amazon Builders' Library, 2019"
            at "https://aws.amazon.com/builders-library/timeouts-retries-and-backoff-with-jitter/"),
    ],
    parameters: &[
        fleet::CLIENTS,
        parameter!("outage": Duration = "60s", "how long the server refuses every attempt"),
        fleet::SPREAD,
        fleet::ACCEPTS,
        parameter!("horizon": Duration = "10m",
            "when the run ends, even if clients are not connected by then"),
        fleet::BUCKET,
    ],
    contenders: &["none", "equal", "full", "decorrelated"],
    policy,
    studied: Studied::Alone(study),
    check: check::check,
};

/// A client that reconnects for as long as it takes: from 1 s up to 30 s.
fn policy() -> Policy {
    Policy::exponential(Duration::from_secs(1))
        .cap(Duration::from_secs(30))
        .attempts(Policy::UNLIMITED)
        .budget(Budget::None)
}

fn study(
    parameters: &Parameters,
    candidates: &[Candidate],
    plan: &Plan<'_>,
) -> Result<Study, InvalidParameter> {
    let herd = fleet::asked(parameters)?;
    let fleets = fleet::of_each(&herd, candidates, plan, Vec::new())?;
    Ok(fleet::study(&HERD, parameters, &fleets, &herd, plan))
}
