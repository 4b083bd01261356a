//! Which figures does a retrier report?

use metrics::{Unit, counter, describe_counter, describe_histogram, histogram};

use super::{About, Event, Observer};
use crate::stop::StopReason;

const ATTEMPTS: &str = "becalm_attempts_total";
const RETRIES: &str = "becalm_retries_total";
const TOKEN_WAITS: &str = "becalm_token_waits_total";
const DELAY: &str = "becalm_retry_delay_seconds";
const CALL_RETRIES: &str = "becalm_call_retries";
const RECOVERED: &str = "becalm_recovered_total";
const STOPPED: &str = "becalm_stopped_total";
const BEATEN: &str = "becalm_beaten_total";
const BREAKER: &str = "becalm_breaker_transitions_total";
const OBSERVED: &str = "becalm_observed_total";

/// Records the events of calls through the `metrics` facade.
///
/// | metric | kind | labels | what it counts |
/// |---|---|---|---|
/// | `becalm_attempts_total` | counter | `retrier`, `attempt`: `first`, `retry` or `hedge` | attempts begun; all over `first` is the amplification |
/// | `becalm_retries_total` | counter | `retrier`, `class`, `effect` | retries decided on, by the failure that led to them |
/// | `becalm_token_waits_total` | counter | `retrier` | retries that wait for a token of the budget |
/// | `becalm_retry_delay_seconds` | histogram | `retrier` | waits before retries, as really waited |
/// | `becalm_call_retries` | histogram | `retrier` | retries and hedges of a call that made any (buckets 1, 2, 3, 4, 5, 10 suit it) |
/// | `becalm_recovered_total` | counter | `retrier` | calls that succeeded after retries, or beside hedges |
/// | `becalm_stopped_total` | counter | `retrier`, `reason` | calls that ended without success |
/// | `becalm_beaten_total` | counter | `retrier` | attempts cancelled because another copy brought the success |
/// | `becalm_breaker_transitions_total` | counter | `retrier`, `to`: `closed`, `open`, `half_open` or `isolated` | changes of the circuit breaker's state |
/// | `becalm_observed_total` | counter | `retrier`, `would`: `retry`, `stop`, `refuse`, `wait`, `cut`, `hedge` or `fail`, `reason` of a stop or a refusal | what enforcing would have done, where the policy [observes](crate::policy::Mode::Observe) |
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
        for (counter, what) in [
            (ATTEMPTS, "Attempts begun."),
            (RETRIES, "Retries decided on."),
            (TOKEN_WAITS, "Retries that wait for a token."),
            (RECOVERED, "Calls that succeeded after retries."),
            (STOPPED, "Calls that ended without success."),
            (BEATEN, "Attempts that another copy beat."),
            (BREAKER, "Changes of the breaker's state."),
            (OBSERVED, "What enforcing would have done."),
        ] {
            describe_counter!(counter, Unit::Count, what);
        }
        let of_call = "Retries of a call that made any.";
        describe_histogram!(CALL_RETRIES, Unit::Count, of_call);
        describe_histogram!(DELAY, Unit::Seconds, "Waits before retries.");
        Self {}
    }
}

impl Observer for MetricsObserver {
    fn on_event(&self, about: &About<'_>, event: &Event<'_>) {
        let retrier = || about.retrier.to_owned();
        macro_rules! count {
            ($counter:ident $(, $label:literal => $value:expr)*) => {
                counter!($counter, "retrier" => retrier() $(, $label => $value)*).increment(1)
            };
        }
        let record = |histogram: &'static str, value: f64| {
            histogram!(histogram, "retrier" => retrier()).record(value);
        };
        // A call without retries is not recorded.
        let record_retries = |attempts: u32| {
            if attempts > 1 {
                record(CALL_RETRIES, (attempts - 1).into());
            }
        };
        match *event {
            Event::Attempt { number: 1, .. } => count!(ATTEMPTS, "attempt" => "first"),
            Event::Attempt { waited, .. } => {
                count!(ATTEMPTS, "attempt" => "retry");
                record(DELAY, waited.as_secs_f64());
            }
            Event::Retry { class, effect, .. } => {
                count!(RETRIES, "class" => class.as_str(), "effect" => effect.as_str());
            }
            Event::WaitsForToken { .. } => count!(TOKEN_WAITS),
            Event::Recovered { attempts, .. } => {
                count!(RECOVERED);
                record_retries(attempts);
            }
            Event::Stopped {
                reason, attempts, ..
            } => {
                count!(STOPPED, "reason" => reason.as_str());
                record_retries(attempts);
            }
            Event::Hedge { .. } => count!(ATTEMPTS, "attempt" => "hedge"),
            Event::Beaten { .. } => count!(BEATEN),
            Event::Breaker { to, .. } => count!(BREAKER, "to" => to.as_str()),
            Event::Observed { would } => {
                let reason = would.reason().map_or("", StopReason::as_str);
                count!(OBSERVED, "would" => would.as_str(), "reason" => reason);
            }
            Event::BlocksRuntime => {}
        }
    }
}
