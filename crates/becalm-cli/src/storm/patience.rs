//! Will it take long, and what makes it shorter? Said before it begins.

use becalm_report::format;
use becalm_sim::verdict::Foretold;

/// Seconds from which on something is said.
const LONG: f64 = 30.0;
/// Seconds that an event takes, in scenarios of few and of many layers on one core of an ordinary server.
const OF_AN_EVENT: f64 = 80e-9;
/// Seconds that it takes to make a client with a budget of its own, most of them the kernel's.
const OF_A_CLIENT: f64 = 2e-6;
/// Bytes from which on memory is spoken of.
const MUCH: f64 = 1e8;

/// What is to be said of so much work on so many threads; `None` of what is done soon. `fewer` is the
/// flag that makes it shorter most.
pub fn sentence(foretold: &Foretold, threads: usize, fewer: &str) -> Option<String> {
    let [runs, events, clients, bytes] = [
        foretold.runs,
        foretold.events,
        foretold.clients,
        foretold.bytes,
    ]
    .map(float);
    #[expect(clippy::cast_precision_loss, reason = "a handful")]
    let threads = threads.max(1) as f64;
    let seconds = (events * OF_AN_EVENT + clients * OF_A_CLIENT) / threads.min(runs.max(1.0));
    if seconds < LONG {
        return None;
    }
    let bytes = bytes * threads;
    let memory = if bytes > MUCH {
        format!(" and {} MB of memory", format::plain(rounded(bytes / 1e6)))
    } else {
        String::new()
    };
    let makes_clients = clients * OF_A_CLIENT > events * OF_AN_EVENT;
    let shared = if makes_clients {
        ", fewer clients or sharing = \"shared\""
    } else {
        ""
    };
    Some(format!(
        "becalm: this may take {}{memory}: up to {} runs of some {} events; shorter with {fewer}, \
         fewer --runs, a shorter horizon{shared}",
        time(seconds),
        format::plain(runs),
        format::plain(rounded(events / runs.max(1.0)))
    ))
}

/// As exact as a guess is: `30 s`, `2 min`, `3 h`.
fn time(seconds: f64) -> String {
    let (value, unit) = match seconds {
        5_400.0.. => (seconds / 3600.0, "h"),
        90.0.. => (seconds / 60.0, "min"),
        _ => (seconds, "s"),
    };
    format!("some {} {unit}", format::plain(rounded(value)))
}

/// To one digit, and never to nothing.
fn rounded(value: f64) -> f64 {
    let size = 10_f64.powf(value.max(1.0).log10().floor());
    ((value / size).round() * size).max(1.0)
}

#[expect(clippy::cast_precision_loss, reason = "a guess")]
fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn foretold(runs: u64, events: u64, clients: u64, bytes: u64) -> Foretold {
        let mut foretold = Foretold::default();
        foretold.runs = runs;
        foretold.events = events;
        foretold.clients = clients;
        foretold.bytes = bytes;
        foretold
    }

    #[test]
    fn nothing_is_said_of_what_is_done_soon() {
        assert_eq!(
            sentence(&foretold(300, 200_000_000, 30_000, 1), 1, "--quick"),
            None
        );
        assert_eq!(sentence(&foretold(0, 0, 0, 0), 0, "--quick"), None);
        assert_eq!(
            sentence(&foretold(300, 600_000_000, 0, 0), 2, "--quick"),
            None
        );
    }

    #[test]
    fn the_time_the_work_and_the_remedy_are_told() {
        let told = sentence(&foretold(300, 3_000_000_000, 30_000, 1_000), 2, "--quick").unwrap();
        assert!(
            told.contains("some 2 min: up to 300 runs of some 10 000 000 events"),
            "{told}"
        );
        assert!(told.contains("--quick") && !told.contains("memory") && !told.contains("clients"));
        // Where there is one run, no second thread helps.
        let one = sentence(&foretold(1, 500_000_000, 0, 0), 8, "--quick").unwrap();
        assert!(one.contains("some 40 s"), "{one}");
    }

    #[test]
    fn many_clients_are_told_to_be_the_reason() {
        let many = sentence(
            &foretold(300, 1_000_000, 300_000_000, 1_700_000_000),
            2,
            "--quick",
        )
        .unwrap();
        for part in ["some 5 min and 3 000 MB of memory", "fewer clients"] {
            assert!(many.contains(part), "{many}");
        }
    }

    #[test]
    fn no_guess_panics() {
        let most = foretold(u64::MAX, u64::MAX, u64::MAX, u64::MAX);
        assert!(sentence(&most, 1, "--quick").is_some());
        assert_eq!(
            sentence(&most, usize::MAX, "--quick"),
            None,
            "a thread for each run"
        );
    }
}
