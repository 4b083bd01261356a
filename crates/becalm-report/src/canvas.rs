//! How does a drawing become markup?

use std::fmt::Write as _;

use crate::colour::Colour;
use crate::escape::markup;
use crate::terminal;

/// Where text is anchored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    const fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Middle => "middle",
            Self::End => "end",
        }
    }
}

/// Where a picture will be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Medium {
    /// A file of its own: nothing but the drawing.
    File,
    /// A page, which shows the values at the pointer: they are with the drawing.
    Page,
    /// A page on a narrow screen, which uses the values of the wide drawing.
    Narrow,
}

/// Collects the elements of a drawing.
#[derive(Debug)]
pub struct Canvas {
    markup: String,
    medium: Medium,
}

impl Canvas {
    pub(crate) const fn new(medium: Medium) -> Self {
        Self {
            markup: String::new(),
            medium,
        }
    }

    pub(crate) const fn medium(&self) -> Medium {
        self.medium
    }

    pub(crate) fn into_markup(self) -> String {
        self.markup
    }

    /// Begins a group; attributes are given as name and value.
    pub(crate) fn open(&mut self, class: &str, attributes: &[(&str, &str)]) {
        let _ = write!(self.markup, "<g class=\"{class}\"");
        for (name, value) in attributes {
            let _ = write!(self.markup, " {name}=\"{}\"", markup(value));
        }
        self.markup.push('>');
    }

    /// Ends the group that was begun last.
    pub(crate) fn close(&mut self) {
        self.markup.push_str("</g>");
    }

    /// What a browser shows of the group when the pointer rests on it.
    pub(crate) fn tip(&mut self, text: &str) {
        let _ = write!(self.markup, "<title>{}</title>", markup(text));
    }

    pub(crate) fn text(&mut self, at: (f64, f64), anchor: Anchor, class: &str, text: &str) {
        let _ = write!(
            self.markup,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"{}\" class=\"{class}\">{}</text>",
            number(at.0),
            number(at.1),
            anchor.name(),
            markup(text)
        );
    }

    /// The lines of a title; returns where the next one would stand.
    pub(crate) fn title(&mut self, lines: &[String]) -> f64 {
        let mut y = 20.0;
        for line in lines {
            self.text((MARGIN, y), Anchor::Start, "bc-title", line);
            y += LINE_HEIGHT;
        }
        y
    }

    /// Text that reads upward, centred on the point.
    pub(crate) fn upward_text(&mut self, at: (f64, f64), text: &str) {
        let (x, y) = (number(at.0), number(at.1));
        let _ = write!(
            self.markup,
            "<text transform=\"translate({x} {y}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            markup(text)
        );
    }

    pub(crate) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let _ = write!(
            self.markup,
            "<line class=\"{class}\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>",
            number(from.0),
            number(from.1),
            number(to.0),
            number(to.1)
        );
    }

    pub(crate) fn rect(&mut self, class: &str, at: (f64, f64), size: (f64, f64)) {
        self.rectangle(&format!("class=\"{class}\""), at, size);
    }

    /// A rectangle in a step of the ramp.
    pub(crate) fn cell(&mut self, step: usize, at: (f64, f64), size: (f64, f64)) {
        let style = format!("style=\"fill:var(--bc-ramp-{step})\"");
        self.rectangle(&style, at, size);
    }

    /// A rectangle in a colour: full, or as an outline.
    pub(crate) fn bar(&mut self, colour: Colour, full: bool, at: (f64, f64), size: (f64, f64)) {
        let shade = colour.property();
        let paint = if full {
            format!("fill:var({shade});fill-opacity:.8")
        } else {
            format!("fill:none;stroke:var({shade});stroke-opacity:.6")
        };
        self.rectangle(&format!("style=\"{paint}\" rx=\"2\""), at, size);
    }

    fn rectangle(&mut self, look: &str, at: (f64, f64), size: (f64, f64)) {
        let _ = write!(
            self.markup,
            "<rect {look} x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
            number(at.0),
            number(at.1),
            number(size.0.max(0.0)),
            number(size.1.max(0.0))
        );
    }

    /// A line through the points, broken where `None` stands.
    pub(crate) fn path(&mut self, class: &str, colour: Colour, points: &[Option<(f64, f64)>]) {
        let mut commands = String::new();
        let mut pen_down = false;
        for point in points {
            match point {
                Some((x, y)) => {
                    let command = if pen_down { 'L' } else { 'M' };
                    let _ = write!(commands, "{command}{} {}", number(*x), number(*y));
                    pen_down = true;
                }
                None => pen_down = false,
            }
        }
        self.draw(class, "stroke", colour, &commands);
    }

    fn draw(&mut self, class: &str, paint: &str, colour: Colour, commands: &str) {
        if !commands.is_empty() {
            let shade = colour.property();
            let _ = write!(
                self.markup,
                "<path class=\"{class}\" style=\"{paint}:var({shade})\" d=\"{commands}\"/>"
            );
        }
    }

    /// The area between each unbroken run of points and the base line.
    pub(crate) fn area(
        &mut self,
        class: &str,
        colour: Colour,
        base: f64,
        points: &[Option<(f64, f64)>],
    ) {
        let mut commands = String::new();
        for run in points.split(Option::is_none) {
            let run: Vec<_> = run.iter().flatten().collect();
            if let (Some(first), Some(last)) = (run.first(), run.last()) {
                let _ = write!(commands, "M{} {}", number(first.0), number(base));
                for (x, y) in &run {
                    let _ = write!(commands, "L{} {}", number(*x), number(*y));
                }
                let _ = write!(commands, "L{} {}Z", number(last.0), number(base));
            }
        }
        self.draw(class, "fill", colour, &commands);
    }

    /// Begins a group with its origin moved.
    pub(crate) fn open_at(&mut self, at: (f64, f64)) {
        let _ = write!(
            self.markup,
            "<g transform=\"translate({} {})\">",
            number(at.0),
            number(at.1)
        );
    }
}

/// A coordinate to a tenth of a pixel.
pub(crate) fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" {
        "0".into()
    } else {
        text.into()
    }
}

/// About how wide a label of 12 pixels' height is; fonts differ, so this errs to the wide side.
pub(crate) fn label_width(text: &str) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a label is short")]
    let columns = terminal::width(text) as f64;
    columns * LABEL_COLUMN
}

/// How many columns a label may have in so many pixels.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float saturates, and half a column is none"
)]
pub(crate) fn label_columns(pixels: f64) -> usize {
    (pixels / LABEL_COLUMN) as usize
}

const LABEL_COLUMN: f64 = 6.6;

/// Between a picture's edge and what is drawn.
pub(crate) const MARGIN: f64 = 12.0;

/// From a line of a title or a legend to the next.
pub(crate) const LINE_HEIGHT: f64 = 18.0;

/// How far a label stays from the picture's edge: some fonts are wider than is reckoned with.
pub(crate) const EDGE: f64 = 6.0;

/// A title in lines that fit the pixels.
pub(crate) fn title_lines(title: &str, pixels: f64) -> Vec<String> {
    // A title is larger and bolder than a label.
    terminal::wrap(title, label_columns(pixels / 1.2).max(8))
}
