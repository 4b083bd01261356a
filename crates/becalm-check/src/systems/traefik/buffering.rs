//! What does the middleware `buffering` repeat?
//!
//! `retryExpression`, of github.com/vulcand/oxy 2.2.0 (`buffer/buffer.go`, `buffer/threshold.go`): each answer for which it holds is thrown
//! away and the request sent again at once, whatever its method, in at most 11 attempts.

use becalm::classify::FailureKind;
use becalm::retry_on::{Codes, Failures, Methods, RetryOn, Statuses};

use super::Source;
use super::routers::Around;
use crate::code;
use crate::document::Node;
use crate::list::list;
use crate::mapping::{Draft, Origin};
use crate::reading::Reading;
use crate::system::Remedies;
use crate::systems::cenkalti::constant;

const KEYS: &[&str] = list!("attempts base jitter hint budget retry_on");

const REMEDIES: Remedies = &[
    ("retries-at-once", WITH_INTERVAL),
    ("no-growth", WITH_INTERVAL),
    (
        "repeats-non-idempotent",
        "add `&& RequestMethod() == \"GET\"` to each part of the expression",
    ),
    ("no-budget", LOWER),
    ("hints-ignored", LOWER),
    ("no-total-time", LOWER),
];
const LOWER: &str = "lower the number in `Attempts()` of the expression";
const WITH_INTERVAL: &str =
    "use the middleware `retry` with `initialInterval: 100ms` in place of `buffering`";

/// `DefaultMaxRetryAttempts` and the first try.
const MOST: u32 = 11;

/// What an expression repeats.
#[derive(Debug, PartialEq)]
struct Repeated {
    attempts: u32,
    statuses: Vec<u16>,
    /// None: all.
    methods: Option<Vec<String>>,
}

pub fn read(
    reading: &mut Reading<'_>,
    name: &str,
    buffering: &Node,
    source: Source,
    around: &Around<'_>,
) {
    let Some((key, node)) = source.entry(buffering, "retryExpression") else {
        return;
    };
    let told = reading.told(Some(node), "an expression", |it| Some(it.to_owned()));
    let Some(text) = told.known().filter(|it| !it.is_empty()) else {
        return;
    };
    let mut draft = Draft::of(constant(std::time::Duration::ZERO), KEYS);
    draft.remedies = REMEDIES;
    let repeated = expression(&text).unwrap_or_else(|| {
        let sentence = format!(
            "middleware {name}: what `retryExpression` repeats is not known here, in up to {MOST} attempts: each failure is taken for repeated"
        );
        reading.find(node.span, code::NOT_KNOWN, sentence, "");
        Repeated {
            attempts: MOST,
            statuses: (400..600).collect(),
            methods: None,
        }
    });
    if repeated.attempts <= 1 {
        let sentence = format!("middleware {name}: `retryExpression` holds for no first attempt");
        let remedy = "write `Attempts() < 2`, or leave it out";
        reading.find(key.span, code::NEVER_RETRIES, sentence, remedy);
        return;
    }
    draft.policy.attempts = repeated.attempts;
    let how = format!(
        "{} attempts, as the expression counts them",
        repeated.attempts
    );
    draft.origin("attempts", Origin::Derived(node.span, how));
    draft.policy.retry_on = lists(&repeated).into();
    draft.origin("retry_on", Origin::Line(node.span));
    let names = around.services.iter().map(|it| (*it).to_owned());
    let title = format!("middleware {name}");
    reading.map(draft, title, names.collect(), key.span);
}

fn lists(repeated: &Repeated) -> RetryOn {
    let has = |status: u16| repeated.statuses.contains(&status);
    let own = [
        (502, FailureKind::Connect),
        (502, FailureKind::Reset),
        (504, FailureKind::ConnectTimeout),
        (504, FailureKind::TimedOut),
    ];
    let failures = own.into_iter().filter(|(status, _)| has(*status));
    let failures = failures.fold(Failures::default(), |all, (_, kind)| all.and(kind));
    let methods = repeated.methods.as_ref();
    RetryOn::new()
        .methods(methods.map_or(Methods::Any, |it| {
            crate::systems::methods::listed(it.iter().collect())
        }))
        .statuses(repeated.statuses.iter().copied().collect::<Statuses>())
        .codes(Codes::default())
        .failures(failures)
}

/// `IsNetworkError() && Attempts() < 2`; `None` of what has brackets of its own, and of other words.
fn expression(text: &str) -> Option<Repeated> {
    let mut all: Option<Repeated> = None;
    for alternative in text.split("||") {
        let one = conjunction(alternative)?;
        all = Some(match all {
            None => one,
            Some(mut all) => {
                all.attempts = all.attempts.max(one.attempts);
                all.statuses.extend(one.statuses);
                all.methods = match (all.methods, one.methods) {
                    (Some(mut methods), Some(more)) => {
                        methods.extend(more);
                        Some(methods)
                    }
                    _ => None,
                };
                all
            }
        });
    }
    all
}

fn conjunction(text: &str) -> Option<Repeated> {
    let mut repeated = Repeated {
        attempts: MOST,
        statuses: (400..600).collect(),
        methods: None,
    };
    for term in text.split("&&").map(str::trim) {
        let (function, rest) = term.split_once("()")?;
        let rest = rest.trim();
        let operators = ["<=", ">=", "==", "!=", "<", ">"];
        let operator = operators.iter().find(|it| rest.starts_with(**it));
        let value = operator.map(|it| rest[it.len()..].trim());
        let number = || value?.parse::<u32>().ok();
        match (function, operator.copied()) {
            ("IsNetworkError", None) if rest.is_empty() => {
                repeated.statuses.retain(|it| [502, 504].contains(it));
            }
            ("Attempts", Some("<")) => repeated.attempts = repeated.attempts.min(number()?),
            ("Attempts", Some("<=")) => {
                repeated.attempts = repeated.attempts.min(number()?.saturating_add(1));
            }
            ("ResponseCode", Some(operator)) => {
                let number = number()?;
                repeated.statuses.retain(|it| {
                    let status = u32::from(*it);
                    match operator {
                        "<" => status < number,
                        "<=" => status <= number,
                        ">" => status > number,
                        ">=" => status >= number,
                        "==" => status == number,
                        _ => status != number,
                    }
                });
            }
            ("RequestMethod", Some("==")) => {
                let method = value?.trim_matches(['"', '`']).to_owned();
                repeated.methods = Some(vec![method]);
            }
            _ => return None,
        }
    }
    Some(repeated)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_count_the_first_try() {
        let told = |text: &str| expression(text).map(|it| (it.attempts, it.statuses, it.methods));
        assert_eq!(
            told("IsNetworkError() && Attempts() < 2"),
            Some((2, vec![502, 504], None))
        );
        assert_eq!(
            told("Attempts() <= 2 && ResponseCode() == 503 && RequestMethod() == `GET`"),
            Some((3, vec![503], Some(vec!["GET".into()])))
        );
        let both = told("ResponseCode() == 502 || ResponseCode() == 503 && Attempts() < 3");
        assert_eq!(both, Some((11, vec![502, 503], None)));
        for text in ["(IsNetworkError())", "Often()", "Attempts() < many", ""] {
            assert_eq!(expression(text), None, "{text}");
        }
    }
}
