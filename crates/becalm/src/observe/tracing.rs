//! How do a call's events appear in a log or a trace?

use super::{About, Event, Observer};
use crate::stop::StopReason;

const TARGET: &str = "becalm";

/// Emits each event of a call through `tracing`, inside the span of the caller.
///
/// | event | level | fields |
/// |---|---|---|
/// | `attempt` | trace | `attempt` (from 1), `waited_seconds` |
/// | `retry` | info | `attempt` (the coming one), `delay_seconds`, `class`, `effect`, `error` |
/// | `recovered` | info | `attempts`, `elapsed_seconds` |
/// | `stopped` | warn; info if cancelled | `reason`, `attempts`, `elapsed_seconds`, `error` |
/// | `hedge` | debug | `attempt` (the copy's), `after_seconds` |
/// | `beaten` | debug | `attempt` (the cancelled copy's), `elapsed_seconds` |
/// | `breaker` | warn | `from`, `to`, `open_seconds` where it opens |
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

impl Observer for TracingObserver {
    fn on_event(&self, about: &About<'_>, event: &Event<'_>) {
        let (retrier, call) = (about.retrier, about.call);
        match *event {
            Event::Attempt { number, waited } => tracing::trace!(
                target: TARGET,
                retrier,
                call,
                attempt = number,
                waited_seconds = waited.as_secs_f64(),
                "attempt"
            ),
            Event::Retry {
                next,
                delay,
                class,
                effect,
                error,
            } => tracing::info!(
                target: TARGET,
                retrier,
                call,
                attempt = next,
                delay_seconds = delay.as_secs_f64(),
                class = class.as_str(),
                effect = effect.as_str(),
                error = error.map(tracing::field::display),
                "retry"
            ),
            Event::Recovered { attempts, elapsed } => tracing::info!(
                target: TARGET,
                retrier,
                call,
                attempts,
                elapsed_seconds = elapsed.as_secs_f64(),
                "recovered"
            ),
            Event::Stopped {
                reason,
                attempts,
                elapsed,
                error,
            } => {
                let (reason, elapsed_seconds) = (reason.as_str(), elapsed.as_secs_f64());
                let error = error.map(tracing::field::display);
                // Nothing is wrong where the caller has lost interest.
                if reason == StopReason::Cancelled.as_str() {
                    tracing::info!(
                        target: TARGET, retrier, call, reason, attempts, elapsed_seconds, error, "stopped"
                    );
                } else if reason == StopReason::NestedRetry.as_str() {
                    // Where this is a surprise, it is for one cause, and nothing else in the log
                    // tells it.
                    tracing::warn!(
                        target: TARGET, retrier, call, reason, attempts, elapsed_seconds, error,
                        "stopped: a layer above repeats it already; what outlives that layer or is \
                         shared, as a connection, starts with becalm::detached"
                    );
                } else {
                    tracing::warn!(
                        target: TARGET, retrier, call, reason, attempts, elapsed_seconds, error, "stopped"
                    );
                }
            }
            Event::Hedge { number, after } => tracing::debug!(
                target: TARGET,
                retrier,
                call,
                attempt = number,
                after_seconds = after.as_secs_f64(),
                "hedge"
            ),
            Event::Beaten { number, elapsed } => tracing::debug!(
                target: TARGET,
                retrier,
                call,
                attempt = number,
                elapsed_seconds = elapsed.as_secs_f64(),
                "beaten"
            ),
            Event::Breaker { from, to, open_for } => tracing::warn!(
                target: TARGET,
                retrier,
                call,
                from = from.as_str(),
                to = to.as_str(),
                open_seconds = open_for.map(|open| open.as_secs_f64()),
                "breaker"
            ),
            Event::BlocksRuntime => tracing::warn!(
                target: TARGET,
                retrier,
                "a blocking call waits on a thread of an async runtime"
            ),
        }
    }
}
