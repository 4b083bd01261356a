//! How does a value depend on two others?

mod draw;
mod terminal;

use crate::axis::Axis;
use crate::canvas::Canvas;
use crate::csv;
use crate::format;
use crate::rows::setters_of_values;
use crate::svg::Figure;

/// A map: one cell for each pair of an x and a y, its shade the value.
///
/// ```
/// use becalm_report::{Figure, MapChart};
///
/// let chart = MapChart::new("Who recovers", vec![0.8, 0.9], vec![1.0, 2.0])
///     .labels("load / capacity", "outage in s", "runs that stay down")
///     .range(0.0, 1.0)
///     .cells(vec![0.0, 0.0, 0.2, 1.0]);
/// assert_eq!(chart.to_svg().matches("--bc-ramp-8)").count(), 2); // one cell, and the legend
/// ```
#[derive(Debug, Clone)]
pub struct MapChart {
    title: String,
    x_label: String,
    y_label: String,
    value_label: String,
    value_format: fn(f64) -> String,
    columns: Vec<f64>,
    rows: Vec<f64>,
    cells: Vec<f64>,
    range: Option<(f64, f64)>,
    mark: Option<(usize, usize, String)>,
    width: f64,
}

impl MapChart {
    /// A map without values, 720 pixels wide: the x of its columns from the left and the y of its
    /// rows from the bottom.
    pub fn new(title: impl Into<String>, columns: Vec<f64>, rows: Vec<f64>) -> Self {
        Self {
            title: title.into(),
            x_label: String::new(),
            y_label: String::new(),
            value_label: String::new(),
            value_format: format::plain,
            columns,
            rows,
            cells: Vec::new(),
            range: None,
            mark: None,
            width: 720.0,
        }
    }

    /// Names the x axis, the y axis and the value.
    #[must_use]
    pub fn labels(
        mut self,
        x: impl Into<String>,
        y: impl Into<String>,
        value: impl Into<String>,
    ) -> Self {
        self.x_label = x.into();
        self.y_label = y.into();
        self.value_label = value.into();
        self
    }

    /// Sets the values, row by row from the bottom, each row from the left. A value that is missing
    /// or not finite is a cell without a shade.
    #[must_use]
    pub fn cells(mut self, cells: Vec<f64>) -> Self {
        self.cells = cells;
        self
    }

    /// Sets the values of the lightest and the strongest shade; otherwise the least and the greatest.
    #[must_use]
    pub fn range(mut self, low: f64, high: f64) -> Self {
        self.range = Some((low, high));
        self
    }

    setters_of_values!();

    /// Frames a cell, and says why in the legend: where the reader stands. A cell beyond the map is
    /// not framed.
    #[must_use]
    pub fn mark(mut self, column: usize, row: usize, label: impl Into<String>) -> Self {
        self.mark = Some((column, row, label.into()));
        self
    }

    /// The cells as RFC 4180: `x,y,value`, with the labels as names of the columns if there are any.
    /// What is not finite is empty.
    pub fn to_csv(&self) -> String {
        let or = |label: &str, name: &str| if label.is_empty() { name } else { label }.to_owned();
        let header = [
            or(&self.x_label, "x"),
            or(&self.y_label, "y"),
            or(&self.value_label, "value"),
        ];
        let rows = self.rows.iter().enumerate().flat_map(|(row, y)| {
            self.columns.iter().enumerate().map(move |(column, x)| {
                let value = self.value(column, row).unwrap_or(f64::NAN);
                [*x, *y, value].map(csv::number)
            })
        });
        std::iter::once(header)
            .chain(rows)
            .map(csv::record)
            .collect()
    }

    /// The value of a cell, if it has one.
    fn value(&self, column: usize, row: usize) -> Option<f64> {
        let at = row.checked_mul(self.columns.len())?.checked_add(column)?;
        self.cells
            .get(at)
            .copied()
            .filter(|value| value.is_finite())
    }

    /// The axis of the shades.
    fn axis(&self) -> Axis {
        let finite = || self.cells.iter().copied().filter(|it| it.is_finite());
        let (low, high) = self.range.unwrap_or_else(|| {
            (
                finite().fold(f64::MAX, f64::min),
                finite().fold(f64::MIN, f64::max),
            )
        });
        Axis::exact(low, high)
    }

    /// What a cell says of itself: where it is, and its value.
    fn caption(&self, column: usize, row: usize) -> String {
        let part = |label: &str, value: Option<String>| {
            let value = value.unwrap_or_else(|| "none".into());
            if label.is_empty() {
                value
            } else {
                format!("{label}: {value}")
            }
        };
        let value = self.value(column, row).map(self.value_format);
        [
            part(
                &self.x_label,
                self.columns.get(column).copied().map(format::plain),
            ),
            part(
                &self.y_label,
                self.rows.get(row).copied().map(format::plain),
            ),
            part(&self.value_label, value),
        ]
        .join("\n")
    }
}

impl Figure for MapChart {
    fn size(&self) -> (f64, f64) {
        (self.width, self.height())
    }

    fn description(&self) -> String {
        let over = [&*self.value_label, &*self.x_label, &*self.y_label];
        let over: Vec<_> = over.into_iter().filter(|it| !it.is_empty()).collect();
        match (self.title.is_empty(), over.is_empty()) {
            (_, true) => self.title.clone(),
            (true, false) => over.join(", "),
            (false, false) => format!("{}: {}", self.title, over.join(", ")),
        }
    }

    fn fitted(&self, width: f64) -> Self {
        self.clone().with_width(width)
    }

    fn draw(&self, canvas: &mut Canvas) {
        self.draw_on(canvas);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_data_panics_or_leaves_the_picture() {
        for cells in [
            vec![],
            vec![f64::NAN; 6],
            vec![1.0; 50],
            vec![-1e308, 1e308],
        ] {
            for (columns, rows) in [(0, 0), (3, 0), (0, 2), (3, 2), (60, 40)] {
                let chart = MapChart::new("t", vec![f64::INFINITY; columns], vec![1.0; rows])
                    .cells(cells.clone())
                    .mark(7, 7, "here");
                for width in [240.0, 720.0] {
                    let chart = chart.fitted(width);
                    let svg = chart.to_svg();
                    assert!(!svg.contains("NaN") && !svg.contains("inf\""), "{svg}");
                    assert!(chart.size().1 < 4_000.0);
                }
            }
        }
    }

    #[test]
    fn csv_has_a_line_for_each_cell() {
        let csv = MapChart::new("", vec![0.5, 0.7, 0.9], vec![1.0, 2.0])
            .labels("load", "", "share")
            .cells(vec![0.0, 0.25, f64::NAN, 0.5])
            .to_csv();
        let rows = [
            "load,y,share",
            "0.5,1,0",
            "0.7,1,0.25",
            "0.9,1,",
            "0.5,2,0.5",
            "0.7,2,",
            "0.9,2,",
        ];
        assert_eq!(csv, rows.map(|row| format!("{row}\r\n")).concat());
    }

    #[test]
    fn shades_span_the_range_or_else_what_there_is() {
        let chart = MapChart::new("", vec![1.0, 2.0], vec![1.0]).cells(vec![0.2, 0.4]);
        let ends = |chart: &MapChart| (chart.axis().low(), chart.axis().high());
        assert_eq!(ends(&chart), (0.2, 0.4));
        assert_eq!(ends(&chart.range(0.0, 1.0)), (0.0, 1.0));
    }

    #[test]
    fn text_is_escaped() {
        let hostile = "</title><script>";
        let svg = MapChart::new(hostile, vec![1.0], vec![1.0])
            .labels(hostile, hostile, hostile)
            .mark(0, 0, hostile)
            .to_inline_svg();
        assert!(!svg.contains("<script"), "{svg}");
    }
}
