//! What do retry libraries do by default?

use super::{A_YEAR, BARE, FINAGLE_BUDGET, Preset, ms, secs};
use crate::backoff::Backoff;
use crate::breaker::{Breaker, Span, Trip};
use crate::bulkhead::Bulkhead;
use crate::hedge::Hedge;
use crate::hint::HintMode;
use crate::jitter::Jitter;
use crate::policy::Policy;

const FIXED: Policy = Policy {
    backoff: Backoff::Fixed,
    ..BARE
};

/// A copy after 2 s, and at once where the first attempt has failed.
const POLLY_HEDGING: Policy = Policy {
    attempts: 2,
    hedge: Some(Hedge::after(secs(2))),
    ..FIXED
};

const POLLY_BULKHEAD: Bulkhead = Bulkhead::calls(1000);

/// Always as long open, and one good probe closes it.
const POLLY_BREAKER: Breaker = Breaker {
    trip: Trip::Share {
        share: 0.1,
        window: Span::Time(secs(30)),
    },
    min_calls: 100,
    slow: None,
    open: secs(5),
    open_max: secs(5),
    jitter: 0.0,
    probes: 1,
    successes: 1,
};

pub(super) const PRESETS: &[Preset] = &[
    Preset {
        name: "polly",
        source: "Polly 8, RetryStrategyOptions, as of November 2026",
        differs: None,
        policy: Policy {
            attempts: 4,
            base: secs(2),
            ..FIXED
        },
    },
    Preset {
        name: "polly-http-standard",
        source: "Microsoft.Extensions.Http.Resilience, standard handler, as of November 2026",
        differs: Some(
            "Full jitter stands for DecorrelatedJitterBackoffV2, whose means are 1.7, 2.3 and 4.2 \
             s where these are 1, 2 and 4 s; the handler waits for a hint without jitter on top, \
             repeats every method, and lets 1000 calls run at once, waits included, where this \
             policy counts attempts.",
        ),
        policy: Policy {
            attempts: 4,
            base: secs(2),
            jitter: Jitter::Full,
            deadline: Some(secs(30)),
            attempt_timeout: Some(secs(10)),
            hint: HintMode::Honor,
            max_hint: A_YEAR,
            bulkhead: Some(POLLY_BULKHEAD),
            breaker: Some(POLLY_BREAKER),
            ..BARE
        },
    },
    Preset {
        name: "polly-hedging",
        source: "Polly 8, HedgingStrategyOptions, as of November 2026",
        differs: None,
        policy: POLLY_HEDGING,
    },
    Preset {
        name: "polly-http-hedging",
        source: "Microsoft.Extensions.Http.Resilience, standard hedging handler, as of November 2026",
        differs: Some(
            "There each endpoint has a bulkhead and a breaker of its own, and a call that one \
             refuses goes to the next; the handler repeats every method.",
        ),
        policy: Policy {
            deadline: Some(secs(30)),
            attempt_timeout: Some(secs(10)),
            bulkhead: Some(POLLY_BULKHEAD),
            breaker: Some(POLLY_BREAKER),
            ..POLLY_HEDGING
        },
    },
    Preset {
        name: "resilience4j",
        source: "Resilience4j, RetryConfig.ofDefaults, as of November 2026",
        differs: None,
        policy: Policy {
            attempts: 3,
            base: ms(500),
            ..FIXED
        },
    },
    Preset {
        name: "resilience4j-exponential-random",
        source: "Resilience4j, IntervalFunction.ofExponentialRandomBackoff, as of November 2026",
        differs: None,
        policy: Policy {
            attempts: 3,
            base: ms(500),
            multiplier: 1.5,
            jitter: Jitter::Proportional(0.5),
            ..BARE
        },
    },
    Preset {
        name: "failsafe-java",
        source: "Failsafe for Java, RetryPolicy defaults, as of November 2026",
        differs: None,
        policy: Policy {
            attempts: 3,
            ..FIXED
        },
    },
    Preset {
        name: "failsafe-go",
        source: "failsafe-go, retry policy defaults, as of November 2026",
        differs: Some(
            "Its budget, where one is set, is concurrency:0.2,floor:3, and is asked after the wait \
             and not before it.",
        ),
        policy: Policy {
            attempts: 3,
            ..FIXED
        },
    },
    Preset {
        name: "finagle",
        source: "Finagle, requeues and MethodBuilder, as of November 2026",
        differs: Some("There one request may requeue at most a fifth of what its budget has left."),
        policy: Policy {
            attempts: 3,
            budget: FINAGLE_BUDGET,
            ..FIXED
        },
    },
    Preset {
        name: "finagle-dead-mark",
        source: "Finagle, FailureAccrualFactory, as of November 2026",
        differs: Some("There the delays at the cap of 300 s have no jitter."),
        policy: Policy {
            base: secs(5),
            cap: secs(300),
            jitter: Jitter::Equal,
            ..BARE
        },
    },
    Preset {
        name: "tenacity",
        source: "tenacity, bare @retry, as of November 2026",
        differs: None,
        policy: FIXED,
    },
    Preset {
        name: "tenacity-random-exponential",
        source: "tenacity, wait_random_exponential, as of November 2026",
        differs: None,
        policy: Policy {
            base: secs(1),
            jitter: Jitter::Full,
            ..BARE
        },
    },
    Preset {
        name: "tenacity-exponential-jitter",
        source: "tenacity, wait_exponential_jitter, as of November 2026",
        differs: None,
        policy: Policy {
            base: secs(1),
            jitter: Jitter::Additive(secs(1)),
            ..BARE
        },
    },
    Preset {
        name: "stamina",
        source: "stamina, as of November 2026",
        differs: Some(
            "There the jitter is added before the cap, which clips it, so that all clients at the \
             cap wait exactly 5 s; here it stays spread below the cap; its limit of 45 s cuts no \
             running attempt.",
        ),
        policy: Policy {
            attempts: 10,
            base: ms(100),
            cap: secs(5),
            jitter: Jitter::Additive(secs(1)),
            deadline: Some(secs(45)),
            ..BARE
        },
    },
    Preset {
        name: "urllib3",
        source: "urllib3 2.8.0, Retry()",
        differs: Some(
            "urllib3 heeds Retry-After on 413, 429 and 503 only, waits for it without jitter on \
             top, and cuts a longer one to 6 h, where this policy stops.",
        ),
        policy: Policy {
            attempts: 11,
            cap: secs(120),
            hint: HintMode::Honor,
            max_hint: secs(6 * 60 * 60),
            ..BARE
        },
    },
    Preset {
        name: "cockatiel",
        source: "cockatiel, ExponentialBackoff, as of November 2026",
        differs: Some(
            "Full jitter stands for the decorrelated jitter of Polly, whose first mean is 0.87 of \
             the base where this one is half of it.",
        ),
        policy: Policy {
            base: ms(128),
            cap: secs(30),
            jitter: Jitter::Full,
            ..BARE
        },
    },
    Preset {
        name: "p-retry",
        source: "p-retry, as of November 2026",
        differs: None,
        policy: Policy {
            attempts: 11,
            base: secs(1),
            ..BARE
        },
    },
    Preset {
        name: "spring-retry",
        source: "Spring Retry, ExponentialBackOffPolicy, as of November 2026",
        differs: None,
        policy: Policy {
            attempts: 3,
            base: ms(100),
            cap: secs(30),
            ..BARE
        },
    },
    Preset {
        name: "spring-retry-fixed",
        source: "Spring Retry, FixedBackOffPolicy, as of November 2026",
        differs: None,
        policy: Policy {
            attempts: 3,
            base: secs(1),
            ..FIXED
        },
    },
    Preset {
        name: "spring-framework-7",
        source: "Spring Framework 7, core retry",
        differs: None,
        policy: Policy {
            attempts: 4,
            base: secs(1),
            ..FIXED
        },
    },
    Preset {
        name: "go-retryablehttp",
        source: "hashicorp/go-retryablehttp, as of November 2026",
        differs: Some(
            "It heeds Retry-After on 429 and 503 only, and waits for it without jitter on top.",
        ),
        policy: Policy {
            attempts: 5,
            base: secs(1),
            cap: secs(30),
            hint: HintMode::Honor,
            max_hint: A_YEAR,
            ..BARE
        },
    },
    Preset {
        name: "cenkalti",
        source: "cenkalti/backoff v5, as of November 2026",
        differs: Some(
            "It jitters after the cap and may wait half as long again as 60 s; its limit of 15 \
             min cuts no running attempt.",
        ),
        policy: Policy {
            base: ms(500),
            multiplier: 1.5,
            cap: secs(60),
            jitter: Jitter::Proportional(0.5),
            deadline: Some(secs(15 * 60)),
            ..BARE
        },
    },
    Preset {
        name: "k8s-default-retry",
        source: "client-go, retry.DefaultRetry, as of November 2026",
        differs: None,
        policy: Policy {
            attempts: 5,
            base: ms(10),
            jitter: Jitter::Additive(ms(1)),
            ..FIXED
        },
    },
    Preset {
        name: "k8s-default-backoff",
        source: "client-go, retry.DefaultBackoff, as of November 2026",
        differs: Some(
            "There up to a tenth of the delay is added on top; here a tenth is drawn to either \
             side.",
        ),
        policy: Policy {
            attempts: 4,
            base: ms(10),
            multiplier: 5.0,
            jitter: Jitter::Proportional(0.1),
            ..BARE
        },
    },
    Preset {
        name: "k8s-workqueue",
        source: "client-go, DefaultTypedControllerRateLimiter, as of November 2026",
        differs: Some(
            "The token bucket of 10 a second and 100 at once, which delays all items of a queue, \
             is left out.",
        ),
        policy: Policy {
            base: ms(5),
            cap: secs(1000),
            ..BARE
        },
    },
    Preset {
        name: "k8s-client-rest",
        source: "client-go, rest.Request, as of November 2026",
        differs: Some(
            "client-go retries only when a 429 or 5xx carries Retry-After in seconds, and waits \
             exactly that long; this policy also retries, at once, without one.",
        ),
        policy: Policy {
            attempts: 11,
            hint: HintMode::Honor,
            max_hint: A_YEAR,
            ..FIXED
        },
    },
];
