//! What does an instance of Resilience4j repeat?
//!
//! `RetryConfig.createExceptionPredicate`: everything that is thrown, or the classes and the predicate that are named, without
//! those that are ignored.

use becalm::retry_on::{Methods, RetryOn};

use super::super::spring::{Exceptions, words};
use super::instance::Levels;
use super::{Draft, Origin};

pub fn retry_on(draft: &mut Draft, levels: &Levels<'_>) {
    let classes = |name: &str| -> Option<Vec<String>> {
        let listed = words(levels.value(name)?);
        Some(listed.into_iter().map(|(class, _)| class).collect())
    };
    let of = |classes: &[String]| Exceptions::of(classes.iter().map(String::as_str));
    let named = classes("retryExceptions").filter(|it| !it.is_empty());
    let predicate = levels.value("retryExceptionPredicate");
    let ignored = of(&classes("ignoreExceptions").unwrap_or_default());
    let repeated = match (&named, predicate) {
        (Some(named), _) => of(named),
        (None, None) => Exceptions::all(),
        (None, Some(_)) => Exceptions::default(),
    };
    for (name, unknown) in [
        ("retryExceptions", &repeated.unknown),
        ("ignoreExceptions", &ignored.unknown),
    ] {
        let span = levels.value(name).map(|it| it.span);
        for class in unknown
            .iter()
            .filter(|it| !it.starts_with("io.github.resilience4j."))
        {
            let why = format!("a class of `{name}`: which failures it stands for is said in code");
            draft.lose(class.clone(), why, span);
        }
    }
    for name in ["retryExceptionPredicate", "resultPredicate"] {
        if let Some(node) = levels.value(name) {
            let why = "a class of the application says what is repeated";
            draft.lose(name, why, Some(node.span));
        }
    }
    let is_unknown = !repeated.unknown.is_empty() || predicate.is_some();
    let repeated = repeated.without(&ignored);
    let mut listed = RetryOn::new().methods(Methods::Any);
    let span = ["retryExceptions", "ignoreExceptions"];
    let span = span
        .iter()
        .find_map(|it| levels.value(it))
        .map(|it| it.span);
    if repeated.is_empty() && is_unknown {
        let why =
            "only code knows what the exceptions stand for; becalm's own classification stands in";
        draft.origin("retry_on", Origin::NotExpressible(why.into()));
    } else {
        listed = listed
            .statuses(repeated.statuses)
            .failures(repeated.failures);
        if let Some(span) = span {
            draft.origin("retry_on", Origin::Line(span));
        }
    }
    draft.policy.retry_on = listed.into();
}
