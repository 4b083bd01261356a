//! Which policy do the flags describe? The same flags everywhere.

use becalm::Policy;

/// The policy flags, the same for every subcommand (`#[command(flatten)]`).
#[derive(Debug, clap::Args)]
pub struct PolicyFlags {
    /// A seed for reproducible delays; without it each run is independent.
    #[arg(long)]
    pub seed: Option<u64>,
}

impl PolicyFlags {
    /// The policy, validated; the error is one sentence.
    pub fn policy(&self) -> Result<Policy, String> {
        Ok(Policy::default())
    }
}
