//! becalm plan
use crate::policy_flags::PolicyFlags;
use std::process::ExitCode;

/// plan
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    policy: PolicyFlags,
}

pub fn execute(args: Args) -> ExitCode {
    let _ = args.policy.policy();
    ExitCode::SUCCESS
}
