//! How do single values of a few things compare?

use crate::axis::{Axis, Scale};
use crate::canvas::{Anchor, Canvas};
use crate::colour::Colour;
use crate::csv;
use crate::format;
use crate::rows::{Rows, axis_height, setters_of_rows};
use crate::series::Rule;
use crate::svg::Figure;
use crate::terminal::{self, Painter};

/// A chart of bars: one value under each name, and levels to compare them with.
///
/// ```
/// use becalm_report::{BarChart, Colour, terminal::Painter};
///
/// let chart = BarChart::new("Amplification")
///     .bar("no jitter", Colour::Red, 4.0)
///     .bar("with a budget", Colour::Green, 1.0);
/// assert!(chart.to_terminal(60, Painter::Plain).contains("no jitter      ███"));
/// ```
#[derive(Debug, Clone)]
pub struct BarChart {
    title: String,
    value_label: String,
    value_format: fn(f64) -> String,
    scale: Scale,
    bars: Vec<(String, Colour, f64)>,
    rules: Vec<Rule>,
    width: f64,
}

impl BarChart {
    /// An empty chart, 720 pixels wide.
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            value_label: String::new(),
            value_format: format::plain,
            scale: Scale::Linear,
            bars: Vec::new(),
            rules: Vec::new(),
            width: 720.0,
        }
    }

    setters_of_rows!();

    /// Adds a bar below the others. A value that is not finite is a dash without a bar.
    #[must_use]
    pub fn bar(mut self, name: impl Into<String>, colour: Colour, value: f64) -> Self {
        self.bars.push((name.into(), colour, value));
        self
    }

    /// Adds a marked level of the values.
    #[must_use]
    pub fn rule(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self
    }

    /// The bars as RFC 4180: `name,value`. What is not finite is empty.
    pub fn to_csv(&self) -> String {
        let label = if self.value_label.is_empty() {
            "value"
        } else {
            &self.value_label
        };
        let row =
            |(name, _, value): &(String, Colour, f64)| csv::record([name, &csv::number(*value)]);
        let rows = self.bars.iter().map(row);
        std::iter::once(csv::record(["name", label]))
            .chain(rows)
            .collect()
    }

    /// The chart in `width` columns of a terminal, at least 40: one line for each bar, then one for
    /// each level.
    pub fn to_terminal(&self, width: usize, painter: Painter) -> String {
        let width = width.max(40);
        let axis = self.axis();
        let names = self.bars.iter().map(|(name, ..)| terminal::width(name));
        let names = names.max().unwrap_or(0).min(width / 3);
        let write = self.value_format;
        let values = self
            .bars
            .iter()
            .map(|(.., value)| terminal::width(&write(*value)));
        let values = values.max().unwrap_or(0).min(width / 3);
        let cells = width.saturating_sub(names + values + 4);
        let mut text = terminal::line(&self.title, width);
        for (name, colour, value) in &self.bars {
            let share = axis.position(*value).filter(|_| value.is_finite());
            let bar = terminal::sparkbar(share.unwrap_or(0.0), cells);
            let bar = painter.paint(*colour, &terminal::fit(&bar, cells));
            let value = terminal::fit(&write(*value), values);
            text += format!("{}  {bar}  {value}", terminal::fit(name, names)).trim_end();
            text.push('\n');
        }
        for rule in &self.rules {
            let line = format!("{}: {}", rule.label, write(rule.at));
            text += &terminal::line(&line, width);
        }
        text
    }

    fn axis(&self) -> Axis {
        let rules = self.rules.iter().map(|rule| rule.at);
        Axis::around(
            self.scale,
            self.bars.iter().map(|(.., value)| *value).chain(rules),
        )
    }

    fn rows(&self) -> Rows {
        let rows: Vec<_> = self
            .bars
            .iter()
            .map(|(name, _, value)| (&**name, (self.value_format)(*value)))
            .collect();
        Rows::new(&self.title, self.width, &rows)
    }

    fn draw_bars(&self, canvas: &mut Canvas, rows: &Rows, x: &dyn Fn(f64) -> Option<f64>) {
        canvas.open(
            "bc-tips",
            &[("data-columns", "1"), ("data-name", &*self.title)],
        );
        let base = x(if self.scale == Scale::Log {
            0.0
        } else {
            0.0_f64.max(self.axis().low())
        });
        for (at, (name, colour, value)) in self.bars.iter().enumerate() {
            let written = (self.value_format)(*value);
            canvas.open("bc-tip", &[]);
            canvas.tip(&format!("{name}: {written}"));
            let top = rows.draw_words(canvas, at, name, &written);
            if let (Some(base), Some(end), true) = (base, x(*value), value.is_finite()) {
                // A value of nothing is still seen.
                let size = ((end - base).abs().max(1.5), 16.0);
                canvas.bar(*colour, true, (base.min(end), top), size);
            }
            canvas.close();
        }
        canvas.close();
    }
}

impl Figure for BarChart {
    fn size(&self) -> (f64, f64) {
        #[expect(clippy::cast_precision_loss, reason = "a handful of levels")]
        let rules = self.rules.len() as f64 * 15.0;
        (
            self.width,
            self.rows().bottom() + rules + axis_height(&self.value_label),
        )
    }

    fn description(&self) -> String {
        let bars = self
            .bars
            .iter()
            .map(|(name, _, value)| format!("{name} {}", (self.value_format)(*value)));
        format!("{}: {}", self.title, bars.collect::<Vec<_>>().join("; "))
    }

    fn fitted(&self, width: f64) -> Self {
        self.clone().with_width(width)
    }

    #[expect(clippy::cast_precision_loss, reason = "a handful of levels")]
    fn draw(&self, canvas: &mut Canvas) {
        let (axis, rows) = (self.axis(), self.rows());
        let (left, right) = (rows.left, rows.right);
        let x = |value: f64| Some(left + axis.position(value)? * (right - left));
        canvas.title(&rows.titles);
        let bottom = rows.bottom() + self.rules.len() as f64 * 15.0;
        let named = (&*self.value_label, self.value_format);
        rows.draw_axis(canvas, &axis, bottom, named);
        self.draw_bars(canvas, &rows, &x);
        for (at, rule) in self.rules.iter().enumerate() {
            let Some(x) = x(rule.at) else { continue };
            let y = rows.bottom() + at as f64 * 15.0 + 11.0;
            canvas.line("bc-rule", (x, rows.top() - 2.0), (x, y));
            // On the side where there is room.
            let (at, anchor) = if x > self.width / 2.0 {
                (x - 5.0, Anchor::End)
            } else {
                (x + 5.0, Anchor::Start)
            };
            canvas.text((at, y), anchor, "bc-halo", &rule.label);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_their_values() {
        let chart = BarChart::new("t")
            .bar("a", Colour::Red, 10.0)
            .bar("b", Colour::Red, 5.0)
            .bar("none", Colour::Red, f64::NAN);
        let lengths: Vec<_> = chart
            .to_terminal(80, Painter::Plain)
            .lines()
            .skip(1)
            .map(|line| line.matches('█').count())
            .collect();
        assert!(
            lengths[0].abs_diff(2 * lengths[1]) <= 1 && lengths[2] == 0,
            "{lengths:?}"
        );
        assert_eq!(chart.to_csv(), "name,value\r\na,10\r\nb,5\r\nnone,\r\n");
    }

    #[test]
    fn a_level_above_every_bar_has_its_place() {
        let bars = BarChart::new("").bar("a", Colour::Red, 3.0);
        let high = |chart: &BarChart| chart.axis().high();
        assert!(high(&bars) < 9.0 && high(&bars.rule(Rule::new(9.0, "level"))) >= 9.0);
    }

    #[test]
    fn a_bar_of_nothing_is_seen_and_one_of_no_value_is_not() {
        let drawn = |value| {
            let chart = BarChart::new("").bar("a", Colour::Red, 100.0);
            let bars = chart.bar("b", Colour::Green, value).to_svg();
            bars.matches(Colour::Green.property()).count()
        };
        assert!(drawn(0.0) > drawn(f64::NAN));
        let svg = BarChart::new("").bar("a", Colour::Red, 0.0).to_svg();
        assert!(svg.contains("width=\"1.5\""), "{svg}");
        // An infinite value has no length either.
        let text = BarChart::new("")
            .bar("a", Colour::Red, f64::INFINITY)
            .to_terminal(60, Painter::Plain);
        assert!(!text.contains('█'), "{text}");
    }

    #[test]
    fn no_data_panics() {
        for scale in [Scale::Linear, Scale::Log] {
            for value in [f64::NAN, f64::INFINITY, -5.0, 0.0, 1e300] {
                let chart = BarChart::new("")
                    .scale(scale)
                    .bar(
                        "a long name of a policy that goes on and on",
                        Colour::Ink,
                        value,
                    )
                    .rule(Rule::new(value, "level"));
                for width in [0.0, 340.0, 720.0] {
                    let svg = chart.fitted(width).to_svg();
                    assert!(!svg.contains("NaN") && !svg.contains("inf\""), "{svg}");
                }
                let text = chart.to_terminal(0, Painter::Plain);
                assert!(
                    text.lines().all(|line| terminal::width(line) <= 40),
                    "{text}"
                );
            }
        }
    }
}
