//! Does admission keep its rate and its promises? In virtual time, through the public interface.

mod any_arrivals;
mod crowd;
mod fleet;
mod herds;
mod promises;
mod restart;
#[cfg(feature = "tickets")]
mod seals;
