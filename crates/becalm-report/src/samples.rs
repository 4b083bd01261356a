//! Which values of a series does a page carry for its reader to point at?

use crate::plot::Plot;
use crate::series::Series;

/// The points of a series as text, in rising order of x, numbers apart by a space.
pub(crate) struct Samples {
    /// Of x: every number, or `first~step` where they are evenly apart.
    pub xs: String,
    /// Of y; `-` is a gap.
    pub ys: String,
}

impl Samples {
    /// At most one point for each pixel of the plot: the greatest, as peaks are what a reader looks
    /// for.
    pub fn of(series: &Series, plot: &Plot) -> Self {
        let points = series.points.iter().copied().filter(|(x, _)| x.is_finite());
        let mut points: Vec<_> = points.collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a float saturates"
        )]
        let pixels = ((plot.right - plot.left) as usize).max(1);
        let stride = points.len().div_ceil(pixels).max(1);
        let kept: Vec<_> = points.chunks(stride).filter_map(greatest).collect();
        let ys: Vec<_> = kept.iter().map(|(_, y)| short(*y)).collect();
        Self {
            xs: evenly(&kept).unwrap_or_else(|| {
                let xs: Vec<_> = kept.iter().map(|(x, _)| short(*x)).collect();
                xs.join(" ")
            }),
            ys: ys.join(" "),
        }
    }
}

fn greatest(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let finite = points.iter().copied().filter(|(_, y)| y.is_finite());
    finite
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .or(points.first().copied())
}

/// `first~step`, if that is where the points are.
fn evenly(points: &[(f64, f64)]) -> Option<String> {
    let [(first, _), (second, _), .., _] = points else {
        return None;
    };
    let step = second - first;
    let mut expected = *first;
    for (x, _) in points {
        if (x - expected).abs() > step.abs() * 0.01 {
            return None;
        }
        expected += step;
    }
    Some(format!("{first}~{step}"))
}

/// Five digits: more than a picture has pixels.
fn short(value: f64) -> String {
    let Ok(rounded) = format!("{value:.4e}").parse::<f64>() else {
        return "-".into();
    };
    match rounded.abs() {
        _ if !rounded.is_finite() => "-".into(),
        0.0 => "0".into(),
        1e-4..1e9 => format!("{rounded}"),
        _ => format!("{rounded:e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Axis, Colour};

    fn samples(points: Vec<(f64, f64)>) -> Samples {
        let plot = Plot {
            left: 0.0,
            right: 100.0,
            top: 0.0,
            bottom: 10.0,
            x: Axis::exact(0.0, 1.0),
            y: Axis::exact(0.0, 1.0),
        };
        Samples::of(&Series::line("", Colour::Ink, points), &plot)
    }

    #[test]
    fn even_points_are_written_as_a_step_and_others_one_by_one() {
        let even = samples((0..50).map(|at| (f64::from(at) * 0.25, 1.0)).collect());
        assert_eq!(even.xs, "0~0.25");
        let odd = samples(vec![(3.0, f64::NAN), (1.0, 123_456.7), (1.5, 1e-9)]);
        assert_eq!((&*odd.xs, &*odd.ys), ("1 1.5 3", "123460 1e-9 -"));
    }

    #[test]
    fn a_long_series_keeps_its_peak_and_little_else() {
        let mut points: Vec<_> = (0..10_000).map(|at| (f64::from(at), 5.0)).collect();
        points[7_777].1 = 900.0;
        let samples = samples(points);
        let ys: Vec<_> = samples.ys.split(' ').collect();
        assert!(ys.len() <= 100 && ys.contains(&"900"), "{}", samples.ys);
        assert_eq!(samples.xs.split(' ').count(), ys.len());
    }
}
