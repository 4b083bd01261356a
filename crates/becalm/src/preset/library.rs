//! What do retry libraries do by default?

use super::{A_YEAR, BARE, FINAGLE_BUDGET, Preset, ms, secs};
use crate::backoff::Backoff;
use crate::breaker::{Breaker, Refuses, Span, Trip};
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
    refuses: Refuses::All,
};

presets! {
    "polly" of "Polly 8, RetryStrategyOptions, as of November 2026":
        FIXED { attempts: 4, base: secs(2) };

    "polly-http-standard" of "Microsoft.Extensions.Http.Resilience, standard handler, as of November 2026":
        BARE {
            attempts: 4, base: secs(2), jitter: Jitter::Full, deadline: Some(secs(30)),
            attempt_timeout: Some(secs(10)), hint: HintMode::Honor, max_hint: A_YEAR,
            bulkhead: Some(POLLY_BULKHEAD), breaker: Some(POLLY_BREAKER),
        }
        but "Full jitter stands for DecorrelatedJitterBackoffV2, whose means are 1.7, 2.3 and \
             4.2 s where these are 1, 2 and 4 s; the handler waits for a hint without jitter \
             on top, repeats every method, and lets 1000 calls run at once, waits included, \
             where this policy counts attempts.";

    "polly-hedging" of "Polly 8, HedgingStrategyOptions, as of November 2026":
        POLLY_HEDGING {};

    "polly-http-hedging" of "Microsoft.Extensions.Http.Resilience, standard hedging handler, as of November 2026":
        POLLY_HEDGING {
            deadline: Some(secs(30)), attempt_timeout: Some(secs(10)),
            bulkhead: Some(POLLY_BULKHEAD), breaker: Some(POLLY_BREAKER),
        }
        but "There each endpoint has a bulkhead and a breaker of its own, and a call that one \
             refuses goes to the next; the handler repeats every method.";

    "resilience4j" of "Resilience4j, RetryConfig.ofDefaults, as of November 2026":
        FIXED { attempts: 3, base: ms(500) };

    "resilience4j-exponential-random" of "Resilience4j, IntervalFunction.ofExponentialRandomBackoff, as of November 2026":
        BARE { attempts: 3, base: ms(500), multiplier: 1.5, jitter: Jitter::Proportional(0.5) };

    "failsafe-java" of "Failsafe for Java, RetryPolicy defaults, as of November 2026":
        FIXED { attempts: 3 };

    "failsafe-go" of "failsafe-go, retry policy defaults, as of November 2026":
        FIXED { attempts: 3 }
        but "Its budget, where one is set, is concurrency:0.2,floor:3, and is asked after the \
             wait and not before it.";

    "finagle" of "Finagle, requeues and MethodBuilder, as of November 2026":
        FIXED { attempts: 3, budget: FINAGLE_BUDGET }
        but "There one request may requeue at most a fifth of what its budget has left.";

    "finagle-dead-mark" of "Finagle, FailureAccrualFactory, as of November 2026":
        BARE { base: secs(5), cap: secs(300), jitter: Jitter::Equal }
        but "There the delays at the cap of 300 s have no jitter.";

    "tenacity" of "tenacity, bare @retry, as of November 2026":
        FIXED {};

    "tenacity-random-exponential" of "tenacity, wait_random_exponential, as of November 2026":
        BARE { base: secs(1), jitter: Jitter::Full };

    "tenacity-exponential-jitter" of "tenacity, wait_exponential_jitter, as of November 2026":
        BARE { base: secs(1), jitter: Jitter::Additive(secs(1)) };

    "stamina" of "stamina, as of November 2026":
        BARE {
            attempts: 10, base: ms(100), cap: secs(5), jitter: Jitter::Additive(secs(1)),
            deadline: Some(secs(45)),
        }
        but "There the jitter is added before the cap, which clips it, so that all clients at \
             the cap wait exactly 5 s; here it stays spread below the cap; its limit of 45 s \
             cuts no running attempt.";

    "urllib3" of "urllib3 2.8.0, Retry()":
        BARE { attempts: 11, cap: secs(120), hint: HintMode::Honor, max_hint: secs(6 * 60 * 60) }
        but "urllib3 heeds Retry-After on 413, 429 and 503 only, waits for it without jitter \
             on top, and cuts a longer one to 6 h, where this policy stops.";

    "cockatiel" of "cockatiel, ExponentialBackoff, as of November 2026":
        BARE { base: ms(128), cap: secs(30), jitter: Jitter::Full }
        but "Full jitter stands for the decorrelated jitter of Polly, whose first mean is \
             0.87 of the base where this one is half of it.";

    "p-retry" of "p-retry, as of November 2026":
        BARE { attempts: 11, base: secs(1) };

    "spring-retry" of "Spring Retry, ExponentialBackOffPolicy, as of November 2026":
        BARE { attempts: 3, base: ms(100), cap: secs(30) };

    "spring-retry-fixed" of "Spring Retry, FixedBackOffPolicy, as of November 2026":
        FIXED { attempts: 3, base: secs(1) };

    "spring-framework-7" of "Spring Framework 7, core retry":
        FIXED { attempts: 4, base: secs(1) };

    "go-retryablehttp" of "hashicorp/go-retryablehttp, as of November 2026":
        BARE {
            attempts: 5, base: secs(1), cap: secs(30), hint: HintMode::Honor, max_hint: A_YEAR,
        }
        but "It heeds Retry-After on 429 and 503 only, and waits for it without jitter on \
             top.";

    "cenkalti" of "cenkalti/backoff v5, as of November 2026":
        BARE {
            base: ms(500), multiplier: 1.5, cap: secs(60), jitter: Jitter::Proportional(0.5),
            deadline: Some(secs(15 * 60)),
        }
        but "It jitters after the cap and may wait half as long again as 60 s; its limit of \
             15 min cuts no running attempt.";

    "k8s-default-retry" of "client-go, retry.DefaultRetry, as of November 2026":
        FIXED { attempts: 5, base: ms(10), jitter: Jitter::Additive(ms(1)) };

    "k8s-default-backoff" of "client-go, retry.DefaultBackoff, as of November 2026":
        BARE { attempts: 4, base: ms(10), multiplier: 5.0, jitter: Jitter::Proportional(0.1) }
        but "There up to a tenth of the delay is added on top; here a tenth is drawn to \
             either side.";

    "k8s-workqueue" of "client-go, DefaultTypedControllerRateLimiter, as of November 2026":
        BARE { base: ms(5), cap: secs(1000) }
        but "The token bucket of 10 a second and 100 at once, which delays all items of a \
             queue, is left out.";

    "k8s-client-rest" of "client-go, rest.Request, as of November 2026":
        FIXED { attempts: 11, hint: HintMode::Honor, max_hint: A_YEAR }
        but "client-go retries only when a 429 or 5xx carries Retry-After in seconds, and \
             waits exactly that long; this policy also retries, at once, without one.";
}
