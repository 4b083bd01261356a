//! How does a quantity move along an axis?

mod draw;
mod layout;
mod terminal;

use crate::axis::Scale;
use crate::canvas::Canvas;
use crate::csv;
use crate::series::{Band, Rule, Series};
use crate::svg::Figure;

/// A chart of one or more [`Series`] over a common x axis.
///
/// On a [`Page`](crate::Page) it shows the value of every series at the pointer, at a finger, or
/// where the arrow keys lead.
#[derive(Debug, Clone, PartialEq)]
pub struct LineChart {
    title: String,
    x_label: String,
    y_label: String,
    x_range: Option<(f64, f64)>,
    y_top: Option<f64>,
    x_scale: Scale,
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
            x_scale: Scale::Linear,
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

    /// Sets how values are laid along the x axis. Default linear, from the least to the greatest.
    #[must_use]
    pub fn x_scale(mut self, scale: Scale) -> Self {
        self.x_scale = scale;
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

    /// The points as RFC 4180: `series,x,y`, one line for each point in the order given, with the
    /// labels of the axes as names of their columns if there are any. What is not finite is empty.
    pub fn to_csv(&self) -> String {
        let or = |label: &str, name: &str| if label.is_empty() { name } else { label }.to_owned();
        let header = [
            "series".into(),
            or(&self.x_label, "x"),
            or(&self.y_label, "y"),
        ];
        let rows = self.series.iter().flat_map(|series| {
            let row = |&(x, y): &(f64, f64)| [series.name.clone(), csv::number(x), csv::number(y)];
            series.points.iter().map(row)
        });
        std::iter::once(header)
            .chain(rows)
            .map(csv::record)
            .collect()
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

    fn fitted(&self, width: f64) -> Self {
        let chart = self
            .clone()
            .with_size(width, self.height.clamp(220.0, 280.0));
        // What stands above the data takes more lines in less width.
        let more = (chart.plot().top - self.plot().top).max(0.0);
        let height = chart.height + more;
        chart.with_size(width, height)
    }

    fn draw(&self, canvas: &mut Canvas) {
        self.draw_on(canvas);
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
        // Six labels and the tip of the series; the description, which joins title and series,
        // stands in two places.
        assert_eq!(svg.matches("&lt;script&gt;&quot;&amp;").count(), 7 + 2 * 2);
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
    fn csv_quotes_what_must_be_quoted_and_leaves_out_what_is_not_finite() {
        let points = vec![(0.5, 1.0), (1e300, f64::NAN)];
        let csv = LineChart::new("")
            .x_label("seconds")
            .series(Series::line("a \"b\", c", Colour::Ink, points))
            .to_csv();
        assert_eq!(
            csv,
            "series,seconds,y\r\n\"a \"\"b\"\", c\",0.5,1\r\n\"a \"\"b\"\", c\",1e300,\r\n"
        );
    }

    #[test]
    fn what_stands_above_the_data_takes_nothing_from_it_in_less_width() {
        let series = |at: i32| {
            let name = format!("a policy with a long name, the number {at} of several");
            Series::line(name, Colour::Ink, vec![(0.0, 0.0), (1.0, 1.0)])
        };
        let wide = (0..6)
            .fold(LineChart::new("a title"), |chart, at| {
                chart.series(series(at))
            })
            .with_size(1_200.0, 260.0);
        let narrow = wide.fitted(300.0);
        let data = |chart: &LineChart| chart.plot().bottom - chart.plot().top;
        assert!(narrow.size().1 > wide.size().1);
        assert!(
            (data(&narrow) - data(&wide)).abs() < 40.0,
            "{} {}",
            data(&narrow),
            data(&wide)
        );
    }

    #[test]
    fn charts_that_reach_the_same_top_have_the_same_axis() {
        let chart = |value| {
            let series = Series::line("", Colour::Ink, vec![(0.0, 0.0), (1.0, value)]);
            LineChart::new("")
                .series(series)
                .y_reaches(1_000.0)
                .plot()
                .y
        };
        assert_eq!(chart(3.0), chart(900.0));
    }
}
