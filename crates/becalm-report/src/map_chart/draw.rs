//! How is a map drawn?

use super::MapChart;
use crate::canvas::{Anchor, Canvas, LINE_HEIGHT, MARGIN, label_columns, label_width, title_lines};
use crate::{format, ramp, terminal};

/// The width of a shade in the legend.
const SHADE: f64 = 14.0;

/// Where the cells are.
struct Layout {
    left: f64,
    top: f64,
    cell: (f64, f64),
    /// Whether every value has room in its cell: some alone would read as if they were more.
    has_words: bool,
}

impl MapChart {
    #[expect(clippy::cast_precision_loss, reason = "a map has few cells")]
    fn layout(&self) -> Layout {
        let labels = self.rows.iter().map(|y| label_width(&format::plain(*y)));
        let y_label = if self.y_label.is_empty() { 0.0 } else { 18.0 };
        let left = MARGIN + labels.fold(10.0, f64::max).min(90.0) + y_label + 6.0;
        let width = (self.width - left - MARGIN) / self.columns.len().max(1) as f64;
        let rows = self.rows.len().max(1) as f64;
        // As a whole, not much higher than wide.
        let height = (width * 0.62).clamp(16.0, 40.0).min(600.0 / rows);
        let titles = self.titles().len() as f64 * LINE_HEIGHT;
        let legend = self.legend().len() as f64 * LINE_HEIGHT;
        let values = self.cells.iter().filter(|it| it.is_finite());
        let widest = values.map(|it| label_width(&(self.value_format)(*it)));
        let has_words = widest.fold(0.0, f64::max) + 4.0 <= width && height >= 16.0;
        Layout {
            has_words,
            left,
            top: titles + legend + 16.0,
            cell: (width, height),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a map has few cells")]
    pub(super) fn height(&self) -> f64 {
        let layout = self.layout();
        let x_label = if self.x_label.is_empty() { 0.0 } else { 18.0 };
        layout.top + layout.cell.1 * self.rows.len() as f64 + 28.0 + x_label
    }

    fn titles(&self) -> Vec<String> {
        title_lines(&self.title, self.width - 2.0 * MARGIN)
    }

    /// The words of the legend: the name of the value, the shades (as `None`), the mark.
    fn legend(&self) -> Vec<Option<&str>> {
        let mut lines = vec![None];
        let axis = self.axis();
        let ends = [axis.low(), axis.high()].map(self.value_format).concat();
        #[expect(clippy::cast_precision_loss, reason = "nine")]
        let shades = label_width(&ends) + SHADE * ramp::STEPS as f64 + 32.0;
        if self.width < label_width(&self.value_label) + shades + 2.0 * MARGIN {
            lines.insert(0, Some(&*self.value_label));
        }
        if let Some((.., label)) = &self.mark {
            lines.push(Some(label));
        }
        lines
    }

    pub(super) fn draw_on(&self, canvas: &mut Canvas) {
        let y = canvas.title(&self.titles());
        self.draw_legend(canvas, y + 2.0);
        let layout = self.layout();
        self.draw_labels(canvas, &layout);
        let columns = self.columns.len().to_string();
        let name = format!("{} {}", self.title, self.value_label);
        let attributes = [("data-columns", &*columns), ("data-name", name.trim())];
        canvas.open("bc-tips", &attributes);
        // Rows from the top, as the eye and the arrow keys go.
        for row in (0..self.rows.len()).rev() {
            for column in 0..self.columns.len() {
                self.draw_cell(canvas, &layout, column, row);
            }
        }
        canvas.close();
        if let Some((column, row, _)) = self.mark {
            if column < self.columns.len() && row < self.rows.len() {
                let (x, y) = self.corner(&layout, column, row);
                canvas.rect(
                    "bc-mark",
                    (x, y),
                    (layout.cell.0 - 1.0, layout.cell.1 - 1.0),
                );
            }
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a map has few cells")]
    fn corner(&self, layout: &Layout, column: usize, row: usize) -> (f64, f64) {
        let from_top = self.rows.len().saturating_sub(row + 1) as f64;
        (
            layout.left + layout.cell.0 * column as f64,
            layout.top + layout.cell.1 * from_top,
        )
    }

    fn draw_cell(&self, canvas: &mut Canvas, layout: &Layout, column: usize, row: usize) {
        let (x, y) = self.corner(layout, column, row);
        let (width, height) = (layout.cell.0 - 1.0, layout.cell.1 - 1.0);
        canvas.open("bc-tip", &[]);
        canvas.tip(&self.caption(column, row));
        if let Some(value) = self.value(column, row) {
            let step = ramp::step(self.axis().position(value).unwrap_or(0.0));
            canvas.cell(step, (x, y), (width, height));
            let text = (self.value_format)(value);
            if layout.has_words {
                let at = (x + width / 2.0, y + height / 2.0 + 4.0);
                canvas.text(at, Anchor::Middle, ramp::text_class(step), &text);
            }
        } else {
            canvas.rect("bc-none", (x + 1.5, y + 1.5), (width - 3.0, height - 3.0));
        }
        canvas.close();
    }

    #[expect(clippy::cast_precision_loss, reason = "a map has few cells")]
    fn draw_labels(&self, canvas: &mut Canvas, layout: &Layout) {
        let (width, height) = layout.cell;
        let bottom = layout.top + height * self.rows.len() as f64;
        let mut free_below = f64::INFINITY;
        for (row, value) in self.rows.iter().enumerate() {
            let y = self.corner(layout, 0, row).1 + height / 2.0 + 4.0;
            if y <= free_below {
                let text = terminal::fit(&format::plain(*value), 13);
                canvas.text((layout.left - 6.0, y), Anchor::End, "", text.trim_end());
                free_below = y - 13.0;
            }
        }
        let mut free_from = f64::NEG_INFINITY;
        for (column, value) in self.columns.iter().enumerate() {
            let text = format::plain(*value);
            let half = label_width(&text) / 2.0;
            let middle = layout.left + width * (column as f64 + 0.5);
            if middle - half >= free_from && middle + half <= self.width {
                canvas.text((middle, bottom + 15.0), Anchor::Middle, "", &text);
                free_from = middle + half + 6.0;
            }
        }
        let right = layout.left + width * self.columns.len() as f64;
        if !self.x_label.is_empty() {
            let at = (f64::midpoint(layout.left, right), bottom + 35.0);
            canvas.text(at, Anchor::Middle, "", &self.x_label);
        }
        if !self.y_label.is_empty() {
            let most = label_columns(bottom - layout.top + 20.0);
            let text = terminal::cut(&self.y_label, most);
            canvas.upward_text((14.0, f64::midpoint(layout.top, bottom)), &text);
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "nine shades")]
    fn draw_legend(&self, canvas: &mut Canvas, top: f64) {
        let lines = self.legend();
        let name_is_apart = lines.first().is_some_and(Option::is_some);
        let mut y = top;
        let mut x = MARGIN;
        if !self.value_label.is_empty() {
            canvas.text((x, y), Anchor::Start, "", &self.value_label);
            if name_is_apart {
                y += LINE_HEIGHT;
            } else {
                x += label_width(&self.value_label) + 10.0;
            }
        }
        let axis = self.axis();
        let low = (self.value_format)(axis.low());
        canvas.text((x, y), Anchor::Start, "bc-strong", &low);
        x += label_width(&low) + 6.0;
        for step in 0..ramp::STEPS {
            let at = (x + SHADE * step as f64, y - 10.0);
            canvas.cell(step, at, (SHADE, 12.0));
        }
        x += SHADE * ramp::STEPS as f64 + 6.0;
        let high = (self.value_format)(axis.high());
        canvas.text((x, y), Anchor::Start, "bc-strong", &high);
        if let Some((.., label)) = &self.mark {
            y += LINE_HEIGHT;
            canvas.rect("bc-mark", (MARGIN + 1.0, y - 10.0), (16.0, 11.0));
            canvas.text((MARGIN + 24.0, y), Anchor::Start, "bc-strong", label);
        }
    }
}
