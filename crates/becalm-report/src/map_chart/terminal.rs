//! What does a map look like in a terminal?

use super::MapChart;
use crate::colour::Colour;
use crate::format;
use crate::terminal::{self, Painter};

/// From little to much.
const SHADES: [char; 5] = ['·', '░', '▒', '▓', '█'];

impl MapChart {
    /// The map in `width` columns, at least 32, one line for each row, each line ended. Columns
    /// that do not fit are left out, and a line says how many.
    pub fn to_terminal(&self, width: usize, painter: Painter) -> String {
        let width = width.max(32);
        let labels: Vec<_> = self.rows.iter().map(|y| format::plain(*y)).collect();
        let margin = labels
            .iter()
            .map(|it| terminal::width(it))
            .max()
            .unwrap_or(0);
        let room = width.saturating_sub(margin + 2);
        let cell = (room / self.columns.len().max(1)).clamp(1, 4);
        let shown = self.columns.len().min(room / cell);
        let mut text = terminal::line(&self.title, width) + &terminal::line(&self.y_label, width);
        let axis = self.axis();
        for (row, label) in labels.iter().enumerate().rev() {
            let padding = margin.saturating_sub(terminal::width(label));
            text += &painter.paint(Colour::Muted, &format!("{:padding$}{label} │", ""));
            for column in 0..shown {
                let (glyph, colour) = match self.value(column, row) {
                    Some(value) => shade(axis.position(value).unwrap_or(0.0)),
                    None => (' ', Colour::Ink),
                };
                text += &painter.paint(colour, &String::from(glyph).repeat(cell));
            }
            text.truncate(text.trim_end_matches(' ').len());
            text.push('\n');
        }
        text += &self.x_lines((margin + 2, width), (shown, cell), painter);
        let ends = [axis.low(), axis.high()].map(self.value_format);
        let shades: String = SHADES.iter().collect();
        let legend = format!("{} {shades} {}", ends[0], ends[1]);
        let legend = if self.value_label.is_empty() {
            legend
        } else {
            format!("{legend}  {}", self.value_label)
        };
        text + &terminal::line(&legend, width)
    }

    /// The ends of the x axis and its name.
    fn x_lines(
        &self,
        (margin, width): (usize, usize),
        (shown, cell): (usize, usize),
        painter: Painter,
    ) -> String {
        let Some((first, last)) = self
            .columns
            .first()
            .zip(self.columns.get(shown.wrapping_sub(1)))
        else {
            return String::new();
        };
        let (first, last) = (format::plain(*first), format::plain(*last));
        let between = (cell * shown)
            .saturating_sub(terminal::width(&first) + terminal::width(&last))
            .max(1);
        let mut lines = vec![format!("{:margin$}{first}{:between$}{last}", "", "")];
        if !self.x_label.is_empty() {
            lines.push(format!("{:margin$}{}", "", self.x_label));
        }
        let left_out = self.columns.len() - shown;
        if left_out > 0 {
            lines.push(format!("{:margin$}{left_out} more columns", ""));
        }
        let fitted = lines.iter().map(|line| terminal::fit(line, width));
        let lines: Vec<_> = fitted
            .map(|line| painter.paint(Colour::Muted, line.trim_end()) + "\n")
            .collect();
        lines.concat()
    }
}

/// The character and the colour of a position from 0 to 1.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float saturates, and shades are few"
)]
fn shade(position: f64) -> (char, Colour) {
    // The ends are their own: nothing is shown as all that is not all.
    let step = match position {
        ..=0.0 => 0,
        1.0.. => 4,
        _ => 1 + ((position * 3.0) as usize).min(2),
    };
    let colour = [
        Colour::Muted,
        Colour::Green,
        Colour::Orange,
        Colour::Orange,
        Colour::Red,
    ][step];
    (SHADES[step], colour)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shades_rise_with_the_value_and_only_the_ends_are_ends() {
        let chart = MapChart::new("", vec![1.0, 2.0, 3.0, 4.0], vec![1.0])
            .range(0.0, 1.0)
            .cells(vec![0.0, 0.01, 0.99, 1.0]);
        let text = chart.to_terminal(40, Painter::Plain);
        assert!(text.starts_with("1 │····░░░░▓▓▓▓████\n"), "{text}");
    }

    #[test]
    fn the_highest_row_is_on_top_and_widths_are_kept() {
        let columns: Vec<_> = (0..100).map(f64::from).collect();
        let chart = MapChart::new(
            "A map with a very long title that must be cut",
            columns,
            vec![1.0, 2.0],
        )
        .labels("load / capacity", "outage in s", "runs that stay down")
        .cells(vec![0.5; 200]);
        for width in [32, 50, 80, 200] {
            let text = chart.to_terminal(width, Painter::Plain);
            assert!(text.find("2 │") < text.find("1 │"), "{text}");
            assert!(
                text.lines().all(|line| terminal::width(line) <= width),
                "{text}"
            );
            assert_eq!(text.contains("more columns"), width < 100, "{text}");
        }
    }
}
