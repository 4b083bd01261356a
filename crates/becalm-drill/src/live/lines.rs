//! What is seen where nothing can be redrawn? A plain line for a second, and few of them.

use std::time::Duration;

use becalm_report::format::plain;
use becalm_report::terminal::fit;

use super::View;
use super::condition::condition;
use crate::ledger::Count;
use crate::statistics::per_second;

const SECOND: Duration = Duration::from_secs(1);

/// Columns of a line; of the second, and of a policy at most.
const WIDTH: usize = 80;
const TIME: usize = 5;
const COLUMN: usize = 34;

/// Lines of a drill, but for its last second: the first of many seconds would be all that is read.
pub const LINES: u32 = 5;

/// The policies.
pub fn header(view: &View<'_>) -> String {
    let width = column(view);
    let mut text = fit("", TIME);
    for variant in view.variants {
        text.push_str(&(fit(&variant.title, width - 1) + " "));
    }
    let is_short = if width < COLUMN { SHORT } else { "" };
    format!("{is_short}{}\n", text.trim_end())
}

/// What a narrow column holds.
const SHORT: &str = "calls that succeed, per second:\n";

/// How the second went that ends there; nothing for a second that is passed over.
pub fn line(view: &View<'_>, second: u32, most: u32) -> String {
    let all = u32::try_from(view.setup.length().as_secs()).unwrap_or(u32::MAX);
    if most == 0 || second % all.div_ceil(most).max(1) != 0 && second != all {
        return String::new();
    }
    let end = SECOND * second;
    let width = column(view);
    let mut text = fit(&format!("{}s", end.as_secs()), TIME);
    for (recording, variant) in view.recordings.iter().zip(view.variants) {
        let last = end.saturating_sub(SECOND)..end;
        let arrived = per_second(recording.within(Count::Arrived, last.clone()), SECOND);
        let answered = plain(per_second(recording.within(Count::Succeeded, last), SECOND));
        let (_, words) = condition(recording, view.setup, &variant.policy, end);
        let told = if width < COLUMN {
            let word = words.split(' ').next().unwrap_or_default();
            let known = ["STORM", "back"].into_iter().find(|it| *it == word);
            format!("{answered} {}", known.unwrap_or_default())
        } else {
            format!("{}/s, {answered} ok, {words}", plain(arrived))
        };
        text.push_str(&(fit(&told, width - 1) + " "));
    }
    format!("{}\n", text.trim_end())
}

/// The width of a policy's column.
fn column(view: &View<'_>) -> usize {
    let count = view.variants.len().max(1);
    ((WIDTH - TIME) / count).clamp(2, COLUMN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::tests::usual;
    use crate::statistics::tests::{protected, stormy};
    use crate::variant;
    use becalm::Policy;

    #[test]
    fn a_line_tells_load_goodput_and_condition_of_each_policy() {
        let setup = usual();
        let variants = variant::all(&Policy::default(), setup.client_timeout);
        let recordings = [stormy(), protected()];
        let view = View {
            setup: &setup,
            variants: &variants[2..4],
            recordings: &recordings,
            elapsed: Duration::from_secs(7),
        };
        assert!(header(&view).contains("full jitter"));
        let told = line(&view, 8, LINES);
        assert!(
            told.starts_with("8s   1 040/s, 2 ok, STORM for 5.0 s"),
            "{told}"
        );
        assert!(told.contains("260/s, 260 ok, back in 0.9 s"), "{told}");
        assert_eq!(line(&view, 7, LINES), "", "few lines are read");
    }

    #[test]
    fn s5_six_policies_have_room_in_80_columns() {
        let setup = usual();
        let variants = variant::all(&Policy::default(), setup.client_timeout);
        let recordings = [
            stormy(),
            stormy(),
            stormy(),
            protected(),
            protected(),
            protected(),
        ];
        let view = View {
            setup: &setup,
            variants: &variants,
            recordings: &recordings,
            elapsed: setup.length(),
        };
        let lines: String = (1..=10).map(|second| line(&view, second, LINES)).collect();
        assert_eq!(lines.lines().count(), 5, "{lines}");
        // One of many that are held one after the other has less.
        for (most, expected) in [(2, 2), (1, 1), (0, 0)] {
            let few = (1..=10).map(|second| line(&view, second, most));
            let few = few.filter(|it| !it.is_empty()).count();
            assert!(
                few <= expected + 1 && (few > 0) == (most > 0),
                "{most}: {few}"
            );
        }
        let all = header(&view) + &lines;
        assert!(all.lines().all(|it| it.chars().count() <= WIDTH), "{all}");
        assert!(
            line(&view, 8, LINES).contains("2 STORM") && line(&view, 8, LINES).contains("260 back"),
            "{all}"
        );
    }
}
