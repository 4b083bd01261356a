//! How is a remedy told?

use super::found::Step;
use crate::study::Verdict;
use crate::verdict::{Ruling, list};

/// That no policy helps, and what would. `lost` are the cases that are lost without retries, too; none
/// where that is the scenario itself.
pub(super) fn beyond_policy(lost: &[String], needs: &str) -> String {
    if lost.is_empty() {
        return format!(
            "No policy brings it back: it stays down without any retries, too. {needs}"
        );
    }
    let lost = list(lost);
    format!(
        "No policy makes it stable: with {lost} it stays down without any retries, too. {needs}"
    )
}

/// The smallest change that was found, and what is not saved by it.
pub(super) fn found(
    step: Option<&(Step, Ruling)>,
    tried: usize,
    lost: &[String],
    needs: &str,
) -> String {
    let Some((step, ruling)) = step else {
        let none = match tried {
            0 => "There is no retry to change".to_owned(),
            tried => {
                format!("None of the {tried} smallest changes that were tried makes it stable")
            }
        };
        let parts = [
            format!("{none}; \"becalm storm tune\" searches further."),
            needs.to_owned(),
        ];
        return parts.join(" ").trim_end().to_owned();
    };
    let what = format!("{} at {}", step.what, list(&step.places()));
    if ruling.verdict == Verdict::Stable {
        return format!(
            "The smallest change found that makes it stable: {what}. {}",
            ruling.evidence
        );
    }
    format!(
        "The smallest change found that makes it as good as no retries at all: {what}. {} With {} it \
         stays down without any retries, too. {needs}",
        ruling.evidence,
        list(lost)
    )
}
