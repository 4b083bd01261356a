//! Which members does a dictionary of RFC 9651 have? As much of it as the vectors hold.

/// Each key with the text of its value, `?1` where there is none; parameters are cut off. `None` if the text breaks the grammar.
pub fn members(text: &str) -> Option<Vec<(&str, &str)>> {
    let text = text.trim_matches(' ');
    let members = text.split(',').map(|member| {
        let member = member.trim_matches([' ', '\t']);
        let mut parts = member.split(';');
        let (key, value) = pair(parts.next()?)?;
        parts.try_for_each(|parameter| pair(parameter.trim_start_matches(' ')).map(drop))?;
        Some((key, value))
    });
    if text.is_empty() {
        return Some(Vec::new());
    }
    members.collect()
}

/// An integer that is not below 0.
pub fn whole_number(value: &str) -> Option<u64> {
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| value.parse().ok()).flatten()
}

fn pair(text: &str) -> Option<(&str, &str)> {
    let (key, value) = text.split_once('=').unwrap_or((text, "?1"));
    let is_key = |(at, byte): (usize, u8)| match byte {
        b'a'..=b'z' | b'*' => true,
        b'0'..=b'9' | b'_' | b'-' | b'.' => at > 0,
        _ => false,
    };
    let is_valid = !key.is_empty() && key.bytes().enumerate().all(is_key) && is_item(value);
    is_valid.then_some((key, value))
}

fn is_item(value: &str) -> bool {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~:/".contains(&byte);
    match value.as_bytes() {
        b"?0" | b"?1" => true,
        [b'"', inner @ .., b'"'] => inner.iter().all(|byte| !b"\"\\".contains(byte)),
        [b'a'..=b'z' | b'A'..=b'Z' | b'*', rest @ ..] => rest.iter().all(|&byte| is_token(byte)),
        [b'0'..=b'9' | b'-', ..] => value.parse::<f64>().is_ok(),
        _ => false,
    }
}
