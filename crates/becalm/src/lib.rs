#![doc = include_str!("../README.md")]
//!
//! # Where to look
//!
//! A retry is a decision about shared load. This crate takes that decision without IO ([`call::Call`]: no clock, no sleep, no
//! global randomness inside) and drives it in an async and a blocking engine ([`Retrier`]).
//!
//! - [`policy`] is what is decided in advance, as data; `preset` has those of others, `lint` judges them.
//! - [`run`] is time and IO: the [`Retrier`], and the [`Engine`](run::Engine) under every driver.
//! - [`call`] is one call without IO; [`shared`] is what all calls to one dependency have in common.
//! - Every other word of the field is a module: [`budget`], [`breaker`], [`hedge`], [`hint`], [`scope`] ..

#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(not(any(feature = "std", test)), no_std)]

extern crate alloc;

mod attempt;
pub mod backoff;
pub mod breaker;
pub mod budget;
pub mod bulkhead;
pub mod call;
mod causes;
pub mod classify;
mod decide;
mod delay;
pub mod duration;
mod gauges;
#[cfg(feature = "text")]
mod grammar;
mod guard;
pub mod hedge;
pub mod hint;
#[cfg(feature = "http")]
pub mod http;
mod human;
pub mod idempotency;
pub mod interval;
pub mod jitter;
#[cfg(feature = "std")]
pub mod keyed;
#[cfg(feature = "lints")]
pub mod lint;
#[cfg(feature = "tokio")]
pub mod login;
mod lone;
mod names;
pub mod observe;
pub mod policy;
#[cfg(feature = "serde")]
mod policy_file;
#[cfg(feature = "presets")]
pub mod preset;
#[cfg(feature = "std")]
mod rare;
pub mod rate;
mod reasons;
pub mod reconnect;
pub mod retry_on;
pub mod rng;
#[cfg(feature = "std")]
pub mod run;
#[cfg(feature = "schedules")]
pub mod schedule;
pub mod scope;
mod setters;
pub mod shared;
pub mod stop;
mod suggest;
#[doc(hidden)]
pub mod support;
mod sync;
pub mod throttle;
pub mod time;

pub use attempt::Attempt;
pub use backoff::Backoff;
pub use breaker::Breaker;
pub use budget::Budget;
pub use bulkhead::Bulkhead;
pub use classify::{Class, Classify, Effect, Failure};
pub use hedge::Hedge;
pub use hint::Hint;
pub use idempotency::{IdempotencyKey, Operation};
pub use jitter::Jitter;
#[cfg(feature = "std")]
pub use keyed::Keyed;
pub use observe::{Event, Observer};
pub use policy::Policy;
#[cfg(feature = "std")]
pub use run::{GaveUp, Retrier};
pub use scope::Scope;
#[cfg(feature = "std")]
pub use scope::detached;
pub use stop::StopReason;
pub use throttle::Throttle;
#[cfg(feature = "std")]
pub use time::{Cancel, Sleeper};
