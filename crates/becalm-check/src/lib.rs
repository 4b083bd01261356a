#![doc = include_str!("../README.md")]
//!
//! # Where to look
//!
//! [`check`] reads files that are given to it as text. What it finds are [`Mapping`]s, each a [`Policy`](becalm::Policy) with the
//! origin of every key, and [`Finding`]s, each with its file, line, sentence and remedy.

#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod allowed;
mod below;
mod chart;
mod check;
mod checked;
pub mod code;
pub mod document;
mod durations;
mod embedded;
mod evidence;
mod file;
mod finding;
mod hints;
mod judged;
mod kept;
pub mod layers;
#[cfg(test)]
mod linear;
mod linted;
mod lints;
mod list;
mod mapping;
mod meant;
mod mentioned;
mod names;
mod parsed;
mod reading;
mod room;
mod said;
mod scalars;
mod severity;
mod shape;
pub mod shown;
mod system;
mod systems;
mod template;
mod told;
mod unread;
mod versions;
mod weight;

pub use check::{check, check_and};
pub use checked::{Checked, Settings};
pub use evidence::Evidence;
pub use file::File;
pub use finding::Finding;
pub use judged::{keep_down_together, keeps_down};
pub use kept::More;
pub use mapping::{Draft, Mapping, NotExpressible, Origin};
pub use reading::Reading;
pub use severity::Severity;
pub use system::{Form, System};
pub use told::Told;
pub use versions::As;
