//! Which delays might a few calls draw?

use std::time::Duration;

use becalm::Policy;
use becalm::rng::Seed;

use super::json::Millis;

/// So many sequences of at most `longest` delays: one JSON array of milliseconds a line.
///
/// The streams are those that a retrier gives its failing calls, so that a seed means the same here
/// and there.
pub fn document(policy: &Policy, sequences: u32, longest: u32, seed: Option<u64>) -> String {
    let seed = seed.map_or_else(Seed::entropy, Seed::fixed);
    let mut lines = String::new();
    for _ in 0..sequences {
        let mut waited = Duration::ZERO;
        let fits = |delay: &Duration| {
            waited = waited.saturating_add(*delay);
            policy.deadline.is_none_or(|deadline| waited < deadline)
        };
        let delays = policy.delays(seed.stream()).take(longest as usize);
        let sequence: Vec<Millis> = delays.take_while(fits).map(Millis::from).collect();
        lines.push_str(&serde_json::to_string(&sequence).unwrap_or_default()); // plain data: no error
        lines.push('\n');
    }
    lines
}
