//! How many first tries begin in a second, at the busiest?

use std::time::Duration;

use crate::arrivals::Arrivals;
use crate::known::WITHIN;
use crate::options::Options;
use crate::windows::{Stretch, Windows};
use crate::{Bursts, By, Known};

/// First tries per second.
pub struct Load {
    /// What a scenario gets.
    pub rate: Known<f64>,
    /// How they come, with this rate as their mean, if they come in bursts.
    pub bursts: Option<Bursts>,
    /// Answers per second in the busiest windows, less what chance adds.
    pub most: f64,
}

/// Fewer first tries are no rate.
const FEW: u64 = 10;
/// The busiest of many stretches is within this many standard deviations.
const OF_MANY: f64 = 3.0;
/// Nor are those of a shorter time.
const SHORTEST: Duration = Duration::from_secs(1);
/// Rates that stand in are of no shorter time, in seconds.
const LEAST: f64 = 0.1;
/// Bursts are looked for in so many seconds at least, and in windows that are shorter in twice and four times as many.
const BURSTS: u64 = 30;
/// Fewer bursts may be one change of the load.
const SEVERAL: f64 = 3.0;
/// By this factor the busiest window may be busier than a burst is on average.
const BUSIER: f64 = 1.1;

/// The rate of first tries; of the busiest stretch that is as long as a window, where windows differ by more than chance.
#[expect(clippy::cast_precision_loss)]
pub fn load(
    windows: &Windows,
    arrivals: &Arrivals,
    by: By,
    length: Duration,
    answered: Duration,
    options: Options,
) -> Load {
    let scale = 1.0 / options.sampled;
    let tries: u64 = windows
        .all()
        .iter()
        .map(|it| it.first_tries[by as usize])
        .sum();
    let seconds = length.as_secs_f64().max(LEAST);
    let mean = tries as f64 / seconds;
    // The last window is cut off somewhere, and has answers to what began before it.
    let whole = &windows.all()[..windows.all().len().saturating_sub(1)];
    let width = windows.width().as_secs_f64();
    // What stands in is no more than what it answered without luck.
    let surely = |answers: u64, seconds: f64, errors: f64| {
        let answers = answers as f64;
        (answers - errors * answers.sqrt()).max(0.0) / seconds
    };
    let answers = windows.answers();
    let all = answers.iter().sum();
    let mut most = surely(all, answered.as_secs_f64().max(LEAST), WITHIN);
    for from in 0..whole.len() {
        let (mut sum, mut seconds) = (0, 0.0);
        for answers in answers.iter().take(whole.len()).skip(from) {
            sum += answers;
            seconds += width;
            most = most.max(surely(sum, seconds, OF_MANY));
        }
    }
    let most = most * scale;
    if length < SHORTEST || tries < FEW {
        let because = format!(
            "how many begin in a second, at the busiest? {tries} in {seconds:.1} s tell no rate"
        );
        return Load {
            rate: Known::ask((mean * scale).max(0.001), because),
            bursts: None,
            most,
        };
    }
    let rate = |value: f64, low: f64, high: f64, because: String| {
        Known::measured(value * scale, low * scale, high * scale, because)
    };
    let (rate, bursts) = if is_steady(windows, by, seconds, mean) {
        let error = WITHIN * (tries as f64).sqrt() / seconds;
        let because = format!("{tries} first tries in {seconds:.0} s");
        let bursts = arrivals.bursts(0..usize::MAX, 0.0);
        (
            rate(mean, (mean - error).max(0.0), mean + error, because),
            bursts,
        )
    } else {
        // Where there are too many steps to be kept, windows know more.
        let fold = |most: f64, it: &Stretch| most.max(it.first_tries[by as usize] as f64 / width);
        let (busiest, bursts, over) =
            busiest(arrivals, windows.width(), whole.iter().fold(mean, fold));
        let average = mean * scale;
        let because = format!("the busiest {over} s; {average:.4} a second on average");
        (rate(busiest, mean.min(busiest), busiest, because), bursts)
    };
    let bursts = bursts.map(|it| with_mean(it, rate.value));
    Load { rate, bursts, most }
}

/// Whether windows differ no more than by chance.
#[expect(clippy::cast_precision_loss)]
fn is_steady(windows: &Windows, by: By, seconds: f64, mean: f64) -> bool {
    let width = windows.width().as_secs_f64();
    let (mut odds, mut counted) = (0.0, 0.0);
    for (at, window) in windows.all().iter().enumerate() {
        // The last one may be short.
        let expected = mean * width.min(seconds - width * at as f64);
        if expected >= 1.0 {
            odds += (window.first_tries[by as usize] as f64 - expected).powi(2) / expected;
            counted += 1.0;
        }
    }
    odds <= 3.0 * counted
}

/// The rate of the busiest stretch, which is that of a window at least; the bursts in it; and how many seconds it has.
fn busiest(arrivals: &Arrivals, width: Duration, least: f64) -> (f64, Option<Bursts>, u64) {
    let width = width.as_secs();
    let rate_of = |length: u64| arrivals.busiest(length).map(|(rate, _)| rate);
    let peak = rate_of(width).map_or(least, |it| it.max(least));
    let bursts_of = |length: u64, several: f64| {
        let (rate, steps) = arrivals.busiest(length)?;
        Some((rate, arrivals.bursts(steps, several)?, length))
    };
    if width >= BURSTS {
        return (peak, bursts_of(width, 0.0).map(|it| it.1), width);
    }
    // The mean of several bursts is less than what a short window has; that of a load that rises is, too, and would be wrong.
    let lengths = [BURSTS, 2 * BURSTS, 4 * BURSTS].into_iter();
    let found = lengths.filter_map(|it| bursts_of(it, SEVERAL));
    let mut found = found.filter(|(_, bursts, _)| peak <= BUSIER * bursts.burst_rate);
    match found.next() {
        Some((rate, bursts, length)) => (rate, Some(bursts), length),
        None => (peak, None, width),
    }
}

/// Bursts of the same lengths whose mean rate is this: both rates times as much.
fn with_mean(mut bursts: Bursts, mean: f64) -> Bursts {
    let (burst, pause) = (bursts.burst.as_secs_f64(), bursts.pause.as_secs_f64());
    let is = (bursts.burst_rate * burst + bursts.rate * pause) / (burst + pause);
    bursts.rate *= mean / is;
    bursts.burst_rate *= mean / is;
    bursts
}
