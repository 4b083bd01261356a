//! How is a number of many runs said in a sentence? And which one is the middle?

use crate::engine::float;
use crate::search::Proportion;

pub(super) fn of_runs(proportion: Proportion) -> String {
    let Proportion { successes, runs } = proportion;
    let plural = if runs == 1 { "run" } else { "runs" };
    format!("{successes} of {runs} {plural}")
}

/// `a, b and c`.
pub(crate) fn list<T: AsRef<str>>(names: &[T]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        Some((last, _)) => (*last).into(),
        None => String::new(),
    }
}

/// A rate as people write it: `2 800`, `0.35`.
pub(crate) fn plain(value: f64) -> String {
    if value.abs() < 9.95 {
        let text = hundredths(value);
        let short = text.trim_end_matches('0').trim_end_matches('.');
        return short.to_owned();
    }
    let digits = format!("{value:.0}");
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        let left = digits.len() - index;
        if index > 0 && left % 3 == 0 && digit.is_ascii_digit() {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}

pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    // All but a few is not all, and few are not none.
    if percent > 0.0 && percent < 1.0 {
        format!("{:.1} %", percent.max(0.1))
    } else if percent > 99.0 && percent < 100.0 {
        format!("{:.1} %", percent.min(99.9))
    } else {
        format!("{percent:.0} %")
    }
}

/// A share in percent, with a word for nothing: `none of the calls` rather than `0 % of the calls`.
pub(super) fn percent_or_none(share: f64) -> String {
    if share > 0.0 {
        percent(share)
    } else {
        "none".into()
    }
}

pub(crate) fn tenths(value: f64) -> String {
    format!("{value:.1}")
}

pub(crate) fn hundredths(value: f64) -> String {
    format!("{value:.2}")
}

pub(crate) fn millis(nanos: u64) -> f64 {
    float(nanos) / 1e6
}

/// Their mean; `None` of nothing.
pub(crate) fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.into_iter().collect();
    let count = u32::try_from(values.len()).unwrap_or(u32::MAX);
    (count > 0).then(|| values.iter().sum::<f64>() / f64::from(count))
}

/// The middle value by rank, the lower of two; `None` of nothing.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    quantile(values.into_iter().collect(), 0.5)
}

/// The value that this share does not exceed, by rank.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]
pub(super) fn quantile(mut values: Vec<f64>, share: f64) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let rank = (values.len() as f64 * share).ceil() as usize;
    values.get(rank.saturating_sub(1)).copied()
}
