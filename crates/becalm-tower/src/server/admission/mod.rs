//! Which requests does a server take on that gets more than it can do?

mod layer;
mod place;
mod retries;
mod seat;
mod service;
mod shed;

pub use layer::AdmissionLayer;
pub use place::AdmittedBody;
pub use seat::ArrivingBody;
pub(super) use seat::Seat;
pub use service::{Admission, AdmissionFuture};
