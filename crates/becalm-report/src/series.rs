//! What is drawn into a line chart? Series of points, and what they are compared with.

use crate::colour::Colour;

/// Points under one name and colour.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    pub(crate) name: String,
    pub(crate) colour: Colour,
    pub(crate) points: Vec<(f64, f64)>,
    pub(crate) steps: bool,
    pub(crate) dashed: bool,
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
            dashed: false,
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

    /// The same without the line itself, for counts so dense that their edges would hide them.
    pub fn bars(name: impl Into<String>, colour: Colour, points: Vec<(f64, f64)>) -> Self {
        Self {
            fill: Fill::Area,
            ..Self::steps(name, colour, points)
        }
    }

    /// The same, with the area below it tinted.
    #[must_use]
    pub fn filled(mut self) -> Self {
        self.fill = Fill::LineAndArea;
        self
    }

    /// The same, dashed: for a reference rather than a result.
    #[must_use]
    pub fn dashed(mut self) -> Self {
        self.dashed = true;
        self
    }
}

impl Series {
    pub(crate) const fn class(&self) -> &'static str {
        if self.dashed {
            "bc-line bc-dashed"
        } else {
            "bc-line"
        }
    }
}

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
