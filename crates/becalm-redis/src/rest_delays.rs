//! Are the waits of these commands made for something slower?

use std::fmt;
use std::time::Duration;

use becalm::Policy;
use becalm::preset::Preset;
use becalm::support::Human;

/// The finding that commands of a millisecond wait as calls of a REST API do.
///
/// The preset `gcp-memorystore` is Google's advice for the API that makes and deletes instances, from 1 s on. A command that waits
/// so is late by a thousand times its own length, and a hundred of them are late at once. Ask for it where a program starts, and log
/// what comes.
///
/// ```
/// use becalm::{Policy, preset::Preset};
/// use becalm_redis::RestDelays;
///
/// let api = Preset::by_name("gcp-memorystore").expect("a preset").policy();
/// let warning = RestDelays::check(&api).expect("it is for another use");
/// assert!(warning.to_string().starts_with("gcp-memorystore is for the REST API"));
/// assert!(RestDelays::check(&Policy::default()).is_none());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RestDelays {
    /// The first ceiling of the waits.
    pub base: Duration,
    /// Whether it waits as the preset `gcp-memorystore` does.
    pub is_memorystore: bool,
}

/// A command takes about a millisecond. Five hundred times as long is no wait for a command.
const LONG: Duration = Duration::from_millis(500);

impl RestDelays {
    /// Looks at the policy of commands: `None` where its first wait is below 500 ms.
    pub fn check(commands: &Policy) -> Option<Self> {
        let api = Preset::by_name("gcp-memorystore").map(Preset::policy);
        let is_memorystore = api.is_ok_and(|api| {
            (&api.backoff, api.base, api.cap, api.jitter)
                == (
                    &commands.backoff,
                    commands.base,
                    commands.cap,
                    commands.jitter,
                )
        });
        let is_long = commands.base >= LONG && commands.attempts > 1;
        is_long.then_some(Self {
            base: commands.base,
            is_memorystore,
        })
    }
}

impl fmt::Display for RestDelays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let base = Human(self.base);
        if self.is_memorystore {
            f.write_str("gcp-memorystore is for the REST API that makes instances: ")?;
        }
        write!(
            f,
            "commands that fail wait from {base} on, and each takes about a millisecond; use the default policy, or a base of 100ms or less"
        )
    }
}
