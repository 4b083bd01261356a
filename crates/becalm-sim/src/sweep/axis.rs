//! Which values does an axis have?

use becalm::duration;

use super::invalid::InvalidSweep;
use crate::change::{Scale, Setting};

/// One axis of a sweep.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Axis {
    /// The setting or the parameter.
    pub name: String,
    /// Its values, as they would be written.
    pub values: Vec<String>,
}

/// The setting that an axis goes through, and the place of its policy, where it names one; `None` for a
/// parameter.
pub(super) fn setting_of(name: &str) -> Option<(Option<&str>, Setting)> {
    let (place, setting) = match name.rsplit_once('.') {
        Some((place, setting)) => (Some(place), setting),
        None => (None, name),
    };
    Setting::named(setting).map(|it| (place, it))
}

/// Steps of a range that names no number of them.
const STEPS: u32 = 5;
/// More steps than any picture shows.
const MOST_STEPS: u32 = 100;

impl Axis {
    /// Reads the values of an axis.
    pub(super) fn read(name: &str, scale: Scale, text: &str) -> Result<Self, InvalidSweep> {
        let mut values = Vec::new();
        for alternative in text.split('|').map(str::trim) {
            match alternative.split_once("..") {
                Some((low, rest)) if scale != Scale::Word => {
                    values.extend(range(name, scale, alternative, low, rest)?);
                }
                _ if alternative.is_empty() => {
                    return Err(InvalidSweep::NotAnAxis(format!("{name}={text}")));
                }
                _ => values.push(alternative.to_owned()),
            }
        }
        Ok(Self {
            name: name.to_owned(),
            values,
        })
    }

    /// The values as numbers, times in seconds; `None` if one is none.
    pub(super) fn numbers(&self) -> Option<Vec<f64>> {
        let number = |text: &String| match text.parse::<f64>() {
            Ok(number) => Some(number),
            Err(_) => duration::parse(text).ok().map(|it| it.as_secs_f64()),
        };
        self.values.iter().map(number).collect()
    }

    /// What its values are counted in.
    pub(super) fn unit(&self) -> &'static str {
        let is_time = |it: &String| it.parse::<f64>().is_err();
        if self.values.iter().any(is_time) {
            ", s"
        } else {
            ""
        }
    }
}

fn range(
    axis: &str,
    scale: Scale,
    text: &str,
    low: &str,
    rest: &str,
) -> Result<Vec<String>, InvalidSweep> {
    let refuse = |reason| InvalidSweep::Range {
        axis: axis.to_owned(),
        range: text.to_owned(),
        reason,
    };
    let (high, steps) = match rest.split_once(':') {
        Some((high, steps)) => {
            let steps = steps.trim().parse().ok();
            let steps = steps.filter(|it| (2..=MOST_STEPS).contains(it));
            (
                high,
                Some(steps.ok_or_else(|| refuse("needs from 2 to 100 steps, such as 50ms..1s:5"))?),
            )
        }
        None => (rest, None),
    };
    let value = |text: &str| {
        scale.number(text.trim()).ok_or_else(|| {
            refuse(match scale {
                Scale::Time => "needs a time at either end, such as 50ms..1s",
                Scale::Whole => "needs a whole number from 1 up at either end, such as 2..5",
                Scale::Number | Scale::Word => "needs a number at either end, such as 0.05..0.5",
            })
        })
    };
    let (from, to) = (value(low)?, value(high)?);
    if from >= to {
        return Err(refuse("does not rise; write the lower end first"));
    }
    let mut values: Vec<String> = points(scale, from, to, steps)
        .into_iter()
        .map(|it| scale.text(it))
        .collect();
    // The ends as they are written.
    if let Some(first) = values.first_mut() {
        low.trim().clone_into(first);
    }
    if let Some(last) = values.last_mut() {
        high.trim().clone_into(last);
    }
    values.dedup();
    Ok(values)
}

fn points(scale: Scale, from: f64, to: f64, steps: Option<u32>) -> Vec<f64> {
    let steps = steps.unwrap_or(STEPS);
    let between = to - from;
    if scale == Scale::Whole && between < f64::from(steps) {
        let mut whole = from;
        let all = std::iter::from_fn(|| {
            let this = whole;
            whole += 1.0;
            (this <= to).then_some(this)
        });
        return all.collect();
    }
    let parts = (0..steps).map(|step| f64::from(step) / f64::from(steps - 1));
    let mut points: Vec<f64> = parts
        .map(|part| {
            if from > 0.0 {
                from * libm::pow(to / from, part)
            } else {
                from + between * part
            }
        })
        .map(|point| scale.rounded(point))
        .collect();
    points.dedup();
    points
}
