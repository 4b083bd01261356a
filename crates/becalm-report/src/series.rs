//! What is drawn into a line chart? Series of points, and what they are compared with.

use crate::colour::Colour;

/// Points under one name and colour.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    pub(crate) name: String,
    pub(crate) colour: Colour,
    pub(crate) points: Vec<(f64, f64)>,
    pub(crate) steps: bool,
    pattern: usize,
    pub(crate) fill: Fill,
}

/// What is drawn of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fill {
    Line,
    LineAndArea,
    Area,
}

impl Series {
    /// Straight lines from point to point, in the order given. A point that is not finite is a
    /// gap.
    pub fn line(name: impl Into<String>, colour: Colour, points: Vec<(f64, f64)>) -> Self {
        Self {
            name: name.into(),
            colour,
            points,
            steps: false,
            pattern: 0,
            fill: Fill::Line,
        }
    }

    /// Each value holds from its point to the next: what counts per interval look like.
    pub fn steps(name: impl Into<String>, colour: Colour, points: Vec<(f64, f64)>) -> Self {
        Self {
            steps: true,
            ..Self::line(name, colour, points)
        }
    }

    /// A tinted area without a line, for counts so dense that their edges would hide them.
    pub fn bars(name: impl Into<String>, colour: Colour, points: Vec<(f64, f64)>) -> Self {
        Self {
            fill: Fill::Area,
            ..Self::steps(name, colour, points)
        }
    }

    /// The share of the samples, in percent, that each value is not exceeded by: their empirical
    /// distribution. A sample that is infinite (a service that never recovered) is never reached,
    /// so the steps end below 100; what is not a number is no sample.
    pub fn distribution(name: impl Into<String>, colour: Colour, samples: &[f64]) -> Self {
        let mut sorted: Vec<_> = samples.iter().copied().filter(|it| !it.is_nan()).collect();
        sorted.sort_by(f64::total_cmp);
        #[expect(clippy::cast_precision_loss, reason = "a count of runs is below 2^53")]
        let share = |count: usize| 100.0 * count as f64 / sorted.len() as f64;
        let mut points = Vec::new();
        for (at, &value) in sorted.iter().enumerate() {
            // Of equal samples, the last says how many there are.
            if value.is_finite() && sorted.get(at + 1).is_none_or(|next| *next > value) {
                if points.is_empty() {
                    points.push((value, 0.0));
                }
                points.push((value, share(at + 1)));
            }
        }
        Self::steps(name, colour, points)
    }

    /// Tints the area below the line.
    #[must_use]
    pub fn filled(mut self) -> Self {
        self.fill = Fill::LineAndArea;
        self
    }

    /// Draws the line dashed: for a reference rather than a result.
    #[must_use]
    pub fn dashed(mut self) -> Self {
        self.pattern = 1;
        self
    }

    /// Draws the line in the pattern of the series at this place: six in turn, the first unbroken. Of
    /// lines that lie on each other both are seen, and no reader needs colours to tell them apart.
    #[must_use]
    pub fn patterned(mut self, index: usize) -> Self {
        self.pattern = index % CLASSES.len();
        self
    }
}

impl Series {
    pub(crate) const fn class(&self) -> &'static str {
        CLASSES[self.pattern]
    }
}

/// The rules for each pattern.
const CLASSES: [&str; 6] = [
    "bc-line",
    "bc-line bc-dashed",
    "bc-line bc-long",
    "bc-line bc-dotted",
    "bc-line bc-mixed",
    "bc-line bc-rare",
];

/// A stretch of the x axis that is tinted and named.
#[derive(Debug, Clone, PartialEq)]
pub struct Band {
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) label: String,
}

impl Band {
    /// A band from `from` to `to`, in the units of the x axis.
    pub fn new(from: f64, to: f64, label: impl Into<String>) -> Self {
        Self {
            from,
            to,
            label: label.into(),
        }
    }
}

/// A level of the y axis that is marked and named.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    pub(crate) at: f64,
    pub(crate) label: String,
}

impl Rule {
    /// A dashed line at `at`, in the units of the y axis.
    pub fn new(at: f64, label: impl Into<String>) -> Self {
        Self {
            at,
            label: label.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_rises_to_the_share_that_is_finite() {
        let samples = [3.0, 1.0, f64::INFINITY, 1.0, f64::NAN];
        let series = Series::distribution("", Colour::Ink, &samples);
        assert_eq!(series.points, [(1.0, 0.0), (1.0, 50.0), (3.0, 75.0)]);
        let none = Series::distribution("", Colour::Ink, &[f64::INFINITY]);
        assert!(none.points.is_empty());
    }
}
