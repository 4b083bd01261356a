//! Which upstreams were tried for a request, and how long did each take?

use memchr::memchr_iter;

use super::number::micros;
use super::parts::Why;

/// The microseconds of the upstreams that were tried before the last, together, and those of the last, as each of them is read; none, where
/// none was. AWS writes -1 for that, others a dash.
pub fn of_upstreams(
    value: &[u8],
    read: impl Fn(&[u8]) -> Result<u64, Why>,
) -> Result<(u64, Option<u64>), Why> {
    let (mut before, mut last) = (0_u64, None);
    for each in value.split(|byte| matches!(byte, b',' | b':')) {
        let each = each.trim_ascii();
        if !each.is_empty() && each[0] != b'-' {
            before = before.saturating_add(last.replace(read(each)?).unwrap_or(0));
        }
    }
    Ok((before, last))
}

/// Reads a duration in a unit of this many microseconds.
pub fn duration(unit: u64) -> impl Fn(&[u8]) -> Result<u64, Why> {
    move |text| micros(text, unit).ok_or(Why::Duration)
}

/// The upstream that was tried last.
pub fn last_of(value: &[u8]) -> &[u8] {
    let last = value.windows(2).rposition(|it| it == b", ");
    let group = value.windows(3).rposition(|it| it == b" : ");
    let from = last
        .map_or(0, |at| at + 2)
        .max(group.map_or(0, |at| at + 3));
    &value[from..]
}

/// How often another upstream was tried.
pub fn retries(value: &[u8]) -> u32 {
    let commas = memchr_iter(b',', value).count();
    u32::try_from(commas).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::number::SECOND;
    use super::*;

    #[test]
    fn of_several_upstreams_the_last_one_has_its_time_apart() {
        for (value, expected) in [
            ("0.016", Ok((0, Some(16_000)))),
            ("0.001, 0.016", Ok((1_000, Some(16_000)))),
            ("0.001, - : 0.016", Ok((1_000, Some(16_000)))),
            ("-", Ok((0, None))),
            ("-1", Ok((0, None))),
            ("x", Err(Why::Duration)),
        ] {
            let read = of_upstreams(value.as_bytes(), duration(SECOND));
            assert_eq!(read, expected, "{value}");
        }
    }
}
