//! How does a system read a document?

use std::time::Duration;

use foldhash::{HashMap, HashSet};

use crate::below::Below;
use crate::chart;
use crate::code::{self, Code};
use crate::document::{Document, Node, Span};
use crate::durations::{gateway_duration, go_duration, proto_duration};
use crate::evidence::Evidence;
use crate::finding::{Finding, shortened};
use crate::kept::{Beyond, Tally, hashed};
use crate::linted::Linted;
use crate::lints::{self, Danger};
use crate::mapping::{Draft, Mapping};
use crate::scalars::{self, Scalars};
use crate::severity::Severity;
use crate::system::System;
use crate::template;
use crate::told::Told;
use crate::weight;

/// One document in the hands of one system, and what is noted on the way.
#[derive(Debug)]
#[non_exhaustive]
pub struct Reading<'a> {
    /// What is read.
    pub document: Document<'a>,
    /// The version whose defaults and meanings hold.
    pub version: &'static str,
    /// What a value that is not understood is: where the system refuses a file for it, [`code::REFUSED`].
    pub misread: Code,
    /// Of values that a placeholder names a default for, which stands in the tree: the text of the file, by its place.
    pub defaults: HashMap<Span, String>,
    /// How it is known what this version does, where that is not how it is known of the system.
    pub evidence: Evidence,
    /// The file that the document is read on top of, as part of one tree.
    pub(crate) below: Option<Below<'a>>,
    pub(crate) system: &'static System,
    /// Those that the next mapping may still change, or the last one has.
    findings: Vec<Finding>,
    /// How many of them are of the last mapping.
    mapped: usize,
    /// Those that nothing changes any more.
    pub(crate) settled: Vec<Finding>,
    /// How many findings were settled, whether they were kept or not.
    passed: usize,
    pub(crate) tally: Tally,
    /// What is told once, as a hash: a code at a place of a file, of retries that may stand at a place of another.
    told: HashSet<u64>,
    pub(crate) linted: Linted,
    pub(crate) mappings: Vec<Mapping>,
}

/// A text that is made where it is kept alone.
pub(crate) struct Later<F>(pub F);

impl<F: FnOnce() -> String> From<Later<F>> for String {
    fn from(later: Later<F>) -> Self {
        later.0()
    }
}

/// How much a reading had found at some time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    found: usize,
    settled: usize,
    beyond: usize,
}

impl<'a> Reading<'a> {
    pub(crate) fn new(
        document: Document<'a>,
        system: &'static System,
        version: &'static str,
    ) -> Self {
        Self {
            document,
            version,
            misread: code::NOT_UNDERSTOOD,
            defaults: HashMap::default(),
            evidence: system.evidence,
            below: None,
            system,
            findings: Vec::new(),
            mapped: 0,
            settled: Vec::new(),
            passed: 0,
            tally: Tally::default(),
            told: HashSet::default(),
            linted: Linted::default(),
            mappings: Vec::new(),
        }
    }

    /// Notes a finding.
    pub fn find(
        &mut self,
        span: Span,
        code: Code,
        sentence: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        let file = self.document.file;
        let kind = (code.name, code.severity);
        if self.may_change(code.name) || self.tally.keeps(kind) {
            self.findings
                .push(Finding::new(file, span, code, sentence, remedy));
        } else {
            let sentence = shortened(sentence.into());
            let remedy = shortened(remedy.into());
            let beyond = Beyond::new(kind, span, &sentence, (&sentence, &remedy));
            self.tally.beyond.add(file, beyond);
        }
    }

    /// Notes a finding that begins with what it is about: `cause` may be so of more than this.
    pub fn find_of(
        &mut self,
        about: &str,
        span: Span,
        code: Code,
        cause: &str,
        remedy: impl Into<String>,
    ) {
        let before = self.findings.len();
        self.find(span, code, format!("{about}: {cause}"), remedy);
        for finding in &mut self.findings[before..] {
            finding.about = about.len() + ": ".len();
        }
    }

    /// Notes that a value is of another type than the schema's, which is told once: nothing else is said of the value.
    pub(crate) fn refuse_type(&mut self, span: Span, sentence: String, remedy: String) {
        if self.told.insert(self.typed(span)) {
            self.find(span, code::REFUSED, sentence, remedy);
        }
    }

    fn typed(&self, span: Span) -> u64 {
        hashed(&(self.document.file, span, code::REFUSED.name))
    }

    /// Whether a finding is counted once nothing changes it any more, and not when it is found.
    fn may_change(&self, code: &str) -> bool {
        self.below.is_some() || weight::may_change(code)
    }

    /// How much was found so far.
    pub(crate) fn mark(&self) -> Mark {
        Mark {
            found: self.passed + self.findings.len(),
            settled: self.settled.len(),
            beyond: self.tally.beyond.of(self.document.file).len(),
        }
    }

    /// The code and the place of each finding since.
    pub(crate) fn since(&self, mark: Mark) -> impl Iterator<Item = (&'static str, Span)> {
        let settled = self.settled.iter().skip(mark.settled);
        let here = mark.found.saturating_sub(self.passed);
        let found = settled.chain(self.findings.iter().skip(here));
        let beyond = self.tally.beyond.of(self.document.file).iter();
        found
            .map(|it| (it.code, it.span))
            .chain(beyond.skip(mark.beyond).map(|it| (it.kind.0, it.span)))
    }

    /// Notes a finding that is worth knowing, and that no change of this file mends.
    pub fn note(
        &mut self,
        span: Span,
        code: Code,
        sentence: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        let severity = Severity::Note;
        self.find(span, Code { severity, ..code }, sentence, remedy);
    }

    /// Reads for a draft, whose retries are configured at this place, what stands in a file. Where that is another one, the
    /// findings are of it, and the origins name it.
    pub fn in_file(
        &mut self,
        file: &'a str,
        draft: &mut Draft,
        at: Span,
        read: impl FnOnce(&mut Self, &mut Draft),
    ) {
        let own = std::mem::replace(&mut self.document.file, file);
        let before = (file != own).then(|| draft.clone());
        read(self, draft);
        self.document.file = own;
        if let Some(before) = before {
            draft.came_from(file, at, &before);
        }
    }

    /// The system and its version, as they are told: `envoy 1.40`.
    pub fn who(&self) -> String {
        format!("{} {}", self.system.name, self.version)
    }

    /// What is said there, as `parse` understands it. A placeholder and what is not understood become
    /// findings; `form` says what is wanted: `a number of retries`.
    pub fn told<T>(
        &mut self,
        node: Option<&Node>,
        form: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Told<T> {
        match node {
            Some(node) if !node.is_null() => self.told_node(node, form, true, parse),
            _ => Told::Absent,
        }
    }

    /// What is said there, as `parse` understands it, where the system has no default.
    pub fn needed<T>(
        &mut self,
        node: &Node,
        form: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Option<(T, Span)> {
        match self.told_node(node, form, false, parse) {
            Told::Is(value, span) => Some((value, span)),
            Told::Absent | Told::Unknown(..) => None,
        }
    }

    /// What is said there, with numbers as the parser of the system has them.
    fn told_node<T>(
        &mut self,
        node: &Node,
        form: &str,
        has_default: bool,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Told<T> {
        let meant = self.system.schema.scalars.meant(node);
        let Some((value, meant)) = meant.and_then(|it| Some((parse(&it.text)?, it))) else {
            return self.read(node.text(), node.span, form, has_default, parse);
        };
        if meant.is_octal {
            let said = node.text().unwrap_or_default();
            let decimal = said.replacen('0', "", 1);
            let sentence = format!(
                "`{said}` is {}: YAML 1.1 reads a number that begins with 0 in base 8",
                meant.text
            );
            let remedy = format!("write {}, or {decimal} if that is meant", meant.text);
            self.find(node.span, code::OCTAL, sentence, remedy);
        }
        self.is_default(node.span);
        Told::Is(value, node.span)
    }

    /// What this text says, as `parse` understands it; `None` of a list or a mapping.
    pub fn told_text<T>(
        &mut self,
        text: Option<&str>,
        span: Span,
        form: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Told<T> {
        self.read(text, span, form, true, parse)
    }

    /// Takes a number of retries whose key is called attempts, and says so.
    pub(crate) fn attempts_are_retries(
        &mut self,
        draft: &mut Draft,
        key: &str,
        retries: u32,
        span: Span,
    ) {
        let all = draft.retries(retries, span);
        let sentence =
            format!("`{key}: {retries}` counts the retries: a request makes up to {all} attempts");
        self.find(span, code::ATTEMPTS_ARE_RETRIES, sentence, "");
    }

    /// Tells of a value that stands in for what is filled in elsewhere, if it does.
    pub fn is_default(&mut self, span: Span) {
        if let Some(text) = self.defaults.get(&span) {
            let sentence =
                format!("`{text}` is filled in elsewhere; the default that it names stands in");
            let remedy = "check the file with its values filled in";
            self.find(span, code::UNKNOWN_VALUE, sentence, remedy);
        }
    }

    /// `has_default` says what follows where the value is not known.
    fn read<T>(
        &mut self,
        text: Option<&str>,
        span: Span,
        form: &str,
        has_default: bool,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Told<T> {
        let shown = text.unwrap_or(NO_SCALAR);
        if let Some(value) = text.and_then(|it| parse(it.trim())) {
            self.is_default(span);
            return Told::Is(value, span);
        }
        if template::is_placeholder(shown) {
            let Document { file, together, .. } = self.document;
            let given = chart::value(file, together, shown);
            let parsed = given.and_then(|(it, values)| Some((parse(it.trim())?, it, values)));
            if let (Some((it, values)), None) = (chart::value(file, together, shown), &parsed) {
                let sentence = format!("`{it}`, as {values} has it, is not {form}");
                self.find(span, self.misread, sentence, format!("write {form}"));
                return Told::Unknown(span, shown.to_owned());
            }
            if chart::lacks(file, together, shown) {
                let sentence =
                    format!("no file of the chart's values has `{shown}`, which is left empty");
                let remedy = "add the value to `values.yaml`, or leave this out";
                self.find(span, code::NOT_UNDERSTOOD, sentence, remedy);
                return Told::Unknown(span, shown.to_owned());
            }
            if let Some((value, it, values)) = parsed {
                let sentence = format!(
                    "`{shown}` is filled in elsewhere; {it}, as {values} has it, stands in"
                );
                let remedy = "check what `helm template` prints";
                self.find(span, code::UNKNOWN_VALUE, sentence, remedy);
                return Told::Is(value, span);
            }
            let instead = if has_default {
                format!("the default of {} stands in", self.who())
            } else {
                "nothing stands in for it".to_owned()
            };
            self.find(
                span,
                code::UNKNOWN_VALUE,
                format!(
                    "`{shown}` is filled in elsewhere, so that {form} is not known here; {instead}"
                ),
                "check the file with its values filled in",
            );
        } else if !self.told.contains(&self.typed(span)) {
            let sentence = match text {
                Some(text) => format!("`{text}` is not {form}"),
                None => format!("{shown} stands where {form} is read"),
            };
            self.find(span, self.misread, sentence, format!("write {form}"));
        }
        Told::Unknown(span, shown.to_owned())
    }

    /// A whole number of at least 0.
    pub fn whole(&mut self, node: Option<&Node>, form: &str) -> Told<u32> {
        self.told(node, form, |text| text.parse().ok())
    }

    /// A number.
    pub fn number(&mut self, node: Option<&Node>, form: &str) -> Told<f64> {
        self.told(node, form, |text| {
            text.parse().ok().filter(|it: &f64| it.is_finite())
        })
    }

    /// `true` or `false`.
    pub fn flag(&mut self, node: Option<&Node>, form: &str) -> Told<bool> {
        if self.system.schema.scalars == Scalars::Go {
            let is_bare = node.is_some_and(scalars::is_flag);
            let bare = |text: &str| is_bare.then(|| scalars::flag(text))?;
            return self.told(node, form, |text| {
                scalars::go_flag(text).or_else(|| bare(text))
            });
        }
        self.told(node, form, |text| text.to_ascii_lowercase().parse().ok())
    }

    /// A duration as Go writes it, and Kubernetes' resources: `1m30s`, `1.5s`, `0`.
    pub fn go_duration(&mut self, node: Option<&Node>, form: &str) -> Told<Duration> {
        self.told(node, form, go_duration)
    }

    /// A duration of the Gateway API (GEP-2257): as Go's, in at most four whole numbers of at most five digits.
    pub fn gateway_duration(&mut self, node: Option<&Node>, form: &str) -> Told<Duration> {
        self.told(node, &format!("{form}, in whole numbers"), gateway_duration)
    }

    /// A duration as protobuf's JSON writes it: `0.5s`.
    pub fn proto_duration(&mut self, node: Option<&Node>, form: &str) -> Told<Duration> {
        self.told(node, form, proto_duration)
    }

    /// Ends the reading.
    pub(crate) fn end(&mut self) {
        self.settle(self.findings.len());
    }

    /// Counts as many findings, and keeps the first of each kind: nothing changes them any more. What stands in the file below is
    /// told of that one. What is so in the whole system is told once for each remedy: a system may have several servers.
    fn settle(&mut self, many: usize) {
        self.passed += many;
        self.mapped = self.mapped.saturating_sub(many);
        for mut finding in self.findings.drain(..many) {
            if let Some(below) = self.below {
                below.settle(&mut finding);
            }
            let code = finding.code;
            if weight::is_of_system(&finding) && !self.tally.is_first(self.system.name, &finding) {
                continue;
            }
            let is_counted = self.below.is_none() && !weight::may_change(code);
            if is_counted {
                self.settled.push(finding);
            } else {
                self.settled.extend(self.tally.kept(finding));
            }
        }
    }

    /// Ends a draft: a mapping with its lints, or a finding of why it is none. `name` says to people which part of the file
    /// it is, `names` what other layers may call what is called, `span` where the retries are
    /// configured.
    pub fn map(&mut self, draft: Draft, name: impl Into<String>, names: Vec<String>, span: Span) {
        let Draft {
            policy,
            origins,
            lost,
            elsewhere,
            remedies,
        } = draft;
        if let Err(invalid) = policy.validate() {
            let sentence = format!("no policy can have these values: {invalid}");
            self.find(span, code::NOT_A_POLICY, sentence, "");
            return;
        }
        self.settle(self.mapped);
        let mut mapping = Mapping {
            system: self.system.name,
            version: self.version,
            evidence: self.evidence,
            file: self.document.file.to_owned(),
            span,
            name: shortened(name.into()),
            names,
            policy,
            origins,
            lost,
        };
        // What the system itself has said of this mapping is said once.
        let said: Vec<_> = self.findings.iter().map(|it| it.code).collect();
        let total = code::NO_TOTAL_TIME.name;
        let bounds_nothing = said.contains(&code::BUDGET_BOUNDS_NOTHING.name);
        let is_again = |code: &str| {
            said.contains(&code) || said.contains(&total) && ["no-deadline", total].contains(&code)
        };
        let linted = self.linted.of(&mapping.policy);
        let is_written = weight::is_written(&mapping, self.system);
        for danger in lints::of(&mapping, is_written, self.system, remedies, &linted) {
            if is_again(danger.code) || self.is_told(&danger) {
                continue;
            }
            // One retry policy may serve many routes.
            let once = hashed(&(&mapping.file, danger.span, danger.code, &elsewhere));
            let is_said = bounds_nothing && danger.code == "large-budget";
            if self.told.insert(once) && !is_said && !self.is_left_out(&danger, &mapping) {
                self.findings.push(danger.finding(&mapping));
            }
        }
        if !is_written {
            self.findings.iter_mut().for_each(weight::of_default);
        }
        self.mapped = self.findings.len();
        if let Some(below) = self.below {
            below.name(&mut mapping, self.document.start());
        }
        self.mappings.extend(self.tally.kept_mapping(mapping));
    }

    /// Whether a danger is a note about the system that was told.
    fn is_told(&self, danger: &Danger<'_>) -> bool {
        let is_of_system = danger.severity == Severity::Note && self.below.is_none();
        is_of_system && (self.tally).is_told(self.system.name, danger.code, &danger.remedy)
    }

    /// Whether the finding of a danger would not be kept. A danger that is not kept is counted.
    fn is_left_out(&mut self, danger: &Danger<'_>, mapping: &Mapping) -> bool {
        let kind = (danger.code, danger.severity);
        if self.below.is_some() || danger.severity == Severity::Note {
            return false;
        }
        let is_full = self.tally.is_full(kind);
        if is_full {
            let cause = (&*danger.cause(mapping), &*danger.remedy);
            let beyond = Beyond::new(kind, danger.span, &danger.sentence(mapping), cause);
            self.tally.beyond.add(&mapping.file, beyond);
        }
        is_full
    }
}

const NO_SCALAR: &str = "a list or a mapping";
