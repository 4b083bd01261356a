//! How does a human read a plan?

use std::fmt::Write as _;
use std::time::Duration;

use becalm::support::Human;
use becalm::{Policy, preset::Preset};
use becalm_report::terminal::Painter;
use becalm_report::{Cell, Colour, Table, format};
use becalm_sim::forecast::{End, Fate, Forecast, Longest, Spread};

use super::told::Plan;
use super::{picture, protection::sentences as protected};
use crate::wording::{delays, indented, limits, protection, wrapped};

/// The plan as text, in 80 columns.
pub fn document(plan: &Plan, painter: Painter) -> String {
    let Plan {
        policy, forecast, ..
    } = plan;
    let mut text = wrapped(&delays(policy)) + &wrapped(&limits(policy));
    if !protection(policy).is_empty() {
        text.push_str(&wrapped(&format!("in order: {policy}")));
    }
    if let Some(preset) = plan.preset {
        text.push_str(&wrapped(&origin(preset)));
    }
    text.push('\n');
    if forecast.rows.is_empty() {
        text.push_str("One attempt, no retry: nothing is waited for.\n");
        text.push_str(&bounds(plan));
        return text;
    }
    text.push_str(&table(forecast, painter));
    text.push('\n');
    for sentence in sentences(policy, forecast, plan.longest) {
        text.push_str(&wrapped(&sentence));
    }
    text.push_str(&bounds(plan));
    let picture = picture::terminal(forecast, painter);
    if !picture.is_empty() {
        let _ = write!(text, "\n{picture}");
    }
    if !plan.lints.is_empty() {
        text.push_str("\nLegal, but dangerous:\n");
    }
    for lint in &plan.lints {
        text.push_str(&indented("  ", &lint.to_string()));
    }
    text
}

/// What bounds all calls together.
fn bounds(plan: &Plan) -> String {
    let sentences = protected(&plan.policy, &plan.protection, plan.reserve.as_ref());
    if sentences.is_empty() {
        return String::new();
    }
    let sentences = sentences.iter().map(|it| indented("  ", it));
    format!("\nAll calls together:\n{}", sentences.collect::<String>())
}

/// Where the policy comes from, and what the system itself does otherwise.
fn origin(preset: &Preset) -> String {
    let mut text = format!("preset {}: {}", preset.name(), preset.source());
    if let Some(differs) = preset.differs() {
        let _ = write!(text, ". It differs: {differs}");
    }
    text
}

fn table(forecast: &Forecast, painter: Painter) -> String {
    let mut table = Table::new([
        "retry",
        "ceiling",
        "least",
        "mean",
        "most",
        "sum least",
        "sum mean",
        "sum most",
        "",
    ]);
    for row in &forecast.rows {
        let (mark, colour) = match row.fate {
            Fate::Starts => ("", Colour::Ink),
            Fate::MayNotStart => (MAY_NOT_START, Colour::Orange),
            Fate::Never => (NEVER, Colour::Muted),
        };
        let (delay, sum) = (row.delay, row.cumulative);
        let delays = [
            row.ceiling,
            delay.least,
            delay.mean,
            delay.most,
            sum.least,
            sum.mean,
            sum.most,
        ];
        let cells = [row.retry.to_string()]
            .into_iter()
            .chain(delays.into_iter().map(brief))
            .chain([mark.to_owned()])
            .map(|text| Cell::new(text).colour(colour));
        table = table.row(cells);
    }
    table.to_terminal(painter)
}

const MAY_NOT_START: &str = "?";
const NEVER: &str = "x";

/// What the figures include, and what bounds them.
fn sentences(policy: &Policy, forecast: &Forecast, longest: Longest) -> Vec<String> {
    let Spread { least, mean, most } = forecast.total();
    let count = forecast.rows.len();
    let listed = match (forecast.end, count) {
        (End::Complete, 1) => "the one retry".to_owned(),
        (End::Complete, _) => format!("all {count} retries"),
        _ => format!("the first {count} retries"),
    };
    let mut sentences = vec![
        format!(
            "waits of {listed}: least {}, mean {}, worst {}",
            brief(least),
            brief(mean),
            brief(most)
        ),
        if queues(policy) {
            "(waits between attempts only: no attempt's own time, no server's hint, no refusal of the \
             budget, no wait for the rate or for a place)"
                .into()
        } else {
            "(waits only: no attempt's own time, no server's hint, no refusal of the budget)".into()
        },
    ];
    match forecast.end {
        End::Complete => {}
        End::Rows => sentences.push("more retries are allowed; --rows lists more of them".into()),
        End::Deadline => {
            sentences.push("more retries are allowed; the deadline lets none of them start".into());
        }
    }
    sentences.extend(
        policy
            .deadline
            .into_iter()
            .flat_map(|it| marks(policy, forecast, it)),
    );
    if let Some(waits) = longest.waits.filter(|waits| *waits < most) {
        sentences.push(format!(
            "within the deadline, the waits are at most {}",
            brief(waits)
        ));
    }
    if let Some(longest) = longest.call {
        let why = match policy.deadline {
            Some(deadline) if deadline <= longest => {
                "the deadline; a blocking call may end one attempt later"
            }
            _ if queues(policy) => {
                "every attempt at its timeout, every wait at its longest; a wait for the rate or for \
                 a place comes on top"
            }
            _ => "every attempt at its timeout, every wait at its longest",
        };
        sentences.push(format!(
            "the whole call ends within {} ({why})",
            brief(longest)
        ));
    }
    if let Some(base) = policy.throttled_base {
        let base = brief(base);
        sentences.push(format!(
            "throttled failures have a base of {base}: see --throttled"
        ));
    }
    sentences
}

/// Whether an attempt may wait for something else than the delay before it.
fn queues(policy: &Policy) -> bool {
    policy.rate.is_some() || policy.bulkhead.is_some_and(|bulkhead| bulkhead.waiting > 0)
}

/// What the marks of the table mean, as far as there are any.
fn marks(policy: &Policy, forecast: &Forecast, deadline: Duration) -> Vec<String> {
    let any = |fate| forecast.rows.iter().any(|row| row.fate == fate);
    let deadline = brief(deadline);
    let counted = match policy.attempt_timeout {
        Some(_) => "every attempt at its timeout",
        None => "waits alone; slow attempts add to that",
    };
    let may_not_start = any(Fate::MayNotStart).then(|| {
        format!("{MAY_NOT_START}  may not start: can pass the deadline of {deadline} ({counted})")
    });
    let never = any(Fate::Never).then(|| {
        format!("{NEVER}  never starts: the least waits already reach the deadline of {deadline}")
    });
    may_not_start.into_iter().chain(never).collect()
}

/// Exact where that is short, otherwise three significant digits.
fn brief(duration: Duration) -> String {
    let exact = Human(duration).to_string();
    if exact.len() <= 7 {
        exact
    } else {
        format::seconds(duration.as_secs_f64())
    }
}
