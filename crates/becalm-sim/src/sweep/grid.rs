//! Which points does a sweep have?

use std::fmt::Write as _;

use becalm::Policy;

use crate::catalogue::{InvalidParameter, Kind, Parameters};

use super::axis::{Axis, setting_of};
use super::invalid::{InvalidSweep, MOST_POINTS};
use crate::change::{Change, Scale, Setting};

/// Axes, each point of whose grid is a policy in a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sweep {
    /// The axes, in the order in which they are written. Not empty.
    pub axes: Vec<Axis>,
    /// The place whose policy a setting means where its axis names none; `None` for the policy of the
    /// point.
    pub at: Option<String>,
}

/// A point of the grid.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Point {
    /// The value of each axis.
    pub values: Vec<String>,
    /// What it is called: `base=50ms ratio=0.1`.
    pub name: String,
    /// The parameters of the scenario.
    pub parameters: Parameters,
    /// What decides.
    pub policy: Policy,
    /// What is different at single places.
    pub changes: Vec<Change>,
}

impl Sweep {
    /// Points that a sweep has at most: each has several runs.
    pub const MOST_POINTS: usize = MOST_POINTS;

    /// Reads a sweep of a scenario that has these parameters. A name that is a setting of a policy
    /// means that.
    ///
    /// # Errors
    ///
    /// [`InvalidSweep`] names the axis.
    pub fn read(text: &str, parameters: &Parameters) -> Result<Self, InvalidSweep> {
        let mut axes: Vec<Axis> = Vec::new();
        for (name, values) in split(text)? {
            if axes.iter().any(|it| it.name == name) {
                return Err(InvalidSweep::Twice(name.to_owned()));
            }
            axes.push(Axis::read(name, scale(name, parameters)?, &values)?);
        }
        let sizes = axes.iter().map(|it| it.values.len());
        let points = sizes.fold(1_usize, usize::saturating_mul);
        if points > Self::MOST_POINTS {
            return Err(InvalidSweep::TooManyPoints(points));
        }
        Ok(Self { axes, at: None })
    }

    /// The points, the last axis fastest.
    ///
    /// # Errors
    ///
    /// A value that its axis does not take, a policy that is refused.
    pub fn points(
        &self,
        policy: &Policy,
        parameters: &Parameters,
    ) -> Result<Vec<Point>, InvalidSweep> {
        let start = Point {
            values: Vec::new(),
            name: String::new(),
            parameters: parameters.clone(),
            policy: policy.clone(),
            changes: Vec::new(),
        };
        let mut points = vec![start];
        for axis in &self.axes {
            let mut next = Vec::with_capacity(points.len() * axis.values.len());
            for point in &points {
                for value in &axis.values {
                    next.push(point.with(&axis.name, value, self.at.as_deref())?);
                }
            }
            points = next;
        }
        for point in &points {
            point
                .policy
                .validate()
                .map_err(|invalid| InvalidSweep::Policy {
                    point: point.name.clone(),
                    invalid,
                })?;
        }
        Ok(points)
    }
}

impl Sweep {
    /// Sets the place whose policy a setting means where its axis names none.
    #[must_use]
    pub fn at(mut self, place: Option<&str>) -> Self {
        self.at = place.map(str::to_owned);
        self
    }

    /// Whether an axis goes through settings of the policy of each point, at no single place.
    pub fn moves_policy(&self) -> bool {
        let mut axes = self.axes.iter().filter_map(|it| setting_of(&it.name));
        self.at.is_none() && axes.any(|(place, _)| place.is_none())
    }

    /// The points, each of which the scenario takes: `takes` refuses parameters out of their ranges,
    /// as [`Entry::validate`](crate::catalogue::Entry::validate) does. Nothing has run by then.
    ///
    /// # Errors
    ///
    /// As [`points`](Self::points); and the axis at fault with its value, or the point where several
    /// make no sense together.
    pub fn points_of(
        &self,
        policy: &Policy,
        parameters: &Parameters,
        takes: impl Fn(&Parameters, &Policy) -> Result<(), InvalidParameter>,
    ) -> Result<Vec<Point>, InvalidSweep> {
        let points = self.points(policy, parameters)?;
        for point in &points {
            takes(&point.parameters, &point.policy)
                .map_err(|invalid| point.refused(invalid, self))?;
        }
        Ok(points)
    }
}

impl Point {
    fn refused(&self, invalid: InvalidParameter, sweep: &Sweep) -> InvalidSweep {
        let mut each = sweep.axes.iter().zip(&self.values);
        match each.find(|(axis, _)| axis.name == invalid.name) {
            Some((axis, value)) => InvalidSweep::Value {
                axis: axis.name.clone(),
                value: value.clone(),
                reason: invalid.sentence,
            },
            None => InvalidSweep::Point {
                point: self.name.clone(),
                invalid,
            },
        }
    }

    fn with(&self, axis: &str, value: &str, at: Option<&str>) -> Result<Self, InvalidSweep> {
        let refuse = |reason| InvalidSweep::Value {
            axis: axis.to_owned(),
            value: value.to_owned(),
            reason,
        };
        let mut point = self.clone();
        match setting_of(axis).map(|(place, setting)| (place.or(at), setting)) {
            Some((None, setting)) => setting.set(&mut point.policy, value).map_err(refuse)?,
            Some((Some(place), setting)) => {
                let change = Change::setting(place, setting, value).map_err(refuse)?;
                point.changes.push(change);
            }
            None => point
                .parameters
                .set(axis, value)
                .map_err(|invalid| refuse(invalid.sentence))?,
        }
        if !point.name.is_empty() {
            point.name.push(' ');
        }
        let _ = write!(point.name, "{axis}={value}");
        point.values.push(value.to_owned());
        Ok(point)
    }
}

/// Names and values. A comma ends an axis only where another begins.
fn split(text: &str) -> Result<Vec<(&str, String)>, InvalidSweep> {
    let mut axes: Vec<(&str, String)> = Vec::new();
    for part in text.split(',') {
        match (part.split_once('='), axes.last_mut()) {
            (Some((name, values)), _) if !name.trim().is_empty() => {
                axes.push((name.trim(), values.trim().to_owned()));
            }
            (None, Some((_, values))) if !part.trim().is_empty() => {
                values.push(',');
                values.push_str(part.trim());
            }
            _ => return Err(InvalidSweep::NotAnAxis(part.trim().to_owned())),
        }
    }
    Ok(axes)
}

fn scale(name: &str, parameters: &Parameters) -> Result<Scale, InvalidSweep> {
    if let Some((_, setting)) = setting_of(name) {
        return Ok(setting.scale());
    }
    let found = parameters.iter().find(|(it, _)| it.name == name);
    let Some((parameter, _)) = found else {
        let of_scenario = parameters.iter().map(|(it, _)| it.name);
        return Err(InvalidSweep::UnknownAxis {
            name: name.to_owned(),
            known: Setting::names().chain(of_scenario).collect(),
        });
    };
    Ok(match parameter.kind {
        Kind::Count | Kind::Places => Scale::Whole,
        Kind::Number | Kind::Share => Scale::Number,
        Kind::Duration => Scale::Time,
        _ => Scale::Word,
    })
}
