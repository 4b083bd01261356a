//! Which figures of a sweep are drawn?

use crate::study::Contender;

/// A figure that is drawn over an axis.
pub(super) struct Drawn {
    pub id: &'static str,
    pub title: &'static str,
    pub y: &'static str,
    /// Whether it goes through powers of ten, and is never 0.
    pub is_logarithmic: bool,
    /// Whether two axes make a map of it, where points have no verdict.
    pub is_mapped: bool,
}

macro_rules! figures {
    ($($id:literal $title:literal, $y:literal $scale:ident $in_maps:ident;)*) => {
        &[$(Drawn {
            id: $id,
            title: $title,
            y: $y,
            is_logarithmic: $scale,
            is_mapped: $in_maps,
        }),*]
    };
}

const LINEAR: bool = false;
const LOGARITHMIC: bool = true;
const MAPPED: bool = true;
const UNMAPPED: bool = false;

/// What a scenario is about comes before what every scenario has.
const FIGURES: &[Drawn] = figures! {
    "peak" "Most attempts in a bucket", "attempts in the fullest bucket" LOGARITHMIC MAPPED;
    "reconnect_p50_s" "Half of the clients are back", "s after the outage" LINEAR UNMAPPED;
    "reconnect_p99_s" "99 % of the clients are back", "s after the outage" LINEAR MAPPED;
    "reconnect_last_s" "All clients are back", "s after the outage" LINEAR UNMAPPED;
    "calls" "Calls until every client has written", "calls" LOGARITHMIC MAPPED;
    "time_ms" "Time until every client has written", "ms" LOGARITHMIC MAPPED;
    "last_mean_ms" "The mean of the last delay", "ms" LINEAR MAPPED;
    "last_deviation_ms" "The deviation of the last delay", "ms" LINEAR MAPPED;
    "at_bottom" "Requests at the bottom for a call of a user", "requests per call" LINEAR MAPPED;
    "first_tries_per_s" "First tries", "per second" LINEAR UNMAPPED;
    "sent_per_s" "Requests sent in the overload", "requests per second" LINEAR MAPPED;
    "recovered_share" "Runs that came back", "share of runs, %" LINEAR UNMAPPED;
    "amplification" "Amplification", "attempts per first try" LINEAR UNMAPPED;
    "success_share" "Calls that succeed", "share of calls, %" LINEAR MAPPED;
    "latency_p99_ms" "Latency of successful calls, p99", "ms" LINEAR UNMAPPED;
};

/// Whether a service comes back is a figure of every world, and says nothing where none was ruled on.
pub(super) const OF_VERDICTS: &str = "recovered_share";

/// The figures that are drawn of these: those that any point has.
pub(super) fn figures(contenders: &[Contender]) -> impl Iterator<Item = &'static Drawn> {
    let is_ruled = contenders.iter().any(|it| it.verdict.is_some());
    FIGURES.iter().filter(move |figure| {
        let is_said = is_ruled || figure.id != OF_VERDICTS;
        is_said && contenders.iter().any(|it| it.value(figure.id).is_some())
    })
}

/// Their names, the one that says most first.
pub(super) fn drawn(contenders: &[Contender]) -> Vec<&'static str> {
    figures(contenders).map(|it| it.id).collect()
}
