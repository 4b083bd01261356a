//! becalm run
use std::process::ExitCode;
use crate::policy_flags::PolicyFlags;

/// run
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    policy: PolicyFlags,
}

pub fn execute(args: Args) -> ExitCode {
    let _ = args.policy.policy();
    ExitCode::SUCCESS
}
