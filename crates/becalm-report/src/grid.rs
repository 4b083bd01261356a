//! How do several pictures become one?

use crate::canvas::{Anchor, Canvas, LINE_HEIGHT, title_lines};
use crate::svg::Figure;

/// Pictures side by side under one title, row by row.
#[derive(Debug, Clone, PartialEq)]
pub struct Grid<F> {
    title: String,
    columns: usize,
    figures: Vec<F>,
}

impl<F: Figure> Grid<F> {
    /// An empty grid of so many columns, at least one.
    pub fn new(title: impl Into<String>, columns: usize) -> Self {
        Self {
            title: title.into(),
            columns: columns.max(1),
            figures: Vec::new(),
        }
    }

    /// Adds a picture at the next free place.
    #[must_use]
    pub fn figure(mut self, figure: F) -> Self {
        self.figures.push(figure);
        self
    }

    fn cell(&self) -> (f64, f64) {
        self.figures
            .iter()
            .map(Figure::size)
            .fold((0.0, 0.0), |most, size| {
                (f64::max(most.0, size.0), f64::max(most.1, size.1))
            })
    }

    fn width(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a handful of pictures")]
        let columns = self.columns.min(self.figures.len()) as f64;
        self.cell().0 * columns
    }

    #[expect(clippy::cast_precision_loss, reason = "a handful of lines")]
    fn header(&self) -> f64 {
        let lines = title_lines(&self.title, self.width() - 16.0).len();
        if lines == 0 {
            0.0
        } else {
            16.0 + LINE_HEIGHT * lines as f64
        }
    }
}

impl<F: Figure> Figure for Grid<F> {
    fn fitted(&self, width: f64) -> Self {
        let figures = self.figures.iter().map(|figure| figure.fitted(width));
        Self {
            title: self.title.clone(),
            columns: 1,
            figures: figures.collect(),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a handful of pictures")]
    fn size(&self) -> (f64, f64) {
        let (_, height) = self.cell();
        let rows = self.figures.len().div_ceil(self.columns) as f64;
        (self.width(), height * rows + self.header())
    }

    fn description(&self) -> String {
        let parts: Vec<_> = self.figures.iter().map(Figure::description).collect();
        format!("{} ({})", self.title, parts.join("; "))
    }

    #[expect(clippy::cast_precision_loss, reason = "a handful of pictures")]
    fn draw(&self, canvas: &mut Canvas) {
        let (width, height) = self.cell();
        let middle = self.width() / 2.0;
        let mut y = 22.0;
        for line in title_lines(&self.title, self.width() - 16.0) {
            canvas.text((middle, y), Anchor::Middle, "bc-title", &line);
            y += LINE_HEIGHT;
        }
        for (index, figure) in self.figures.iter().enumerate() {
            let column = (index % self.columns) as f64;
            let row = (index / self.columns) as f64;
            canvas.open_at((column * width, row * height + self.header()));
            figure.draw(canvas);
            canvas.close();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LineChart;

    #[test]
    fn a_grid_is_as_large_as_its_rows() {
        let chart = || LineChart::new("c").with_size(400.0, 200.0);
        let grid = Grid::new("", 2)
            .figure(chart())
            .figure(chart())
            .figure(chart());
        assert_eq!(grid.size(), (800.0, 400.0));
        assert_eq!(grid.to_svg().matches("<g transform").count(), 3);
        let narrow = grid.fitted(340.0);
        assert!(narrow.size().0 <= 340.0 && narrow.size().1 > 3.0 * 200.0);
        let empty: Grid<LineChart> = Grid::new("", 0);
        assert_eq!(empty.size(), (0.0, 0.0));
    }
}
