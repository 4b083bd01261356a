//! How do values leave for a spreadsheet?

/// A record of RFC 4180, ended.
pub(crate) fn record<T: AsRef<str>>(fields: impl IntoIterator<Item = T>) -> String {
    let fields: Vec<_> = fields.into_iter().map(|it| field(it.as_ref())).collect();
    fields.join(",") + "\r\n"
}

/// A field, quoted where the RFC demands it (section 2, rules 6 and 7).
fn field(text: &str) -> String {
    if text.contains(['"', ',', '\r', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.into()
    }
}

/// All digits of a number; nothing where it is not finite.
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        _ if !value.is_finite() => String::new(),
        0.0 => "0".into(),
        1e-7..1e17 => format!("{value}"),
        _ => format!("{value:e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_back_as_it_was() {
        assert_eq!(record(["a", "b c"]), "a,b c\r\n");
        assert_eq!(record(["a,b", "\"", "\n"]), "\"a,b\",\"\"\"\",\"\n\"\r\n");
    }

    #[test]
    fn numbers_keep_every_digit() {
        for value in [0.1 + 0.2, -1e300, 5e-324, 123_456_789.125, 0.0] {
            assert_eq!(number(value).parse::<f64>(), Ok(value));
        }
        assert_eq!(number(f64::NAN) + &number(f64::INFINITY), "");
    }
}
