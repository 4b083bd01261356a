//! Between which values may each of a few things lie?

use crate::axis::{Axis, Scale};
use crate::canvas::Canvas;
use crate::colour::Colour;
use crate::csv;
use crate::format;
use crate::rows::{Rows, axis_height, setters_of_rows};
use crate::svg::Figure;
use crate::terminal::{self, Painter};

/// One thing: the range it may lie in, its mean, and a reference.
#[derive(Debug, Clone, PartialEq)]
pub struct RangeRow {
    /// What it is called.
    pub label: String,
    /// The least value.
    pub low: f64,
    /// The mean value.
    pub mean: f64,
    /// The greatest value.
    pub high: f64,
    /// A reference beside the range (a ceiling, a limit), drawn as an outline from the axis.
    pub ceiling: Option<f64>,
}

/// A chart of ranges: one bar per [`RangeRow`], as SVG or for a terminal.
///
/// ```
/// use becalm_report::{RangeChart, RangeRow, format, terminal::Painter};
///
/// let chart = RangeChart::new("Delays").value_format(format::seconds).row(RangeRow {
///     label: "retry 1".into(), low: 0.0, mean: 0.05, high: 0.1, ceiling: Some(0.1),
/// });
/// println!("{}", chart.to_terminal(80, Painter::Plain));
/// ```
#[derive(Debug, Clone)]
pub struct RangeChart {
    title: String,
    value_label: String,
    value_format: fn(f64) -> String,
    scale: Scale,
    colour: Colour,
    rows: Vec<RangeRow>,
    width: f64,
}

impl RangeChart {
    /// An empty chart, 720 pixels wide.
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            value_label: String::new(),
            value_format: format::plain,
            scale: Scale::Linear,
            colour: Colour::Blue,
            rows: Vec::new(),
            width: 720.0,
        }
    }

    setters_of_rows!();

    /// Sets the colour of the bars. Default blue.
    #[must_use]
    pub fn colour(mut self, colour: Colour) -> Self {
        self.colour = colour;
        self
    }

    /// Adds a row below the others.
    #[must_use]
    pub fn row(mut self, row: RangeRow) -> Self {
        self.rows.push(row);
        self
    }

    /// The rows as RFC 4180: `label,low,mean,high,ceiling`. What is not finite is empty.
    pub fn to_csv(&self) -> String {
        let row = |row: &RangeRow| {
            let ceiling = row.ceiling.unwrap_or(f64::NAN);
            let values = [row.low, row.mean, row.high, ceiling].map(csv::number);
            csv::record(std::iter::once(row.label.clone()).chain(values))
        };
        let rows = self.rows.iter().map(row);
        std::iter::once(csv::record(["label", "low", "mean", "high", "ceiling"]))
            .chain(rows)
            .collect()
    }

    fn axis(&self) -> Axis {
        let values = self
            .rows
            .iter()
            .flat_map(|row| [row.low, row.mean, row.high].into_iter().chain(row.ceiling));
        Axis::around(self.scale, values)
    }

    /// `low .. high, mean m` of a row, in the chart's unit.
    fn caption(&self, row: &RangeRow) -> String {
        let write = self.value_format;
        if row.low < row.high {
            format!(
                "{} .. {}, mean {}",
                write(row.low),
                write(row.high),
                write(row.mean)
            )
        } else {
            write(row.mean)
        }
    }

    /// The chart in `width` columns of a terminal, at least 40: one line per row.
    ///
    /// `█` is the range, `◆` the mean, `·` runs up to the reference `│`.
    pub fn to_terminal(&self, width: usize, painter: Painter) -> String {
        let axis = self.axis();
        let longest = |texts: &mut dyn Iterator<Item = String>| {
            texts.map(|text| terminal::width(&text)).max().unwrap_or(0)
        };
        let labels = longest(&mut self.rows.iter().map(|row| row.label.clone())).min(24);
        let captions: Vec<_> = self.rows.iter().map(|row| self.caption(row)).collect();
        let caption_width = longest(&mut captions.iter().cloned());
        let cells = width
            .max(40)
            .saturating_sub(labels + caption_width + 4)
            .max(10);
        let mut text = String::new();
        if !self.title.is_empty() {
            text.push_str(&self.title);
            text.push('\n');
        }
        for (row, caption) in self.rows.iter().zip(&captions) {
            text.push_str(&terminal::fit(&row.label, labels));
            text.push_str("  ");
            text.push_str(&bar(row, &axis, cells, self.colour, painter));
            text.push_str("  ");
            text.push_str(caption);
            text.push('\n');
        }
        text
    }
}

/// The cells of one row of the terminal chart.
fn bar(row: &RangeRow, axis: &Axis, cells: usize, colour: Colour, painter: Painter) -> String {
    let cell = |value: f64| {
        axis.position(value)
            .map(|position| nearest_cell(position, cells))
    };
    let (low, mean, high) = (cell(row.low), cell(row.mean), cell(row.high));
    let ceiling = row.ceiling.and_then(cell);
    (0..cells)
        .map(|at| {
            let (glyph, colour) = if mean == Some(at) {
                ('◆', Colour::Ink)
            } else if low
                .zip(high)
                .is_some_and(|(low, high)| low <= at && at <= high)
            {
                ('█', colour)
            } else if ceiling == Some(at) {
                ('│', Colour::Muted)
            } else if ceiling.is_some_and(|ceiling| at < ceiling) {
                ('·', Colour::Muted)
            } else {
                (' ', Colour::Ink)
            };
            painter.paint(colour, glyph.encode_utf8(&mut [0; 4]))
        })
        .collect()
}

/// The cell of a position from 0 to 1.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss
)]
fn nearest_cell(position: f64, cells: usize) -> usize {
    ((position * cells as f64) as usize).min(cells.saturating_sub(1))
}

impl RangeChart {
    fn rows(&self) -> Rows {
        let rows: Vec<_> = self
            .rows
            .iter()
            .map(|row| (&*row.label, self.caption(row)))
            .collect();
        Rows::new(&self.title, self.width, &rows)
    }

    fn draw_row(&self, canvas: &mut Canvas, rows: &Rows, axis: &Axis, at: usize, row: &RangeRow) {
        let left = rows.left;
        let x = |value| Some(left + axis.position(value)? * (rows.right - left));
        let caption = self.caption(row);
        canvas.open("bc-tip", &[]);
        let limit = row.ceiling.map(self.value_format);
        let limit = limit.map_or(String::new(), |limit| format!(", limit {limit}"));
        canvas.tip(&format!("{}: {caption}{limit}", row.label));
        let top = rows.draw_words(canvas, at, &row.label, &caption);
        if let Some(end) = row.ceiling.and_then(x) {
            canvas.bar(Colour::Muted, false, (left, top), (end - left, 16.0));
        }
        if let (Some(low), Some(high)) = (x(row.low), x(row.high)) {
            // A range of one value is still seen.
            let size = ((high - low).max(2.0), 10.0);
            canvas.bar(self.colour, true, (low, top + 3.0), size);
        }
        if let Some(mean) = x(row.mean) {
            canvas.bar(Colour::Ink, true, (mean - 1.5, top + 1.0), (3.0, 14.0));
        }
        canvas.close();
    }
}

impl Figure for RangeChart {
    fn size(&self) -> (f64, f64) {
        (
            self.width,
            self.rows().bottom() + axis_height(&self.value_label),
        )
    }

    fn description(&self) -> String {
        let rows: Vec<_> = self
            .rows
            .iter()
            .map(|row| format!("{} {}", row.label, self.caption(row)))
            .collect();
        format!("{}: {}", self.title, rows.join("; "))
    }

    fn fitted(&self, width: f64) -> Self {
        self.clone().with_width(width)
    }

    fn draw(&self, canvas: &mut Canvas) {
        let (axis, rows) = (self.axis(), self.rows());
        canvas.title(&rows.titles);
        let named = (&*self.value_label, self.value_format);
        rows.draw_axis(canvas, &axis, rows.bottom(), named);
        canvas.open(
            "bc-tips",
            &[("data-columns", "1"), ("data-name", &*self.title)],
        );
        for (at, row) in self.rows.iter().enumerate() {
            self.draw_row(canvas, &rows, &axis, at, row);
        }
        canvas.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(label: &str, low: f64, mean: f64, high: f64) -> RangeRow {
        RangeRow {
            label: label.into(),
            low,
            mean,
            high,
            ceiling: Some(high),
        }
    }

    #[test]
    fn a_longer_range_is_a_longer_bar() {
        let chart = RangeChart::new("")
            .row(row("1", 0.0, 1.0, 2.0))
            .row(row("2", 0.0, 2.0, 4.0))
            .row(row("3", 0.0, 4.0, 8.0));
        let text = chart.to_terminal(100, Painter::Plain);
        let lengths: Vec<_> = text
            .lines()
            .map(|line| line.chars().filter(|glyph| "█◆".contains(*glyph)).count())
            .collect();
        assert!(lengths.is_sorted_by(|a, b| a < b), "{text}");
        assert!(
            text.lines().all(|line| line.chars().count() <= 100),
            "{text}"
        );
    }

    #[test]
    fn a_range_of_one_value_is_seen() {
        let chart = RangeChart::new("").row(row("", 0.0, 50.0, 100.0));
        let svg = chart.row(row("", 2.0, 2.0, 2.0)).to_svg();
        let bars = svg.matches("height=\"10\"").count();
        assert_eq!(
            (bars, svg.contains("width=\"2\" height=\"10\"")),
            (2, true),
            "{svg}"
        );
    }

    #[test]
    fn a_range_of_one_value_is_told_as_that_value() {
        let caption = |low, high| RangeChart::new("").caption(&row("", low, 2.0, high));
        assert_eq!(caption(1.0, 3.0), "1 .. 3, mean 2");
        assert_eq!(caption(2.0, 2.0), "2");
    }

    #[test]
    fn no_data_panics_and_every_row_keeps_a_mark() {
        let mut chart = RangeChart::new("x");
        assert_eq!(chart.to_terminal(0, Painter::Plain), "x\n");
        for scale in [Scale::Linear, Scale::Log] {
            chart = chart
                .scale(scale)
                .row(row("none", f64::NAN, f64::NAN, f64::NAN))
                .row(row("zero", 0.0, 0.0, 0.0))
                .row(row("wide", f64::MIN, 0.0, f64::MAX));
            let text = chart.to_terminal(60, Painter::Plain);
            assert!(
                text.lines()
                    .filter(|line| line.starts_with("zero"))
                    .all(|l| l.contains('◆'))
            );
            let svg = chart.to_svg();
            assert!(!svg.contains("NaN") && !svg.contains("inf\""), "{svg}");
        }
    }
}
