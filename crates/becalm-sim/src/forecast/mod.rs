//! What will a policy do, computed and not simulated?
//!
//! [`Forecast`] is one call that fails every time; [`Protection`] is what the policy lets all calls together do. As JSON both
//! have the stable names of `becalm plan --json`.

mod breaker;
mod bulkhead;
mod grant;
mod hedge;
mod millis;
mod protection;
mod reserve;
mod shed;
mod waits;

pub use breaker::Opening;
pub use bulkhead::Places;
pub use grant::{Earner, Grant, Throttled};
pub use hedge::Copies;
pub use millis::Millis;
pub use protection::Protection;
pub use reserve::{Late, Reserve};
pub use shed::{Rate, Shed};
pub use waits::{End, Fate, Forecast, Longest, Row, Spread, rows};
