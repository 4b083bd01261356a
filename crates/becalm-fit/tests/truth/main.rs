//! What does a fit say of logs whose truth is known?

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "times of a minute in microseconds, and counts of a minute"
)]

mod apart;
mod clients;
mod failures;
mod kinds;
mod lies;
mod log;
mod others;
mod shared;
mod sixty;
mod values;
mod verdicts;
mod workers;
mod written;
