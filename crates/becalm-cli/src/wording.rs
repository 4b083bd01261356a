//! What does a policy say, in the words of its flags and in 80 columns?

use std::fmt::Write as _;

use becalm::support::Human;
use becalm::{Backoff, Policy};
use becalm_report::format::glued;

/// How the policy waits, in the words of its flags.
pub fn delays(policy: &Policy) -> String {
    let base = Human(policy.base);
    let mut line = match &policy.backoff {
        _ if policy.jitter.is_decorrelated() => format!("from {base} to 3 x the last wait"),
        Backoff::Exponential => format!("exponential from {base} x {}", policy.multiplier),
        other => format!("{other} from {base}"),
    };
    let _ = write!(line, ", cap {}", Human(policy.cap));
    if !policy.floor.is_zero() {
        let _ = write!(line, ", floor {}", Human(policy.floor));
    }
    let _ = write!(line, ", jitter {}", policy.jitter);
    if let Some(base) = policy.throttled_base {
        let _ = write!(line, "; from {} when throttled", Human(base));
    }
    line
}

/// What bounds the policy, in the words of its flags.
pub fn limits(policy: &Policy) -> String {
    let mut line = match policy.attempts {
        Policy::UNLIMITED => "unlimited attempts".to_owned(),
        1 => "1 attempt".to_owned(),
        attempts => format!("{attempts} attempts"),
    };
    if let Some(timeout) = policy.attempt_timeout {
        let _ = write!(line, " of at most {}", Human(timeout));
    }
    if let Some(deadline) = policy.deadline {
        let _ = write!(line, ", deadline {}", Human(deadline));
    }
    let _ = write!(line, ", budget {}", policy.budget);
    if let Some(calls) = policy.max_waiting {
        let _ = write!(line, ", at most {calls} waiting");
    }
    if let Some(lists) = &policy.retry_on {
        let _ = write!(line, ", on {lists}");
    }
    line
}

/// What protects the dependency besides, in the words of its flags; empty where nothing does.
pub fn protection(policy: &Policy) -> String {
    let texts = [
        ("throttle", policy.throttle.map(|it| it.to_string())),
        ("rate", policy.rate.map(|it| it.to_string())),
        ("hedge", policy.hedge.map(|it| it.to_string())),
        ("bulkhead", policy.bulkhead.map(|it| it.to_string())),
        ("breaker", policy.breaker.map(|it| it.to_string())),
    ];
    let texts = texts
        .into_iter()
        .filter_map(|(name, text)| Some(format!("{name} {}", text?)));
    texts.collect::<Vec<_>>().join("; ")
}

/// The text in lines of at most 80 columns, each ended.
pub fn wrapped(text: &str) -> String {
    indented("", text)
}

/// Fills a text into lines of 80 columns, each behind this indentation.
pub fn indented(indentation: &str, text: &str) -> String {
    filled(80, indentation, text)
}

/// Fills a text into lines of at most this many columns, each behind this indentation.
pub fn filled(columns: usize, indentation: &str, text: &str) -> String {
    let mut lines = String::new();
    let mut column = 0;
    let glued = glued(text);
    for word in glued.split(' ') {
        // The text of a flag may be longer than a line: then it is broken behind a comma.
        let is_long = indentation.len() + word.chars().count() > columns;
        let parts = word.split_inclusive(|it| is_long && it == ',');
        for (index, part) in parts.enumerate() {
            let width = part.chars().count();
            let between = if index == 0 { " " } else { "" };
            if column > 0 && column + between.len() + width > columns {
                lines.push('\n');
                column = 0;
            }
            let before = if column == 0 { indentation } else { between };
            lines.push_str(before);
            lines.push_str(part);
            column += before.len() + width;
        }
    }
    lines.push('\n');
    // No-break spaces have done their work, and are in the way of who searches the text.
    lines.replace('\u{a0}', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use becalm::{Breaker, Hedge, Jitter};
    use std::time::Duration;

    #[test]
    fn lines_are_wrapped_between_words() {
        let text = "word ".repeat(40);
        let lines = indented("    ", text.trim_end());
        assert!(
            lines
                .lines()
                .all(|line| line.len() <= 80 && line.starts_with("    word"))
        );
        assert_eq!(lines.split_whitespace().count(), 40);
        let long = "x".repeat(100);
        assert_eq!(wrapped(&format!("a {long} b")), format!("a\n{long}\nb\n"));
        let flag = "parameter:1,".repeat(9);
        let lines = wrapped(&format!("a {flag} b"));
        assert!(lines.lines().all(|line| line.len() <= 80), "{lines}");
        assert_eq!(lines.replace('\n', ""), format!("a {flag} b"));
        assert_eq!(
            filled(10, "", "up to 106 % of 1 000"),
            "up to\n106 % of\n1 000\n"
        );
        let narrow = filled(40, "  ", &text);
        assert!(narrow.lines().all(|line| line.len() <= 40), "{narrow}");
        assert!(narrow.lines().count() > lines.lines().count());
    }

    #[test]
    fn a_policy_is_told_in_its_flags_words() {
        let policy = Policy::default();
        assert_eq!(
            delays(&policy),
            "exponential from 100ms x 2, cap 20s, jitter full"
        );
        assert_eq!(
            limits(&policy),
            "4 attempts, budget ratio:0.1,burst:10,floor:10/h"
        );
        assert_eq!(protection(&policy), "");
        assert_eq!(
            delays(&policy.clone().jitter(Jitter::Decorrelated)),
            "from 100ms to 3 x the last wait, cap 20s, jitter decorrelated"
        );
        let policy = policy
            .breaker(Breaker::consecutive(5))
            .hedge(Hedge::after(Duration::from_millis(50)));
        assert_eq!(
            protection(&policy),
            "hedge after:50ms,copies:1; breaker consecutive:5,open:5s"
        );
    }
}
