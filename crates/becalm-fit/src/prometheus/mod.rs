//! What does a range of Prometheus say about a service? Rates, mean times and, where it was overloaded, what it can do.
//!
//! No request of its own is in it, so that it says less than a log: by Little's law how many requests were in the service, and
//! by the utilisation law what it does while all of its workers are busy. Where no stretch shows that, the capacity is open.

mod alone;
mod answer;
mod estimate;
mod query;
mod range;

pub use answer::Unread;
pub use query::Query;
pub use range::{Bucket, Point, Range};
