//! What do people see in a terminal?

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt::Write as _;

use becalm::Policy;
use becalm_check::layers::Layers;
use becalm_check::shown::{grouped, printable};
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

/// How much is shown of what was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// The first line, and the errors.
    Quiet,
    /// What fits a screen, by kind and cause.
    Screen,
    /// Every finding and every policy.
    All,
}

/// A report with fewer findings and policies holds all of them.
const FEW: usize = 24;
/// Kinds that are shown of more.
const KINDS: usize = 9;
/// Places that are named with a kind.
const PLACES: usize = 3;
/// Policies that are shown of more.
const POLICIES: usize = 6;

/// What was found in one line; then the findings, the worst first; then what each file says, as a policy.
pub fn text(told: &Told<'_>, amount: Amount, stream: Stream) -> String {
    let painter = stream.painter();
    let mut text = conclusion(told);
    let (findings, mappings) = (&told.checked.findings, &told.checked.mappings);
    let is_shown = |it: &&Finding| amount != Amount::Quiet || it.severity == Severity::Error;
    let mut shown: Vec<&Finding> = findings.iter().filter(is_shown).collect();
    shown.sort_by_key(|it| Reverse(it.severity));
    if !shown.is_empty() {
        text.push('\n');
    }
    let is_few = shown.len() + mappings.len() <= FEW && told.inputs.len() <= 3;
    if is_few || amount == Amount::All {
        for finding in shown {
            one(&mut text, finding, told.input(&finding.file), painter);
        }
    } else {
        kinds(&mut text, &shown, told, painter);
    }
    if amount == Amount::Quiet {
        return text;
    }
    let most = if is_few || amount == Amount::All {
        usize::MAX
    } else {
        POLICIES
    };
    let mut sentences = Vec::new();
    for (at, mapping) in mappings.iter().enumerate() {
        // Of policies that say the same the first stands for all.
        let sentence = mapping.policy.to_string();
        if most < usize::MAX && sentences.contains(&sentence) {
            continue;
        }
        sentences.push(sentence);
        if sentences.len() > most {
            let _ = writeln!(text, "... and more policies: --all shows every one\n");
            break;
        }
        let judged = told.judged(at);
        if most < usize::MAX && judged.is_none() {
            let sentence = format!(
                "{}:{} {}: {}",
                mapping.file, mapping.span.line, mapping.name, mapping.policy
            );
            text.push_str(&filled(stream.columns(), "", &printable(&cut(&sentence))));
        } else {
            told_mapping(&mut text, mapping, judged, painter);
        }
    }
    if let Some(layers) = &told.layers {
        text.push_str(&filled(stream.columns(), "", &multiplied(layers)));
    }
    text
}

/// A sentence of at most two lines.
fn cut(sentence: &str) -> String {
    let mut cut: String = sentence.chars().take(156).collect();
    if cut.len() < sentence.len() {
        cut.push_str("...");
    }
    cut
}

/// One finding of each kind and remedy, with the places of the others.
fn kinds(text: &mut String, findings: &[&Finding], told: &Told<'_>, painter: Painter) {
    let mut kinds: Vec<Vec<&Finding>> = Vec::new();
    let mut places = HashMap::new();
    for finding in findings {
        let kind = (finding.severity, finding.code, &*finding.remedy);
        let at = *places.entry(kind).or_insert(kinds.len());
        if at == kinds.len() {
            kinds.push(Vec::new());
        }
        kinds[at].push(finding);
    }
    let is_written_out = |at: usize, it: &[&Finding]| at < 2 && it[0].severity > Severity::Note;
    for (at, kind) in kinds.iter().take(KINDS).enumerate() {
        if is_written_out(at, kind) {
            one(text, kind[0], told.input(&kind[0].file), painter);
            text.pop();
        } else {
            let head = format!("{}[{}]", kind[0].severity.as_str(), kind[0].code);
            let sentence = format!(
                "{}:{} {}",
                kind[0].file,
                kind[0].span.line,
                cut(&kind[0].sentence)
            );
            let _ = writeln!(
                text,
                "{}: {}",
                painter.paint(colour(kind[0].severity), &head),
                printable(&sentence)
            );
            if !kind[0].remedy.is_empty() {
                let _ = writeln!(text, "  = {}", printable(&kind[0].remedy));
            }
        }
        let others = &kind[1..];
        if !others.is_empty() {
            let named = others
                .iter()
                .take(PLACES)
                .map(|it| format!("{}:{}", it.file, it.span.line));
            let named = named.collect::<Vec<_>>().join(", ");
            let more = others.len().saturating_sub(PLACES);
            let more = if more == 0 {
                String::new()
            } else {
                format!(" and {} more", grouped(more))
            };
            let _ = writeln!(text, "  also {}{more}", printable(&named));
        }
        text.push('\n');
    }
    let hidden: usize = kinds.iter().skip(KINDS).map(Vec::len).sum();
    if hidden > 0 {
        let _ = writeln!(
            text,
            "... and {} more findings of {} kinds: --all shows every one\n",
            grouped(hidden),
            kinds.len() - KINDS
        );
    }
}

fn multiplied(layers: &Layers) -> String {
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
    format!(
        "layers: {all} attempts at the innermost for one request ({}); budgets bound what each layer adds, not the product{unnamed}",
        of.join(" x ")
    )
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
        format!("{} {noun}{plural}", grouped(count))
    };
    let policies = match told.checked.mappings.len() {
        1 => "1 policy".into(),
        policies => format!("{} policies", grouped(policies)),
    };
    let unread = told
        .checked
        .findings
        .iter()
        .filter(|it| it.code == "unknown-system")
        .count();
    let mut line = format!(
        "{}: {}, {}, {}; {policies}",
        counted(told.inputs.len(), "file"),
        counted(of(Severity::Error), "error"),
        counted(of(Severity::Warning), "warning"),
        counted(of(Severity::Note), "note"),
    );
    if unread > 0 {
        let _ = write!(
            line,
            "; of no system that is read: {}",
            counted(unread, "file")
        );
    }
    let allowed = told.checked.allowed.len() + told.known;
    if allowed > 0 {
        let _ = write!(line, "; let pass: {}", grouped(allowed));
    }
    line.push('\n');
    line
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
