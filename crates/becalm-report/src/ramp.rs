//! How much is a value, told by a shade?
//!
//! The ramp leaves the ground at its low end and rises in equal steps of lightness (in Oklab,
//! Ottosson, 2020) through one turn of warm hues, so its order is also read by those who see no hue
//! at all, and in print.

/// How many shades there are.
pub(crate) const STEPS: usize = 9;

pub(crate) const ON_LIGHT: [&str; STEPS] = [
    "#f7f0d6", "#eed5a0", "#e9b66b", "#e2953c", "#d67412", "#c55500", "#ad3910", "#92211d",
    "#740b20",
];

pub(crate) const ON_DARK: [&str; STEPS] = [
    "#3b1b20", "#612525", "#863221", "#a43f0c", "#b85400", "#dc8000", "#eba206", "#f6c64b",
    "#ffe97e",
];

/// The first step on which text stands in the colour of the ground.
const INVERTED: usize = 5;

/// The step of a position from 0 to 1.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a float saturates, and a step is small"
)]
pub(crate) fn step(position: f64) -> usize {
    ((position * STEPS as f64) as usize).min(STEPS - 1)
}

/// The class of text that stands on a step.
pub(crate) const fn text_class(step: usize) -> &'static str {
    if step < INVERTED {
        "bc-strong"
    } else {
        "bc-on-ramp"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::colour::tests::{contrast, luminance};

    #[test]
    fn more_is_farther_from_the_ground() {
        assert!(ON_LIGHT.is_sorted_by(|a, b| luminance(a) > luminance(b)));
        assert!(ON_DARK.is_sorted_by(|a, b| luminance(a) < luminance(b)));
    }

    #[test]
    fn text_reads_on_every_step() {
        for (ramp, ink, ground) in [
            (ON_LIGHT, "#1b1f24", "#ffffff"),
            (ON_DARK, "#e8eaed", "#15181c"),
        ] {
            for (step, shade) in ramp.iter().enumerate() {
                let text = if text_class(step) == "bc-strong" {
                    ink
                } else {
                    ground
                };
                assert!(contrast(shade, text) >= 3.9, "{shade} {text}");
            }
        }
    }

    #[test]
    fn steps_share_the_whole_range() {
        let mut counts = [0; STEPS];
        for value in 0..900 {
            counts[step(f64::from(value) / 900.0)] += 1;
        }
        assert!(
            counts.iter().all(|count| (99..=101).contains(count)),
            "{counts:?}"
        );
        assert_eq!((step(-1.0), step(f64::NAN), step(1.0)), (0, 0, STEPS - 1));
    }
}
