//! Which delays might a few calls draw?

use std::time::Duration;

use becalm::Policy;
use becalm::rng::Seed;
use becalm_sim::forecast::Millis;

/// So many sequences of at most `longest` delays: one JSON array of milliseconds a line.
///
/// Each has a random stream of its own, as each failing call of a retrier has.
pub fn lines(
    policy: &Policy,
    sequences: u32,
    longest: u32,
    seed: Option<u64>,
) -> impl Iterator<Item = String> {
    let seed = seed.map_or_else(Seed::entropy, Seed::fixed);
    (0..sequences).map(move |_| {
        let mut waited = Duration::ZERO;
        let fits = |delay: &Duration| {
            waited = waited.saturating_add(*delay);
            policy.deadline.is_none_or(|deadline| waited < deadline)
        };
        let delays = policy.delays(seed.stream()).take(longest as usize);
        let sequence: Vec<Millis> = delays.take_while(fits).map(Millis).collect();
        let mut line = serde_json::to_string(&sequence).unwrap_or_default(); // numbers: no error
        line.push('\n');
        line
    })
}
