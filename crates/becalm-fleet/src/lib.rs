//! What do processes share through a store or a queue?
//!
//! Traits, laws and exchanges, without IO. Stores are in crates of their own, such as becalm-redis.
//!
//! - [`budget`]: one retry budget for many processes, which lease its tokens.
//! - [`consumer`]: what is done with a message that a handler has failed on.
//!
//! # Features
//!
//! `std` is on by default: with it [`FleetBudget::keep`](budget::FleetBudget) drives the exchanges with a store, on the default
//! sleeper of becalm. Without it the crate is `no_std` with `alloc`. `portable-atomic`: 64-bit atomics where the target has none.

#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(not(any(feature = "std", test)), no_std)]

extern crate alloc;

pub mod budget;
pub mod consumer;
