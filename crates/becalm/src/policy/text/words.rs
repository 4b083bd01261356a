//! Which words name a growth, a jitter, a hint mode, a way with nested retries, one with a spent budget and a mode?

use core::time::Duration;

use super::{Kind, Written};
use crate::backoff::Backoff;
use crate::budget::WhenSpent;
use crate::grammar::of;
use crate::hint::HintMode;
use crate::jitter::Jitter;
use crate::policy::Mode;
use crate::scope::Nested;

impl Written for Jitter {
    const NOUN: &'static str = "jitter";

    const KINDS: &'static [Kind<Self>] = &[
        Kind::word("none", || Self::None),
        Kind::word("full", || Self::Full),
        Kind::word("equal", || Self::Equal),
        Kind::word("decorrelated", || Self::Decorrelated),
        Kind::word("decorrelated-clamped", || Self::DecorrelatedClamped),
        Kind {
            example: "proportional:0.25",
            first: Some(of!(Number, |it| *it, Self::Proportional(share) => *share)),
            ..Kind::word("proportional", || Self::Proportional(0.0))
        },
        Kind {
            example: "additive:1s",
            first: Some(of!(Duration, |it| *it, Self::Additive(width) => *width)),
            ..Kind::word("additive", || Self::Additive(Duration::ZERO))
        },
    ];
}

impl Written for Mode {
    const NOUN: &'static str = "mode";

    const KINDS: &'static [Kind<Self>] = &[
        Kind::word("enforce", || Self::Enforce),
        Kind::word("observe", || Self::Observe),
    ];

    /// What every policy did before there were two.
    fn is_left_out(&self) -> bool {
        *self == Self::default()
    }
}

impl Written for WhenSpent {
    const NOUN: &'static str = "way of a spent budget";

    const KINDS: &'static [Kind<Self>] = &[
        Kind::word("stop", || Self::Stop),
        Kind::word("wait", || Self::Wait),
    ];

    /// As the mode.
    fn is_left_out(&self) -> bool {
        *self == Self::default()
    }
}

/// What is one of a few words.
macro_rules! words {
    ($($part:ty, $noun:literal: $($word:literal => $it:expr,)*;)*) => {$(
        impl Written for $part {
            const NOUN: &'static str = $noun;

            const KINDS: &'static [Kind<Self>] = &[$(Kind::word($word, || $it),)*];
        }
    )*};
}

words! {
    Backoff, "backoff":
        "fixed" => Backoff::Fixed,
        "linear" => Backoff::Linear,
        "exponential" => Backoff::Exponential,
        "fibonacci" => Backoff::Fibonacci,
    ;
    HintMode, "hint mode":
        "honor" => HintMode::Honor,
        "clamp" => HintMode::Clamp,
        "ignore" => HintMode::Ignore,
    ;
    Nested, "way with nested retries":
        "nearest" => Nested::Nearest,
        "outermost" => Nested::Outermost,
        "allow" => Nested::Allow,
        "share-budget" => Nested::ShareBudget,
    ;
}
