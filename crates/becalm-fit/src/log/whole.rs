//! Which format reads whole lines whose moment stands at the front, and has no name?

use super::stamp::Stamp;
use super::written;

/// Duration fields of a format as gunicorn has it, and the units that may stand behind them.
const DURATIONS: [(&str, &[&str]); 3] = [
    ("%(L)s", &["s"]),
    ("%(M)s", &["ms"]),
    ("%(D)s", &["us", "µs", "μs"]),
];

/// The format of this line, which begins with a moment and has a duration and a status by these names. It is one that reads the
/// line, and nothing of the line is in it but the names and the unit. `unit` is that of a duration that says none.
pub fn format(line: &[u8], duration: &str, unit: &str, status: &str) -> Option<String> {
    let text = std::str::from_utf8(line).ok()?;
    let (moment, _) = text.split_once(' ')?;
    Stamp::read(moment.as_bytes())?;
    let mut found = [
        field(text, duration, |behind| took(behind, unit))?,
        field(text, status, |behind| {
            let is_over = behind.is_empty() || behind.starts_with(' ');
            is_over.then(|| ("%(s)s".into(), 0))
        })?,
    ];
    found.sort_by_key(|it| it.from);
    let mut format = String::from("%(asctime)s");
    let mut end = moment.len();
    for Found {
        from,
        written,
        until,
    } in found
    {
        if from > end {
            format.push_str(" %(a)s");
        }
        format.push(' ');
        format.push_str(&written);
        end = until;
    }
    if end < text.len() {
        format.push_str(" %(a)s");
    }
    let reads = written::template(&format).ok()?.padded().read(line).is_ok();
    reads.then_some(format)
}

struct Found {
    /// Where the blank before its name stands.
    from: usize,
    /// As it stands in the format.
    written: String,
    until: usize,
}

/// The first field of this name. `value` says what stands for the number there, by the text behind it, and how much of
/// that text belongs to it.
fn field(
    text: &str,
    name: &str,
    value: impl FnOnce(&str) -> Option<(String, usize)>,
) -> Option<Found> {
    let sought = format!(" {name}=");
    let from = text.find(&sought)?;
    let number = from + sought.len();
    let digits = text[number..].find(|it: char| !it.is_ascii_digit() && it != '.');
    let behind = digits.map_or(text.len(), |it| number + it);
    let (written, length) = value(&text[behind..])?;
    (behind > number).then(|| Found {
        from,
        written: format!("{name}={written}"),
        until: behind + length,
    })
}

/// The field for a duration before this text: `ms ..`, ` ms ..`, or in a unit that somebody says.
fn took(behind: &str, unit: &str) -> Option<(String, usize)> {
    let word = |text: &str| text.split(' ').next().unwrap_or_default().to_owned();
    let of = |unit: &str| DURATIONS.into_iter().find(|it| it.1.contains(&unit));
    let next = behind.strip_prefix(' ').map(word);
    let suffix = match (word(behind), next) {
        (first, Some(next)) if first.is_empty() && of(&next).is_some() => format!(" {next}"),
        (first, _) => first,
    };
    let said = suffix.trim_start();
    let (field, _) = of(if said.is_empty() { unit } else { said })?;
    Some((format!("{field}{suffix}"), suffix.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_at_the_front_is_read_with_what_has_names() {
        for (behind, names, expected) in [
            (
                "heroku[router]: at=info connect=1ms service=31ms status=200 bytes=5",
                ["service", "", "status"],
                Some("%(asctime)s %(a)s service=%(M)sms status=%(s)s %(a)s"),
            ),
            (
                "DEBUG request{method=GET uri=/}: finished latency=31 ms status=200",
                ["latency", "", "status"],
                Some("%(asctime)s %(a)s latency=%(M)s ms status=%(s)s"),
            ),
            (
                "status=200 path=/ took=0.031",
                ["took", "s", "status"],
                Some("%(asctime)s status=%(s)s %(a)s took=%(L)s"),
            ),
            ("status=200 took=31", ["took", "", "status"], None),
            ("status=200x took=31ms", ["took", "", "status"], None),
            ("status=200 took=", ["took", "ms", "status"], None),
            ("level=info", ["took", "ms", "status"], None),
        ] {
            let line = format!("2026-09-21T14:13:20.057580Z {behind}");
            let [duration, unit, status] = names;
            let format = format(line.as_bytes(), duration, unit, status);
            assert_eq!(format.as_deref(), expected, "{behind}");
            if let Some(format) = format {
                let template = written::template(&format).unwrap();
                let parts = template.read(line.as_bytes()).unwrap();
                assert_eq!((parts.duration, parts.status), (Some(31_000), Some(200)));
            }
        }
        assert_eq!(
            format(b"now took=31ms status=200", "took", "", "status"),
            None
        );
    }
}
