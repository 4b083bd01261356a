//! What does one call owe to those above it, beside it and before it?

mod contention;
#[cfg(feature = "std")]
mod counting_budget;
mod first_try;
mod keyed;
mod keyed_retriers;
mod layers_add;
mod options;
mod scope_header;
mod seam;
mod shared_dial;
mod stop_order;
mod waiting_for_tokens;
