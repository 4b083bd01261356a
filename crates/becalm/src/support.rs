//! What do becalm's own sister crates share with the core, and no user needs?
//!
//! Hidden from the documentation, and no promise to others: it changes with the version that all crates of becalm share.

#[cfg(feature = "std")]
pub use crate::call::unheld::Unheld;
pub use crate::causes::{causes, to_the_root, unsaid};
pub use crate::duration::nanos;
#[cfg(feature = "http")]
pub use crate::http::{Answered, Lanes, Trip, is_gone};
pub use crate::human::Human;
pub use crate::lone::{Lone, Position};
pub use crate::rate::cell::CellRate;
pub use crate::reasons::require;
pub use crate::rng::uniform;
#[cfg(feature = "std")]
pub use crate::run::before_attempts;
pub use crate::suggest::nearest;
pub use crate::sync::{AtomicI64, AtomicU32, AtomicU64, Ordering, change};
#[cfg(feature = "std")]
pub use crate::time::{default_sleeper, within};
pub use crate::{__reasons as reasons, __setters as setters};

/// In the extensions of a request: it has a place of an admission layer, which whatever waits inside of that keeps from others. What it holds is
/// the layer's own.
#[cfg(feature = "std")]
#[derive(Debug, Clone)]
pub struct HasPlace(pub std::sync::Arc<dyn core::any::Any + Send + Sync>);
