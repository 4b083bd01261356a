//! What do people see in a terminal?

use std::fmt::Write as _;

use becalm::Policy;
use becalm_check::shown::printable;
use becalm_check::{Evidence, Finding, Mapping, Severity};
use becalm_report::Colour;
use becalm_report::format::plain;
use becalm_report::terminal::Painter;
use becalm_sim::study::Verdict;
use becalm_sim::verdict::most_attempts;

use super::input::Input;
use super::service::Judged;
use super::told::Told;
use crate::stream::Stream;
use crate::wording::{filled, indented};

/// The findings, each with its line of the file; then what each file says, as a policy.
pub fn text(told: &Told<'_>, stream: Stream) -> String {
    let painter = stream.painter();
    let mut text = String::new();
    for finding in &told.checked.findings {
        let input = told.input(&finding.file);
        one(&mut text, finding, input, painter);
    }
    for (at, mapping) in told.checked.mappings.iter().enumerate() {
        let judged = told.judged(at);
        told_mapping(&mut text, mapping, judged, painter);
    }
    if let Some(layers) = &told.layers {
        let of: Vec<_> = layers
            .mappings
            .iter()
            .map(|it| count(it.policy.attempts))
            .collect();
        let all = layers
            .attempts
            .map_or_else(|| "without bound".into(), |it| it.to_string());
        let unnamed = if layers.name.is_empty() {
            "; no name says that one request passes them all"
        } else {
            ""
        };
        let sentence = format!(
            "layers: {} attempts at the innermost for one request ({}); budgets bound what each layer adds, not the product{unnamed}",
            all,
            of.join(" x ")
        );
        text.push_str(&filled(stream.columns(), "", &sentence));
        text.push('\n');
    }
    text.push_str(&conclusion(told));
    text
}

fn count(attempts: u32) -> String {
    match attempts {
        Policy::UNLIMITED => "unlimited".into(),
        attempts => attempts.to_string(),
    }
}

/// As compilers show an error.
fn one(text: &mut String, finding: &Finding, file: Option<&Input>, painter: Painter) {
    let colour = colour(finding.severity);
    let kind = format!("{}[{}]", finding.severity.as_str(), finding.code);
    let _ = writeln!(
        text,
        "{}: {}",
        painter.paint(colour, &kind),
        painter.bold(&printable(&finding.sentence))
    );
    let number = finding.span.line.to_string();
    let margin = " ".repeat(number.len());
    let rule = |it: &str| painter.paint(Colour::Blue, it);
    let _ = writeln!(
        text,
        "{margin}{} {}:{}:{}",
        rule("-->"),
        printable(&finding.file),
        finding.span.line,
        finding.span.column
    );
    if let Some(shown) = file.and_then(|it| it.snippet(finding.span)) {
        let bar = rule("|");
        let _ = writeln!(text, "{margin} {bar}");
        let _ = writeln!(text, "{} {bar} {}", rule(&number), shown.line);
        let mark = painter.paint(colour, &"^".repeat(shown.length));
        let _ = writeln!(text, "{margin} {bar} {}{mark}", " ".repeat(shown.before));
    }
    if !finding.remedy.is_empty() {
        let _ = writeln!(
            text,
            "{margin} {} {}",
            rule("="),
            printable(&finding.remedy)
        );
    }
    text.push('\n');
}

fn told_mapping(text: &mut String, mapping: &Mapping, judged: Option<&Judged>, painter: Painter) {
    let head = format!(
        "{}:{} {} ({} {})",
        printable(&mapping.file),
        mapping.span.line,
        printable(&mapping.name),
        mapping.system,
        mapping.version
    );
    let _ = writeln!(text, "{}", painter.bold(&head));
    let mut lines = vec![mapping.policy.to_string(), amplification(&mapping.policy)];
    if mapping.evidence == Evidence::Read {
        lines.push(format!(
            "read in the source of {} {}, not run",
            mapping.system, mapping.version
        ));
    }
    for lost in &mapping.lost {
        lines.push(format!("not expressible: {}: {}", lost.what, lost.why));
    }
    for line in lines {
        text.push_str(&indented("  ", &printable(&line)));
    }
    if let Some(judged) = judged {
        let verdict = judged.verdict.map_or("no verdict", Verdict::as_str);
        let _ = writeln!(
            text,
            "  {}",
            painter.paint(verdict_colour(judged.verdict), verdict)
        );
        text.push_str(&indented("  ", &judgement(judged)));
    }
    text.push('\n');
}

/// What an outage makes of each first try.
pub fn amplification(policy: &Policy) -> String {
    let most = most_attempts(policy);
    if most.is_infinite() {
        return "while all attempts fail, nothing bounds how many a first try becomes".into();
    }
    format!(
        "while all attempts fail, a first try becomes {} of them at most",
        plain(most)
    )
}

/// The figures of a verdict.
pub fn judgement(judged: &Judged) -> String {
    let capacity = judged.hidden_capacity.map(|it| {
        format!(
            " Up to {} first tries a second the service comes back by itself.",
            plain(it.floor())
        )
    });
    format!(
        "{}.{}",
        judged.evidence.trim_end_matches('.'),
        capacity.unwrap_or_default()
    )
}

fn conclusion(told: &Told<'_>) -> String {
    let of = |severity| {
        told.checked
            .findings
            .iter()
            .filter(|it| it.severity == severity)
            .count()
    };
    let counted = |count: usize, noun: &str| {
        let plural = if count == 1 { "" } else { "s" };
        format!("{count} {noun}{plural}")
    };
    format!(
        "{}: {}, {}, {}; {}\n",
        counted(told.inputs.len(), "file"),
        counted(of(Severity::Error), "error"),
        counted(of(Severity::Warning), "warning"),
        counted(of(Severity::Note), "note"),
        match told.checked.mappings.len() {
            1 => "1 policy".into(),
            policies => format!("{policies} policies"),
        }
    )
}

/// As everywhere: red is bad.
pub const fn colour(severity: Severity) -> Colour {
    match severity {
        Severity::Error => Colour::Red,
        Severity::Warning => Colour::Orange,
        Severity::Note => Colour::Blue,
    }
}

/// The colour of a verdict.
pub const fn verdict_colour(verdict: Option<Verdict>) -> Colour {
    match verdict {
        Some(Verdict::Stable) => Colour::Green,
        Some(Verdict::Vulnerable) => Colour::Orange,
        None => Colour::Muted,
        Some(_) => Colour::Red,
    }
}
