//! What number do these bytes say? In whole microseconds, without a float between.

/// Microseconds of a decimal number in this unit; further digits are cut off. `None` for anything that is not a number, is
/// negative, or does not fit.
pub fn micros(text: &[u8], unit: u64) -> Option<u64> {
    let (whole, fraction) = match text.iter().position(|byte| *byte == b'.') {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, &[][..]),
    };
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut micros = whole_number(whole)?.checked_mul(unit)?;
    let mut place = unit;
    for byte in fraction {
        let digit = digit(*byte)?;
        place /= 10;
        micros = micros.checked_add(digit * place)?;
    }
    Some(micros)
}

/// A number without sign or fraction; no digits are 0.
pub fn whole_number(text: &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for byte in text {
        number = number.checked_mul(10)?.checked_add(digit(*byte)?)?;
    }
    Some(number)
}

/// A status of HTTP: up to three digits; tables that had gaps write `200.0`.
pub fn status(text: &[u8]) -> Option<u16> {
    let text = text.strip_suffix(b".0").unwrap_or(text);
    if text.is_empty() || text.len() > 3 {
        return None;
    }
    whole_number(text).and_then(|it| u16::try_from(it).ok())
}

fn digit(byte: u8) -> Option<u64> {
    byte.is_ascii_digit().then(|| u64::from(byte - b'0'))
}

/// Microseconds in a second.
pub const SECOND: u64 = 1_000_000;
/// Microseconds in a millisecond.
pub const MILLISECOND: u64 = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_cut_at_the_microsecond_and_nothing_else_is_a_number() {
        for (text, unit, expected) in [
            ("0.012", SECOND, Some(12_000)),
            ("1700000000.123", SECOND, Some(1_700_000_000_123_000)),
            ("1.0000019", SECOND, Some(1_000_001)),
            ("12", MILLISECOND, Some(12_000)),
            ("1.5", MILLISECOND, Some(1_500)),
            ("7.9", 1, Some(7)),
            (".5", SECOND, Some(500_000)),
            ("5.", SECOND, Some(5_000_000)),
            ("", SECOND, None),
            (".", SECOND, None),
            ("-", SECOND, None),
            ("-1", SECOND, None),
            ("1e3", SECOND, None),
            ("99999999999999999999", SECOND, None),
            ("18446744073710", SECOND, None),
        ] {
            assert_eq!(micros(text.as_bytes(), unit), expected, "{text}");
        }
        assert_eq!([&b"200"[..], b"200.0"].map(status), [Some(200); 2]);
        assert_eq!(
            [&b""[..], b"2000", b"-1", b".0", b"200.5"].map(status),
            [None; 5]
        );
    }
}
