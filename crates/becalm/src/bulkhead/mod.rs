//! How many calls may run at once against one dependency?
//!
//! [`Bulkhead`] is the configuration, plain data; [`Semaphore`] is its state, shared by all calls.
//! A call takes a place before it starts and gives it back when it ends; where none is free it
//! fails at once, or waits in a bounded queue. The number of places is fixed, or follows what the
//! calls show of the dependency ([`Aimd`], [`Gradient`]): by Little's law the calls that a server
//! works on are its throughput x its latency, so that beyond its capacity more of them buy
//! latency alone.
//!
//! Nothing here reads a clock, sleeps or spawns: a driver hands in the time of a finished call,
//! and a waker for one that waits.
//!
//! ```
//! use becalm::bulkhead::{Bulkhead, Semaphore};
//!
//! let places = Semaphore::new(Bulkhead::calls(1));
//! assert!(places.try_acquire());
//! assert!(!places.try_acquire());
//! places.release(None);
//! assert!(places.try_acquire());
//! ```

mod aimd;
mod config;
mod gradient;
mod learned;
mod learner;
mod lesson;
#[cfg(any(feature = "std", becalm_loom))]
mod queue;
mod sample;
mod semaphore;
#[cfg(any(feature = "std", becalm_loom))]
mod waiter;

pub use aimd::Aimd;
pub use config::{Bulkhead, InvalidBulkhead, Limit, Order};
pub use gradient::Gradient;
#[doc(hidden)]
pub use sample::{Outcome, Sample};
pub use semaphore::Semaphore;
#[cfg(any(feature = "std", becalm_loom))]
#[doc(hidden)]
pub use waiter::Waiter;
