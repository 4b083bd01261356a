//! Does each client wait for its answer before it asks again, as those of a load test do?
//!
//! Then the service has as many requests as there are clients, whatever it does: nobody can compare those that found few with
//! those that found many. How fast it answered is known all the same, and if it was full, that is its capacity.

use crate::known::WITHIN;
use crate::levels::{Levels, Rate};
use crate::pool::Pool;
use crate::windows::Windows;
use crate::{Knee, Known};

/// Of requests that come independently of each other, the number found varies as much as its mean, and waits make that more. Where
/// most find a number that varies by less than half of it, they do not.
const VARIES: f64 = 0.5;
/// Of fewer others, one more or less is much.
const LEAST: f64 = 2.0;
/// A stretch has to be this many times as long as a request takes.
const LONG: f64 = 20.0;

/// The share of requests that found nearly as many others as all the others of their stretch did.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]
pub fn share(windows: &Windows) -> f64 {
    let all = windows.all();
    let rows = || all.iter().flat_map(|it| &it.tally.rows);
    let requests = rows().map(|it| it.requests).sum::<u64>() as f64;
    let time = rows().map(|it| it.times.sum).sum::<f64>() / requests.max(1.0);
    let width = windows.width().as_secs_f64() * 1e6;
    let stretches = ((LONG * time / width).ceil() as usize).max(1);
    let mut held = 0.0;
    for stretch in all.chunks(stretches) {
        let rows = || stretch.iter().flat_map(|it| &it.tally.rows);
        let sum = rows().filter(|it| it.requests > 0);
        let sum = sum.fold((0.0, 0.0, 0.0), |(n, sum, squares), row| {
            let found = row.numbers / row.requests as f64;
            let n_more = row.requests as f64;
            (n + n_more, sum + row.numbers, squares + found * row.numbers)
        });
        let (n, mean) = (sum.0, sum.1 / f64::max(sum.0, 1.0));
        let variance = sum.2 / f64::max(n, 1.0) - mean * mean;
        if n >= 50.0 && mean >= LEAST && variance < VARIES * mean {
            held += n;
        }
    }
    held / requests.max(1.0)
}

/// What such a log says: that the service answered so fast in its busiest time. Only where it did so with few requests as with many is that all
/// that it can do.
pub fn pool(found: &Pool, knee: Knee, levels: &Levels, answered: f64) -> Option<(Pool, Knee)> {
    let Rate { rate, error } = levels.highest()?;
    let (low, high) = (answered.min(rate).max(1e-3), rate + WITHIN * error);
    let because =
        "how fast it answered while clients waited for their answers before they asked again";
    if levels.is_level() && knee == Knee::Seen {
        let (least, most) = found
            .capacity
            .interval()
            .map_or((low, high), |(a, b)| (*a, *b));
        let workers = f64::from(found.workers.value);
        // The highest of several rates is more than the service can go on with.
        let value = rate.min(found.capacity.value).max(low);
        let [time, shortest, longest] = [value, high, low].map(|it| workers / it);
        let pool = Pool {
            capacity: Known::measured(value, low.min(least), high.max(most), because),
            time: Known::measured(time, shortest, longest, "workers by capacity"),
            workers: found.workers.clone(),
        };
        return Some((pool, knee));
    }
    let time = 1.0 / low;
    let all = "what an answer took of the service's time, if it has one worker";
    let pool = Pool {
        workers: Known::measured(
            1,
            1,
            None,
            "at least one; the same number of requests was there all the time",
        ),
        capacity: Known::measured(low, low, None, because),
        time: Known::measured(time, 1.0 / high, time, all),
    };
    Some((pool, Knee::Open))
}
