//! Which colours stay apart on light and dark ground, and for readers who confuse red and green?

use std::fmt::Write as _;

use crate::ramp;

/// A colour by name; its shade follows the ground it is drawn on.
///
/// The hues are those of Okabe and Ito (*Color Universal Design*, 2008), darkened on light ground
/// and lightened on dark ground until they read as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Colour {
    /// The colour of the text.
    #[default]
    Ink,
    /// Text of less weight: labels, references.
    Muted,
    /// Vermilion.
    Red,
    /// Orange.
    Orange,
    /// Bluish green.
    Green,
    /// Blue.
    Blue,
    /// Reddish purple.
    Purple,
    /// Sky blue.
    Sky,
}

impl Colour {
    const ALL: [Self; 8] = [
        Self::Ink,
        Self::Muted,
        Self::Red,
        Self::Orange,
        Self::Green,
        Self::Blue,
        Self::Purple,
        Self::Sky,
    ];

    /// The colour of the series at this place, for series that have no colour of their own: six in
    /// turn, neighbours far apart.
    pub const fn of_series(index: usize) -> Self {
        const TURN: [Colour; 6] = [
            Colour::Blue,
            Colour::Orange,
            Colour::Green,
            Colour::Purple,
            Colour::Red,
            Colour::Sky,
        ];
        TURN[index % TURN.len()]
    }

    /// The name of the custom property that holds the shade.
    pub(crate) const fn property(self) -> &'static str {
        match self {
            Self::Ink => "--bc-ink",
            Self::Muted => "--bc-muted",
            Self::Red => "--bc-red",
            Self::Orange => "--bc-orange",
            Self::Green => "--bc-green",
            Self::Blue => "--bc-blue",
            Self::Purple => "--bc-purple",
            Self::Sky => "--bc-sky",
        }
    }

    const fn on_light(self) -> &'static str {
        match self {
            Self::Ink => "#1b1f24",
            Self::Muted => "#5b6570",
            Self::Red => "#c0392b",
            Self::Orange => "#b86e00",
            Self::Green => "#00805c",
            Self::Blue => "#0064a8",
            Self::Purple => "#8e4585",
            Self::Sky => "#0a809e",
        }
    }

    const fn on_dark(self) -> &'static str {
        match self {
            Self::Ink => "#e8eaed",
            Self::Muted => "#9aa4af",
            Self::Red => "#ff7b6b",
            Self::Orange => "#f0a83c",
            Self::Green => "#3fcf9f",
            Self::Blue => "#6bb8f0",
            Self::Purple => "#dd95d3",
            Self::Sky => "#a6e6f5",
        }
    }

    /// The select-graphic-rendition code of a terminal (ECMA-48, 8.3.117).
    pub(crate) const fn terminal_code(self) -> Option<u8> {
        match self {
            Self::Ink => None,
            Self::Muted => Some(90),
            Self::Red => Some(31),
            Self::Orange => Some(33),
            Self::Green => Some(32),
            Self::Blue => Some(34),
            Self::Purple => Some(35),
            Self::Sky => Some(36),
        }
    }
}

/// The custom properties of one ground, as declarations.
fn declarations(
    [ground, line, band]: [&str; 3],
    shade: fn(Colour) -> &'static str,
    ramp: &[&str],
) -> String {
    let mut css = format!("--bc-ground:{ground};--bc-line:{line};--bc-band:{band};");
    for (step, shade) in ramp.iter().enumerate() {
        let _ = write!(css, "--bc-ramp-{step}:{shade};");
    }
    for colour in Colour::ALL {
        css.push_str(colour.property());
        css.push(':');
        css.push_str(shade(colour));
        css.push(';');
    }
    css
}

/// The rules that set every shade below `selector`, for both grounds.
pub(crate) fn stylesheet(selector: &str) -> String {
    let light = declarations(
        ["#ffffff", "#d5dae0", "#f6dfa8"],
        Colour::on_light,
        &ramp::ON_LIGHT,
    );
    let dark = declarations(
        ["#15181c", "#353c44", "#4a3d17"],
        Colour::on_dark,
        &ramp::ON_DARK,
    );
    // Paper is light, whatever the screen was.
    format!(
        "{selector}{{{light}}}@media screen and (prefers-color-scheme:dark){{{selector}{{{dark}}}}}"
    )
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The relative luminance and contrast ratio of WCAG 2.1 (1.4.3).
    pub(crate) fn luminance(hex: &str) -> f64 {
        [(1, 0.2126), (3, 0.7152), (5, 0.0722)]
            .iter()
            .map(|&(at, weight)| {
                let value = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0;
                let linear = if value <= 0.040_45 {
                    value / 12.92
                } else {
                    ((value + 0.055) / 1.055).powf(2.4)
                };
                weight * linear
            })
            .sum()
    }

    pub(crate) fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn every_colour_reads_as_text_on_both_grounds() {
        for colour in Colour::ALL {
            assert!(contrast(colour.on_light(), "#ffffff") >= 3.9, "{colour:?}");
            assert!(contrast(colour.on_dark(), "#15181c") >= 4.5, "{colour:?}");
        }
    }

    #[test]
    fn neighbouring_series_differ() {
        for index in 0..12 {
            assert_ne!(Colour::of_series(index), Colour::of_series(index + 1));
        }
    }
}
