//! How do a call's events appear in a log or a trace?

use super::{Event, Observer};
use crate::stop::StopReason;

const TARGET: &str = "becalm";

/// Emits each event of a call through `tracing`, inside the span of whoever makes the call.
///
/// | event | level | fields |
/// |---|---|---|
/// | `attempt` | trace | `retrier`, `attempt` (from 1), `waited_seconds` |
/// | `retry` | info | `retrier`, `attempt` (the coming one), `delay_seconds`, `class`, `effect` |
/// | `recovered` | info | `retrier`, `attempts`, `elapsed_seconds` |
/// | `stopped` | warn; info if cancelled | `retrier`, `reason`, `attempts`, `elapsed_seconds` |
/// | `hedge` | debug | `retrier`, `attempt` (the copy's), `after_seconds` |
/// | `beaten` | debug | `retrier`, `attempt` (the cancelled copy's), `elapsed_seconds` |
/// | `breaker` | warn | `retrier`, `from`, `to`, `open_seconds` where it opens |
/// | `a blocking call waits ..` | warn | `retrier` |
///
/// The target of all is `becalm`. `class`, `effect` and `reason` are from the closed sets of
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
/// # Ok::<(), becalm::InvalidPolicy>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct TracingObserver;

impl Observer for TracingObserver {
    fn on_event(&self, event: &Event<'_>) {
        match *event {
            Event::Attempt {
                retrier,
                number,
                waited,
            } => tracing::trace!(
                target: TARGET,
                retrier,
                attempt = number,
                waited_seconds = waited.as_secs_f64(),
                "attempt"
            ),
            Event::Retry {
                retrier,
                next,
                delay,
                class,
                effect,
            } => tracing::info!(
                target: TARGET,
                retrier,
                attempt = next,
                delay_seconds = delay.as_secs_f64(),
                class = class.as_str(),
                effect = effect.as_str(),
                "retry"
            ),
            Event::Recovered {
                retrier,
                attempts,
                elapsed,
            } => tracing::info!(
                target: TARGET,
                retrier,
                attempts,
                elapsed_seconds = elapsed.as_secs_f64(),
                "recovered"
            ),
            // Nothing is wrong where the caller has lost interest.
            Event::Stopped {
                retrier,
                reason: StopReason::Cancelled,
                attempts,
                elapsed,
            } => tracing::info!(
                target: TARGET,
                retrier,
                reason = StopReason::Cancelled.as_str(),
                attempts,
                elapsed_seconds = elapsed.as_secs_f64(),
                "stopped"
            ),
            // Where this is a surprise, it is for one cause, and nothing else in the log tells it.
            Event::Stopped {
                retrier,
                reason: StopReason::NestedRetry,
                attempts,
                elapsed,
            } => tracing::warn!(
                target: TARGET,
                retrier,
                reason = StopReason::NestedRetry.as_str(),
                attempts,
                elapsed_seconds = elapsed.as_secs_f64(),
                "stopped: a layer above repeats it already; what outlives that layer or is shared, \
                 as a connection, starts with becalm::detached"
            ),
            Event::Stopped {
                retrier,
                reason,
                attempts,
                elapsed,
            } => tracing::warn!(
                target: TARGET,
                retrier,
                reason = reason.as_str(),
                attempts,
                elapsed_seconds = elapsed.as_secs_f64(),
                "stopped"
            ),
            Event::Hedge { .. } | Event::Beaten { .. } | Event::Breaker { .. } => on_guard(event),
            Event::BlocksRuntime { retrier } => tracing::warn!(
                target: TARGET,
                retrier,
                "a blocking call waits on a thread of an async runtime"
            ),
        }
    }
}

/// Hedges, and the breaker.
fn on_guard(event: &Event<'_>) {
    match *event {
        Event::Hedge {
            retrier,
            number,
            after,
        } => tracing::debug!(
            target: TARGET,
            retrier,
            attempt = number,
            after_seconds = after.as_secs_f64(),
            "hedge"
        ),
        Event::Beaten {
            retrier,
            number,
            elapsed,
        } => tracing::debug!(
            target: TARGET,
            retrier,
            attempt = number,
            elapsed_seconds = elapsed.as_secs_f64(),
            "beaten"
        ),
        Event::Breaker {
            retrier,
            from,
            to,
            open_for,
        } => tracing::warn!(
            target: TARGET,
            retrier,
            from = from.as_str(),
            to = to.as_str(),
            open_seconds = open_for.map(|open| open.as_secs_f64()),
            "breaker"
        ),
        _ => {}
    }
}
