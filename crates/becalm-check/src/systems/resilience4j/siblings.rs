//! What do the other modules of Resilience4j do at the methods that are repeated?
//!
//! The orders of the aspects in `resilience4j-spring6`: `Retry (CircuitBreaker (RateLimiter (TimeLimiter (Bulkhead (method)))))`.
//! All of it holds where a method has the annotations of both, with one name.

use super::super::spring::{duration, words};
use super::instance::{Configs, Levels, Named, named};
use super::{Draft, Node, Origin, Reading, Told, at, check, entry, get};
use crate::list::list;

/// Modules beside the retry, with what they do to it.
const OTHERS: [(&str, &str, &str); 4] = [
    (
        "circuitbreaker",
        "a breaker inside the retry: while it is open an attempt",
        "CallNotPermittedException",
    ),
    (
        "ratelimiter",
        "a limit inside the retry: an attempt that gets no place",
        "RequestNotPermitted",
    ),
    (
        "bulkhead",
        "a bulkhead inside the retry: an attempt that gets no place",
        "BulkheadFullException",
    ),
    (
        "thread-pool-bulkhead",
        "a bulkhead inside the retry: an attempt that gets no place",
        "BulkheadFullException",
    ),
];

/// Which exceptions of the other modules a retry repeats.
struct Refusals {
    named: Option<Vec<String>>,
    ignored: Vec<String>,
}

/// What all of them are, beside themselves.
const ABOVE: [&str; 4] = [
    "java.lang.RuntimeException",
    "java.lang.Exception",
    "java.lang.Throwable",
    "Throwable",
];

impl Refusals {
    fn of(levels: &Levels<'_>) -> Self {
        let classes = |name: &str| -> Option<Vec<String>> {
            let listed = words(levels.value(name)?);
            Some(listed.into_iter().map(|(class, _)| class).collect())
        };
        Self {
            named: classes("retryExceptions").filter(|it| !it.is_empty()),
            ignored: classes("ignoreExceptions").unwrap_or_default(),
        }
    }

    fn is_repeated(&self, refusal: &str) -> bool {
        let is_of = |all: &[String]| {
            all.iter()
                .any(|it| it.rsplit('.').next() == Some(refusal) || ABOVE.contains(&&**it))
        };
        !is_of(&self.ignored) && self.named.as_deref().is_none_or(is_of)
    }
}

/// Whether a module stands around the retry: its aspect comes first where its order is less.
fn is_outside(all: &Node, module: &str) -> bool {
    let (key, default) = match module {
        "circuitbreaker" => ("circuitBreakerAspectOrder", i32::MAX - 4),
        "ratelimiter" => ("rateLimiterAspectOrder", i32::MAX - 3),
        "bulkhead" => ("bulkheadAspectOrder", i32::MAX - 1),
        _ => return false,
    };
    let order = |module: &str, key: &str, default: i32| {
        let told = at(all, &[module, key]).and_then(Node::text);
        told.and_then(|it| it.parse().ok()).unwrap_or(default)
    };
    order(module, key, default) < order("retry", "retryAspectOrder", i32::MAX - 5)
}

/// The modules beside the retry.
pub struct Siblings<'n> {
    all: &'n Node,
    limiters: Named<'n>,
    limits: Configs<'n>,
    others: [Named<'n>; OTHERS.len()],
}

impl<'n> Siblings<'n> {
    pub fn of(all: &'n Node, is_alone: bool) -> Self {
        let limiter = get(all, "timelimiter");
        let both = ["instances", "backends"];
        Self {
            all,
            limiters: named(limiter, &both[..1]),
            limits: Configs::of(limiter, is_alone),
            others: OTHERS.map(|(module, ..)| named(get(all, module), &both)),
        }
    }

    /// What they have of this name.
    pub fn tell(
        &self,
        reading: &mut Reading<'_>,
        draft: &mut Draft,
        levels: &Levels<'_>,
        name: &str,
    ) {
        self.time_limiter(reading, draft, name);
        let refusals = Refusals::of(levels);
        for ((module, why, refusal), instances) in OTHERS.iter().zip(&self.others) {
            let Some((key, _)) = instances.get(name) else {
                continue;
            };
            let does = if is_outside(self.all, module) {
                format!(
                    "by the orders of the aspects it stands around the retry: one refusal ends the call, and {refusal} is not repeated"
                )
            } else if refusals.is_repeated(refusal) {
                format!("{why} fails with {refusal}, which is repeated as any other exception is")
            } else {
                format!("{why} fails with {refusal}, which is not repeated")
            };
            draft.lose(*module, does, Some(key.span));
        }
    }

    /// Inside the retry it ends an attempt, and outside, by `retryAspectOrder` or `timeLimiterAspectOrder`, the call.
    fn time_limiter(&self, reading: &mut Reading<'_>, draft: &mut Draft, name: &str) {
        let Some((_, given)) = self.limiters.get(name) else {
            return;
        };
        let levels = Levels::of(reading, &self.limits, name, given);
        let form = "a duration of Spring Boot, such as 2s";
        let told = reading.told(levels.value("timeoutDuration"), form, duration);
        let order = |reading: &mut Reading<'_>, module: &str, key: &str, default: i32| {
            let told = reading.told(at(self.all, &[module, key]), "a whole number", |it| {
                it.parse().ok()
            });
            told.known().unwrap_or(default)
        };
        let retry = order(reading, "retry", "retryAspectOrder", i32::MAX - 5);
        let limiter = order(
            reading,
            "timelimiter",
            "timeLimiterAspectOrder",
            i32::MAX - 2,
        );
        let (timeout, span) = match told {
            Told::Is(timeout, span) => (timeout, span),
            Told::Absent => (std::time::Duration::from_secs(1), given.span),
            Told::Unknown(span, text) => {
                draft.origin("attempt_timeout", Origin::Unknown(span, text));
                return;
            }
        };
        let timeout = Some(timeout.max(std::time::Duration::from_nanos(1)));
        let how =
            |place: &str| format!("where a method has @TimeLimiter as well, {place} the retry");
        if retry <= limiter {
            draft.policy.attempt_timeout = timeout;
            draft.origin("attempt_timeout", Origin::Derived(span, how("inside")));
        } else {
            draft.policy.deadline = timeout;
            draft.origin("deadline", Origin::Derived(span, how("outside")));
        }
    }
}

/// The fields of the breaker's `InstanceProperties`.
const BREAKER: &[&str] = list!(
    "waitDurationInOpenState slowCallDurationThreshold maxWaitDurationInHalfOpenState \
     transitionToStateAfterWaitDuration failureRateThreshold slowCallRateThreshold \
     slidingWindowType slidingWindowSize minimumNumberOfCalls \
     permittedNumberOfCallsInHalfOpenState automaticTransitionFromOpenToHalfOpenEnabled \
     initialState writableStackTraceEnabled allowHealthIndicatorToFail eventConsumerBufferSize \
     registerHealthIndicator recordFailurePredicate recordExceptions recordResultPredicate \
     ignoreExceptionPredicate ignoreExceptions baseConfig enableExponentialBackoff \
     exponentialBackoffMultiplier exponentialMaxWaitDurationInOpenState enableRandomizedWait \
     randomizedWaitFactor ignoreClassBindingExceptions"
);

/// Names that 1.7 reads still.
const OLD_BREAKER: &[&str] = &[
    "ringBufferSizeInClosedState",
    "ringBufferSizeInHalfOpenState",
];

/// Finds keys of breakers that are not read: without them a retry stands alone.
pub fn check_breakers(reading: &mut Reading<'_>, all: &Node) {
    let mut known = BREAKER.to_vec();
    if reading.version == "1.7" {
        known.extend(OLD_BREAKER);
    }
    for kind in ["configs", "instances", "backends"] {
        let given = entry(all, "circuitbreaker").and_then(|(_, it)| get(it, kind));
        for (_, breaker) in given.map_or(&[][..], Node::entries) {
            check(reading, Some(breaker), "a breaker", &known);
        }
    }
}
