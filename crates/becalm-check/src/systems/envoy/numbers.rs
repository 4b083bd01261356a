//! How does protobuf's JSON write numbers?

use crate::document::{Node, Value};
use crate::reading::Reading;
use crate::told::Told;

/// A `uint32`, which may stand in quotes, as `3.0` or `3e0`, and as Envoy's parser of YAML has them in other bases:
/// `0x3`, and `010` for 8.
pub fn whole(reading: &mut Reading<'_>, node: Option<&Node>, form: &str) -> Told<u32> {
    reading.told(node, form, |text| {
        let exact = in_base(text).or_else(|| text.parse().ok());
        exact.or_else(|| from_float(text.parse().ok()?))
    })
}

/// Whether it is a number, and no text.
pub fn is_number(node: &Node) -> bool {
    matches!(&node.value, Value::Scalar { text, quoted: false } if text.parse::<f64>().is_ok())
}

fn in_base(text: &str) -> Option<u32> {
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return u32::from_str_radix(digits, 16).ok();
    }
    let digits = text.strip_prefix('0')?;
    u32::from_str_radix(digits, 8).ok()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // whole and in range
fn from_float(number: f64) -> Option<u32> {
    let is_whole = number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number);
    is_whole.then_some(number as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bases_are_those_of_yaml_cpp() {
        for (text, number) in [("0x3", 3), ("0XfF", 255), ("010", 8)] {
            assert_eq!(in_base(text), Some(number), "{text}");
        }
        for text in ["3", "0", "09", "0x", "0.5", "1e1"] {
            assert_eq!(in_base(text), None, "{text}");
        }
    }
}
