//! What do charts of rows have in common? Where a label, a bar and a figure stand, and the axis below.

use crate::axis::Axis;
use crate::canvas::{
    Anchor, Canvas, EDGE, LINE_HEIGHT, MARGIN, label_columns, label_width, title_lines,
};
use crate::terminal;

/// Below this width a bar beside its words would be too short: it stands below them.
const NARROW: f64 = 480.0;

/// The setters of a chart of values, whose height follows.
macro_rules! setters_of_values {
    () => {
        /// Sets the width in pixels, at least 240. The height follows from the rows.
        #[must_use]
        pub fn with_width(mut self, width: f64) -> Self {
            self.width = width.clamp(240.0, 10_000.0);
            self
        }

        /// Sets how values are written. Default [`format::plain`].
        #[must_use]
        pub fn value_format(mut self, value_format: fn(f64) -> String) -> Self {
            self.value_format = value_format;
            self
        }
    };
}
pub(crate) use setters_of_values;

/// The setters of a chart of rows, which is told of by a title, the axis of its values and a width.
macro_rules! setters_of_rows {
    () => {
        /// Names the axis of the values.
        #[must_use]
        pub fn value_label(mut self, label: impl Into<String>) -> Self {
            self.value_label = label.into();
            self
        }

        $crate::rows::setters_of_values!();

        /// Sets how values are laid along their axis. Default linear.
        #[must_use]
        pub fn scale(mut self, scale: Scale) -> Self {
            self.scale = scale;
            self
        }
    };
}
pub(crate) use setters_of_rows;

/// The height of the axis below the rows, with its name if it has one.
pub(crate) fn axis_height(name: &str) -> f64 {
    if name.is_empty() { 28.0 } else { 46.0 }
}

/// The layout of a chart of rows: side by side, or on a narrow picture the words above the bar.
pub(crate) struct Rows {
    pub titles: Vec<String>,
    /// Where bars begin.
    pub left: f64,
    /// Where bars end.
    pub right: f64,
    width: f64,
    is_narrow: bool,
    count: usize,
}

impl Rows {
    /// Rows of a label and a caption each, in so many pixels.
    pub fn new(title: &str, width: f64, rows: &[(&str, String)]) -> Self {
        let widest = |texts: &mut dyn Iterator<Item = &str>, most: f64| {
            texts.map(label_width).fold(20.0, f64::max).min(most)
        };
        let is_narrow = width < NARROW;
        let (left, right) = if is_narrow {
            (MARGIN, width - MARGIN)
        } else {
            let labels = widest(&mut rows.iter().map(|(label, _)| *label), 240.0);
            let captions = widest(&mut rows.iter().map(|(_, caption)| &**caption), 260.0);
            (labels + MARGIN + 8.0, width - captions - MARGIN - 10.0)
        };
        Self {
            titles: title_lines(title, width - 2.0 * MARGIN),
            left,
            right,
            width,
            is_narrow,
            count: rows.len(),
        }
    }

    /// The top of the first row.
    #[expect(clippy::cast_precision_loss, reason = "a title is short")]
    pub fn top(&self) -> f64 {
        16.0 + LINE_HEIGHT * self.titles.len() as f64
    }

    /// The end of the last row.
    #[expect(clippy::cast_precision_loss, reason = "rows of a chart")]
    pub fn bottom(&self) -> f64 {
        self.top() + self.height() * self.count as f64
    }

    const fn height(&self) -> f64 {
        if self.is_narrow { 42.0 } else { 26.0 }
    }

    /// Draws the axis of the values below the rows: its marks as they are written, and its name.
    pub fn draw_axis(
        &self,
        canvas: &mut Canvas,
        axis: &Axis,
        bottom: f64,
        (name, write): (&str, fn(f64) -> String),
    ) {
        let mut free_from = f64::NEG_INFINITY;
        for tick in axis.ticks(5) {
            let Some(position) = axis.position(tick) else {
                continue;
            };
            let x = self.left + position * (self.right - self.left);
            canvas.line("bc-grid", (x, self.top() - 2.0), (x, bottom));
            let text = write(tick);
            let half = label_width(&text) / 2.0;
            let middle = x.max(half + EDGE).min(self.width - half - EDGE);
            if middle - half >= free_from {
                canvas.text((middle, bottom + 16.0), Anchor::Middle, "", &text);
                free_from = middle + half + 6.0;
            }
        }
        if !name.is_empty() {
            let at = (f64::midpoint(self.left, self.right), bottom + 36.0);
            canvas.text(at, Anchor::Middle, "", name);
        }
    }

    /// Writes the words of a row and gives the top of its bar, which is 16 high.
    #[expect(clippy::cast_precision_loss, reason = "rows of a chart")]
    pub fn draw_words(&self, canvas: &mut Canvas, row: usize, label: &str, caption: &str) -> f64 {
        let top = self.top() + self.height() * row as f64;
        let end = self.width - MARGIN;
        let (label_at, label_anchor, caption_at, caption_anchor) = if self.is_narrow {
            (
                (MARGIN, top + 14.0),
                Anchor::Start,
                (end, top + 14.0),
                Anchor::End,
            )
        } else {
            let y = top + 15.0;
            (
                (self.left - 8.0, y),
                Anchor::End,
                (self.right + 10.0, y),
                Anchor::Start,
            )
        };
        let room = if self.is_narrow {
            end - MARGIN - label_width(caption) - 8.0
        } else {
            self.left - MARGIN
        };
        let most = label_columns(room).max(6);
        let label = terminal::cut(label, most);
        canvas.text(label_at, label_anchor, "bc-strong", &label);
        canvas.text(caption_at, caption_anchor, "", caption);
        if self.is_narrow {
            top + 20.0
        } else {
            top + 3.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canvas::Medium;

    #[test]
    fn a_label_too_long_for_its_room_is_cut() {
        let long = "a policy with a name that goes on and on, and on after that, too";
        for (width, is_cut) in [(240.0, true), (720.0, true), (2_000.0, true)] {
            let rows = Rows::new("", width, &[(long, "1".to_owned())]);
            let mut canvas = Canvas::new(Medium::File);
            rows.draw_words(&mut canvas, 0, long, "1");
            assert_eq!(!canvas.into_markup().contains(long), is_cut, "{width}");
        }
    }

    #[test]
    fn marks_of_the_axis_do_not_cover_each_other() {
        let rows = Rows::new("", 240.0, &[("a", "1".to_owned())]);
        let axis = Axis::exact(0.0, 5.0);
        let marks = |write: fn(f64) -> String| {
            let mut canvas = Canvas::new(Medium::File);
            rows.draw_axis(&mut canvas, &axis, 100.0, ("", write));
            canvas.into_markup().matches("</text>").count()
        };
        let short = marks(|value| format!("{value:.0}"));
        let long = marks(|value| format!("{value:.0} milliseconds after it"));
        assert!(short >= 5 && (1..short).contains(&long), "{short} {long}");
    }

    #[test]
    fn a_bar_has_room_at_every_width() {
        let rows = [("a label that is quite long", "1 .. 2, mean 1.5".to_owned())];
        for width in [240.0, 340.0, 479.0, 480.0, 720.0, 2_000.0] {
            let rows = Rows::new("t", width, &rows);
            assert!(rows.right - rows.left > 120.0, "{width}");
            assert!(rows.bottom() > rows.top() && rows.right <= width);
        }
    }
}
