#![doc = include_str!("../README.md")]
//!
//! # Where to look
//!
//! [`check`] reads files that are given to it as text. What it finds are [`Mapping`]s, each a [`Policy`](becalm::Policy) with the
//! origin of every key, and [`Finding`]s, each with its file, line, sentence and remedy.

#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod below;
mod check;
pub mod code;
pub mod document;
mod finding;
pub mod layers;
mod lints;
mod mapping;
mod reading;
mod said;
pub mod shown;
mod system;
mod systems;
mod template;

pub use check::{Checked, File, Settings, check};
pub use finding::{Finding, Severity};
pub use mapping::{Draft, Mapping, NotExpressible, Origin};
pub use reading::{Reading, Told};
pub use system::{As, Evidence, Form, System};
