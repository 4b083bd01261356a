//! Who owns the time? A sleeper: clock and timer in one object, which a test can replace.

mod instant;
mod unix;

pub use crate::scope::ClockId;
pub use instant::Instant;
pub use unix::UnixTime;

#[cfg(feature = "std")]
mod alarms;
#[cfg(feature = "std")]
mod cancel;
#[cfg(feature = "std")]
mod fake;
#[cfg(feature = "std")]
mod sleeper;
#[cfg(feature = "std")]
mod std_sleeper;
#[cfg(feature = "tokio")]
mod tokio_sleeper;

#[cfg(feature = "std")]
pub use cancel::{Cancel, Cancelled};
#[cfg(feature = "std")]
pub use fake::FakeSleeper;
#[cfg(feature = "std")]
pub use sleeper::{Sleep, Sleeper};
#[cfg(feature = "std")]
pub(crate) use sleeper::{Unpark, default_sleeper};
#[cfg(feature = "std")]
pub use std_sleeper::StdSleeper;
#[cfg(feature = "tokio")]
pub use tokio_sleeper::TokioSleeper;
#[cfg(feature = "tokio")]
pub(crate) use tokio_sleeper::tokio_runs_on_the_process_clock;
