//! What is the right answer, by pen and paper? Closed forms with their derivations.

pub mod herd;
pub mod moments;
