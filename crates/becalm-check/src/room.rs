//! Is there time for every attempt, where more than the time-outs of a policy ends them?

use std::time::Duration;

use becalm::Policy;
use becalm::classify::FailureKind;

use crate::code;
use crate::document::Span;
use crate::mapping::{Draft, Origin};
use crate::reading::Reading;
use crate::told::Told;

const FILLS: &str = "attempt-timeout-fills-deadline";

/// How long a system tries to connect.
#[derive(Debug)]
pub struct Connecting<'a> {
    /// The key: `connect_timeout`.
    pub name: &'a str,
    pub time: Told<Duration>,
    /// Where nothing is said.
    pub default: Duration,
    /// What to change.
    pub remedy: &'a str,
}

impl Reading<'_> {
    /// Tells where servers that are not reached leave no room for all attempts: no time-out of an attempt ends connecting.
    pub fn room_to_connect(&mut self, draft: &Draft, connecting: &Connecting<'_>, at: Span) {
        let (time, span, whose) = match &connecting.time {
            Told::Is(time, span) => (*time, Some(*span), "a"),
            Told::Absent => (connecting.default, None, "the default"),
            Told::Unknown(..) => return,
        };
        let listed = draft.policy.retry_on.as_deref();
        let failures = listed.and_then(|it| it.failures);
        if failures.is_some_and(|it| !it.contains(FailureKind::ConnectTimeout)) {
            return;
        }
        // What a system does by itself in all files is no news.
        let is_said = |it: &(&str, Origin)| {
            it.0 == "deadline" && matches!(it.1, Origin::Line(_) | Origin::Derived(..))
        };
        if span.is_none() && !draft.origins.iter().any(is_said) {
            return;
        }
        let Some(filled) = self.filled(draft, |policy| policy.attempt_timeout = Some(time)) else {
            return;
        };
        let sentence = format!(
            "where no server is reached, with {whose} `{}`, {filled}",
            connecting.name
        );
        let code = code::CONNECT_TIMEOUT_FILLS_DEADLINE;
        match span {
            Some(span) => self.find(span, code, sentence, connecting.remedy),
            None => self.note(at, code, sentence, connecting.remedy),
        }
    }

    /// Tells where something around a request ends it before all attempts are made.
    pub fn room_before(&mut self, draft: &Draft, name: &str, end: &Told<Duration>, remedy: &str) {
        let Told::Is(end, span) = *end else { return };
        let is_first = draft.policy.deadline.is_none_or(|it| end < it);
        if end.is_zero() || !is_first {
            return;
        }
        let Some(filled) = self.filled(draft, |policy| policy.deadline = Some(end)) else {
            return;
        };
        let sentence = filled.replace("the deadline", &format!("`{name}`"));
        self.find(span, code::ENDS_BEFORE_RETRIES, sentence, remedy);
    }

    /// What the lint of a policy says that was changed so.
    fn filled(&mut self, draft: &Draft, change: impl FnOnce(&mut Policy)) -> Option<String> {
        let is_unknown =
            |it: &(&str, Origin)| matches!(it, ("deadline" | "attempts", Origin::Unknown(..)));
        if draft.origins.iter().any(is_unknown) {
            return None;
        }
        let mut policy = draft.policy.clone();
        change(&mut policy);
        policy.attempt_timeout.and(policy.deadline)?;
        let lints = self.linted.of(&policy);
        let lint = lints.iter().find(|it| it.code == FILLS)?;
        let (sentence, _) = lint.message.rsplit_once("; ")?;
        Some(sentence.to_owned())
    }
}
