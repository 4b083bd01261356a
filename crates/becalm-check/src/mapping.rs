//! What is a system's configuration as a policy, and where does each key come from?

use std::time::Duration;

use becalm::Policy;
use serde::{Serialize, Serializer};

use crate::document::Span;
use crate::evidence::Evidence;
use crate::system::Remedies;
use crate::told::Told;

/// How many names of what is called are told of a mapping: each route of a host would have those of the host.
pub(crate) const NAMES: usize = 100;

/// What a part of a file says about retrying: a policy, and what of it stands where.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Mapping {
    /// The name of the system, such as `envoy`.
    pub system: &'static str,
    /// The version whose defaults and meanings hold.
    pub version: &'static str,
    /// How it is known that the system does so.
    pub evidence: Evidence,
    /// The name of the file, as it was given.
    pub file: String,
    /// Where the retries are configured.
    pub span: Span,
    /// Which part of the file it is, for people: `route / to orders`.
    pub name: String,
    /// What other layers may call the service that is called: hosts, clusters, services.
    pub names: Vec<String>,
    /// The policy: what of the file a policy can hold.
    pub policy: Policy,
    /// Where each key of the policy comes from. A key that is not here is not of the system: it has
    /// the value that changes nothing.
    pub origins: Vec<(&'static str, Origin)>,
    /// What of the file a policy cannot hold.
    pub lost: Vec<NotExpressible>,
}

/// Where a key of a policy comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// From this place in the file.
    Line(Span),
    /// From this place, by a rule: `3 retries and the first try`.
    Derived(Span, String),
    /// The file says nothing: it is what the system does then.
    Default,
    /// The file has a placeholder; the value is the system's default.
    Unknown(Span, String),
    /// The system has something that a policy cannot say; why.
    NotExpressible(String),
}

/// Something of a file that a policy cannot hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct NotExpressible {
    /// The key or the words of the file.
    pub what: String,
    /// Why, or what it does.
    pub why: String,
    /// Where it stands; `None` of what the system does by itself.
    #[serde(rename = "line", serialize_with = "line")]
    pub span: Option<Span>,
}

impl Serialize for Origin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (from, line, how) = match self {
            Self::Line(span) => ("line", Some(span.line), None),
            Self::Derived(span, how) => ("line", Some(span.line), Some(&**how)),
            Self::Default => ("default", None, None),
            Self::Unknown(span, text) => ("unknown", Some(span.line), Some(&**text)),
            Self::NotExpressible(why) => ("not_expressible", None, Some(&**why)),
        };
        Record { from, line, how }.serialize(serializer)
    }
}

/// An origin, for programs.
#[derive(Serialize)]
struct Record<'a> {
    from: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    how: Option<&'a str>,
}

#[expect(clippy::ref_option, reason = "as serde calls it")]
fn line<S: Serializer>(span: &Option<Span>, serializer: S) -> Result<S::Ok, S::Error> {
    span.map(|it| it.line).serialize(serializer)
}

impl Origin {
    /// Of a value that is not known here.
    pub(crate) fn unknown<T>(told: &Told<T>) -> Option<Self> {
        match told {
            Told::Unknown(span, text) => Some(Self::Unknown(*span, text.clone())),
            Told::Absent | Told::Is(..) => None,
        }
    }

    /// An origin in another file than the retries: the finding stands at `at`, where they are configured, and names that file and line.
    pub(crate) fn of_file(self, file: &str, span: Span, at: Span) -> Self {
        let line = span.line;
        match self {
            Self::Line(_) => Self::Derived(at, format!("line {line} of {file}")),
            Self::Derived(_, how) => Self::Derived(at, format!("{how} (line {line} of {file})")),
            Self::Unknown(_, text) => Self::Unknown(at, text),
            other => other,
        }
    }
}

impl NotExpressible {
    /// Names the place where that is in another file.
    pub(crate) fn is_of_file(&mut self, file: &str, span: Span) {
        self.span = None;
        self.why = format!("{} (line {} of {file})", self.why, span.line);
    }
}

/// A mapping in the making: the system's defaults, and what the file says on top.
#[derive(Debug, Clone)]
pub struct Draft {
    /// The policy so far.
    pub policy: Policy,
    pub(crate) origins: Vec<(&'static str, Origin)>,
    pub(crate) lost: Vec<NotExpressible>,
    /// Where the retries are configured, if in another file than the mapping.
    pub(crate) elsewhere: Option<(String, Span)>,
    /// What helps against lints of this mapping, in place of the system's own remedies.
    pub(crate) remedies: Remedies,
}

impl Draft {
    /// What the system does without a word in the file, and which keys of it are the system's own
    /// (`attempts`, `base`, ...: the keys of policy files).
    pub fn of(policy: Policy, keys: &[&'static str]) -> Self {
        Self {
            policy,
            origins: keys.iter().map(|key| (*key, Origin::Default)).collect(),
            lost: Vec::new(),
            elsewhere: None,
            remedies: &[],
        }
    }

    /// Takes what the file says for this key; a value that is absent or unknown leaves the default.
    pub fn set<T>(
        &mut self,
        key: &'static str,
        told: Told<T>,
        change: impl FnOnce(&mut Policy, T),
    ) {
        match told {
            Told::Absent => {}
            Told::Unknown(span, text) => self.origin(key, Origin::Unknown(span, text)),
            Told::Is(value, span) => {
                change(&mut self.policy, value);
                self.origin(key, Origin::Line(span));
            }
        }
    }

    /// Takes a number of retries from this place, and returns how many attempts these are with the first try.
    pub(crate) fn retries(&mut self, retries: u32, span: Span) -> u32 {
        let attempts = retries.saturating_add(1);
        self.policy.attempts = attempts;
        let how = format!("{retries} retries and the first try");
        self.origin("attempts", Origin::Derived(span, how));
        attempts
    }

    /// Takes a number of retries; one that is absent or unknown leaves the default.
    pub(crate) fn told_retries(&mut self, told: Told<u32>) {
        match told {
            Told::Is(retries, span) => {
                self.retries(retries, span);
            }
            told => self.set("attempts", told, |_, _| {}),
        }
    }

    /// Takes how long all attempts may take together; 0 is without a bound.
    pub(crate) fn deadline(&mut self, told: Told<Duration>) {
        self.set("deadline", told, |policy, it| {
            policy.deadline = (!it.is_zero()).then_some(it);
        });
    }

    /// Takes how long an attempt may take; 0 is without a bound.
    pub(crate) fn attempt_timeout(&mut self, told: Told<Duration>) {
        self.set("attempt_timeout", told, |policy, it| {
            policy.attempt_timeout = (!it.is_zero()).then_some(it);
        });
    }

    /// Notes where this key comes from, in place of what was noted before.
    pub fn origin(&mut self, key: &'static str, origin: Origin) {
        match self.origins.iter_mut().find(|(it, _)| *it == key) {
            Some((_, before)) => *before = origin,
            None => self.origins.push((key, origin)),
        }
    }

    /// Notes what a policy cannot hold.
    pub fn lose(&mut self, what: impl Into<String>, why: impl Into<String>, span: Option<Span>) {
        self.lost.push(NotExpressible {
            what: what.into(),
            why: why.into(),
            span,
        });
    }
    /// Names the file of what has changed since, which stands in another than the retries at this place.
    pub(crate) fn came_from(&mut self, file: &str, at: Span, before: &Self) {
        for (key, origin) in &mut self.origins {
            if before
                .origins
                .iter()
                .any(|(it, was)| it == key && was == origin)
            {
                continue;
            }
            if let Origin::Line(span) | Origin::Derived(span, _) | Origin::Unknown(span, _) = origin
            {
                let span = *span;
                *origin = std::mem::replace(origin, Origin::Default).of_file(file, span, at);
            }
        }
        for lost in self.lost.iter_mut().skip(before.lost.len()) {
            if let Some(span) = lost.span {
                lost.is_of_file(file, span);
            }
        }
    }
}
