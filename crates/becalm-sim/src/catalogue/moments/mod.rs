//! `moments`: are the delays that are drawn those that the formula promises?

mod check;

use std::ops::Range;
use std::time::Duration;

use becalm::support::{Lone, Position};
use becalm::{Budget, Failure, Policy, call::Decision, time::Instant};

use super::entry::Studied;
use super::fleet::float;
use super::runs::left_out;
use super::{Candidate, Entry, InvalidParameter, Parameters};
use crate::engine::{Stream, each_in_order};
use crate::study::{Chart, ChartKind, Contender, Figure, Plan, Study, figure};
use crate::verdict::Brief;

/// The entry.
pub const MOMENTS: Entry = Entry {
    name: "moments",
    title: "the distributions of delays",
    question: "How long are the delays of a policy, and how far are they spread?",
    answer: "Full jitter has a mean of half the ceiling and a variance of ceiling^2/12; equal jitter \
             three quarters of the ceiling and ceiling^2/48. The mean of decorrelated jitter that no \
             cap has reached grows as E[k] = (base + 3 E[k-1])/2: 2, 3.5, 5.75, 9.125 times the base.",
    sources: &[
        source!("Marc Brooker: Exponential Backoff And Jitter, AWS Architecture Blog, 2015"
            at "https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/"),
    ],
    parameters: &[
        parameter!("retries": Count = "6", "how many retries each call makes"),
        parameter!("calls": Count = "100000", "how many calls are drawn"),
    ],
    contenders: &["none", "equal", "full", "decorrelated"],
    policy,
    studied: Studied::Alone(study),
    check: check::check,
};

/// Six ceilings of 100 ms to 3.2 s.
fn policy() -> Policy {
    Policy::exponential(Duration::from_millis(100))
        .attempts(Policy::UNLIMITED)
        .budget(Budget::None)
}

/// The most numbers that a study keeps: half a gigabyte, and twice that while they are put together.
const MOST_DRAWS: u64 = 1 << 26;

fn study(
    parameters: &Parameters,
    candidates: &[Candidate],
    plan: &Plan<'_>,
) -> Result<Study, InvalidParameter> {
    let (retries, calls) = (parameters.count("retries"), parameters.count("calls"));
    if retries.saturating_mul(calls) > MOST_DRAWS {
        let sentence = "retries times calls is above 67 million; lower one of them";
        return Err(InvalidParameter::new("calls", sentence));
    }
    let mut contenders = Vec::new();
    let (mut means, mut shapes) = (Vec::new(), Vec::new());
    for (done, candidate) in (1..).zip(candidates) {
        let lone = Lone::new(candidate.policy.clone(), Duration::ZERO)?;
        let drawn = draws(&lone, plan, retries, calls);
        let found: Vec<Found> = drawn.iter().map(|delays| Found::of(delays)).collect();
        let points = (1_u32..).zip(&found);
        let points = points.map(|(retry, it)| (f64::from(retry), it.mean / 1e6));
        means.push((candidate.name.clone(), points.collect()));
        if let Some(last) = drawn.last() {
            shapes.push((candidate.name.clone(), shape(last)));
        }
        contenders.push(Contender {
            name: candidate.name.clone(),
            policy: candidate.policy.to_string(),
            evidence: left_out(&candidate.policy),
            figures: figures(&candidate.policy, &found),
            ..Contender::default()
        });
        if let Some(progress) = plan.progress {
            progress(done, candidates.len() as u64);
        }
    }
    Ok(Study {
        answer: answer(&contenders),
        contenders,
        charts: vec![
            Chart {
                id: "means".to_owned(),
                title: "The mean delay of each retry".to_owned(),
                x: "retry".to_owned(),
                y: "ms".to_owned(),
                kind: ChartKind::Lines(means),
                ..Chart::default()
            },
            Chart {
                id: "shapes".to_owned(),
                title: "The last retry: how many delays are how long".to_owned(),
                x: "ms".to_owned(),
                y: "% of the delays".to_owned(),
                kind: ChartKind::Lines(shapes),
                ..Chart::default()
            },
        ],
        runs: 1,
        events: retries * calls * candidates.len() as u64,
        ..Brief::of(&MOMENTS, parameters).study(plan)
    })
}

fn answer(contenders: &[Contender]) -> String {
    let of = |contender: &Contender| {
        let mean = contender.value("last_mean_ms")?;
        let deviation = contender.value("last_deviation_ms")?;
        Some(format!(
            "{mean:.0} ms, give or take {deviation:.0} ({})",
            contender.name
        ))
    };
    let delays: Vec<String> = contenders.iter().filter_map(of).collect();
    format!(
        "The last delay of a call is, on average: {}.",
        delays.join(", ")
    )
}

fn figures(policy: &Policy, found: &[Found]) -> Vec<Figure> {
    let step = |index: usize| policy.schedule().nth(index).map(|step| step.mean);
    let planned = |index| step(index).map(|mean| mean.as_secs_f64() * 1e3);
    let (first, last) = (found.first(), found.last());
    let figure = |id, title, found: Option<&Found>, of: fn(&Found) -> [f64; 2]| {
        let value = found.map(|it| of(it).map(|it| it / 1e6));
        let value = value.filter(|it| it[0].is_finite());
        let ends = value.filter(|it| it[1].is_finite());
        Figure::new(id, title, "ms", value.map(|it| it[0]))
            .within(ends.map(|[value, error]| (value - NORMAL * error, value + NORMAL * error)))
    };
    let last_index = found.len().saturating_sub(1);
    vec![
        figure("first_mean_ms", "First delay: mean", first, Found::of_mean),
        figure!("first_planned_ms": "First delay: mean by formula", "ms" = planned(0)),
        figure(
            "first_deviation_ms",
            "First delay: deviation",
            first,
            Found::of_deviation,
        ),
        figure("last_mean_ms", "Last delay: mean", last, Found::of_mean),
        figure!("last_planned_ms": "Last delay: mean by formula", "ms" = planned(last_index)),
        figure(
            "last_deviation_ms",
            "Last delay: deviation",
            last,
            Found::of_deviation,
        ),
    ]
}

/// The shares of the delays in forty steps of their range, in percent, by milliseconds.
fn shape(delays: &[u64]) -> Vec<(f64, f64)> {
    const STEPS: u32 = 40;
    let most = delays.iter().copied().max().unwrap_or(0);
    let width = most / u64::from(STEPS) + 1;
    let mut counts = [0_u64; STEPS as usize];
    for delay in delays {
        let at = usize::try_from(delay / width).unwrap_or(usize::MAX);
        if let Some(count) = counts.get_mut(at) {
            *count += 1;
        }
    }
    let middle = |at: u32| (f64::from(at) + 0.5) * float(width) / 1e6;
    let share = |count: u64| 100.0 * float(count) / float(delays.len().max(1) as u64);
    let points = (0_u32..).zip(counts);
    points
        .map(|(at, count)| (middle(at), share(count)))
        .collect()
}

/// The delays of the first, second, ... retry of so many calls that always fail; a call that gives
/// up has no more. Every call has a stream of its own, so that any thread may make it.
fn draws(lone: &Lone, plan: &Plan<'_>, retries: u64, calls: u64) -> Vec<Vec<u64>> {
    let steps = (0..calls).step_by(CALLS_OF_A_JOB);
    let jobs: Vec<Range<u64>> = steps
        .map(|from| from..calls.min(from + CALLS_OF_A_JOB as u64))
        .collect();
    let parts = each_in_order(&jobs, plan.threads, |calls| {
        draws_of(lone, plan.seed, retries, calls.clone())
    });
    let mut drawn = vec![Vec::new(); usize::try_from(retries).unwrap_or(0)];
    for part in parts {
        for (delays, of_part) in drawn.iter_mut().zip(part) {
            delays.extend(of_part);
        }
    }
    drawn
}

/// Enough that a thread is not the dearer part of it.
const CALLS_OF_A_JOB: usize = 20_000;

fn draws_of(lone: &Lone, seed: u64, retries: u64, calls: Range<u64>) -> Vec<Vec<u64>> {
    let mut drawn = vec![Vec::new(); usize::try_from(retries).unwrap_or(0)];
    let failure = Failure::transient();
    for call in calls {
        let (mut random, mut position) = (Stream::of(seed, call), Position::FIRST_TRY);
        let mut now = Instant::ZERO;
        let deadline = lone.deadline(now);
        for delays in &mut drawn {
            match lone.on_failure(&mut position, now, deadline, &failure, &mut random) {
                Decision::RetryIn(delay) => {
                    now = now.after(delay);
                    delays.push(u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX));
                }
                _ => break,
            }
        }
    }
    drawn
}

/// What was measured of some delays, in nanoseconds and their square.
#[derive(Debug, Clone, Copy)]
struct Found {
    mean: f64,
    variance: f64,
    /// The fourth central moment.
    fourth: f64,
    count: f64,
}

/// The 97.5th percentile of the normal distribution: of this many delays Student's is the same.
const NORMAL: f64 = 1.96;

impl Found {
    fn of(delays: &[u64]) -> Self {
        let count = float(delays.len() as u64);
        let mean = delays.iter().map(|delay| float(*delay)).sum::<f64>() / count;
        let off = |delay: &u64| (float(*delay) - mean) * (float(*delay) - mean);
        let variance = delays.iter().map(off).sum::<f64>() / (count - 1.0).max(1.0);
        let fourth = delays.iter().map(|it| off(it) * off(it)).sum::<f64>() / count;
        Self {
            mean,
            variance,
            fourth,
            count,
        }
    }

    /// The mean, and its standard error.
    fn of_mean(&self) -> [f64; 2] {
        [self.mean, (self.variance / self.count).sqrt()]
    }

    /// The deviation, and its standard error, whatever the distribution (H. Cramér, *Mathematical Methods of Statistics*, 1946,
    /// 27.4).
    fn of_deviation(&self) -> [f64; 2] {
        let deviation = self.variance.sqrt();
        let of_variance =
            ((self.fourth - self.variance * self.variance).max(0.0) / self.count).sqrt();
        [
            deviation,
            of_variance / (2.0 * deviation).max(f64::MIN_POSITIVE),
        ]
    }
}
