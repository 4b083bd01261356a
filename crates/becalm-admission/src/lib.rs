#![doc = include_str!("../README.md")]
//!
//! # Where to look
//!
//! [`Admission`] is the settings; an [`AdmissionController`] decides, without IO, of each [`Arrival`]:
//!
//! - [admit](Answer::Admit) it, at an exact rate. Its [`Permit`] is held until the application says that the client is ready.
//! - let it [wait](Answer::Wait), as many as are served within the patience of clients. Who has waited for too long, or has hung
//!   up, is dropped before the costly work.
//! - tell it to [come later](Answer::Later): at an *appointment*, a place of its own, with a ticket that is honoured once; beyond
//!   the horizon at a moment that is drawn.
//!
//! Tickets go first, then resumptions, then fresh arrivals. Among the latter two, address groups take turns, and one group has
//! at most as many appointments as it leaves to others, and one that passes more often than others leaves the free places to those (dynamic thresholds: Choudhury and Hahne, IEEE/ACM Transactions on Networking 6, 1998).
//!
//! [`Advice`] is how a refusal is told. The seal of a ticket is apart from all this: `TicketKeys`, with the feature `tickets`.

#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(not(test), no_std)]

extern crate alloc;

mod advice;
mod answer;
mod book;
mod claims;
mod controller;
mod group;
mod numbered;
mod permits;
mod queue;
mod settings;
#[cfg(feature = "tickets")]
mod ticket;
mod used;

pub use advice::{Advice, InvalidAdvice, TICKET_HEADER};
pub use answer::{Answer, Arrival, Counts, Permit, Refusal, Refused, Turn};
pub use claims::Claims;
pub use controller::AdmissionController;
pub use group::AddressGroup;
pub use queue::Waiting;
pub use settings::{Admission, InvalidAdmission};
#[cfg(feature = "tickets")]
pub use ticket::{Clocks, InvalidKey, InvalidTicket, TicketKeys};
