//! How are lines drawn with characters? As dots, eight to a character.

use super::Painter;
use crate::colour::Colour;

/// The dots of a character, by column and row from the top: the braille patterns of Unicode
/// (U+2800 to U+28FF), where each bit is a dot.
const BITS: [[u32; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];

/// A canvas of dots; a character has one colour, that of the last dot in it.
pub(crate) struct Dots {
    columns: usize,
    rows: usize,
    cells: Vec<(u32, Colour, Option<char>)>,
}

impl Dots {
    /// An empty canvas of so many characters.
    pub fn new(columns: usize, rows: usize) -> Self {
        Self {
            columns,
            rows,
            cells: vec![(0, Colour::Ink, None); columns * rows],
        }
    }

    /// Dots from left to right, two to a character.
    pub const fn width(&self) -> usize {
        self.columns * 2
    }

    /// Dots from top to bottom, four to a character.
    pub const fn height(&self) -> usize {
        self.rows * 4
    }

    /// Sets a dot, counted from the top left; beyond the canvas there are none. With a glyph, the
    /// whole character becomes that.
    pub fn set(&mut self, x: usize, y: usize, colour: Colour, glyph: Option<char>) {
        if x >= self.width() {
            return;
        }
        if let Some(cell) = self.cells.get_mut(y / 4 * self.columns + x / 2) {
            *cell = (cell.0 | BITS[x % 2][y % 4], colour, glyph);
        }
    }

    /// Sets every dot of a column between two rows.
    pub fn stroke(
        &mut self,
        x: usize,
        (from, to): (usize, usize),
        colour: Colour,
        glyph: Option<char>,
    ) {
        for y in from.min(to)..=from.max(to).min(self.height()) {
            self.set(x, y, colour, glyph);
        }
    }

    /// The lines, the top one first.
    pub fn lines(&self, painter: Painter) -> Vec<String> {
        if self.columns == 0 {
            return vec![String::new(); self.rows];
        }
        let cell = |&(bits, colour, glyph): &(u32, Colour, Option<char>)| match (bits, glyph) {
            (0, _) => " ".into(),
            (_, Some(glyph)) => painter.paint(colour, glyph.encode_utf8(&mut [0; 4])),
            (bits, None) => {
                let dots = char::from_u32(0x2800 + bits).unwrap_or(' ');
                painter.paint(colour, dots.encode_utf8(&mut [0; 4]))
            }
        };
        let lines = self.cells.chunks(self.columns);
        lines.map(|line| line.iter().map(cell).collect()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_fill_a_character() {
        let mut dots = Dots::new(1, 1);
        dots.set(0, 0, Colour::Ink, None);
        assert_eq!(dots.lines(Painter::Plain), ["⠁"]);
        for x in 0..2 {
            dots.stroke(x, (3, 0), Colour::Ink, None);
        }
        assert_eq!(dots.lines(Painter::Plain), ["⣿"]);
    }

    #[test]
    fn beyond_the_canvas_is_nothing() {
        let mut dots = Dots::new(2, 1);
        dots.set(4, 0, Colour::Ink, None);
        dots.set(0, 4, Colour::Ink, None);
        dots.stroke(1, (0, usize::MAX), Colour::Red, Some('x'));
        assert_eq!(dots.lines(Painter::Plain), ["x "]);
        assert_eq!(Dots::new(0, 2).lines(Painter::Plain), ["", ""]);
    }
}
