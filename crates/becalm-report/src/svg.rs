//! What do all pictures have in common?

use crate::canvas::{Canvas, Medium, number};
use crate::colour;
use crate::escape::markup;

/// A picture: a drawing of a known size, which can stand alone or inside a page.
pub trait Figure {
    /// Width and height in pixels.
    fn size(&self) -> (f64, f64);

    /// What the picture shows, for readers who do not see it.
    fn description(&self) -> String;

    /// Draws at the origin, without an enclosing element.
    fn draw(&self, canvas: &mut Canvas);

    /// Lays the picture out anew for a narrower place, such as the screen of a phone. Letters keep
    /// their size.
    #[must_use]
    fn fitted(&self, width: f64) -> Self
    where
        Self: Sized;

    /// The picture as a file of its own, with its colours for light and dark ground.
    fn to_svg(&self) -> String {
        let style = format!(
            "<style>{}{SHAPES}</style><rect class=\"bc-ground\" width=\"100%\" height=\"100%\"/>",
            colour::stylesheet(".bc")
        );
        enclose(self, "bc", &style, Medium::File)
    }

    /// The picture for a page that carries the colours itself, as [`Page`](crate::Page) does.
    fn to_inline_svg(&self) -> String {
        enclose(self, "bc bc-wide", "", Medium::Page)
    }
}

/// The width for which pictures are laid out anew for phones, in pixels: the screens of phones are
/// 320 to 430 wide, and the page has margins.
const NARROW: f64 = 340.0;

/// The picture for a page, twice: as it is, and for narrow screens. Styles show one of them.
pub(crate) fn to_both<F: Figure>(figure: &F) -> String {
    if figure.size().0 <= NARROW {
        return enclose(figure, "bc", "", Medium::Page);
    }
    let narrow = enclose(&figure.fitted(NARROW), "bc bc-narrow", "", Medium::Narrow);
    figure.to_inline_svg() + &narrow
}

/// The rules of all pictures, for the page that holds them.
pub(crate) fn styles() -> String {
    format!("{}{SHAPES}", colour::stylesheet(":root"))
}

const SHAPES: &str = "\
.bc text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;\
font-size:12px;fill:var(--bc-muted)}\
.bc .bc-title{font-size:14px;font-weight:600;fill:var(--bc-ink)}\
.bc .bc-strong{fill:var(--bc-ink)}.bc .bc-on-ramp{fill:var(--bc-ground)}\
.bc-ground{fill:var(--bc-ground)}.bc-band{fill:var(--bc-band)}\
.bc-grid{stroke:var(--bc-line);stroke-width:1}\
.bc-axis{stroke:var(--bc-muted);stroke-width:1}\
.bc-rule{stroke:var(--bc-muted);stroke-width:1;stroke-dasharray:4 3}\
.bc-line{fill:none;stroke-width:1.8;stroke-linejoin:round}\
.bc-dashed{stroke-dasharray:5 3}\
.bc-long{stroke-dasharray:11 4}\
.bc-dotted{stroke-dasharray:2 3}\
.bc-mixed{stroke-dasharray:9 3 2 3}\
.bc-rare{stroke-dasharray:4 7}\
.bc-area{fill-opacity:.22;stroke:none}.bc-bars{fill-opacity:.45;stroke:none}\
.bc-none{fill:var(--bc-ground);stroke:var(--bc-muted);stroke-dasharray:2 3}\
.bc-mark{fill:none;stroke:var(--bc-ink);stroke-width:2.5}\
.bc .bc-halo{fill:var(--bc-ink);stroke:var(--bc-ground);stroke-width:3px;stroke-opacity:.8;\
paint-order:stroke}";

fn enclose<F: Figure + ?Sized>(figure: &F, class: &str, style: &str, medium: Medium) -> String {
    let (width, height) = figure.size();
    let mut canvas = Canvas::new(medium);
    figure.draw(&mut canvas);
    let description = markup(&figure.description());
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"{class}\" role=\"img\" \
         aria-label=\"{description}\" viewBox=\"0 0 {} {}\" width=\"{}\" height=\"{}\">\
         <title>{description}</title>{style}{}</svg>",
        number(width),
        number(height),
        number(width),
        number(height),
        canvas.into_markup()
    )
}
