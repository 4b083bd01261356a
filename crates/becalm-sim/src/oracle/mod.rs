//! What is the right answer, by pen and paper? Closed forms with their derivations.
//!
//! Pure functions of plain numbers: rates are per second, times in seconds, shares from 0 to 1. An
//! argument that is out of its range makes the answer NaN, unless the function names a limit. None
//! of them looks at a simulation, so that each can judge one.

pub mod appointments;
pub mod blip;
pub mod cache;
pub mod cascade;
pub mod deadline;
pub mod erlang;
pub mod finite_queue;
pub mod flaky;
pub mod fleet;
pub mod herd;
pub mod layers;
pub mod loops;
pub mod metastable;
pub mod moments;
pub mod priority;
pub mod scalability;
pub mod small_clients;
pub mod throttle;
pub mod trigger;

/// The number if it is a share, from 0 to 1; else NaN.
fn share(number: f64) -> f64 {
    if (0.0..=1.0).contains(&number) {
        number
    } else {
        f64::NAN
    }
}

/// The number if it is finite and at least 0; else NaN.
fn amount(number: f64) -> f64 {
    if number.is_finite() && number >= 0.0 {
        number
    } else {
        f64::NAN
    }
}

/// The lesser of two; NaN if one of them is, which `f64::min` would hide.
fn lesser(one: f64, other: f64) -> f64 {
    if one.is_nan() || other.is_nan() {
        f64::NAN
    } else {
        one.min(other)
    }
}

/// The greater of two; NaN if one of them is.
fn greater(one: f64, other: f64) -> f64 {
    -lesser(-one, -other)
}

/// The number if it is finite and above 0; else NaN.
fn positive(number: f64) -> f64 {
    if number > 0.0 {
        amount(number)
    } else {
        f64::NAN
    }
}
