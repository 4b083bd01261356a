//! Do the examples of the pages compile, and do they run? `cargo test --doc -p becalm-examples` asks it.
//!
//! The pages are in no package, so no published crate can include them.

#[doc = include_str!("../../docs/contention.md")]
mod contention {}
#[doc = include_str!("../../docs/fleet-budget.md")]
mod fleet_budget {}
#[doc = include_str!("../../docs/guide.md")]
mod guide {}
#[doc = include_str!("../../docs/layers.md")]
mod layers {}
#[doc = include_str!("../../docs/observing.md")]
mod observing {}
#[doc = include_str!("../../docs/policy-files.md")]
mod policy_files {}
#[doc = include_str!("../../docs/queues.md")]
mod queues {}
#[doc = include_str!("../../docs/redis.md")]
mod redis {}
#[doc = include_str!("../../docs/transactions.md")]
mod transactions {}
#[doc = include_str!("../../docs/which-protection.md")]
mod which_protection {}
