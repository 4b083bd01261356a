//! Which times does a CSV file hold? One a line, in seconds or with a unit.

use std::time::Duration;

use becalm::duration;

/// The times of a text: one a line, a number of seconds or a duration such as `250ms`. Empty lines,
/// lines that begin with `#`, and a heading in the first line are skipped. The error names the line.
pub(super) fn read(text: &str) -> Result<Vec<Duration>, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut times = Vec::new();
    let mut is_first = true;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim().trim_end_matches(',');
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let is_heading = is_first && line.starts_with(|c: char| c.is_alphabetic() || c == '"');
        is_first = false;
        if is_heading {
            continue;
        }
        let time = time(line).ok_or_else(|| {
            format!(
                "line {}: \"{}\" is no time; write one a line, in seconds (0.25) or with a unit \
                 (250ms)",
                index + 1,
                line.chars().take(40).collect::<String>()
            )
        })?;
        times.push(time);
    }
    if times.is_empty() {
        return Err("it holds no times; write one a line, such as 0.25 or 250ms".into());
    }
    Ok(times)
}

/// The first time that is before the one above it: which, from 0.
pub(super) fn first_unsorted(times: &[Duration]) -> Option<usize> {
    let unsorted = times.windows(2).position(|pair| pair[0] > pair[1]);
    unsorted.map(|index| index + 1)
}

fn time(text: &str) -> Option<Duration> {
    if let Ok(time) = duration::parse(text) {
        return Some(time);
    }
    // Digits are read as they are written, to the nanosecond.
    if let Ok(time) = duration::parse(&format!("{text}s")) {
        return Some(time);
    }
    let seconds = text.parse::<f64>().ok()?;
    let time = Duration::try_from_secs_f64(seconds).ok()?;
    u64::try_from(time.as_nanos()).is_ok().then_some(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_seconds_units_headings_and_comments() {
        let text = "\u{feff}first_try_s\r\n# by hand\n\n0\n0.000000001\n1e-3\n250ms\n1.5,\n";
        let nanos = [0, 1, 1_000_000, 250_000_000, 1_500_000_000];
        assert_eq!(read(text), Ok(nanos.map(Duration::from_nanos).to_vec()));
    }

    #[test]
    fn a_fault_is_named_with_its_line() {
        for (text, words) in [
            ("0.1\n0.2\nsoon\n", "line 3: \"soon\""),
            ("t\nu\n1\n", "line 2"),
            ("-1\n", "line 1"),
            ("1,2\n", "line 1"),
            ("inf\n1\ninf\n", "line 3"),
            ("1e12\n", "line 1"),
            ("# nothing\n", "no times"),
        ] {
            let refusal = read(text).unwrap_err();
            assert!(refusal.contains(words), "{text}: {refusal}");
        }
    }

    #[test]
    fn what_is_out_of_order_is_found() {
        let seconds =
            |times: &[u64]| -> Vec<_> { times.iter().copied().map(Duration::from_secs).collect() };
        assert_eq!(first_unsorted(&seconds(&[1, 1, 2])), None);
        assert_eq!(first_unsorted(&seconds(&[1, 3, 2])), Some(2));
        assert_eq!(first_unsorted(&[]), None);
    }
}
