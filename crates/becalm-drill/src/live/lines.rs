//! What is seen where nothing can be redrawn? One plain line per second.

use std::fmt::Write as _;
use std::time::Duration;

use becalm_report::format::plain;
use becalm_report::terminal::fit;

use super::View;
use super::condition::condition;
use crate::ledger::Count;
use crate::statistics::per_second;

const SECOND: Duration = Duration::from_secs(1);

const COLUMN: usize = 34;

/// The policies.
pub fn header(view: &View<'_>) -> String {
    let mut text = fit("", 5);
    for variant in view.variants {
        text.push_str(&fit(&variant.title, COLUMN));
    }
    format!("{}\n", text.trim_end())
}

/// How the second went that ends there.
pub fn line(view: &View<'_>, second: u32) -> String {
    let end = SECOND * second;
    let mut text = fit(&format!("{}s", end.as_secs()), 5);
    for (recording, variant) in view.recordings.iter().zip(view.variants) {
        let last = end.saturating_sub(SECOND)..end;
        let arrived = per_second(recording.within(Count::Arrived, last.clone()), SECOND);
        let answered = per_second(recording.within(Count::Succeeded, last), SECOND);
        let (_, words) = condition(recording, view.setup, &variant.policy, end);
        let mut column = String::new();
        let _ = write!(
            column,
            "{}/s, {} ok, {words}",
            plain(arrived),
            plain(answered)
        );
        text.push_str(&fit(&column, COLUMN));
    }
    format!("{}\n", text.trim_end())
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
            variants: &variants[2..],
            recordings: &recordings,
            elapsed: Duration::from_secs(7),
        };
        assert!(header(&view).contains("full jitter"));
        let line = line(&view, 7);
        assert!(
            line.starts_with("7s   1 040/s, 2 ok, STORM for 4.0 s"),
            "{line}"
        );
        assert!(line.contains("260/s, 260 ok, back in 0.9 s"), "{line}");
    }
}
