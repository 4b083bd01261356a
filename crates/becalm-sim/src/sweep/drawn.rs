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

const fn drawn_as(id: &'static str, title: &'static str, y: &'static str) -> Drawn {
    Drawn {
        id,
        title,
        y,
        is_logarithmic: false,
        is_mapped: false,
    }
}

impl Drawn {
    const fn logarithmic(mut self) -> Self {
        self.is_logarithmic = true;
        self
    }

    const fn mapped(mut self) -> Self {
        self.is_mapped = true;
        self
    }
}

/// What a scenario is about comes before what every scenario has.
const FIGURES: [Drawn; 15] = [
    drawn_as(
        "peak",
        "Most attempts in a bucket",
        "attempts in the fullest bucket",
    )
    .logarithmic()
    .mapped(),
    drawn_as(
        "reconnect_p50_s",
        "Half of the clients are back",
        "s after the outage",
    ),
    drawn_as(
        "reconnect_p99_s",
        "99 % of the clients are back",
        "s after the outage",
    )
    .mapped(),
    drawn_as(
        "reconnect_last_s",
        "All clients are back",
        "s after the outage",
    ),
    drawn_as("calls", "Calls until every client has written", "calls")
        .logarithmic()
        .mapped(),
    drawn_as("time_ms", "Time until every client has written", "ms")
        .logarithmic()
        .mapped(),
    drawn_as("last_mean_ms", "The mean of the last delay", "ms").mapped(),
    drawn_as("last_deviation_ms", "The deviation of the last delay", "ms").mapped(),
    drawn_as(
        "at_bottom",
        "Requests at the bottom for a call of a user",
        "requests per call",
    )
    .mapped(),
    drawn_as("first_tries_per_s", "First tries", "per second"),
    drawn_as(
        "sent_per_s",
        "Requests sent in the overload",
        "requests per second",
    )
    .mapped(),
    drawn_as("recovered_share", "Runs that came back", "share of runs, %"),
    drawn_as(
        "amplification",
        "Attempts for each first try",
        "attempts per first try",
    ),
    drawn_as("success_share", "Calls that succeed", "share of calls, %").mapped(),
    drawn_as("latency_p99_ms", "Latency of successful calls, p99", "ms"),
];

/// Whether a service comes back is a figure of every world, and says nothing where none was ruled on.
pub(super) const OF_VERDICTS: &str = "recovered_share";

/// The figures that are drawn of these: those that any point has.
pub(super) fn figures(contenders: &[Contender]) -> impl Iterator<Item = &'static Drawn> {
    let is_ruled = contenders.iter().any(|it| it.verdict.is_some());
    FIGURES.iter().filter(move |figure| {
        let is_said = is_ruled || figure.id != OF_VERDICTS;
        is_said && contenders.iter().any(|it| value(it, figure.id).is_some())
    })
}

/// Their names, the one that says most first.
pub(super) fn drawn(contenders: &[Contender]) -> Vec<&'static str> {
    figures(contenders).map(|it| it.id).collect()
}

/// The value of a figure.
pub(super) fn value(contender: &Contender, id: &str) -> Option<f64> {
    contender.figures.iter().find(|it| it.id == id)?.value
}
