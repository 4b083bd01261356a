//! How does protobuf's JSON write numbers?

use crate::document::{Node, Value};
use crate::reading::Reading;
use crate::told::Told;

/// A `uint32`, which may stand in quotes, and as `3.0` or `3e0`.
pub fn whole(reading: &mut Reading<'_>, node: Option<&Node>, form: &str) -> Told<u32> {
    reading.told(node, form, |text| {
        let exact = text.parse().ok();
        exact.or_else(|| from_float(text.parse().ok()?))
    })
}

/// Whether it is a number, and no text.
pub fn is_number(node: &Node) -> bool {
    matches!(&node.value, Value::Scalar { text, quoted: false } if text.parse::<f64>().is_ok())
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // whole and in range
fn from_float(number: f64) -> Option<u32> {
    let is_whole = number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number);
    is_whole.then_some(number as u32)
}
