//! How does a quantity move along an axis?

use crate::axis::{Axis, Scale};
use crate::format;
use crate::plot::Plot;
use crate::series::{Band, Fill, Rule, Series};
use crate::svg::{Anchor, Canvas, Figure, label_width};

/// A chart of one or more [`Series`] over a common x axis.
#[derive(Debug, Clone, PartialEq)]
pub struct LineChart {
    title: String,
    x_label: String,
    y_label: String,
    x_range: Option<(f64, f64)>,
    y_top: Option<f64>,
    y_scale: Scale,
    legend: bool,
    bands: Vec<Band>,
    rules: Vec<Rule>,
    series: Vec<Series>,
    width: f64,
    height: f64,
}

impl LineChart {
    /// An empty chart of 720 x 300 pixels.
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            x_label: String::new(),
            y_label: String::new(),
            x_range: None,
            y_top: None,
            y_scale: Scale::Linear,
            legend: true,
            bands: Vec::new(),
            rules: Vec::new(),
            series: Vec::new(),
            width: 720.0,
            height: 300.0,
        }
    }

    /// Names the x axis.
    #[must_use]
    pub fn x_label(mut self, label: impl Into<String>) -> Self {
        self.x_label = label.into();
        self
    }

    /// Names the y axis.
    #[must_use]
    pub fn y_label(mut self, label: impl Into<String>) -> Self {
        self.y_label = label.into();
        self
    }

    /// Sets the ends of the x axis; otherwise it spans the points.
    #[must_use]
    pub fn x_range(mut self, from: f64, to: f64) -> Self {
        self.x_range = Some((from, to));
        self
    }

    /// Sets a value that the y axis reaches at least: charts that share it can be compared.
    #[must_use]
    pub fn y_reaches(mut self, top: f64) -> Self {
        self.y_top = Some(top);
        self
    }

    /// Sets how values are laid along the y axis. Default linear.
    #[must_use]
    pub fn y_scale(mut self, scale: Scale) -> Self {
        self.y_scale = scale;
        self
    }

    /// Leaves the legend out, where a title says it all.
    #[must_use]
    pub fn without_legend(mut self) -> Self {
        self.legend = false;
        self
    }

    /// Adds a tinted stretch of the x axis.
    #[must_use]
    pub fn band(mut self, band: Band) -> Self {
        self.bands.push(band);
        self
    }

    /// Adds a marked level of the y axis.
    #[must_use]
    pub fn rule(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self
    }

    /// Adds a series; later ones are drawn on top.
    #[must_use]
    pub fn series(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }

    /// Sets the size in pixels, at least 240 x 140.
    #[must_use]
    pub fn with_size(mut self, width: f64, height: f64) -> Self {
        self.width = width.clamp(240.0, 10_000.0);
        self.height = height.clamp(140.0, 10_000.0);
        self
    }
}

impl Figure for LineChart {
    fn size(&self) -> (f64, f64) {
        (self.width, self.height)
    }

    fn description(&self) -> String {
        let names: Vec<_> = self.series.iter().map(|series| &*series.name).collect();
        match (self.title.is_empty(), names.is_empty()) {
            (_, true) => self.title.clone(),
            (true, false) => names.join(", "),
            (false, false) => format!("{}: {}", self.title, names.join(", ")),
        }
    }

    fn draw(&self, canvas: &mut Canvas) {
        let legend = self.legend_rows();
        let plot = self.plot(legend.len());
        if !self.title.is_empty() {
            canvas.text((plot.left, 20.0), Anchor::Start, "bc-title", &self.title);
        }
        self.draw_legend(canvas, plot.left, &legend);
        self.draw_ground(canvas, &plot);
        for series in &self.series {
            let points = plot.points(series);
            match series.fill {
                Fill::Line => {}
                Fill::LineAndArea => canvas.area("bc-area", series.colour, plot.bottom, &points),
                Fill::Area => canvas.area("bc-bars", series.colour, plot.bottom, &points),
            }
            if series.fill != Fill::Area {
                canvas.path(series.class(), series.colour, &points);
            }
        }
        self.draw_rules(canvas, &plot);
    }
}

const LINE_HEIGHT: f64 = 18.0;
const SWATCH: f64 = 24.0;

impl LineChart {
    fn values(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.series
            .iter()
            .flat_map(|series| series.points.iter().copied())
    }

    fn plot(&self, legend_rows: usize) -> Plot {
        let xs = || self.values().map(|(x, _)| x).filter(|x| x.is_finite());
        let (from, to) = self
            .x_range
            .unwrap_or_else(|| (xs().fold(f64::MAX, f64::min), xs().fold(f64::MIN, f64::max)));
        let x = Axis::exact(from, to);
        let rules = self.rules.iter().map(|rule| rule.at);
        let values = self.values().map(|(_, y)| y).chain(rules).chain(self.y_top);
        let y = Axis::around(self.y_scale, values);
        let widest = y
            .ticks(6)
            .into_iter()
            .map(|tick| label_width(&format::plain(tick)))
            .fold(0.0, f64::max);
        let title = if self.title.is_empty() { 6.0 } else { 28.0 };
        #[expect(clippy::cast_precision_loss)] // a handful of rows
        let legend = legend_rows as f64 * LINE_HEIGHT;
        let top = title
            + legend
            + if self.bands.is_empty() {
                6.0
            } else {
                LINE_HEIGHT
            };
        let y_label = if self.y_label.is_empty() { 0.0 } else { 18.0 };
        let x_label = if self.x_label.is_empty() { 0.0 } else { 18.0 };
        Plot {
            left: widest + y_label + 12.0,
            right: self.width - 16.0,
            top,
            bottom: (self.height - 26.0 - x_label).max(top + 20.0),
            x,
            y,
        }
    }

    /// The series in rows that fit the width, each with the x offset of its entry.
    fn legend_rows(&self) -> Vec<Vec<(f64, &Series)>> {
        let mut rows: Vec<Vec<(f64, &Series)>> = Vec::new();
        let mut next = f64::INFINITY;
        let named = self.series.iter().filter(|series| !series.name.is_empty());
        for series in named.filter(|_| self.legend) {
            let width = SWATCH + label_width(&series.name) + 14.0;
            if next + width > self.width - 60.0 {
                rows.push(Vec::new());
                next = 0.0;
            }
            if let Some(row) = rows.last_mut() {
                row.push((next, series));
            }
            next += width;
        }
        rows
    }

    fn draw_legend(&self, canvas: &mut Canvas, left: f64, rows: &[Vec<(f64, &Series)>]) {
        let mut y = if self.title.is_empty() { 16.0 } else { 40.0 };
        for row in rows {
            for (offset, series) in row {
                let x = left + offset;
                let stroke = [Some((x, y - 4.0)), Some((x + SWATCH - 6.0, y - 4.0))];
                canvas.path(series.class(), series.colour, &stroke);
                canvas.text((x + SWATCH, y), Anchor::Start, "bc-strong", &series.name);
            }
            y += LINE_HEIGHT;
        }
    }

    /// Bands, grid, axes and their labels.
    fn draw_ground(&self, canvas: &mut Canvas, plot: &Plot) {
        for band in &self.bands {
            if let (Some(from), Some(to)) = (plot.x(band.from), plot.x(band.to)) {
                let size = (to - from, plot.bottom - plot.top);
                canvas.rect("bc-band", (from, plot.top), size);
                let middle = f64::midpoint(from, to);
                canvas.text((middle, plot.top - 5.0), Anchor::Middle, "", &band.label);
            }
        }
        for tick in plot.y.ticks(6) {
            if let Some(y) = plot.y(tick) {
                canvas.line("bc-grid", (plot.left, y), (plot.right, y));
                let at = (plot.left - 6.0, y + 4.0);
                canvas.text(at, Anchor::End, "", &format::plain(tick));
            }
        }
        for tick in plot.x.ticks(10) {
            if let Some(x) = plot.x(tick) {
                canvas.line("bc-axis", (x, plot.bottom), (x, plot.bottom + 4.0));
                let at = (x, plot.bottom + 17.0);
                canvas.text(at, Anchor::Middle, "", &format::plain(tick));
            }
        }
        canvas.line(
            "bc-axis",
            (plot.left, plot.bottom),
            (plot.right, plot.bottom),
        );
        let middle = f64::midpoint(plot.left, plot.right);
        if !self.x_label.is_empty() {
            canvas.text(
                (middle, self.height - 8.0),
                Anchor::Middle,
                "",
                &self.x_label,
            );
        }
        if !self.y_label.is_empty() {
            let middle = f64::midpoint(plot.top, plot.bottom);
            canvas.upward_text((14.0, middle), &self.y_label);
        }
    }

    fn draw_rules(&self, canvas: &mut Canvas, plot: &Plot) {
        for rule in &self.rules {
            if let Some(y) = plot.y(rule.at) {
                canvas.line("bc-rule", (plot.left, y), (plot.right, y));
                let at = (plot.right - 4.0, y - 5.0);
                canvas.text(at, Anchor::End, "bc-halo", &rule.label);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::colour::Colour;

    fn coordinates(svg: &str) -> impl Iterator<Item = f64> + '_ {
        ["x=\"", "y=\"", "x1=\"", "y1=\"", "width=\"", "height=\""]
            .into_iter()
            .flat_map(move |key| svg.split(key).skip(1))
            .filter_map(|rest| rest.split('"').next()?.parse().ok())
    }

    #[test]
    fn no_data_panics_or_leaves_the_picture() {
        let hostile = [
            vec![],
            vec![(f64::NAN, 1.0), (1.0, f64::NAN)],
            vec![(0.0, f64::INFINITY), (f64::NEG_INFINITY, 3.0)],
            vec![(1.0, 1.0)],
            vec![(1e308, -1e308), (-1e308, 1e308)],
        ];
        for points in hostile {
            for scale in [Scale::Linear, Scale::Log] {
                let svg = LineChart::new("t")
                    .y_scale(scale)
                    .band(Band::new(f64::NAN, 2.0, "b"))
                    .rule(Rule::new(f64::INFINITY, "r"))
                    .series(Series::steps("s", Colour::Red, points.clone()).filled())
                    .to_svg();
                assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
                assert!(
                    coordinates(&svg).all(|value| (-1.0..=721.0).contains(&value)),
                    "{svg}"
                );
            }
        }
    }

    #[test]
    fn text_is_escaped_wherever_it_comes_from() {
        let hostile = "<script>\"&";
        let svg = LineChart::new(hostile)
            .x_label(hostile)
            .y_label(hostile)
            .band(Band::new(0.0, 1.0, hostile))
            .rule(Rule::new(1.0, hostile))
            .series(Series::line(
                hostile,
                Colour::Blue,
                vec![(0.0, 1.0), (1.0, 2.0)],
            ))
            .to_svg();
        assert!(!svg.contains("<script"), "{svg}");
        // Six labels; the description, which joins title and series, stands in two places.
        assert_eq!(svg.matches("&lt;script&gt;&quot;&amp;").count(), 6 + 2 * 2);
    }

    #[test]
    fn a_gap_in_the_data_is_a_gap_in_the_line() {
        let points = vec![(0.0, 1.0), (1.0, f64::NAN), (2.0, 1.0), (3.0, 2.0)];
        let svg = LineChart::new("")
            .without_legend()
            .series(Series::line("", Colour::Ink, points))
            .to_svg();
        let path = svg.split(" d=\"").nth(1).unwrap();
        assert_eq!(path.split('"').next().unwrap().matches('M').count(), 2);
    }

    #[test]
    fn charts_that_reach_the_same_top_have_the_same_axis() {
        let chart = |value| {
            let series = Series::line("", Colour::Ink, vec![(0.0, 0.0), (1.0, value)]);
            LineChart::new("")
                .series(series)
                .y_reaches(1_000.0)
                .plot(0)
                .y
        };
        assert_eq!(chart(3.0), chart(900.0));
    }
}
