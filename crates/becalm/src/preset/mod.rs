//! What do well-known systems do by default, as a policy?
//!
//! A preset carries what a [`Policy`] holds: backoff, jitter, attempts, times, hints, budget, and
//! what protection the system has by default. It carries no classification: which failures are retried stays with the driver. Where a system
//! cannot be reproduced exactly, [`Preset::differs`] says how.
//!
//! - A name is dated where its system has changed its values; it never changes its meaning here.
//! - A system without a cap, or one that waits for any hint, has one of a year.
//! - A budget is the system's own kind, with its figures; what earns and what is returned is as that
//!   kind documents it.
//! - What none of the systems has keeps becalm's default: of nested retries the nearest one repeats.
//!
//! Two are becalm's own advice: `contention`, for transactions that stand in each other's way, and
//! `command`, for commands: `becalm run` starts from it.

/// A row for each system: its name and where its figures stand, the policy from which it starts and
/// what it sets of that, and how it behaves otherwise.
macro_rules! presets {
    (@) => { None };
    (@ $differs:literal) => { Some($differs) };
    ($(
        $name:literal of $source:literal:
        $start:ident { $($field:ident: $value:expr),* $(,)? } $(but $differs:literal)?;
    )*) => {
        pub(super) const PRESETS: &[Preset] = &[$(Preset {
            name: $name,
            source: $source,
            differs: presets!(@ $($differs)?),
            policy: Policy { $($field: $value,)* ..$start },
        },)*];
    };
}

mod cloud;
mod library;
mod mesh;
mod own;
mod websocket;

use alloc::format;
use core::time::Duration;

use crate::budget::{Budget, Window};
use crate::hint::HintMode;
use crate::jitter::Jitter;
use crate::policy::{Policy, Unreadable};
use crate::suggest::remedy;

/// The default retry policy of a well-known system.
///
/// ```
/// use becalm::preset::Preset;
///
/// let grpc = Preset::by_name("grpc")?;
/// assert_eq!(grpc.policy().attempts, 4);
/// assert!(grpc.differs().is_some_and(|how| how.contains("cap")));
/// # Ok::<(), becalm::policy::Unreadable>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Preset {
    name: &'static str,
    source: &'static str,
    differs: Option<&'static str>,
    policy: Policy,
}

impl Preset {
    /// The preset of this name, as in `preset = "grpc"` of a policy file.
    ///
    /// # Errors
    ///
    /// A sentence with the name that was probably meant.
    pub fn by_name(name: &str) -> Result<&'static Self, Unreadable> {
        let found = Self::all().find(|preset| preset.name == name);
        found.ok_or_else(|| {
            let all = || "`becalm presets` lists them".into();
            let remedy = remedy(name, Self::all().map(Self::name), all);
            let sentence = format!("there is no preset `{name}`; {remedy}");
            Unreadable::new(sentence)
        })
    }

    /// All presets: cloud SDKs and RPC, proxies and meshes, libraries, WebSocket clients, and
    /// becalm's own.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        [
            cloud::PRESETS,
            mesh::PRESETS,
            library::PRESETS,
            websocket::PRESETS,
            own::PRESETS,
        ]
        .into_iter()
        .flatten()
    }

    /// The name: lower case, unique, the same for ever.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Which system has these defaults, with its version or the date at which they were read.
    pub const fn source(&self) -> &'static str {
        self.source
    }

    /// How the system behaves otherwise than this policy: one sentence, or `None` where the policy
    /// is faithful.
    pub const fn differs(&self) -> Option<&'static str> {
        self.differs
    }

    /// The policy. It validates; it may well have [lints](Policy::lints).
    pub fn policy(&self) -> Policy {
        self.policy.clone()
    }
}

/// For a system without a cap: no call waits for a year.
const A_YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// becalm's own default, for specifications that leave the rest to the implementation.
const BECALM: Policy = Policy::DEFAULT;

/// A system that bounds, spreads and heeds nothing, from which most rows start.
const BARE: Policy = Policy {
    base: Duration::ZERO,
    cap: A_YEAR,
    jitter: Jitter::None,
    attempts: Policy::UNLIMITED,
    hint: HintMode::Ignore,
    budget: Budget::None,
    ..BECALM
};

/// Finagle's budget, which Linkerd, tower and the Gateway API took over: 20 %, and 10 a second, over
/// a window of 10 s.
const FINAGLE_BUDGET: Budget = Budget::Window(Window::DEFAULT);

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}
