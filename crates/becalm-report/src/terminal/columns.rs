//! How high is each of a row of values, in eighths of a character?

const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// One character per value: the height of each against `top`.
///
/// A value above 0 is never invisible, one above `top` is as high as `top`, and one that is not a
/// number is a gap.
///
/// ```
/// let rising = becalm_report::terminal::sparkline(&[0.0, 1.0, 50.0, 100.0], 100.0);
/// assert_eq!(rising, " ▁▄█");
/// ```
pub fn sparkline(values: &[f64], top: f64) -> String {
    columns(values, 1, top).concat()
}

/// Columns that are several lines high, the top line first.
pub fn columns(values: &[f64], height: usize, top: f64) -> Vec<String> {
    let heights: Vec<_> = values
        .iter()
        .map(|value| eighths(*value, height, top))
        .collect();
    (0..height)
        .rev()
        .map(|line| {
            let glyph = |full: &usize| EIGHTHS[full.saturating_sub(line * 8).min(8)];
            heights.iter().map(glyph).collect()
        })
        .collect()
}

/// A horizontal bar: `share` (from 0 to 1) of `width` columns, to an eighth of one.
pub(crate) fn sparkbar(share: f64, width: usize) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let share = if share.is_nan() {
        0.0
    } else {
        share.clamp(0.0, 1.0)
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a float saturates, and a terminal is small"
    )]
    let eighths = (share * (width * 8) as f64).floor() as usize;
    "█".repeat(eighths / 8) + PARTS[eighths % 8]
}

/// The height of a column in eighths of a character, of at most `height` characters.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss
)]
fn eighths(value: f64, height: usize, top: f64) -> usize {
    if value.is_nan() || value <= 0.0 || top.is_nan() || top <= 0.0 {
        return 0;
    }
    let most = height * 8;
    let share = (value / top).min(1.0);
    if share.is_nan() {
        return most;
    }
    ((share * most as f64).round() as usize).clamp(1, most.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_rises_with_its_value() {
        let values: Vec<_> = (0..=100).map(f64::from).collect();
        for height in 1..6 {
            let heights: Vec<_> = values.iter().map(|v| eighths(*v, height, 100.0)).collect();
            assert!(heights.is_sorted());
            assert_eq!((heights[0], heights[1], heights[100]), (0, 1, height * 8));
        }
    }

    #[test]
    fn lines_stack_from_the_top() {
        assert_eq!(columns(&[100.0, 50.0, 25.0], 2, 100.0), ["█  ", "██▄"]);
    }

    #[test]
    fn no_value_panics() {
        for top in [0.0, -1.0, f64::NAN, f64::INFINITY, 1.0] {
            for value in [f64::NAN, f64::INFINITY, -1.0, f64::MAX, 0.5] {
                for height in 0..3 {
                    let lines = columns(&[value], height, top);
                    assert_eq!(lines.len(), height);
                    assert!(lines.iter().all(|line| line.chars().count() == 1));
                }
            }
        }
        assert_eq!(sparkline(&[], 1.0), "");
    }
}
