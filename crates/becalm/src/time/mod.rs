//! Who owns the time? A sleeper: clock and timer in one object, which a test can replace.

mod clock;
mod instant;
mod unix;

pub use clock::ClockId;
pub use instant::Instant;
pub use unix::UnixTime;

#[cfg(feature = "std")]
mod alarms;
#[cfg(feature = "std")]
mod anywhere;
#[cfg(feature = "std")]
mod cancel;
#[cfg(feature = "std")]
mod everybody;
#[cfg(feature = "std")]
mod fake;
#[cfg(feature = "std")]
mod sleeper;
#[cfg(feature = "std")]
mod std_sleeper;
#[cfg(feature = "tokio")]
mod tokio_sleeper;

#[cfg(feature = "std")]
pub(crate) use anywhere::sleep_anywhere;
#[cfg(feature = "std")]
#[doc(hidden)]
pub use anywhere::within;
#[cfg(feature = "std")]
pub use cancel::{Cancel, Cancelled};
#[cfg(feature = "std")]
pub(crate) use everybody::{Everybody, OneOfAll};
#[cfg(feature = "std")]
pub use fake::FakeSleeper;
#[cfg(feature = "std")]
pub use sleeper::{Sleep, Sleeper};
#[cfg(feature = "std")]
pub(crate) use sleeper::{Unpark, before};
#[cfg(feature = "std")]
pub use std_sleeper::StdSleeper;
#[cfg(feature = "tokio")]
pub use tokio_sleeper::TokioSleeper;

/// The sleeper of retriers that set none: tokio's with the feature `tokio`, otherwise std's.
#[cfg(feature = "std")]
#[doc(hidden)]
pub fn default_sleeper() -> std::sync::Arc<dyn Sleeper> {
    use std::sync::{Arc, LazyLock};
    static DEFAULT: LazyLock<Arc<dyn Sleeper>> = LazyLock::new(|| {
        #[cfg(feature = "tokio")]
        return Arc::new(TokioSleeper::new());
        #[cfg(not(feature = "tokio"))]
        return Arc::new(StdSleeper::new());
    });
    Arc::clone(&DEFAULT)
}
