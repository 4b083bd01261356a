//! Which policies of a scenario are changed, and how?
//!
//! A scenario has a policy for each population of clients, and one for the calls of each service to
//! another. Each such [`Place`] has a name, such as `users` or `orders->db`; a [`Change`] gives one of
//! them, or all, another policy, or one other setting ([`Setting`]) and leaves the rest as it is.

mod at_place;
mod candidate;
mod place;
mod scale;
mod setting;

pub use at_place::{Change, changed};
pub use candidate::Candidate;
pub use place::{Place, UnknownPlace};
pub(crate) use scale::Scale;
pub use setting::Setting;
