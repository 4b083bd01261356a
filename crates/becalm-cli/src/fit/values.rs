//! Which values does a fit have, and how is each said?

use std::time::Duration;

use becalm::support::Human;
use becalm_fit::{Fitted, How, Knee, Known, Warning};
use becalm_report::format::{plain, seconds};
use serde::Serialize;

/// A value of a fit, as people and programs read it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Value {
    pub id: &'static str,
    pub title: &'static str,
    pub unit: &'static str,
    /// For people.
    #[serde(skip)]
    pub text: String,
    /// For programs; what has no number has none.
    #[serde(rename = "value")]
    pub number: Option<f64>,
    /// The ends of the 95 % confidence interval.
    pub low: Option<f64>,
    pub high: Option<f64>,
    #[serde(skip)]
    pub interval: Option<String>,
    pub how: &'static str,
    pub because: String,
}

/// All values, in the order in which they are told.
pub fn values(fitted: &Fitted) -> Vec<Value> {
    let span = |it: &Duration| Human(*it).to_string();
    let queue = |it: &Option<u32>| match it {
        Some(places) => places.to_string(),
        None => "no bound".into(),
    };
    let share = |it: &f64| format!("{} %", plain(it * 100.0));
    let mut values = vec![
        value(
            ("workers", "workers", ""),
            &fitted.workers,
            |it| Some(f64::from(*it)),
            &u32::to_string,
        ),
        value(
            ("capacity", "capacity", "1/s"),
            &fitted.capacity,
            |it| Some(*it),
            &|it| format!("{}/s", plain(*it)),
        ),
        value(
            ("time_s", "mean service time", "s"),
            &fitted.time,
            |it| Some(*it),
            &|it| seconds(*it),
        ),
        value(
            ("queue", "queue", ""),
            &fitted.queue,
            |it| it.map(f64::from),
            &queue,
        ),
        value(
            ("timeout_s", "clients give up after", "s"),
            &fitted.timeout,
            |it| Some(it.as_secs_f64()),
            &span,
        ),
        value(
            ("failures", "failures of its own", ""),
            &fitted.failures,
            |it| Some(*it),
            &share,
        ),
        value(
            ("first_tries", "first tries", "1/s"),
            &fitted.arrivals,
            |it| Some(it.rate),
            &|it| format!("{}/s", plain(it.rate)),
        ),
        value(
            ("attempts", "attempts of a call", ""),
            &fitted.retries,
            |it| Some(f64::from(it.attempts)),
            &|it| it.attempts.to_string(),
        ),
    ];
    if fitted.knee == Knee::Open {
        for value in &mut values[..2] {
            value.text = format!("at least {}", value.text);
        }
    }
    let retries = &fitted.retries;
    if let (true, Some(last)) = (retries.is_measured(), values.last_mut()) {
        let it = &retries.value;
        last.text = format!(
            "{}, {} x {}, jitter {}",
            it.attempts,
            Human(it.base),
            it.multiplier,
            it.jitter
        );
    }
    values
}

fn value<T>(
    (id, title, unit): (&'static str, &'static str, &'static str),
    known: &Known<T>,
    number: impl Fn(&T) -> Option<f64>,
    text: &dyn Fn(&T) -> String,
) -> Value {
    let (low, high) = match &known.how {
        How::Measured { low, high } => (Some(low), high.as_ref()),
        _ => (None, None),
    };
    let interval = low.map(|low| match high {
        Some(high) => format!("{} to {}", text(low), text(high)),
        None => format!("{} or more", text(low)),
    });
    Value {
        id,
        title,
        unit,
        text: text(&known.value),
        number: number(&known.value),
        low: low.and_then(&number),
        high: high.and_then(&number),
        interval,
        how: known.how.as_str(),
        because: known.because.clone(),
    }
}

/// What is to be remembered, in a sentence.
pub fn conclusion(fitted: &Fitted) -> String {
    let capacity = plain(fitted.capacity.value);
    match fitted.knee {
        Knee::Seen => format!(
            "The service works on {} requests at once, {} each: it can serve {capacity}/s.",
            fitted.workers.value,
            seconds(fitted.time.value)
        ),
        Knee::Open if is_of_a_loop(fitted) => format!(
            "The service answered {capacity}/s while its clients waited for their answers: it can serve that at least, and no more if it \
             was full."
        ),
        Knee::Open => format!(
            "The service can serve at least {capacity}/s, and may do more: nothing that was read filled it."
        ),
        _ => "What was read does not show how much the service can do.".into(),
    }
}

fn is_of_a_loop(fitted: &Fitted) -> bool {
    let is_it = |it: &Warning| matches!(it, Warning::ClosedLoop { .. });
    fitted.warnings.iter().any(is_it)
}
