//! What do all pictures have in common?

use std::fmt::Write as _;

use crate::colour::{self, Colour};
use crate::escape::markup;

/// A picture: a drawing of a known size, which can stand alone or inside a page.
pub trait Figure {
    /// Width and height in pixels.
    fn size(&self) -> (f64, f64);

    /// What the picture shows, for readers who do not see it.
    fn description(&self) -> String;

    /// Draws at the origin, without an enclosing element.
    fn draw(&self, canvas: &mut Canvas);

    /// The picture as a file of its own, with its colours for light and dark ground.
    fn to_svg(&self) -> String {
        let style = format!(
            "<style>{}{SHAPES}</style><rect class=\"bc-ground\" width=\"100%\" height=\"100%\"/>",
            colour::stylesheet(".bc")
        );
        enclose(self, &style)
    }

    /// The picture for a page that carries the colours itself, as [`Page`](crate::Page) does.
    fn to_inline_svg(&self) -> String {
        enclose(self, "")
    }
}

/// The rules of all pictures, for the page that holds them.
pub(crate) fn styles() -> String {
    format!("{}{SHAPES}", colour::stylesheet(":root"))
}

const SHAPES: &str = "\
.bc text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;\
font-size:12px;fill:var(--bc-muted)}\
.bc .bc-title{font-size:14px;font-weight:600;fill:var(--bc-ink)}\
.bc .bc-strong{fill:var(--bc-ink)}\
.bc-ground{fill:var(--bc-ground)}.bc-band{fill:var(--bc-band)}\
.bc-grid{stroke:var(--bc-line);stroke-width:1}\
.bc-axis{stroke:var(--bc-muted);stroke-width:1}\
.bc-rule{stroke:var(--bc-muted);stroke-width:1;stroke-dasharray:4 3}\
.bc-line{fill:none;stroke-width:1.8;stroke-linejoin:round}\
.bc-dashed{stroke-dasharray:5 3}\
.bc-area{fill-opacity:.22;stroke:none}.bc-bars{fill-opacity:.45;stroke:none}\
.bc .bc-halo{fill:var(--bc-ink);stroke:var(--bc-ground);stroke-width:3px;stroke-opacity:.8;\
paint-order:stroke}";

fn enclose<F: Figure + ?Sized>(figure: &F, style: &str) -> String {
    let (width, height) = figure.size();
    let mut canvas = Canvas::default();
    figure.draw(&mut canvas);
    let description = markup(&figure.description());
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"bc\" role=\"img\" \
         aria-label=\"{description}\" viewBox=\"0 0 {} {}\" width=\"{}\" height=\"{}\">\
         <title>{description}</title>{style}{}</svg>",
        number(width),
        number(height),
        number(width),
        number(height),
        canvas.0
    )
}

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

/// Collects the elements of a drawing.
#[derive(Debug, Default)]
pub struct Canvas(String);

impl Canvas {
    pub(crate) fn text(&mut self, at: (f64, f64), anchor: Anchor, class: &str, text: &str) {
        let _ = write!(
            self.0,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"{}\" class=\"{class}\">{}</text>",
            number(at.0),
            number(at.1),
            anchor.name(),
            markup(text)
        );
    }

    /// Text that reads upward, centred on the point.
    pub(crate) fn upward_text(&mut self, at: (f64, f64), text: &str) {
        let (x, y) = (number(at.0), number(at.1));
        let _ = write!(
            self.0,
            "<text transform=\"translate({x} {y}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            markup(text)
        );
    }

    pub(crate) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let _ = write!(
            self.0,
            "<line class=\"{class}\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>",
            number(from.0),
            number(from.1),
            number(to.0),
            number(to.1)
        );
    }

    pub(crate) fn rect(&mut self, class: &str, at: (f64, f64), size: (f64, f64)) {
        let _ = write!(
            self.0,
            "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
            number(at.0),
            number(at.1),
            number(size.0.max(0.0)),
            number(size.1.max(0.0))
        );
    }

    /// A rectangle in a colour: full, or as an outline.
    pub(crate) fn bar(&mut self, colour: Colour, full: bool, at: (f64, f64), size: (f64, f64)) {
        let shade = colour.property();
        let paint = if full {
            format!("fill:var({shade});fill-opacity:.75")
        } else {
            format!("fill:none;stroke:var({shade});stroke-opacity:.6")
        };
        let _ = write!(
            self.0,
            "<rect style=\"{paint}\" rx=\"2\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
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
        if !commands.is_empty() {
            let shade = colour.property();
            let _ = write!(
                self.0,
                "<path class=\"{class}\" style=\"stroke:var({shade})\" d=\"{commands}\"/>"
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
        if !commands.is_empty() {
            let shade = colour.property();
            let _ = write!(
                self.0,
                "<path class=\"{class}\" style=\"fill:var({shade})\" d=\"{commands}\"/>"
            );
        }
    }

    /// Another figure, its origin moved.
    pub(crate) fn place(&mut self, at: (f64, f64), figure: &impl Figure) {
        let _ = write!(
            self.0,
            "<g transform=\"translate({} {})\">",
            number(at.0),
            number(at.1)
        );
        figure.draw(self);
        self.0.push_str("</g>");
    }
}

/// A coordinate to a tenth of a pixel.
fn number(value: f64) -> String {
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
    #[expect(clippy::cast_precision_loss)] // a label
    let characters = text.chars().count() as f64;
    characters * 6.6
}
