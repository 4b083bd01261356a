#![doc = include_str!("../README.md")]
//!
//! # Where to look
//!
//! Traits, laws and exchanges, without IO. Stores are in crates of their own, such as becalm-redis.
//!
//! - [`budget`]: one retry budget for many processes, which lease its tokens.
//! - [`consumer`]: what is done with a message that a handler has failed on.

#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(not(any(feature = "std", test)), no_std)]

extern crate alloc;

pub mod budget;
pub mod consumer;
