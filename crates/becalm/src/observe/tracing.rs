//! How do a call's events appear in a log or a trace?

use core::time::Duration;

use super::{About, Event, Observer, Shown};
use crate::stop::StopReason;

const TARGET: &str = "becalm";

/// Emits each event of a call through `tracing`, inside the span of the caller.
///
/// | event | level | fields |
/// |---|---|---|
/// | `attempt` | trace | `attempt` (from 1), `waited_seconds` |
/// | `retry` | info | `attempt` (the coming one), `delay_seconds`, `class`, `effect`, `error` |
/// | `waits for a token` | info | `attempt` (the coming one), `delay_seconds` |
/// | `recovered` | info | `attempts`, `elapsed_seconds` |
/// | `stopped` | warn; info if cancelled | `reason`, `attempts`, `elapsed_seconds`, `error` |
/// | `hedge` | debug | `attempt` (the copy's), `after_seconds` |
/// | `beaten` | debug | `attempt` (the cancelled copy's), `elapsed_seconds` |
/// | `breaker` | warn | `from`, `to`, `open_seconds` where it opens |
/// | `observed` | info | `would`, `reason` of a stop or a refusal, `time_seconds` of a delay or a running attempt |
/// | `a blocking call waits ..` | warn | |
///
/// The target of all is `becalm`, and all carry `retrier` and, inside of a call, `call`: its number, which
/// no other call of the process has. `http.request.resend_count` of OpenTelemetry is `attempt` - 1. `class`, `effect` and `reason` are from the closed sets of
/// [`Class`](crate::Class), [`Effect`](crate::Effect) and [`StopReason`](crate::StopReason);
/// times are seconds. No retry is silent at the usual level, and a call that succeeds at once
/// emits nothing above trace.
///
/// ```
/// use becalm::Policy;
/// use becalm::observe::TracingObserver;
///
/// let orders = Policy::default().builder().name("orders").observer(TracingObserver).build()?;
/// # let _ = orders;
/// # Ok::<(), becalm::policy::InvalidPolicy>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct TracingObserver;

/// Emits one, of this retrier and call.
macro_rules! emit {
    ($level:ident, $about:ident, $($field:ident = $value:expr,)* $sentence:literal) => {
        tracing::$level!(
            target: TARGET,
            retrier = $about.retrier,
            call = $about.call,
            $($field = $value,)*
            $sentence
        )
    };
}

impl Observer for TracingObserver {
    fn on_event(&self, about: &About<'_>, event: &Event<'_>) {
        match *event {
            Event::Attempt { number, waited } => emit! {
                trace, about, attempt = number, waited_seconds = waited.as_secs_f64(), "attempt"
            },
            Event::Retry {
                next,
                delay,
                class,
                effect,
                error,
            } => emit! {
                info, about, attempt = next, delay_seconds = delay.as_secs_f64(), class = class.as_str(),
                effect = effect.as_str(), error = error.map(tracing::field::display), "retry"
            },
            Event::WaitsForToken { next, delay } => emit! {
                info, about, attempt = next, delay_seconds = delay.as_secs_f64(), "waits for a token"
            },
            Event::Recovered { attempts, elapsed } => emit! {
                info, about, attempts = attempts, elapsed_seconds = elapsed.as_secs_f64(), "recovered"
            },
            Event::Stopped {
                reason,
                attempts,
                elapsed,
                error,
            } => stopped(about, reason, attempts, elapsed, error),
            Event::Hedge { number, after } => emit! {
                debug, about, attempt = number, after_seconds = after.as_secs_f64(), "hedge"
            },
            Event::Beaten { number, elapsed } => emit! {
                debug, about, attempt = number, elapsed_seconds = elapsed.as_secs_f64(), "beaten"
            },
            Event::Breaker { from, to, open_for } => emit! {
                warn, about, from = from.as_str(), to = to.as_str(),
                open_seconds = open_for.map(|open| open.as_secs_f64()), "breaker"
            },
            Event::Observed { would } => emit! {
                info, about, would = would.as_str(), reason = would.reason().map(StopReason::as_str),
                time_seconds = would.time().map(|time| time.as_secs_f64()), "observed"
            },
            Event::BlocksRuntime => tracing::warn!(
                target: TARGET,
                retrier = about.retrier,
                "a blocking call waits on a thread of an async runtime"
            ),
        }
    }
}

fn stopped(
    about: &About<'_>,
    reason: StopReason,
    attempts: u32,
    elapsed: Duration,
    error: Option<Shown<'_>>,
) {
    macro_rules! stopped {
        ($level:ident, $sentence:literal) => {
            emit!(
                $level,
                about,
                reason = reason.as_str(),
                attempts = attempts,
                elapsed_seconds = elapsed.as_secs_f64(),
                error = error.map(tracing::field::display),
                $sentence
            )
        };
    }
    match reason {
        // Nothing is wrong where the caller has lost interest.
        StopReason::Cancelled => stopped!(info, "stopped"),
        // Where this is a surprise, it is for one cause, and nothing else in the log tells it.
        StopReason::NestedRetry => stopped!(
            warn,
            "stopped: a layer above repeats it already; what outlives that layer or is shared, as a \
             connection, starts with becalm::detached"
        ),
        _ => stopped!(warn, "stopped"),
    }
}
