//! What follows from what was gathered of a log?

use std::time::Duration;

use crate::fit::{Gathered, Options};
use crate::fitted::Window;
use crate::knee::{self, Workers};
use crate::pool::{LEAST, Pool, WITHIN, drift};
use crate::repeats::Repeats;
use crate::sample::{Sample, quantile};
use crate::tally::{Scale, Tally};
use crate::timeout::timeout;
use crate::windows::Windows;
use crate::{Ends, FirstTries, Fitted, Found, Knee, Known, Warning};

/// Of those that waited, the share that may end before their turn: by the log's clock, or by chance.
const EARLY: f64 = 0.02;
/// Steps of a clock that most requests take at least: of fewer, nobody can tell who began first.
const COARSE: u32 = 4;
/// The share of requests that may be missing among those that others found.
const LATE: f64 = 0.01;

/// What the log says.
pub fn conclude(gathered: Gathered, repeats: Repeats, options: Options) -> Fitted {
    let length = Duration::from_micros(gathered.since(gathered.last).unsigned_abs());
    let mut total = Tally::default();
    for window in gathered.windows.all() {
        total.merge(&window.tally);
    }
    let mut warnings = unreadable(&gathered, &total, options);
    let tallies: Vec<&Tally> = gathered.windows.all().iter().map(|it| &it.tally).collect();
    let scale = gathered.scale();
    let workers = knee::workers(&tallies, scale).filter(|_| warnings.is_empty());
    if let Some(workers) = workers.as_ref().filter(|it| it.is_misfit) {
        warnings.push(if workers.early > EARLY {
            Warning::NotInOrder {
                share: workers.early,
            }
        } else {
            Warning::Misfit
        });
    }
    let knee = knee_of(workers.as_ref());
    let load = load(&gathered.windows, length, options);
    #[expect(clippy::cast_precision_loss)] // below 2^52
    let left = quantile(&gathered.left.sorted(), 0.5).max(gathered.median) as f64;
    let pool = match workers.filter(|it| !it.is_misfit) {
        Some(workers) => Pool::of(&total, &workers, load.most),
        None => Pool::asked(&total, load.most, left),
    };
    let drift = drift(gathered.windows.all(), pool.workers.value).filter(|_| knee != Knee::Refused);
    let (pool, times) = pool
        .near_its_capacity(load.rate.value)
        .at_its_slowest(&total, drift);
    warnings.extend(drift.map(|(fastest, slowest)| Warning::Drift {
        fastest: fastest / 1e6,
        slowest: slowest / 1e6,
    }));
    others(&mut warnings, &gathered, &repeats, options);

    let mut arrivals = gathered.arrivals.first_tries(length);
    if options.sampled < 1.0 {
        arrivals.trace.clear();
    }
    let queue = queue(&gathered.refused, gathered.most_found, &pool.workers);
    Fitted {
        requests: gathered.requests,
        length,
        ends: gathered.ends,
        knee,
        failures: failures(gathered.ends),
        queue,
        timeout: timeout(&gathered.left, gathered.longest),
        arrivals: load.rate.map(|rate| FirstTries {
            rate,
            ..arrivals.clone()
        }),
        retries: repeats.retries(),
        curve: curve(&total, &pool, knee),
        windows: windows(&gathered.windows, length, scale, knee),
        workers: pool.workers,
        capacity: pool.capacity,
        time: pool.time,
        times,
        warnings,
    }
}

/// Why nobody can count in this log what requests found.
#[expect(clippy::cast_precision_loss)]
fn unreadable(gathered: &Gathered, total: &Tally, options: Options) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if options.sampled < 1.0 {
        warnings.push(Warning::Sampled {
            share: options.sampled,
        });
    }
    let median = Duration::from_micros(gathered.median);
    if gathered.step * COARSE > median && gathered.ends.answered > 0 {
        warnings.push(Warning::CoarseStamps {
            step: gathered.step,
            median,
        });
    }
    if gathered.late as f64 > LATE * gathered.requests as f64 {
        warnings.push(Warning::OutOfOrder {
            requests: gathered.late,
        });
    }
    let lines = gathered.unread + gathered.lines;
    if gathered.unread as f64 > LATE * lines as f64 {
        warnings.push(Warning::UnreadLines {
            lines: gathered.unread,
            share: gathered.unread as f64 / lines as f64,
        });
    }
    if gathered.upstreams.len() > 1 {
        warnings.push(Warning::SeveralPools {
            upstreams: gathered.upstreams.len(),
        });
    }
    let known = total.requests();
    if known < LEAST {
        warnings.push(if gathered.ends.abandoned > 0 && total.unknown > known {
            Warning::Abandoned {
                share: total.unknown as f64 / (total.unknown + known) as f64,
            }
        } else {
            Warning::TooFew {
                requests: known,
                least: LEAST,
            }
        });
    }
    warnings
}

/// What else to beware of.
fn others(warnings: &mut Vec<Warning>, gathered: &Gathered, repeats: &Repeats, options: Options) {
    if gathered.upstreams.is_empty() && !options.is_one_pool {
        warnings.push(Warning::OnePoolAssumed);
    }
    let is_told = warnings
        .iter()
        .any(|it| matches!(it, Warning::OutOfOrder { .. }));
    if gathered.late > 0 && !is_told {
        warnings.push(Warning::OutOfOrder {
            requests: gathered.late,
        });
    }
    if gathered.unsent > 0 {
        warnings.push(Warning::WithoutUpstream {
            requests: gathered.unsent,
        });
    }
    if gathered.silent > 0 {
        warnings.push(Warning::Silence {
            length: Duration::from_micros(gathered.silent.unsigned_abs()),
        });
    }
    let amplification = repeats.amplification(gathered.requests - gathered.unsent);
    if amplification > 1.05 {
        warnings.push(Warning::Retrying { amplification });
    }
    let collisions = repeats.collisions();
    if collisions > 0.05 {
        warnings.push(Warning::Collisions { share: collisions });
    }
}

const fn knee_of(workers: Option<&Workers>) -> Knee {
    match workers {
        None => Knee::Refused,
        Some(workers) if workers.is_misfit => Knee::Refused,
        Some(workers) if workers.high.is_none() => Knee::Open,
        Some(_) => Knee::Seen,
    }
}

/// First tries per second.
struct Load {
    /// What a scenario gets.
    rate: Known<f64>,
    /// Answers per second in the busiest window.
    most: f64,
}

/// The rate of first tries; of the busiest window where the windows differ by more than chance.
#[expect(clippy::cast_precision_loss)]
fn load(windows: &Windows, length: Duration, options: Options) -> Load {
    let width = windows.width().as_secs_f64();
    let tries: u64 = windows.all().iter().map(|it| it.first_tries).sum();
    let seconds = length.as_secs_f64().max(1e-6);
    let scale = 1.0 / options.sampled;
    let mean = tries as f64 / seconds;
    // The last window is cut off somewhere.
    let whole = &windows.all()[..windows.all().len().saturating_sub(1)];
    let rates: Vec<f64> = whole
        .iter()
        .map(|it| it.first_tries as f64 / width)
        .collect();
    let busiest = rates.iter().copied().fold(mean, f64::max);
    let answers = whole.iter().map(|it| it.answers as f64 / width);
    let all: u64 = windows.all().iter().map(|it| it.answers).sum();
    let most = answers.fold(all as f64 / seconds, f64::max) * scale;
    let expected = mean * width;
    let odds: f64 = rates.iter().map(|it| (it * width - expected).powi(2)).sum();
    let is_steady = odds <= 3.0 * expected.max(1.0) * rates.len() as f64;
    let error = WITHIN * (tries as f64).sqrt() / seconds;
    let rate = if is_steady {
        let (low, high) = ((mean - error).max(0.0), mean + error);
        Known::measured(
            mean * scale,
            low * scale,
            high * scale,
            format!("{tries} first tries in {seconds:.0} s"),
        )
    } else {
        Known::measured(
            busiest * scale,
            mean * scale,
            busiest * scale,
            format!(
                "the busiest {width:.0} s; {:.4} a second on average",
                mean * scale
            ),
        )
    };
    Load { rate, most }
}

/// How many may wait: what requests found that were refused at once, less those at work.
fn queue(
    refused: &(Sample, Sample),
    most_found: usize,
    workers: &Known<u32>,
) -> Known<Option<u32>> {
    let is_known = refused.0.added() >= 20;
    let found = if is_known { &refused.0 } else { &refused.1 };
    let sorted = found.sorted();
    let less = |found: u64| {
        Some(
            u32::try_from(found)
                .unwrap_or(u32::MAX)
                .saturating_sub(workers.value),
        )
    };
    if !workers.is_measured() && found.added() >= 20 {
        let found = quantile(&sorted, 0.5);
        let because = format!(
            "requests that found {found} others were refused at once: how many of those wait? no bound stands in"
        );
        return Known::ask(None, because);
    }
    if found.added() < 20 {
        let waited = most_found.saturating_sub(workers.value as usize);
        let because = format!(
            "no request was refused at once, and up to {waited} waited: how many may? no bound stands in"
        );
        return Known::ask(None, because);
    }
    let [low, median, high] = [0.025, 0.5, 0.975].map(|it| less(quantile(&sorted, it)));
    let count = found.added();
    if is_known {
        let because =
            format!("{count} requests were refused at once: what they found, less the workers");
        Known::measured(median, low, high, because)
    } else {
        let because = format!(
            "at least this: {count} requests were refused at once, where the service may have had others, whose clients had left"
        );
        Known::measured(median, low, None::<Option<u32>>, because)
    }
}

/// The share of answers that are failures of the service.
#[expect(clippy::cast_precision_loss)]
fn failures(ends: Ends) -> Known<f64> {
    let (failed, all) = (ends.failed as f64, ends.answered.max(1) as f64);
    // E. B. Wilson, Probable Inference, 1927.
    let (share, squared) = (failed / all, WITHIN * WITHIN);
    let middle = (share + squared / (2.0 * all)) / (1.0 + squared / all);
    let half = WITHIN / (1.0 + squared / all)
        * (share * (1.0 - share) / all + squared / (4.0 * all * all)).sqrt();
    let because = format!("{} of {} answers", ends.failed, ends.answered);
    Known::measured(
        share,
        (middle - half).max(0.0),
        (middle + half).min(1.0),
        because,
    )
}

/// Mean times by the number found.
#[expect(clippy::cast_precision_loss)]
fn curve(total: &Tally, pool: &Pool, knee: Knee) -> Vec<Found> {
    let rows = total.rows.iter().filter(|row| row.requests > 0);
    rows.map(|row| {
        let requests = row.requests as f64;
        let mean = row.times.sum / requests;
        let variance = (row.times.squares / requests - mean * mean).max(0.0);
        let half = WITHIN * (variance / requests).sqrt();
        let number = row.numbers / requests;
        let (time, workers) = (pool.time.value, f64::from(pool.workers.value));
        Found {
            number,
            requests: row.requests,
            mean: mean / 1e6,
            interval: ((mean - half).max(0.0) / 1e6, (mean + half) / 1e6),
            fitted: (knee == Knee::Seen).then(|| time * ((number + 1.0) / workers).max(1.0)),
        }
    })
    .collect()
}

/// Each window, fitted apart.
#[expect(clippy::cast_precision_loss)]
fn windows(windows: &Windows, length: Duration, scale: Scale, knee: Knee) -> Vec<Window> {
    let width = windows.width();
    let each = windows.all().iter().zip(0_u32..);
    each.map(|(stretch, at)| {
        let from = width * at;
        let length = width.min(length.saturating_sub(from));
        let seconds = length.as_secs_f64().max(1e-6);
        let workers = knee::workers(&[&stretch.tally], scale).filter(|_| knee != Knee::Refused);
        let workers = workers.filter(|it| !it.is_misfit);
        let most = stretch.answers as f64 / seconds;
        let pool = match &workers {
            Some(workers) => Pool::of(&stretch.tally, workers, 0.0),
            None => Pool::asked(&stretch.tally, most, 0.0),
        };
        Window {
            from,
            length,
            requests: stretch.requests,
            rate: stretch.first_tries as f64 / seconds,
            knee: knee_of(workers.as_ref()),
            workers: pool.workers,
            capacity: pool.capacity,
            time: pool.time,
        }
    })
    .collect()
}
