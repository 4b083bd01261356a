//! Is the herd what pen and paper say? Tolerances are five standard deviations of what is counted.

use std::time::Duration;

use becalm::support::Lone;
use becalm::{Budget, Jitter, Policy};

use crate::catalogue::fleet::float;
use crate::engine::each_in_order;
use crate::herd::{Herd, Reconnects, run};
use crate::oracle::herd as oracle;
use crate::study::{Comparison, Plan, Tolerance};

/// How many standard deviations a count may be off: one check in 1.7 million fails by chance.
const DEVIATIONS: f64 = 5.0;
/// The base and the cap of all checks.
const BASE: Duration = Duration::from_secs(1);
const CAP: Duration = Duration::from_secs(8);

pub(super) fn check(plan: &Plan<'_>, quick: bool) -> Vec<Comparison> {
    let clients = if quick { 4_000 } else { 200_000 };
    let parts: [Part; 6] = [
        waves_without_jitter,
        |plan, clients| first_wave(plan, clients).into(),
        |plan, clients| vec![before_base(plan, clients)],
        |plan, clients| vec![equal_wave(plan, clients)],
        |plan, clients| at_the_cap(plan, Jitter::Full, clients / 4).into(),
        |plan, clients| at_the_cap(plan, Jitter::Equal, clients / 4).into(),
    ];
    each_in_order(&parts, plan.threads, |part| part(plan, clients)).concat()
}

/// A herd of its own, and what is compared of it.
type Part = fn(&Plan<'_>, u32) -> Vec<Comparison>;

/// The record of a herd; nothing where it was refused, which then compares to no right answer.
fn record(plan: &Plan<'_>, herd: &Herd, jitter: Jitter) -> Reconnects {
    let policy = Policy::exponential(BASE)
        .cap(CAP)
        .jitter(jitter)
        .attempts(Policy::UNLIMITED)
        .budget(Budget::None);
    let lone = Lone::new(policy, Duration::ZERO).ok();
    let record = lone.and_then(|lone| run(herd, &lone, plan.seed).ok());
    record.unwrap_or_default()
}

fn herd(clients: u32, outage: Duration, bucket: Duration) -> Herd {
    let mut herd = Herd::of(clients);
    (herd.outage, herd.bucket) = (outage, bucket);
    herd
}

fn waves_without_jitter(plan: &Plan<'_>, clients: u32) -> Vec<Comparison> {
    let bucket = Duration::from_millis(100);
    let record = record(plan, &herd(clients, BASE * 5, bucket), Jitter::None);
    let at = |seconds| f64::from(record.peak_from(Duration::from_secs(seconds)).1);
    let of = |(wave, seconds)| Comparison {
        what: format!("none: peak of wave {wave}, of {clients} clients"),
        expected: f64::from(clients),
        got: at(seconds),
        tolerance: Tolerance::Absolute(0.0),
    };
    [(1, 0), (2, 2), (3, 4)].into_iter().map(of).collect()
}

/// The server is up at once, so that there is one wave only.
fn first_wave(plan: &Plan<'_>, clients: u32) -> [Comparison; 2] {
    let bucket = BASE / 10;
    let record = record(plan, &herd(clients, Duration::ZERO, bucket), Jitter::Full);
    let each = f64::from(clients) / 10.0;
    let buckets = (0..10_u32).map(|at| bucket * at);
    let counts: Vec<f64> = buckets
        .map(|from| float(record.attempts_between(from, from + bucket)))
        .collect();
    let off = counts.iter().map(|count| (count - each) * (count - each));
    [
        Comparison {
            what: format!("full: first wave, attempts in 0.1 base, of {clients} clients"),
            expected: each,
            got: counts.get(4).copied().unwrap_or(f64::NAN),
            tolerance: Tolerance::Absolute(DEVIATIONS * (each * 0.9).sqrt()),
        },
        Comparison {
            // 9 degrees of freedom: more than this once in a million.
            what: "full: first wave, chi square of its ten buckets".to_owned(),
            expected: 47.0,
            got: off.sum::<f64>() / each,
            tolerance: Tolerance::AtMost,
        },
    ]
}

/// While the server refuses, later waves add to the end of the first one.
fn before_base(plan: &Plan<'_>, clients: u32) -> Comparison {
    let bucket = BASE / 20;
    let record = record(plan, &herd(clients, BASE * 2, bucket), Jitter::Full);
    let (from, to) = (BASE.saturating_sub(bucket), BASE);
    let seconds = Duration::as_secs_f64;
    let share = oracle::full_jitter_before_base(seconds(&BASE), seconds(&from), seconds(&to));
    let expected = f64::from(clients) * share;
    Comparison {
        what: format!(
            "full: attempts in the last 0.05 base before base, refused ({:.3} N b/base)",
            share * 20.0
        ),
        expected,
        got: float(record.attempts_between(from, to)),
        // Few clients have two in it: the variance is that of a Poisson count within a tenth.
        tolerance: Tolerance::Absolute(DEVIATIONS * (expected * 1.1).sqrt()),
    }
}

fn equal_wave(plan: &Plan<'_>, clients: u32) -> Comparison {
    let bucket = BASE / 10;
    let record = record(plan, &herd(clients, BASE * 2, bucket), Jitter::Equal);
    let expected = 0.2 * f64::from(clients);
    Comparison {
        what: "equal: first wave, attempts in 0.1 base of its second half".to_owned(),
        expected,
        got: float(record.attempts_between(bucket * 7, bucket * 8)),
        tolerance: Tolerance::Absolute(DEVIATIONS * (expected * 0.8).sqrt()),
    }
}

/// Long after all have reached the cap: the rate, and who is back when.
fn at_the_cap(plan: &Plan<'_>, jitter: Jitter, clients: u32) -> [Comparison; 3] {
    let cap = CAP.as_secs_f64();
    let outage = CAP * 30;
    let record = record(plan, &herd(clients, outage, BASE), jitter);
    let fleet = f64::from(clients);
    // Mean and variance of a delay, over the cap and its square.
    let (mean, variance) = match jitter {
        Jitter::Equal => (0.75, 1.0 / 48.0),
        _ => (0.5, 1.0 / 12.0),
    };
    let window = CAP * 10;
    let attempts = record.attempts_between(outage.saturating_sub(window), outage);
    let rate = oracle::steady_rate(mean * cap);
    // The count of a renewal process varies by variance / mean^3 for each unit of time.
    let deviation = (fleet * 10.0 * variance / (mean * mean * mean)).sqrt();
    let length = window.as_secs_f64();
    let steady = Comparison {
        what: format!("{jitter}: attempts per second at the cap, per client, times the cap"),
        expected: rate * cap,
        got: float(attempts) / length / fleet * cap,
        tolerance: Tolerance::Absolute(DEVIATIONS * deviation / length / fleet * cap),
    };
    let back = |share: f64, name: &str| {
        let (expected, density) = if jitter == Jitter::Equal {
            let at = oracle::reconnected_equal(cap, share);
            (at, oracle::reconnect_density_equal(cap, at))
        } else {
            let at = oracle::reconnected_full(cap, share);
            (at, oracle::reconnect_density_full(cap, at))
        };
        let error = (share * (1.0 - share) / fleet).sqrt() / density;
        let got = record.after_outage.quantile(share);
        Comparison {
            what: format!("{jitter}: reconnect time after a long outage, {name}, over the cap"),
            expected: expected / cap,
            got: got.map_or(f64::NAN, |nanos| float(nanos) / 1e9 / cap),
            // The histogram keeps a time to within a 64th.
            tolerance: Tolerance::Absolute((DEVIATIONS * error + expected / 64.0) / cap),
        }
    };
    [steady, back(0.5, "median"), back(0.99, "p99")]
}
