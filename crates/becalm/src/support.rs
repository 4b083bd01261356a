//! What do becalm's own sister crates share with the core, and no user needs?
//!
//! Hidden from the documentation, and no promise to others: it changes with the version that all crates of becalm share.

pub use crate::duration::Human;
pub use crate::lone::{Lone, Position};
pub use crate::suggest::nearest;
