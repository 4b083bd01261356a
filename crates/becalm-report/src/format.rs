//! How is a number written so that it is read at a glance?

/// A whole number with its thousands apart, or three significant digits below ten.
///
/// What is not finite is a dash.
///
/// ```
/// use becalm_report::format::plain;
/// assert_eq!([1234.0, 1.1538, 12.0].map(plain), ["1 234", "1.15", "12"]);
/// ```
pub fn plain(value: f64) -> String {
    if !value.is_finite() {
        return "-".into();
    }
    let size = value.abs();
    if size >= 1e15 {
        return format!("{value:.2e}");
    }
    if size >= 100.0 || (size >= 10.0 && (value - value.round()).abs() < 0.05) {
        return thousands(value);
    }
    if size > 0.0 && size < 0.001 {
        return format!("{value:.1e}");
    }
    let decimals = match size {
        10.0.. => 1,
        0.1.. => 2,
        _ => 3,
    };
    trimmed(&format!("{value:.decimals$}"))
}

/// Seconds in the unit that suits them: `300us`, `250ms`, `1.5s`, `2m`, `1.5h`.
///
/// ```
/// use becalm_report::format::seconds;
/// assert_eq!([0.25, 1.5, 120.0].map(seconds), ["250ms", "1.5s", "2m"]);
/// ```
pub fn seconds(value: f64) -> String {
    if !value.is_finite() {
        return "-".into();
    }
    let (scale, unit) = match value.abs() {
        0.0 => return "0".into(),
        3600.0.. => (3600.0, "h"),
        120.0.. => (60.0, "m"),
        // What rounds to a whole second is written as one.
        0.9995.. => (1.0, "s"),
        0.000_999_5.. => (1e-3, "ms"),
        _ => (1e-6, "us"),
    };
    format!("{}{unit}", plain(value / scale))
}

/// Milliseconds in the unit that suits them: [`seconds`] of a thousandth.
pub fn milliseconds(value: f64) -> String {
    seconds(value / 1000.0)
}

/// A sentence whose numbers stay on one line: no-break spaces (U+00A0) between thousands and before a
/// percent sign.
///
/// ```
/// use becalm_report::format::glued;
/// assert_eq!(glued("1 040/s, 26 % of 4 000"), "1\u{a0}040/s, 26\u{a0}% of 4\u{a0}000");
/// ```
pub fn glued(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let is_digit = |at: usize| letters.get(at).is_some_and(char::is_ascii_digit);
    let ends = |at: usize| letters.get(at).is_none_or(|it| !it.is_alphanumeric());
    let belongs = |at: usize| {
        let thousands = (1..=3).all(|by| is_digit(at + by)) && ends(at + 4);
        let percent = letters.get(at + 1) == Some(&'%') && ends(at + 2);
        at.checked_sub(1).is_some_and(is_digit) && (thousands || percent)
    };
    let glue = |(at, letter): (usize, &char)| {
        if *letter == ' ' && belongs(at) {
            '\u{a0}'
        } else {
            *letter
        }
    };
    letters.iter().enumerate().map(glue).collect()
}

fn thousands(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut grouped = String::with_capacity(digits.len() + 6);
    if value < 0.0 {
        grouped.push('-');
    }
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}

fn trimmed(number: &str) -> String {
    match number.split_once('.') {
        Some(_) => number.trim_end_matches('0').trim_end_matches('.').into(),
        None => number.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_what_matters() {
        for (value, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (1.1, "1.1"),
            (1.149, "1.15"),
            (0.05, "0.05"),
            (0.0004, "4.0e-4"),
            (26.5, "26.5"),
            (99.96, "100"),
            (260.4, "260"),
            (1_040.0, "1 040"),
            (1_234_567.0, "1 234 567"),
            (-1_234.0, "-1 234"),
            (f64::NAN, "-"),
            (f64::INFINITY, "-"),
        ] {
            assert_eq!(plain(value), text);
        }
    }

    #[test]
    fn only_numbers_are_glued() {
        for text in [
            "in 10 of 10 runs",
            "a % b",
            " 100",
            "5 12345",
            "port 80 443x%",
            "é 5 %x",
        ] {
            assert_eq!(glued(text), text);
        }
        assert_eq!(glued("1 234 567"), "1\u{a0}234\u{a0}567");
        assert_eq!(glued("at 106 %."), "at 106\u{a0}%.");
    }

    #[test]
    fn seconds_change_unit_where_a_reader_would() {
        for (value, text) in [
            (0.0, "0"),
            (0.0003, "300us"),
            (0.25, "250ms"),
            (0.9999, "1s"),
            (7.0, "7s"),
            (90.0, "90s"),
            (120.0, "2m"),
            (5_400.0, "1.5h"),
            (f64::NAN, "-"),
        ] {
            assert_eq!(seconds(value), text);
        }
        assert_eq!(milliseconds(250.0), "250ms");
    }
}
