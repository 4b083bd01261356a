//! Which of the given flags has no effect beside what else is asked for?
//!
//! Such a flag is refused: the user who typed it expects something of it.

use becalm::{Backoff, Policy, hint::HintMode};

use super::PolicyFlags;

/// The error is one sentence that names the flag and the remedy.
pub(super) fn refuse_unused(flags: &PolicyFlags, policy: &Policy) -> Result<(), String> {
    let refused = |flag: &str, why: String, remedy: &str| {
        Err(format!(
            "--{flag} has no effect: {why}; leave it out, or {remedy}"
        ))
    };
    let multiplier = flags.multiplier.map(|_| "multiplier");
    let growth = multiplier.or(flags.backoff.as_ref().map(|_| "backoff"));
    if let Some(flag) = growth.filter(|_| policy.jitter.is_decorrelated()) {
        let why = format!(
            "jitter {} draws up to three times the last wait",
            policy.jitter
        );
        return refused(flag, why, "choose another --jitter");
    }
    if multiplier.is_some() && policy.backoff != Backoff::Exponential {
        let why = format!("backoff {} has no factor", policy.backoff);
        return refused("multiplier", why, "choose --backoff exponential");
    }
    if flags.max_hint.is_some() && policy.hint == HintMode::Ignore {
        return refused(
            "max-hint",
            "hints are ignored".into(),
            "choose another --hint",
        );
    }
    Ok(())
}
