//! Which figures does a retrier report?

use metrics::{Unit, counter, describe_counter, describe_histogram, histogram};

use super::{About, Event, Observer};

const ATTEMPTS: &str = "becalm_attempts_total";
const RETRIES: &str = "becalm_retries_total";
const DELAY: &str = "becalm_retry_delay_seconds";
const CALL_RETRIES: &str = "becalm_call_retries";
const RECOVERED: &str = "becalm_recovered_total";
const STOPPED: &str = "becalm_stopped_total";
const BEATEN: &str = "becalm_beaten_total";
const BREAKER: &str = "becalm_breaker_transitions_total";

/// Records the events of calls through the `metrics` facade.
///
/// | metric | kind | labels | what it counts |
/// |---|---|---|---|
/// | `becalm_attempts_total` | counter | `retrier`, `attempt`: `first`, `retry` or `hedge` | attempts begun; all over `first` is the amplification |
/// | `becalm_retries_total` | counter | `retrier`, `class`, `effect` | retries decided on, by the failure that led to them |
/// | `becalm_retry_delay_seconds` | histogram | `retrier` | waits before retries, as really waited |
/// | `becalm_call_retries` | histogram | `retrier` | retries and hedges of a call that made any (buckets 1, 2, 3, 4, 5, 10 suit it) |
/// | `becalm_recovered_total` | counter | `retrier` | calls that succeeded after retries, or beside hedges |
/// | `becalm_stopped_total` | counter | `retrier`, `reason` | calls that ended without success |
/// | `becalm_beaten_total` | counter | `retrier` | attempts cancelled because another copy brought the success |
/// | `becalm_breaker_transitions_total` | counter | `retrier`, `to`: `closed`, `open`, `half_open` or `isolated` | changes of the circuit breaker's state |
///
/// The histograms follow gRPC's retry metrics (proposal A96), which leave out calls without
/// retries too; OpenTelemetry's conventions name none. All labels but the retrier's name are from
/// the closed sets of [`Class`](crate::Class), [`Effect`](crate::Effect) and
/// [`StopReason`](crate::StopReason), so the number of series is bounded.
///
/// Each event looks its metric up in the recorder that is installed at that moment, so a retrier
/// may be made before the recorder is. The price is a lookup and a copy of the name per attempt.
///
/// ```
/// use becalm::Policy;
/// use becalm::observe::MetricsObserver;
///
/// let metrics = MetricsObserver::new();
/// let orders = Policy::default().builder().name("orders").observer(metrics).build()?;
/// # let _ = orders;
/// # Ok::<(), becalm::policy::InvalidPolicy>(())
/// ```
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct MetricsObserver {}

impl Default for MetricsObserver {
    fn default() -> Self {
        Self::new()
    }
}

impl MetricsObserver {
    /// Describes the metrics to the recorder that is installed now, if there is one.
    pub fn new() -> Self {
        describe_counter!(ATTEMPTS, Unit::Count, "Attempts begun.");
        describe_counter!(RETRIES, Unit::Count, "Retries decided on.");
        describe_histogram!(DELAY, Unit::Seconds, "Waits before retries.");
        describe_histogram!(
            CALL_RETRIES,
            Unit::Count,
            "Retries of a call that made any."
        );
        describe_counter!(
            RECOVERED,
            Unit::Count,
            "Calls that succeeded after retries."
        );
        describe_counter!(STOPPED, Unit::Count, "Calls that ended without success.");
        describe_counter!(BEATEN, Unit::Count, "Attempts that another copy beat.");
        describe_counter!(BREAKER, Unit::Count, "Changes of the breaker's state.");
        Self {}
    }
}

impl Observer for MetricsObserver {
    fn on_event(&self, about: &About<'_>, event: &Event<'_>) {
        let retrier = about.retrier;
        match *event {
            Event::Attempt { number, waited } => {
                let attempt = if number > 1 { "retry" } else { "first" };
                counter!(ATTEMPTS, "retrier" => retrier.to_owned(), "attempt" => attempt)
                    .increment(1);
                if number > 1 {
                    histogram!(DELAY, "retrier" => retrier.to_owned()).record(waited.as_secs_f64());
                }
            }
            Event::Retry { class, effect, .. } => counter!(
                RETRIES,
                "retrier" => retrier.to_owned(),
                "class" => class.as_str(),
                "effect" => effect.as_str()
            )
            .increment(1),
            Event::Recovered { attempts, .. } => {
                counter!(RECOVERED, "retrier" => retrier.to_owned()).increment(1);
                record_call_retries(retrier, attempts);
            }
            Event::Stopped {
                reason, attempts, ..
            } => {
                let reason = reason.as_str();
                counter!(STOPPED, "retrier" => retrier.to_owned(), "reason" => reason).increment(1);
                record_call_retries(retrier, attempts);
            }
            Event::Hedge { .. } => {
                counter!(ATTEMPTS, "retrier" => retrier.to_owned(), "attempt" => "hedge")
                    .increment(1);
            }
            Event::Beaten { .. } => {
                counter!(BEATEN, "retrier" => retrier.to_owned()).increment(1);
            }
            Event::Breaker { to, .. } => {
                counter!(BREAKER, "retrier" => retrier.to_owned(), "to" => to.as_str())
                    .increment(1);
            }
            Event::BlocksRuntime => {}
        }
    }
}

/// A call without retries is not recorded.
fn record_call_retries(retrier: &str, attempts: u32) {
    if attempts > 1 {
        let repeated = f64::from(attempts - 1);
        histogram!(CALL_RETRIES, "retrier" => retrier.to_owned()).record(repeated);
    }
}
