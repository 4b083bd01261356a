//! What is seen on a terminal? The policies side by side, redrawn in place.

use becalm::support::Human;
use becalm_report::Colour;
use becalm_report::format::plain;
use becalm_report::terminal::{Painter, fit};

use super::View;
use super::panel::{Heights, Tops, panel, strip};
use crate::judged::tenths;

/// The narrowest panel.
const PANEL: usize = 18;

/// The widest panel: wider is not clearer.
const WIDEST: usize = 44;

/// Between two panels.
const GAP: usize = 2;

/// The lines above the panels.
const HEADER: usize = 3;

/// How panels are laid out: all of one size, in rows of as even a length as can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Layout {
    per_row: usize,
    width: usize,
    heights: Heights,
}

impl Layout {
    /// The layout of so many panels, if there is room for them.
    fn of(count: usize, (width, height): (usize, usize)) -> Option<Self> {
        let fit = (width + GAP) / (PANEL + GAP);
        let rows = count.max(1).div_ceil(fit.max(1));
        let per_row = count.max(1).div_ceil(rows);
        let panel_width = ((width + GAP) / per_row).saturating_sub(GAP);
        let lines = (height.saturating_sub(HEADER) + 1) / rows; // one between two rows
        let charts = lines.saturating_sub(Heights::OTHERS + 1).min(16);
        (panel_width >= PANEL && charts >= 6).then_some(Self {
            per_row,
            width: panel_width.min(WIDEST),
            heights: Heights {
                arrivals: charts - charts / 3,
                answers: charts / 3,
            },
        })
    }
}

/// The whole picture for a terminal of this size, line by line.
pub fn frame(view: &View<'_>, size: (usize, usize), painter: Painter) -> Vec<String> {
    let (width, height) = size;
    let mut lines = header(view, width, painter);
    let count = view.variants.len();
    let Some(layout) = Layout::of(count, size) else {
        lines.extend(strips(view, width, height.saturating_sub(HEADER), painter));
        return lines;
    };
    let tops = Tops::of(view, layout.width);
    let panels: Vec<_> = (0..count)
        .map(|index| panel(view, index, layout.width, layout.heights, tops, painter))
        .collect();
    for (number, row) in panels.chunks(layout.per_row).enumerate() {
        if number > 0 {
            lines.push(String::new());
        }
        let depth = row.iter().map(Vec::len).max().unwrap_or(0);
        for line in 0..depth {
            let line: Vec<_> = row
                .iter()
                .filter_map(|panel| panel.get(line).cloned())
                .collect();
            lines.push(line.join(&" ".repeat(GAP)));
        }
    }
    lines
}

/// The policies below each other; a line apart where there is room for that.
fn strips(view: &View<'_>, width: usize, height: usize, painter: Painter) -> Vec<String> {
    let width = width.clamp(PANEL, 2 * WIDEST);
    let tops = Tops::of(view, width.saturating_sub(9));
    let strips = (0..view.variants.len()).map(|index| strip(view, index, width, tops, painter));
    let spaced = view.variants.len() * 4 <= height;
    strips
        .flat_map(|mut strip| {
            strip.extend(spaced.then(String::new));
            strip
        })
        .collect()
}

/// What is going on, in general.
fn header(view: &View<'_>, width: usize, painter: Painter) -> Vec<String> {
    let setup = view.setup;
    let (colour, words) = if view.elapsed < setup.before {
        (Colour::Green, "all is well".into())
    } else if view.elapsed < setup.trigger_end() {
        (Colour::Orange, setup.fault.to_string())
    } else {
        let since = view.elapsed.min(setup.length());
        let since = since.saturating_sub(setup.trigger_end());
        (
            Colour::Ink,
            format!("the fault has been over for {}", tenths(since)),
        )
    };
    let clock = format!(
        "becalm drill   {} of {}   ",
        tenths(view.elapsed.min(setup.length())),
        tenths(setup.length())
    );
    let words = fit(&words, width.saturating_sub(clock.chars().count()));
    let service = setup.known_capacity().map_or_else(String::new, |capacity| {
        format!("capacity {}/s, queue {}, ", plain(capacity), setup.queue)
    });
    let load = format!(
        "{} first tries/s for each, {service}client timeout {}",
        plain(setup.load),
        Human(setup.client_timeout)
    );
    vec![
        painter.bold(&clock) + &painter.paint(colour, &words),
        painter.paint(Colour::Muted, &fit(&load, width)),
        String::new(),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::panel::tests::with_view;
    use super::*;

    #[test]
    fn the_picture_fits_every_terminal_from_80_by_24_on() {
        for elapsed in [0, 1_500, 6_000, 12_000] {
            with_view(elapsed, |view| {
                for size in [(80, 24), (80, 40), (100, 30), (250, 70), (40, 24), (80, 15)] {
                    let lines = frame(view, size, Painter::Plain);
                    let wide = lines.iter().map(|line| line.chars().count()).max().unwrap();
                    assert!(wide <= size.0, "{wide} of {size:?}");
                    let strips = HEADER + 3 * view.variants.len();
                    assert!(
                        lines.len() <= size.1.max(strips),
                        "{} of {size:?}",
                        lines.len()
                    );
                }
                for size in [(0, 0), (1, 1), (5, 200)] {
                    frame(view, size, Painter::Ansi);
                }
            });
        }
        let panels = |size| Layout::of(6, size).map(|layout| layout.per_row);
        assert_eq!(
            [(80, 24), (80, 40), (140, 30), (80, 30)].map(panels),
            [None, Some(3), Some(6), None]
        );
    }
}
