//! What stands where in a line chart?

use super::LineChart;
use crate::axis::Axis;
use crate::canvas::{LINE_HEIGHT, MARGIN, label_columns, label_width, title_lines};
use crate::format;
use crate::plot::Plot;
use crate::series::Series;
use crate::terminal::cut;

pub(super) const SWATCH: f64 = 24.0;

/// The name of a band, with its middle and its row above the data.
pub(super) struct BandLabel {
    pub text: String,
    pub middle: f64,
    pub row: usize,
}

impl LineChart {
    fn values(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.series
            .iter()
            .flat_map(|series| series.points.iter().copied())
    }

    fn x_axis(&self) -> Axis {
        let usable = |x: &f64| x.is_finite() && (self.x_scale == crate::Scale::Linear || *x > 0.0);
        let xs = || self.values().map(|(x, _)| x).filter(usable);
        let (from, to) = self
            .x_range
            .unwrap_or_else(|| (xs().fold(f64::MAX, f64::min), xs().fold(f64::MIN, f64::max)));
        Axis::between(self.x_scale, from, to)
    }

    fn y_axis(&self) -> Axis {
        let rules = self.rules.iter().map(|rule| rule.at);
        let values = self.values().map(|(_, y)| y).chain(rules).chain(self.y_top);
        Axis::around(self.y_scale, values)
    }

    /// The title in the lines that it takes.
    pub(super) fn title_lines(&self) -> Vec<String> {
        title_lines(&self.title, self.width - 2.0 * MARGIN)
    }

    #[expect(clippy::cast_precision_loss, reason = "a handful of rows")]
    pub(super) fn legend_top(&self) -> f64 {
        match self.title_lines().len() {
            0 => 16.0,
            lines => 22.0 + lines as f64 * LINE_HEIGHT,
        }
    }

    /// Where the data is drawn, with the axes.
    #[expect(clippy::cast_precision_loss, reason = "a handful of rows")]
    pub(super) fn plot(&self) -> Plot {
        let (x, y) = (self.x_axis(), self.y_axis());
        let widest = y
            .ticks(6)
            .into_iter()
            .map(|tick| label_width(&format::plain(tick)))
            .fold(0.0, f64::max);
        let label = |label: &str| if label.is_empty() { 0.0 } else { 18.0 };
        let mut plot = Plot {
            left: widest + label(&self.y_label) + MARGIN,
            right: self.width - 16.0,
            top: 0.0,
            bottom: 0.0,
            x,
            y,
        };
        let bands = self.band_labels(&plot).iter().map(|it| it.row + 1).max();
        plot.top = self.legend_top() - 6.0
            + self.legend_rows().len() as f64 * LINE_HEIGHT
            + bands.map_or(0.0, |rows| rows as f64 * 15.0 + 3.0);
        plot.bottom = (self.height - 26.0 - label(&self.x_label)).max(plot.top + 20.0);
        plot
    }

    /// The series in rows that fit the width, each with the x offset of its entry.
    pub(super) fn legend_rows(&self) -> Vec<Vec<(f64, &Series, String)>> {
        let mut rows: Vec<Vec<(f64, &Series, String)>> = Vec::new();
        let room = self.width - 2.0 * MARGIN;
        let most = label_columns(room - SWATCH);
        let mut next = f64::INFINITY;
        let named = self.series.iter().filter(|series| !series.name.is_empty());
        for series in named.filter(|_| self.legend) {
            let name = cut(&series.name, most);
            let width = SWATCH + label_width(&name) + 14.0;
            if next + width - 14.0 > room {
                rows.push(Vec::new());
                next = 0.0;
            }
            if let Some(row) = rows.last_mut() {
                row.push((next, series, name));
            }
            next += width;
        }
        rows
    }

    /// The names of the bands, each over its band as far as the plot's ends allow, in as many rows
    /// as keep them apart.
    pub(super) fn band_labels(&self, plot: &Plot) -> Vec<BandLabel> {
        let mut placed: Vec<(BandLabel, f64)> = Vec::new();
        for band in &self.bands {
            let Some((from, to)) = plot.x(band.from).zip(plot.x(band.to)) else {
                continue;
            };
            if band.label.is_empty() {
                continue;
            }
            let most = label_columns(plot.right - plot.left);
            let text = cut(&band.label, most);
            let half = label_width(&text) / 2.0;
            let middle = f64::midpoint(from, to)
                .max(plot.left + half)
                .min(plot.right - half);
            let is_free = |row: usize| {
                placed.iter().all(|(other, its_half)| {
                    other.row != row || (other.middle - middle).abs() > half + its_half + 6.0
                })
            };
            let row = (0..=placed.len()).find(|row| is_free(*row)).unwrap_or(0);
            placed.push((BandLabel { text, middle, row }, half));
        }
        placed.into_iter().map(|(label, _)| label).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Band, Colour};

    fn chart() -> LineChart {
        let series = Series::line("", Colour::Ink, vec![(0.0, 0.0), (100.0, 1.0)]);
        LineChart::new("").series(series)
    }

    #[test]
    fn names_of_bands_do_not_cover_each_other_or_leave_the_plot() {
        let chart = (0..6).fold(chart(), |chart, at| {
            let from = f64::from(at) * 2.0;
            chart.band(Band::new(from, from + 1.0, format!("a long name {at}")))
        });
        let plot = chart.plot();
        let labels = chart.band_labels(&plot);
        assert_eq!(labels.len(), 6);
        for (at, label) in labels.iter().enumerate() {
            let half = label_width(&label.text) / 2.0;
            assert!(label.middle - half >= plot.left - 0.1 && label.middle + half <= plot.right);
            for other in &labels[at + 1..] {
                let apart = (label.middle - other.middle).abs() >= 2.0 * half;
                assert!(label.row != other.row || apart);
            }
        }
        // Room for every row.
        assert!(plot.top > 6.0 * 15.0);
    }

    #[test]
    fn a_narrow_legend_takes_more_rows() {
        let chart = (0..5).fold(LineChart::new(""), |chart, at| {
            let name = format!("a policy with a name {at}");
            chart.series(Series::line(name, Colour::Ink, vec![]))
        });
        let rows = |width| chart.clone().with_size(width, 300.0).legend_rows().len();
        assert!(rows(340.0) > rows(720.0));
        assert_eq!(rows(5_000.0), 1);
    }
}
