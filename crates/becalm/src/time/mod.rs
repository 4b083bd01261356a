//! Who owns the time? A sleeper: clock and timer in one object, which a test can replace.

mod instant;

pub use instant::Instant;
