//! What do people see in a terminal?

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use becalm::Policy;
use becalm_check::layers::Layers;
use becalm_check::shown::{Folded, grouped, printable};
use becalm_check::{Evidence, Finding, Mapping, More, Severity};
use becalm_report::Colour;
use becalm_report::format::plain;
use becalm_report::terminal::{FIRST_LINES, Painter, fold};
use becalm_sim::study::Verdict;
use becalm_sim::verdict::most_attempts;

use super::frame::{colour, frame, hanging, remedy};
use super::service::Judged;
use super::told::{Told, weight};
use crate::storm;
use crate::stream::Stream;
use crate::wording::{filled, filled_within};

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

/// What was found; then the findings, the worst first; then what each file says, as a policy. What fits a screen stands
/// above the fold.
pub fn text(told: &Told<'_>, amount: Amount, stream: Stream) -> String {
    let (columns, painter) = (stream.columns(), stream.painter());
    let mappings = &told.checked.mappings;
    let is_shown =
        |it: &&Folded<'_>| amount != Amount::Quiet || it.finding.severity == Severity::Error;
    let mut shown: Vec<&Folded<'_>> = told.findings.iter().filter(is_shown).collect();
    shown.sort_by_key(|it| Reverse(weight(it.finding)));
    let places: usize = shown.iter().map(|it| 1 + it.also.len()).sum();
    let is_few = places + mappings.len() <= FEW && told.inputs.len() <= 3;
    let is_whole = is_few || amount == Amount::All;
    let mut blocks = if is_whole {
        let frames = shown
            .iter()
            .map(|it| framed(it, told, columns, painter) + &also_at(it, columns));
        frames.collect()
    } else {
        kinds(&shown, told, columns, painter)
    };
    if amount != Amount::Quiet {
        blocks.extend(policies(told, is_whole, columns, painter));
        let layers = told.layers.as_ref();
        blocks.extend(layers.map(|it| {
            let sentence = filled(columns, "", &multiplied(&it.layers));
            sentence + &told_judged(it.judged.as_ref(), columns, painter)
        }));
    }
    let mut text = conclusion(told, columns, painter);
    let lines = |it: &str| it.lines().count();
    let mut blocks = blocks.into_iter().peekable();
    while let Some(block) = blocks.next_if(|it| lines(&text) + 1 + lines(it) <= FIRST_LINES) {
        text += "\n";
        text += &block;
    }
    if blocks.peek().is_some() {
        if lines(&text) < FIRST_LINES {
            text += "\n";
        }
        text += &fold("what else was found, and each policy", columns, painter);
    }
    for block in blocks {
        text += "\n";
        text += &block;
    }
    text
}

/// What each file says, as a policy: a few in whole, and of many the first that say something else.
fn policies(told: &Told<'_>, is_whole: bool, columns: usize, painter: Painter) -> Vec<String> {
    let mappings = told.checked.mappings.iter().enumerate();
    if is_whole {
        let whole = mappings.map(|(at, it)| told_mapping(it, told.judged(at), columns, painter));
        return whole.collect();
    }
    let (mut blocks, mut lines) = (Vec::new(), String::new());
    let mut sentences = Vec::new();
    for (at, mapping) in mappings {
        // Of policies that say the same the first stands for all.
        let sentence = mapping.policy.to_string();
        if sentences.contains(&sentence) {
            continue;
        }
        sentences.push(sentence);
        if sentences.len() > POLICIES {
            lines += "... and more policies: --all shows every one\n";
            break;
        }
        if let Some(judged) = told.judged(at) {
            blocks.push(told_mapping(mapping, Some(judged), columns, painter));
            continue;
        }
        let sentence = format!(
            "{}:{} {}: {}",
            mapping.file, mapping.span.line, mapping.name, mapping.policy
        );
        lines += &filled(columns, "", &printable(&cut(&sentence)));
    }
    blocks.extend((!lines.is_empty()).then_some(lines));
    blocks
}

/// A sentence of at most two lines.
fn cut(sentence: &str) -> String {
    let mut cut: String = sentence.chars().take(156).collect();
    if cut.len() < sentence.len() {
        cut.push_str("...");
    }
    cut
}

fn framed(it: &Folded<'_>, told: &Told<'_>, columns: usize, painter: Painter) -> String {
    frame(it.finding, told.input(&it.finding.file), columns, painter)
}

/// All other places of a finding.
fn also_at(it: &Folded<'_>, columns: usize) -> String {
    let places = it.places().map(|it| filled(columns, "  ", &it));
    places.unwrap_or_default()
}

/// One finding of each kind and remedy, with the places of the others.
fn kinds(
    findings: &[&Folded<'_>],
    told: &Told<'_>,
    columns: usize,
    painter: Painter,
) -> Vec<String> {
    let mut kinds: Vec<Vec<&Folded<'_>>> = Vec::new();
    let mut places = HashMap::new();
    for folded in findings {
        let finding = folded.finding;
        let kind = (finding.severity, finding.code, &*finding.remedy);
        let at = *places.entry(kind).or_insert(kinds.len());
        if at == kinds.len() {
            kinds.push(Vec::new());
        }
        kinds[at].push(folded);
    }
    let block = |(at, kind): (usize, &Vec<&Folded<'_>>)| {
        let first = kind[0];
        let mut text = if at < 2 && first.finding.severity > Severity::Note {
            framed(first, told, columns, painter)
        } else {
            in_short(first.finding, columns, painter)
        };
        let others = kind[1..].iter();
        let others = others.flat_map(|it| std::iter::once(&it.finding).chain(&it.also));
        let mut others: Vec<_> = first.also.iter().chain(others).collect();
        // A file that is not named yet comes first.
        let mut files = HashSet::from([&*first.finding.file]);
        others.sort_by_cached_key(|it| !files.insert(&*it.file));
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
            text += &filled(columns, "  ", &printable(&format!("also {named}{more}")));
        }
        text
    };
    let mut blocks: Vec<String> = kinds.iter().take(KINDS).enumerate().map(block).collect();
    let is_shown = |it: &&More| {
        let mut all = findings.iter();
        all.any(|shown| shown.finding.severity == it.severity)
    };
    for more in told.checked.more.iter().filter(is_shown) {
        let head = format!("{}[{}]", more.severity.as_str(), more.code);
        let sentence = format!("{head}: {}", more.sentence());
        blocks.push(filled(columns, "", &printable(&sentence)));
    }
    let hidden: usize = kinds.iter().skip(KINDS).map(Vec::len).sum();
    if hidden > 0 {
        let more = format!(
            "... and {} more findings of {} kinds: --all shows every one",
            grouped(hidden),
            kinds.len() - KINDS
        );
        blocks.push(filled(columns, "", &more));
    }
    blocks
}

/// A finding without its line.
fn in_short(finding: &Finding, columns: usize, painter: Painter) -> String {
    let head = format!("{}[{}]:", finding.severity.as_str(), finding.code);
    let sentence = format!(
        "{head} {}:{} {}",
        finding.file,
        finding.span.line,
        cut(&finding.sentence)
    );
    let lines = hanging(&printable(&sentence), columns, 2).join("\n");
    let lines = match lines.strip_prefix(&head) {
        Some(rest) => painter.paint(colour(finding.severity), &head) + rest,
        None => lines,
    };
    lines + "\n" + &remedy(finding, 2, columns, painter)
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

fn told_mapping(
    mapping: &Mapping,
    judged: Option<&Judged>,
    columns: usize,
    painter: Painter,
) -> String {
    let mut text = String::new();
    let head = format!(
        "{}:{} {} ({} {})",
        printable(&mapping.file),
        mapping.span.line,
        printable(&mapping.name),
        mapping.system,
        mapping.version
    );
    for line in hanging(&head, columns, 2) {
        let _ = writeln!(text, "{}", painter.bold(&line));
    }
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
        text.push_str(&filled(columns, "  ", &printable(&line)));
    }
    text + &told_judged(judged, columns, painter)
}

/// The verdict, and on which figures it stands.
fn told_judged(judged: Option<&Judged>, columns: usize, painter: Painter) -> String {
    let Some(judged) = judged else {
        return String::new();
    };
    let verdict = judged.verdict.map_or("no verdict", Verdict::as_str);
    let verdict = painter.paint(verdict_colour(judged.verdict), verdict);
    format!("  {verdict}\n{}", filled(columns, "  ", &judgement(judged)))
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

fn conclusion(told: &Told<'_>, columns: usize, painter: Painter) -> String {
    let text = filled(columns, "", &counted(told));
    let verdicts = told.verdicts().into_iter().map(|(verdict, names)| {
        let word = verdict.map_or("no verdict", Verdict::as_str);
        let of = format!("{word}: {}", printable(&names.join(", ")));
        let (of, _) = filled_within(VERDICT, columns, &of);
        match of.strip_prefix(word) {
            Some(names) => painter.paint(verdict_colour(verdict), word) + names,
            None => of,
        }
    });
    text + &verdicts.collect::<String>()
}

/// Lines of the names under one verdict.
const VERDICT: usize = 2;

/// How many there are of what.
pub fn counted(told: &Told<'_>) -> String {
    let of = |severity| told.count(severity);
    let counted = |count: usize, noun: &str| {
        let plural = if count == 1 { "" } else { "s" };
        format!("{} {noun}{plural}", grouped(count))
    };
    let policies = match told.policies() {
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
    line
}

/// The colour of a verdict.
pub fn verdict_colour(verdict: Option<Verdict>) -> Colour {
    verdict.map_or(Colour::Muted, storm::colour)
}
