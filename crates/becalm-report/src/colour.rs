//! Which colours stay apart on light and dark ground, and for readers who confuse red and green?

use std::fmt::Write as _;

use crate::ramp;

/// A colour by name; its shade follows the ground it is drawn on.
///
/// The hues are near those of Okabe and Ito (*Color Universal Design*, 2008). Their shades are chosen
/// for each ground: they read as text on it, and lines in them stay apart for readers with and
/// without all three kinds of cones.
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
    /// turn, the first of them farthest apart. Those in which people read good and bad come last.
    pub const fn of_series(index: usize) -> Self {
        const TURN: [Colour; 6] = [
            Colour::Blue,
            Colour::Purple,
            Colour::Orange,
            Colour::Sky,
            Colour::Green,
            Colour::Red,
        ];
        TURN[index % TURN.len()]
    }

    /// Its custom property, its shades on light and on dark ground, and its code of a terminal.
    const fn shades(self) -> (&'static str, &'static str, &'static str, Option<u8>) {
        match self {
            Self::Ink => ("--bc-ink", "#1b1f24", "#e8eaed", None),
            Self::Muted => ("--bc-muted", "#5b6570", "#9aa4af", Some(90)),
            Self::Red => ("--bc-red", "#b02318", "#f26a50", Some(31)),
            Self::Orange => ("--bc-orange", "#b86e00", "#fbba2b", Some(33)),
            Self::Green => ("--bc-green", "#00805c", "#50d8a0", Some(32)),
            Self::Blue => ("--bc-blue", "#1a5fd0", "#5086fc", Some(34)),
            Self::Purple => ("--bc-purple", "#93157c", "#da4b8a", Some(35)),
            Self::Sky => ("--bc-sky", "#1a8aa0", "#a6e6f5", Some(36)),
        }
    }

    /// The name of the custom property that holds the shade.
    pub(crate) const fn property(self) -> &'static str {
        self.shades().0
    }

    const fn on_light(self) -> &'static str {
        self.shades().1
    }

    const fn on_dark(self) -> &'static str {
        self.shades().2
    }

    /// The select-graphic-rendition code of a terminal (ECMA-48, 8.3.117).
    pub(crate) const fn terminal_code(self) -> Option<u8> {
        self.shades().3
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
        let weights = [0.2126, 0.7152, 0.0722];
        linear(hex).iter().zip(weights).map(|(a, b)| a * b).sum()
    }

    /// The light of each primary, without the gamma of sRGB.
    fn linear(hex: &str) -> [f64; 3] {
        [1, 3, 5].map(|at| {
            let value = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.040_45 {
                value / 12.92
            } else {
                ((value + 0.055) / 1.055).powf(2.4)
            }
        })
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

    type Matrix = [[f64; 3]; 3];

    fn times(matrix: &Matrix, vector: [f64; 3]) -> [f64; 3] {
        matrix.map(|row| row.iter().zip(vector).map(|(a, b)| a * b).sum())
    }

    /// What is seen of linear light without the first, the second or the third kind of cones: G. M.
    /// Machado, M. M. Oliveira, L. A. F. Fernandes, *A Physiologically-based Model for Simulation of
    /// Color Vision Deficiency*, IEEE TVCG 15 (2009), table 1, severity 1.
    const EYES: [Matrix; 4] = [
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [
            [0.152_286, 1.052_583, -0.204_868],
            [0.114_503, 0.786_281, 0.099_216],
            [-0.003_882, -0.048_116, 1.051_998],
        ],
        [
            [0.367_322, 0.860_646, -0.227_968],
            [0.280_085, 0.672_501, 0.047_413],
            [-0.011_820, 0.042_940, 0.968_881],
        ],
        [
            [1.255_528, -0.076_749, -0.178_779],
            [-0.078_411, 0.930_809, 0.147_602],
            [0.004_733, 0.691_367, 0.303_900],
        ],
    ];

    /// B. Ottosson, *A perceptual color space for image processing*, 2020.
    fn oklab(linear: [f64; 3]) -> [f64; 3] {
        const CONES: Matrix = [
            [0.412_221_470_8, 0.536_332_536_3, 0.051_445_992_9],
            [0.211_903_498_2, 0.680_699_545_1, 0.107_396_956_6],
            [0.088_302_461_9, 0.281_718_837_6, 0.629_978_700_5],
        ];
        const LAB: Matrix = [
            [0.210_454_255_3, 0.793_617_785_0, -0.004_072_046_8],
            [1.977_998_495_1, -2.428_592_205_0, 0.450_593_709_9],
            [0.025_904_037_1, 0.782_771_766_2, -0.808_675_766_0],
        ];
        times(&LAB, times(&CONES, linear).map(f64::cbrt))
    }

    /// How far apart two colours are to these eyes.
    fn apart(eyes: &Matrix, a: &str, b: &str) -> f64 {
        let seen = |hex| oklab(times(eyes, linear(hex)).map(|it| it.clamp(0.0, 1.0)));
        let squares = seen(a)
            .into_iter()
            .zip(seen(b))
            .map(|(a, b)| (a - b) * (a - b));
        squares.sum::<f64>().sqrt()
    }

    /// Two lines of 0.05 are told apart side by side; more is wanted of lines that cross. The third
    /// kind of cones is missing to one in ten thousand, and dark lines depend on it most.
    #[test]
    fn lines_stay_apart_whoever_looks() {
        for (ground, shade) in [
            ("light", Colour::on_light as fn(Colour) -> &'static str),
            ("dark", Colour::on_dark),
        ] {
            for later in 1..6 {
                for earlier in 0..later {
                    let [a, b] = [earlier, later].map(|index| shade(Colour::of_series(index)));
                    for (missing, eyes) in EYES.iter().enumerate() {
                        let wanted = match (missing, later) {
                            (0, 0..=2) => 0.15,
                            (1 | 2, 0..=2) => 0.11,
                            (_, 0..=2) => 0.069,
                            (3, _) => 0.02,
                            _ => 0.07,
                        };
                        let apart = apart(eyes, a, b);
                        assert!(
                            apart >= wanted,
                            "{earlier} and {later} on {ground}, cones but {missing}: {apart}"
                        );
                    }
                }
            }
        }
    }
}
