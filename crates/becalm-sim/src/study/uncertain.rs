//! Which figures have no interval, and why not?

/// The figures that have no 95 % confidence interval, each with the reason: of all others a document has one. `docs/figures.md` has
/// this list.
///
/// A single run has none either: it says nothing of how much runs differ.
pub const WITHOUT_INTERVAL: [(&str, &str); 11] = [
    ("hidden_capacity", "computed from the scenario"),
    ("floor_s", "computed from the scenario"),
    ("first_planned_ms", "computed from the policy"),
    ("last_planned_ms", "computed from the policy"),
    (
        "needed_horizon_s",
        "tried with the same seeds, and rounded up",
    ),
    (
        "recovery_p50_s",
        "where fewer than six runs came back: the shortest and the longest time do not enclose a median surely enough",
    ),
    (
        "first_answer_p50_s",
        "where fewer than six runs came back, likewise",
    ),
    (
        "recovery_p90_s",
        "where fewer than 36 runs came back: the longest time may be below it",
    ),
    (
        "largest_load",
        "where the highest value that was tried is survived, or the runs are too few to say: it has no upper end",
    ),
    ("longest_outage_s", "as the largest load"),
    ("most_clients", "as the largest load"),
];
