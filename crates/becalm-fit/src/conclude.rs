//! What follows from what was gathered of a log?

use std::time::Duration;

use crate::closed;
use crate::fitted::Window;
use crate::gathered::Gathered;
use crate::knee::{self, Workers};
use crate::known::WITHIN;
use crate::levels::Levels;
use crate::load::load;
use crate::options::Options;
use crate::pool::{LEAST, Pool, drift};
use crate::repeats::Repeats;
use crate::sample::quantile;
use crate::tally::Tally;
use crate::timeout::timeout;
use crate::windows::{Stretch, Windows};
use crate::{By, Ends, FirstTries, Fitted, Found, How, Knee, Known, Warning};

/// Of those that waited, the share that may end before their turn: by the log's clock, or by chance.
const EARLY: f64 = 0.02;
/// Steps of a clock that most requests take at least: of fewer, nobody can tell who began first.
const COARSE: u32 = 4;
/// The share of requests that may be missing among those that others found.
const LATE: f64 = 0.01;

/// How far service times may differ, where a log may be read in two ways, so that one of them is right: of a log that has slow
/// clients of both kinds neither is, and one may nearly fit.
const SURE: usize = 1;

/// By more than this factor a half of a log has other workers than all of it by more than chance.
const FEWER: f64 = 1.2;

/// What a log says, if it is understood in one of the ways that it may be.
pub struct Concluded {
    pub fitted: Fitted,
    /// How far service times may differ for that.
    tolerance: usize,
    /// Whether requests were left out unasked.
    is_without: bool,
    /// Whether its clients wait for their answers.
    is_closed: bool,
}

/// What the log says: understood so that service times are the same whatever a request found, as far as that can be, and
/// then so that it can do less. Nothing is left out where that is not needed for it.
pub fn best(each: Vec<Concluded>) -> Fitted {
    let rank = |it: &Concluded| {
        let is_refused = it.fitted.knee == Knee::Refused;
        (is_refused, it.is_closed, it.is_without, it.tolerance)
    };
    let by_capacity = |it: &Concluded| it.fitted.capacity.value;
    let lowest = |it: &Concluded| match it.fitted.capacity.how {
        How::Measured { low, .. } => low,
        _ => f64::MAX,
    };
    let lowest = each.iter().map(lowest).fold(f64::MAX, f64::min);
    let first = each.into_iter().reduce(|best, it| {
        let is_refused = it.fitted.knee == Knee::Refused;
        let order = rank(&it).cmp(&rank(&best));
        let order = order.then(by_capacity(&it).total_cmp(&by_capacity(&best)));
        if is_refused || order.is_ge() {
            best
        } else {
            it
        }
    });
    let best = first.expect("a log is understood in one way at least");
    let mut fitted = best.fitted;
    // Chance may let a wrong reading fit better than the right one.
    if let How::Measured { low, .. } = &mut fitted.capacity.how {
        *low = low.min(lowest);
    }
    fitted
}

/// What the log says, without requests above `longest`, which was not asked for; `is_one_of_two` where it may be understood otherwise.
pub fn conclude(
    mut gathered: Gathered,
    repeats: Repeats,
    levels: &Levels,
    longest: Option<Duration>,
    is_one_of_two: bool,
    options: Options,
) -> Concluded {
    let length = Duration::from_micros(gathered.since(gathered.last).unsigned_abs());
    gathered.settle();
    let total = total(&gathered.windows);
    let mut warnings = unreadable(&gathered, options);
    let workers = workers_of(gathered.windows.all(), gathered.step, is_one_of_two)
        .filter(|_| warnings.is_empty());
    warnings.extend(workers.as_ref().and_then(misfit));
    let beware = others(&gathered, longest, &repeats, &warnings, options);
    let answered = gathered.answered_until();
    let knee = knee_of(workers.as_ref());
    let tolerance = workers.as_ref().map_or(0, |it| it.tolerance);
    let by = repeats.by_what();
    let [by_id, by_client] = gathered.arrivals;
    let arrivals = if by == By::Id { by_id } else { by_client };
    let load = load(&gathered.windows, &arrivals, by, length, answered, options);
    #[expect(clippy::cast_precision_loss)] // below 2^52
    let left = quantile(&gathered.left.sorted(), 0.5).max(gathered.median) as f64;
    let pool = match workers.filter(|it| !it.is_misfit) {
        Some(workers) => Pool::of(&total, &workers, load.most, gathered.step)
            .bounded_by(levels, total.requests()),
        None => with_a_time(Pool::asked(&total, load.most, left), load.most),
    };
    let is_closed = closed::share(&gathered.windows) >= 0.5
        && 100 * (gathered.ends.abandoned + gathered.ends.refused) < gathered.requests
        && warnings.iter().all(is_no_hindrance);
    let looped = is_closed
        .then(|| closed::pool(&pool, knee, levels, load.most))
        .flatten();
    let is_closed = looped.is_some();
    let (pool, knee) = match looped {
        Some((looped, knee)) => {
            warnings.retain(|it| !is_no_hindrance(it));
            warnings.push(Warning::ClosedLoop {
                others: found_by_most(&total),
            });
            (looped, knee)
        }
        None => (pool, knee),
    };
    let drift = drift(gathered.windows.all(), &pool.workers).filter(|_| knee != Knee::Refused);
    let (pool, mut times) = pool.at_its_slowest(&total, drift);
    // Those of a clock that was too coarse are no times.
    if times.iter().all(|it| it.as_micros() <= 1) {
        times.clear();
    }
    warnings.extend(drift.map(|(fastest, slowest)| Warning::Drift {
        fastest: fastest / 1e6,
        slowest: slowest / 1e6,
    }));
    warnings.extend(beware);
    let mut arrivals = arrivals.first_tries(length);
    if options.sampled < 1.0 {
        arrivals.trace.clear();
    }
    let (queue, refused) = gathered.refusals.queue(&pool.workers);
    let timeout = timeout(&gathered.left, gathered.longest);
    // A proxy gives up after one and the same time; what comes at any time is the service's own.
    let own = gathered.given_up * u64::from(!timeout.is_measured());
    let curve = curve(&total, &pool, knee);
    let windows = windows(&gathered.windows, by, length, gathered.step, knee);
    let arrivals = load.rate.map(|rate| FirstTries {
        rate,
        bursts: load.bursts,
        ..arrivals.clone()
    });
    let fitted = Fitted {
        requests: gathered.requests,
        length,
        ends: gathered.ends,
        knee,
        failures: failures(gathered.ends, refused + own),
        queue,
        timeout,
        arrivals,
        retries: repeats.retries(),
        curve,
        windows,
        workers: pool.workers,
        capacity: pool.capacity,
        time: pool.time,
        times,
        warnings,
    };
    Concluded {
        fitted,
        tolerance,
        is_without: longest.is_some(),
        is_closed,
    }
}

fn total(windows: &Windows) -> Tally {
    let mut total = Tally::default();
    for window in windows.all() {
        total.merge(&window.tally);
    }
    total
}

/// The workers that these stretches allow where those who may not have been served are work as others, and where they are not: the
/// fewer, with the ends of both. Unless both are a fit, none is.
fn workers_of(windows: &[Stretch], step: Duration, is_one_of_two: bool) -> Option<Workers> {
    let of = |them: fn(&Stretch) -> &Tally| {
        let tallies: Vec<&Tally> = windows.iter().map(them).collect();
        let mut workers = knee::workers(&tallies, step)?;
        workers.is_misfit |=
            is_one_of_two && workers.tolerance > SURE || has_fewer(&tallies, &workers, step);
        Some(workers)
    };
    let all = of(|it| &it.tally)?;
    if all.is_misfit || !windows.iter().any(Stretch::is_doubtful) {
        return Some(all);
    }
    let served = of(Stretch::served)?;
    let (mut fewer, more) = if served.is_misfit || served.value < all.value {
        (served, all)
    } else {
        (all, served)
    };
    fewer.low = fewer.low.min(more.low);
    fewer.high = fewer.high.map(|it| it.max(more.high.unwrap_or(it)));
    Some(fewer)
}

/// Whether a half of the log has fewer workers than all of it seems to have: then they did not stay the same.
fn has_fewer(windows: &[&Tally], workers: &Workers, step: Duration) -> bool {
    let (first, last) = windows.split_at(windows.len() / 2);
    let is_told = workers.high.is_some() && !first.is_empty();
    let halves = [first, last].into_iter().filter(|_| is_told);
    let mut halves = halves.filter_map(|it| knee::workers(it, step));
    halves.any(|half| {
        let most = half.high.filter(|_| !half.is_misfit);
        most.is_some_and(|most| f64::from(workers.value) > FEWER * f64::from(most))
    })
}

/// Why no number of workers explains the times.
fn misfit(workers: &knee::Workers) -> Option<Warning> {
    let why = if workers.early > EARLY {
        Warning::NotInOrder {
            share: workers.early,
        }
    } else {
        Warning::Misfit
    };
    workers.is_misfit.then_some(why)
}

/// Whether this is a doubt about the order or the times of requests, which how fast they were answered does not depend on.
const fn is_no_hindrance(warning: &Warning) -> bool {
    matches!(warning, Warning::NotInOrder { .. } | Warning::Misfit)
}

/// How many others a request found on average.
#[expect(clippy::cast_precision_loss)]
fn found_by_most(total: &Tally) -> f64 {
    let numbers: f64 = total.rows.iter().map(|it| it.numbers).sum();
    numbers / total.requests().max(1) as f64
}

/// Where no request took a microsecond, the clock was too coarse, and the log knows no time: one worker that does hardly more than
/// what there was stands in.
fn with_a_time(mut pool: Pool, most: f64) -> Pool {
    const SHORTEST: f64 = 1e-6;
    if pool.time.value <= SHORTEST {
        pool.time.value = (1.0 / most.max(1e-3)).clamp(SHORTEST, 1.0);
        pool.workers.value = 1;
        pool.capacity.value = 1.0 / pool.time.value;
    }
    pool
}

/// Why nobody can count in this log what requests found.
#[expect(clippy::cast_precision_loss)]
fn unreadable(gathered: &Gathered, options: Options) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if options.sampled < 1.0 {
        warnings.push(Warning::Sampled {
            share: options.sampled,
        });
    }
    let median = Duration::from_micros(gathered.median);
    let ends = gathered.ends;
    if ends.answered + ends.refused > 0 && ends.answered == ends.failed {
        warnings.push(Warning::NoneServed);
    } else if gathered.step * COARSE > median && gathered.ends.answered > 0 {
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
    let served = gathered.windows.all().iter().map(Stretch::served);
    let (known, unknown) = served.fold((0, 0), |(known, unknown), it| {
        (known + it.requests(), unknown + it.unknown)
    });
    if known < LEAST {
        warnings.push(if gathered.ends.abandoned > 0 && unknown > known {
            Warning::Abandoned {
                share: unknown as f64 / (unknown + known) as f64,
            }
        } else {
            Warning::TooFew {
                // All of them where even those are too few: one figure for one thing.
                requests: if gathered.requests < LEAST {
                    gathered.requests
                } else {
                    known
                },
                least: LEAST,
            }
        });
    }
    warnings
}

/// What else to beware of.
#[expect(clippy::cast_precision_loss)]
fn others(
    gathered: &Gathered,
    longest: Option<Duration>,
    repeats: &Repeats,
    told: &[Warning],
    options: Options,
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if gathered.long > 0 {
        warnings.push(Warning::LongLeftOut {
            requests: gathered.long,
            longest: longest.or(options.longest).unwrap_or_default(),
        });
    }
    if gathered.slow as f64 > LATE * gathered.requests as f64 {
        warnings.push(Warning::SlowClients {
            share: gathered.slow as f64 / gathered.requests as f64,
        });
    }
    if gathered.upstreams.is_empty() && !options.is_one_pool {
        warnings.push(Warning::OnePoolAssumed);
    }
    let is_told = told
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
    warnings
}

const fn knee_of(workers: Option<&Workers>) -> Knee {
    match workers {
        None => Knee::Refused,
        Some(workers) if workers.is_misfit => Knee::Refused,
        Some(workers) if workers.high.is_none() => Knee::Open,
        Some(_) => Knee::Seen,
    }
}

/// The share of answers that are failures of the service; so many refusals are some, too.
#[expect(clippy::cast_precision_loss)]
pub fn failures(ends: Ends, refused: u64) -> Known<f64> {
    let (failed, answers) = (ends.failed + refused, ends.answered + refused);
    let because = format!("{failed} of {answers} answers");
    let (failed, all) = (failed as f64, answers.max(1) as f64);
    // E. B. Wilson, Probable Inference, 1927.
    let (share, squared) = (failed / all, WITHIN * WITHIN);
    let middle = (share + squared / (2.0 * all)) / (1.0 + squared / all);
    let half = WITHIN / (1.0 + squared / all)
        * (share * (1.0 - share) / all + squared / (4.0 * all * all)).sqrt();
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
fn windows(windows: &Windows, by: By, length: Duration, step: Duration, knee: Knee) -> Vec<Window> {
    let width = windows.width();
    let each = windows.all().iter().zip(0_u32..);
    each.map(|(stretch, at)| {
        let from = width * at;
        let length = width.min(length.saturating_sub(from));
        let seconds = length.as_secs_f64().max(1e-6);
        let workers = workers_of(std::slice::from_ref(stretch), step, false)
            .filter(|it| knee != Knee::Refused && !it.is_misfit);
        let answers = windows.answers().get(at as usize).copied();
        let most = answers.unwrap_or(0) as f64 / seconds;
        let pool = match &workers {
            Some(workers) => Pool::of(&stretch.tally, workers, 0.0, step),
            None => Pool::asked(&stretch.tally, most, 0.0),
        };
        Window {
            from,
            length,
            requests: stretch.requests,
            rate: stretch.first_tries[by as usize] as f64 / seconds,
            knee: knee_of(workers.as_ref()),
            workers: pool.workers,
            capacity: pool.capacity,
            time: pool.time,
        }
    })
    .collect()
}
