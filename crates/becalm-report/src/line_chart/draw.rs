//! How is a line chart drawn?

use super::LineChart;
use super::layout::SWATCH;
use crate::canvas::{Anchor, Canvas, EDGE, LINE_HEIGHT, Medium, label_columns, label_width};
use crate::format;
use crate::plot::Plot;
use crate::samples::Samples;
use crate::series::{Fill, Series};
use crate::terminal::cut;

impl LineChart {
    pub(super) fn draw_on(&self, canvas: &mut Canvas) {
        let plot = self.plot();
        canvas.title(&self.title_lines());
        self.draw_legend(canvas);
        self.draw_bands(canvas, &plot);
        self.draw_axes(canvas, &plot);
        if canvas.medium() == Medium::File {
            self.draw_all_series(canvas, &plot);
        } else {
            let description = format!("{} {}", self.title, self.y_label);
            let attributes = [
                ("data-plot", &*plot.geometry()),
                ("data-name", description.trim()),
                ("data-x", &*self.x_label),
            ];
            canvas.open("bc-live", &attributes);
            self.draw_all_series(canvas, &plot);
            canvas.close();
        }
        self.draw_rules(canvas, &plot);
    }

    fn draw_all_series(&self, canvas: &mut Canvas, plot: &Plot) {
        for series in &self.series {
            if canvas.medium() == Medium::Page {
                let samples = Samples::of(series, plot);
                let mut attributes = vec![
                    ("data-name", &*series.name),
                    ("data-colour", series.colour.property()),
                    ("data-xs", &*samples.xs),
                    ("data-ys", &*samples.ys),
                ];
                if series.steps {
                    attributes.push(("data-steps", "1"));
                }
                canvas.open("bc-series", &attributes);
            } else {
                canvas.open("bc-series", &[]);
            }
            canvas.tip(&range(series));
            let points = plot.points(series);
            match series.fill {
                Fill::Line => {}
                Fill::LineAndArea => canvas.area("bc-area", series.colour, plot.bottom, &points),
                Fill::Area => canvas.area("bc-bars", series.colour, plot.bottom, &points),
            }
            if series.fill != Fill::Area {
                canvas.path(series.class(), series.colour, &points);
            }
            canvas.close();
        }
    }

    fn draw_legend(&self, canvas: &mut Canvas) {
        let mut y = self.legend_top();
        for row in self.legend_rows() {
            for (offset, series, name) in row {
                let x = 12.0 + offset;
                let stroke = [Some((x, y - 4.0)), Some((x + SWATCH - 6.0, y - 4.0))];
                canvas.path(series.class(), series.colour, &stroke);
                canvas.text((x + SWATCH, y), Anchor::Start, "bc-strong", &name);
            }
            y += LINE_HEIGHT;
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a handful of rows")]
    fn draw_bands(&self, canvas: &mut Canvas, plot: &Plot) {
        for band in &self.bands {
            if let (Some(from), Some(to)) = (plot.x(band.from), plot.x(band.to)) {
                let size = ((to - from).max(1.0), plot.bottom - plot.top);
                canvas.rect("bc-band", (from, plot.top), size);
            }
        }
        for label in self.band_labels(plot) {
            let at = (label.middle, plot.top - 5.0 - label.row as f64 * 15.0);
            canvas.text(at, Anchor::Middle, "", &label.text);
        }
    }

    fn draw_axes(&self, canvas: &mut Canvas, plot: &Plot) {
        for tick in plot.y.ticks(6) {
            if let Some(y) = plot.y(tick) {
                canvas.line("bc-grid", (plot.left, y), (plot.right, y));
                let at = (plot.left - 6.0, y + 4.0);
                canvas.text(at, Anchor::End, "", &format::plain(tick));
            }
        }
        // Labels of x stand side by side: as many as have room.
        let mut free_from = f64::NEG_INFINITY;
        for tick in plot.x.ticks(plot.wanted_x_ticks()) {
            if let Some(x) = plot.x(tick) {
                canvas.line("bc-axis", (x, plot.bottom), (x, plot.bottom + 4.0));
                let text = format::plain(tick);
                let half = label_width(&text) / 2.0;
                // A label is not cut at the picture's edge.
                let middle = x.min(self.width - half - EDGE);
                if middle - half >= free_from {
                    canvas.text((middle, plot.bottom + 17.0), Anchor::Middle, "", &text);
                    free_from = middle + half + 6.0;
                }
            }
        }
        let (left, right) = ((plot.left, plot.bottom), (plot.right, plot.bottom));
        canvas.line("bc-axis", left, right);
        if !self.x_label.is_empty() {
            let at = (f64::midpoint(plot.left, plot.right), self.height - 8.0);
            canvas.text(at, Anchor::Middle, "", &self.x_label);
        }
        if !self.y_label.is_empty() {
            let middle = f64::midpoint(plot.top, plot.bottom);
            let most = label_columns(plot.bottom - plot.top + 40.0);
            let text = cut(&self.y_label, most);
            canvas.upward_text((14.0, middle), &text);
        }
    }

    /// The levels, each with its name where no other name is.
    fn draw_rules(&self, canvas: &mut Canvas, plot: &Plot) {
        let mut taken: Vec<(f64, f64, f64)> = Vec::new();
        for rule in &self.rules {
            let Some(y) = plot.y(rule.at) else { continue };
            canvas.line("bc-rule", (plot.left, y), (plot.right, y));
            let width = label_width(&rule.label);
            let (right, left) = (plot.right - 4.0 - width, plot.left + 4.0);
            let places = [
                (right, y - 5.0),
                (right, y + 14.0),
                (left, y - 5.0),
                (left, y + 14.0),
            ];
            let is_free = |&(x, y): &(f64, f64)| {
                let inside = y > plot.top + 6.0 && y < plot.bottom;
                inside
                    && taken
                        .iter()
                        .all(|&(from, to, at)| (y - at).abs() > 13.0 || x > to || x + width < from)
            };
            let (x, y) = places.into_iter().find(is_free).unwrap_or(places[0]);
            taken.push((x, x + width, y));
            let (x, anchor) = if x < right {
                (x, Anchor::Start)
            } else {
                (plot.right - 4.0, Anchor::End)
            };
            canvas.text((x, y), anchor, "bc-halo", &rule.label);
        }
    }
}

/// The name of a series and what its values lie between, for a browser without scripts.
fn range(series: &Series) -> String {
    let ys = || {
        series
            .points
            .iter()
            .map(|(_, y)| *y)
            .filter(|y| y.is_finite())
    };
    let (least, most) = (ys().fold(f64::MAX, f64::min), ys().fold(f64::MIN, f64::max));
    if least > most {
        return format!("{}: no values", series.name);
    }
    let (least, most) = (format::plain(least), format::plain(most));
    format!("{}: {least} .. {most}", series.name)
}
