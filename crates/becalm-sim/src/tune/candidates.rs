//! Which policies of a space are the sample?

use std::time::Duration;

use becalm::Policy;

use crate::engine::Stream;

use super::space::{Places, Space};

/// A policy that is tried.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tried {
    /// `given`, `unretried`, `default`, or a number.
    pub name: String,
    pub policy: Policy,
    /// Whether the others are compared with it to the end.
    pub stays: bool,
}

/// The policy that was given, the default policy, no retries, and a sample of the space; each once,
/// and none that is refused.
///
/// The sample is a Latin hypercube (M. D. `McKay`, R. J. Beckman, W. J. Conover, Technometrics 21,
/// 1979): every value of a setting comes equally often, and which values come together is by chance.
/// So the effect of every setting is seen with far fewer policies than a grid has.
pub(super) fn candidates(
    space: &Space,
    given: &Policy,
    timeout: Option<Duration>,
    seed: u64,
) -> Vec<Tried> {
    let count = space.count();
    let mut random = Stream::of(seed, u64::from_le_bytes(*b"policies"));
    let columns = space.sizes().map(|size| balanced(count, size, &mut random));
    let mut tried = Vec::new();
    add(&mut tried, "given", true, given.clone());
    // The budget stays, so that it can be told what it is a variant of.
    add(&mut tried, "unretried", true, given.clone().attempts(1));
    // The default's retries in the given surroundings.
    let mut usual = Policy::default();
    usual.attempt_timeout = given.attempt_timeout;
    usual.deadline = given.deadline;
    add(&mut tried, "default", false, usual);
    for row in 0..count {
        let at = |column: &Vec<usize>| column.get(row).copied().unwrap_or_default();
        let places = Places::of(columns.each_ref().map(at));
        let policy = space.policy(given, timeout, &places);
        add(&mut tried, &format!("tuned-{}", row + 1), false, policy);
    }
    tried
}

fn add(tried: &mut Vec<Tried>, name: &str, stays: bool, policy: Policy) {
    let is_new = !tried.iter().any(|it| it.policy == policy);
    if is_new && policy.validate().is_ok() {
        let name = name.to_owned();
        tried.push(Tried {
            name,
            policy,
            stays,
        });
    }
}

/// So many places among so many values, each equally often, in random order.
fn balanced(count: usize, values: usize, random: &mut Stream) -> Vec<usize> {
    let mut places: Vec<usize> = (0..count).map(|index| index % values.max(1)).collect();
    // Fisher and Yates.
    for last in (1..places.len()).rev() {
        let other = random.below(last as u64 + 1);
        places.swap(last, usize::try_from(other).unwrap_or(last));
    }
    places
}
