//! Which of the given fields has no effect beside what else is asked for?
//!
//! Such a field is refused: the user who wrote it expects something of it.

use becalm::{Backoff, Policy, hint::HintMode};

/// A field without effect, by its name in a policy file.
#[derive(Debug)]
pub(super) struct Unused {
    field: &'static str,
    why: String,
    /// The field that is to be changed, or its value, for this one to have an effect.
    instead: &'static str,
}

/// The first of the given fields that has no effect in this policy.
pub(super) fn unused(policy: &Policy, is_given: impl Fn(&str) -> bool) -> Option<Unused> {
    let of = |field, is_unused: bool, why, instead| {
        (is_unused && is_given(field)).then_some(Unused {
            field,
            why,
            instead,
        })
    };
    let (jitter, is_decorrelated) = (&policy.jitter, policy.jitter.is_decorrelated());
    let tripled = || format!("jitter {jitter} draws up to three times the last wait");
    let is_flat = policy.backoff != Backoff::Exponential;
    let flat = format!("backoff {} has no factor", policy.backoff);
    let is_deaf = policy.hint == HintMode::Ignore;
    let deaf = "hint ignore pays no attention to them".into();
    of("multiplier", is_decorrelated, tripled(), "another --jitter")
        .or_else(|| of("backoff", is_decorrelated, tripled(), "another --jitter"))
        .or_else(|| of("multiplier", is_flat, flat, "--backoff exponential"))
        .or_else(|| of("max_hint", is_deaf, deaf, "another --hint"))
}

impl Unused {
    /// A sentence about a flag.
    pub(super) fn flag(&self) -> String {
        let flag = format!("--{}", self.field.replace('_', "-"));
        self.sentence(&flag, self.instead)
    }

    /// A sentence about a key of a file.
    pub(super) fn key(&self) -> String {
        self.sentence(self.field, &self.instead.replace("--", ""))
    }

    fn sentence(&self, name: &str, instead: &str) -> String {
        let why = &self.why;
        format!("{name} has no effect: {why}; leave it out, or choose {instead}")
    }
}
