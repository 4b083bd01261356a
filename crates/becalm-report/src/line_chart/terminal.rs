//! What does a line chart look like in a terminal?

use super::LineChart;
use crate::format;
use crate::plot::Plot;
use crate::series::Series;
use crate::terminal::{self, Dots, Painter};

/// What tells series apart where there are no colours.
const GLYPHS: [char; 8] = ['*', '+', 'o', 'x', '#', '@', '%', '&'];

impl LineChart {
    /// The chart in `width` columns, at least 32, and `height` lines of data, at least 2, each line
    /// ended.
    ///
    /// Lines are drawn in dots of an eighth of a character. Without colours, several series are
    /// drawn in a character each. The names of levels and of bands stand below, with the ends of the
    /// latter.
    pub fn to_terminal(&self, width: usize, height: usize, painter: Painter) -> String {
        let (width, height) = (width.max(32), height.clamp(2, 200));
        let plot = self.plot();
        let labels = plot
            .y
            .ticks(u32::try_from(height / 2).unwrap_or(6).clamp(1, 6));
        let labels: Vec<_> = labels
            .into_iter()
            .map(|tick| (tick, format::plain(tick)))
            .collect();
        let margin = labels
            .iter()
            .map(|(_, it)| terminal::width(it))
            .max()
            .unwrap_or(0);
        let columns = width.saturating_sub(margin + 2).max(1);
        let mut dots = Dots::new(columns, height);
        let glyphed = painter == Painter::Plain && self.series.len() > 1;
        for (series, glyph) in self.series.iter().zip(GLYPHS.into_iter().cycle()) {
            trace(&mut dots, series, &plot, glyphed.then_some(glyph));
        }
        for rule in &self.rules {
            if let Some(y) = plot.y.position(rule.at) {
                let y = from_top(y, dots.height());
                for x in (0..dots.width()).step_by(6) {
                    dots.set(x, y, crate::Colour::Muted, None);
                }
            }
        }
        let mut text = terminal::line(&self.title, width);
        let row_of = |tick: &f64| {
            plot.y
                .position(*tick)
                .map(|it| from_top(it, height * 4) / 4)
        };
        for (row, line) in dots.lines(painter).into_iter().enumerate() {
            let label = labels.iter().find(|(tick, _)| row_of(tick) == Some(row));
            let (label, edge) = label.map_or(("", '│'), |(_, label)| (label, '┤'));
            let padding = margin.saturating_sub(terminal::width(label));
            let edge = painter.paint(
                crate::Colour::Muted,
                &format!("{:padding$}{label} {edge}", ""),
            );
            text += format!("{edge}{line}").trim_end();
            text.push('\n');
        }
        text += &self.x_line(&plot, margin + 2, columns, painter);
        text += &self.terminal_legend(width, glyphed, painter);
        text + &self.terminal_notes(&plot, width, painter)
    }

    /// The ends of the x axis, and its name between them.
    fn x_line(&self, plot: &Plot, margin: usize, columns: usize, painter: Painter) -> String {
        let (low, high) = (format::plain(plot.x.low()), format::plain(plot.x.high()));
        let between = columns.saturating_sub(terminal::width(&low) + terminal::width(&high));
        let name = if terminal::width(&self.x_label) + 2 <= between {
            &*self.x_label
        } else {
            ""
        };
        let before = between.saturating_sub(terminal::width(name)) / 2;
        let after = between.saturating_sub(terminal::width(name) + before);
        let line = format!("{:margin$}{low}{:before$}{name}{:after$}{high}", "", "", "");
        painter.paint(crate::Colour::Muted, line.trim_end()) + "\n"
    }

    fn terminal_legend(&self, width: usize, glyphed: bool, painter: Painter) -> String {
        let mut text = String::new();
        let mut used = 0;
        for (series, glyph) in self.series.iter().zip(GLYPHS.into_iter().cycle()) {
            if series.name.is_empty() || !self.legend {
                continue;
            }
            let name = terminal::fit(&series.name, terminal::width(&series.name).min(width - 2));
            let entry = 2 + terminal::width(&name);
            if used > 0 && used + 3 + entry > width {
                text.push('\n');
                used = 0;
            } else if used > 0 {
                text += "   ";
                used += 3;
            }
            let mark = if glyphed { glyph } else { '━' };
            text += &painter.paint(series.colour, mark.encode_utf8(&mut [0; 4]));
            text.push(' ');
            text += &name;
            used += entry;
        }
        if used > 0 {
            text.push('\n');
        }
        text
    }

    /// What the levels and the bands are: their names, and where the bands lie.
    fn terminal_notes(&self, plot: &Plot, width: usize, painter: Painter) -> String {
        let rules = self.rules.iter().filter(|rule| {
            let is_seen = plot.y.position(rule.at).is_some();
            is_seen && !rule.label.is_empty()
        });
        let rules = rules.map(|rule| format!("┈ {}", rule.label));
        let bands = self.bands.iter().filter(|band| !band.label.is_empty());
        let bands = bands.map(|band| match [band.from, band.to].map(format::plain) {
            [from, to] if from == to => format!("at {from}: {}", band.label),
            [from, to] => format!("{from} to {to}: {}", band.label),
        });
        let notes: Vec<_> = rules.chain(bands).collect();
        if notes.is_empty() {
            return String::new();
        }
        let lines = terminal::wrap(&notes.join("; "), width);
        let lines = lines.iter().map(|line| terminal::fit(line, width));
        let lines = lines.map(|line| painter.paint(crate::Colour::Muted, line.trim_end()) + "\n");
        lines.collect()
    }
}

/// The row of a position from 0 at the bottom to 1 at the top.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a float saturates, and a terminal is small"
)]
fn from_top(position: f64, rows: usize) -> usize {
    ((1.0 - position) * rows as f64 - 0.5)
        .round()
        .max(0.0)
        .min(rows as f64 - 1.0) as usize
}

/// Draws each column of dots from the least to the greatest value in it, joined to the one before.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a float saturates, and a terminal is small"
)]
fn trace(dots: &mut Dots, series: &Series, plot: &Plot, glyph: Option<char>) {
    let (width, height) = (dots.width(), dots.height());
    let place = |x: f64, y: f64| {
        let column = (plot.x.position(x)? * (width as f64 - 1.0)).round() as usize;
        Some((column, from_top(plot.y.position(y)?, height)))
    };
    let mut last: Option<(usize, usize)> = None;
    for &(x, y) in &series.points {
        let at = if x.is_finite() && y.is_finite() {
            place(x, y)
        } else {
            None
        };
        match (last, at) {
            (Some((from, before)), Some((to, now))) if to > from => {
                for column in from..=to {
                    let share = (column - from) as f64 / (to - from) as f64;
                    let y = if series.steps {
                        before
                    } else {
                        (before as f64 + (now as f64 - before as f64) * share).round() as usize
                    };
                    dots.set(column, y, series.colour, glyph);
                }
                if series.steps {
                    dots.stroke(to, (before, now), series.colour, glyph);
                }
            }
            (Some((_, before)), Some((column, now))) => {
                dots.stroke(column, (before, now), series.colour, glyph);
            }
            (None, Some((column, y))) => dots.set(column, y, series.colour, glyph),
            (_, None) => {}
        }
        last = at;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Band, Colour, Rule};

    fn line(points: Vec<(f64, f64)>) -> Series {
        Series::line("load", Colour::Red, points)
    }

    #[test]
    fn a_rising_line_rises() {
        let chart = LineChart::new("t")
            .x_label("seconds")
            .series(line(vec![(0.0, 0.0), (9.0, 90.0)]));
        let text = chart.to_terminal(40, 6, Painter::Plain);
        let first_dot = |line: &str| {
            line.chars()
                .position(|it| ('\u{2801}'..='\u{28ff}').contains(&it))
        };
        let places: Vec<_> = text.lines().filter_map(first_dot).collect();
        assert_eq!(places.len(), 6, "{text}");
        assert!(places.is_sorted_by(|a, b| a > b), "{text}");
        assert!(
            text.contains("100 ┤") && text.contains("0 ┤") && text.contains("seconds"),
            "{text}"
        );
    }

    #[test]
    fn widths_are_kept_whatever_the_data() {
        for points in [
            vec![],
            vec![(f64::NAN, 1.0)],
            vec![(1.0, 1e300), (2.0, -5.0), (3.0, 7.0)],
        ] {
            for width in [0, 32, 33, 80, 200] {
                for painter in [Painter::Plain, Painter::Ansi] {
                    let chart =
                        LineChart::new("a title that is longer than the narrowest terminal")
                            .x_label("x")
                            .rule(Rule::new(3.0, "capacity"))
                            .band(Band::new(1.0, 2.0, "an outage of the database behind it"))
                            .series(line(points.clone()).filled())
                            .series(Series::steps(
                                "再試行の嵐 with a long name",
                                Colour::Blue,
                                points.clone(),
                            ));
                    let text = chart.to_terminal(width, 5, painter);
                    let plain = text
                        .split('\u{1b}')
                        .map(|it| it.split_once('m').map_or(it, |(_, rest)| rest));
                    let plain: String = if painter == Painter::Ansi {
                        plain.collect()
                    } else {
                        text
                    };
                    for line in plain.lines() {
                        assert!(
                            terminal::width(line) <= width.max(32),
                            "{line:?} in {width}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn levels_and_bands_are_named_below() {
        let chart = LineChart::new("")
            .series(line(vec![(0.0, 0.0), (60.0, 100.0)]))
            .rule(Rule::new(40.0, "capacity"))
            .band(Band::new(10.0, 12.5, "the database hangs"))
            .band(Band::new(20.0, 20.0, "its cache is lost"));
        let text = chart.to_terminal(80, 6, Painter::Plain);
        let notes = "┈ capacity; 10 to 12.5: the database hangs; at 20: its cache is lost";
        assert_eq!(text.lines().last(), Some(notes), "{text}");
        let plain = LineChart::new("").series(line(vec![(0.0, 0.0), (60.0, 100.0)]));
        assert!(
            plain
                .to_terminal(80, 6, Painter::Plain)
                .ends_with("━ load\n")
        );
    }

    #[test]
    fn series_are_told_apart_without_colours() {
        let flat = |y| line(vec![(0.0, y), (1.0, y)]);
        let chart = LineChart::new("").series(flat(1.0)).series(flat(9.0));
        let text = chart.to_terminal(40, 6, Painter::Plain);
        let row = |glyph: char| {
            text.lines()
                .position(|line| line.matches(glyph).count() > 9)
        };
        assert!(row('+') < row('*') && row('+').is_some(), "{text}");
    }
}
