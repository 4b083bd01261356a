//! What happens from the first attempt to becalm's end, and what is told of it?
//!
//! Pure decisions are in [`exit_rules`], [`output_rules`] and [`terms`].

pub mod between;
pub mod conclusion;
pub mod ended;
pub mod environment;
pub mod error;
pub mod exit_code;
pub mod exit_rules;
pub mod layers;
pub mod observed;
pub mod output_rules;
pub mod plain_lines;
pub mod progress;
pub mod replay;
pub mod report;
pub mod retry;
pub mod seen;
pub mod terms;
pub mod wall_clock;
