//! Where in a picture does a point of a series lie?

use crate::axis::{Axis, Scale};
use crate::series::Series;

/// The rectangle that the data is drawn into, with its axes.
pub(crate) struct Plot {
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
    pub x: Axis,
    pub y: Axis,
}

impl Plot {
    pub fn x(&self, value: f64) -> Option<f64> {
        let position = self.x.position(value)?;
        Some(self.left + position * (self.right - self.left))
    }

    pub fn y(&self, value: f64) -> Option<f64> {
        let position = self.y.position(value)?;
        Some(self.bottom - position * (self.bottom - self.top))
    }

    /// How many marks the x axis has room for.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float saturates, and the count is bounded"
    )]
    pub fn wanted_x_ticks(&self) -> u32 {
        ((self.right - self.left) / 56.0).clamp(2.0, 10.0) as u32
    }

    /// What a script needs to find the value at a pixel: the edges, and of each axis its ends and
    /// whether it is logarithmic.
    pub fn geometry(&self) -> String {
        let axis = |axis: &Axis| {
            let log = u8::from(axis.scale() == Scale::Log);
            format!("{} {} {log}", axis.low(), axis.high())
        };
        format!(
            "{:.1} {:.1} {:.1} {:.1} {} {}",
            self.left,
            self.right,
            self.top,
            self.bottom,
            axis(&self.x),
            axis(&self.y)
        )
    }

    /// The series in pixels; where points are closer than half a pixel, the extremes of each half
    /// pixel.
    pub fn points(&self, series: &Series) -> Vec<Option<(f64, f64)>> {
        let mut drawn: Vec<Option<(f64, f64)>> = Vec::new();
        let mut last_y = None;
        for &(x, y) in &series.points {
            let finite = x.is_finite() && y.is_finite();
            let at = finite.then(|| self.x(x).zip(self.y(y))).flatten();
            if let (Some((x, y)), true, Some(held)) = (at, series.steps, last_y) {
                drawn.push(Some((x, held)));
                drawn.push(Some((x, y)));
            } else {
                drawn.push(at);
            }
            last_y = at.map(|(_, y)| y);
        }
        thin(&drawn)
    }
}

/// Drops points between the extremes of each half pixel, so that a long series stays a small file
/// and keeps its peaks.
fn thin(points: &[Option<(f64, f64)>]) -> Vec<Option<(f64, f64)>> {
    const COLUMN: f64 = 0.5;
    let mut kept = Vec::new();
    let mut rest = points;
    while let Some(first) = rest.first() {
        let Some((x, _)) = first else {
            kept.push(None);
            rest = &rest[1..];
            continue;
        };
        let column = (x / COLUMN).floor();
        let same = |point: &&Option<(f64, f64)>| {
            point.is_some_and(|(x, _)| ((x / COLUMN).floor() - column).abs() < 0.5)
        };
        let length = rest.iter().take_while(same).count();
        let (run, after) = rest.split_at(length);
        if run.len() <= 4 {
            kept.extend_from_slice(run);
        } else {
            let ys = || run.iter().flatten().map(|(_, y)| *y);
            let (least, most) = (ys().fold(f64::MAX, f64::min), ys().fold(f64::MIN, f64::max));
            let middle = [Some((*x, least)), Some((*x, most))];
            kept.extend(run.first().into_iter().chain(&middle).chain(run.last()));
        }
        rest = after;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::colour::Colour;

    #[test]
    fn steps_hold_a_value_until_the_next() {
        let plot = Plot {
            left: 0.0,
            right: 100.0,
            top: 0.0,
            bottom: 10.0,
            x: Axis::exact(0.0, 10.0),
            y: Axis::exact(0.0, 10.0),
        };
        let points = vec![(0.0, 0.0), (5.0, 10.0), (10.0, 0.0)];
        let line = Series::line("", Colour::Ink, points.clone());
        let of = |points: &[(f64, f64)]| points.iter().copied().map(Some).collect::<Vec<_>>();
        let ends = [(0.0, 10.0), (50.0, 0.0), (100.0, 10.0)];
        assert_eq!(plot.points(&line), of(&ends));
        let steps = Series::steps("", Colour::Ink, points);
        let held = [ends[0], (50.0, 10.0), ends[1], (100.0, 0.0), ends[2]];
        assert_eq!(plot.points(&steps), of(&held));
    }

    #[test]
    fn thinning_keeps_the_peaks() {
        let mut points: Vec<_> = (0..10_000_i32)
            .map(|index| Some((f64::from(index) * 0.01, 50.0)))
            .collect();
        points[5_003] = Some((50.03, 7.0));
        let thinned = thin(&points);
        assert!(thinned.len() < 1_000);
        assert!(thinned.iter().flatten().any(|(_, y)| *y < 7.5));
        assert_eq!(
            (thinned.first(), thinned.last()),
            (points.first(), points.last())
        );
    }
}
