//! What follows from a range? What a service does while all of its workers are busy, where it was for a while.
//!
//! By Little's law (J. D. C. Little, 1961) the time that answers took, per second, is how many requests were in the service: `L`. By the
//! utilisation law the workers that were busy are the rate by the service time, which is seen at low load. The others wait. With `c2` the
//! squared variation of service times, at most about `(1 + c2)/(2(1 - u))` wait at a utilisation `u`, whatever the number of workers
//! (J. F. C. Kingman, 1961): where ten times `(1 + c2)/2` wait in each process, it works at nine tenths or more, and what it
//! answers is what it can. Elsewhere the highest rate is a lower bound.

use std::time::Duration;

use super::alone::Alone;
use super::range::{Point, Range};
use crate::conclude::failures;
use crate::fitted::{Bursts, Retries};
use crate::known::WITHIN;
use crate::{Ends, FirstTries, Fitted, Found, Knee, Known, Warning};

/// Requests that wait in each process where it has no room, by half of one and the squared variation of times.
const WAITING: f64 = 10.0;
/// Steps without room that are no chance.
const STEPS: usize = 3;
/// What is answered without room is the same within this share.
const SAME: f64 = 0.1;
/// Of the steps that answer nearly as much, the share without room: of a dependency that was slow for a while they are fewer.
const MOST: f64 = 0.5;
/// Fewer requests say nothing.
const LEAST: f64 = 200.0;
/// By this share a gauge and Little's law may differ.
const APART: f64 = 0.25;
/// By which share service times are longer than they seem, at least.
const SLACK: f64 = 0.05;
/// Standard errors by which the highest of some hundred rates is off.
const HIGHEST: f64 = 3.0;
/// By so much more often than at low load are answers quick where some are refused.
const OFTENER: f64 = 0.02;
/// Steps that a rate over four of them has in common with its neighbours.
const SMOOTHED: usize = 4;
/// Points of a picture.
const PICTURED: usize = 32;

/// A step, with what of its answers was work.
struct Step {
    served: f64,
    requests: f64,
    is_full: bool,
}

/// What the service can do.
struct Verdict {
    knee: Knee,
    capacity: Known<f64>,
    workers: Known<u32>,
    time: Known<f64>,
}

impl Range {
    /// What the range says of the service.
    pub fn fit(&self) -> Fitted {
        let step = self.step.as_secs_f64();
        let sum = |of: fn(&Point) -> f64| self.points.iter().map(of).sum::<f64>() * step;
        let (requests, failed) = (sum(|it| it.rate), sum(|it| it.failed));
        let alone = Alone::of(&self.points, step);
        let steps = self.steps(&alone);
        let verdict = self.verdict(&alone, &steps, requests);
        let mut warnings = Vec::new();
        if requests < LEAST {
            warnings.push(Warning::TooFew {
                requests: whole(requests),
                least: whole(LEAST),
            });
        }
        let ends = Ends {
            answered: whole(requests),
            failed: whole(failed),
            ..Ends::default()
        };
        let length = self.points.last().map_or(0.0, |it| it.at)
            - self.points.first().map_or(0.0, |it| it.at)
            + step;
        let busiest = averages(self.points.iter().map(|it| it.rate)).fold(0.0, f64::max);
        let length = Duration::from_secs_f64(length);
        Fitted {
            requests: ends.answered,
            length,
            ends,
            knee: verdict.knee,
            failures: if self.tells_status {
                failures(ends, 0)
            } else {
                Known::ask(
                    0.0,
                    "the series do not tell how requests were answered: which share fails",
                )
            },
            queue: Known::ask(
                None,
                "how many requests may wait; none is refused in the scenario",
            ),
            timeout: Known::ask(
                self.longest(),
                "after how long do clients give up; the longest answers took this",
            ),
            arrivals: first_tries(busiest, length),
            retries: Known::ask(
                Retries::usual(),
                "a range has no request of its own, so that it does not show what clients do after a failure",
            ),
            curve: self.curve(&verdict),
            windows: Vec::new(),
            times: alone.scaled(verdict.time.value),
            workers: verdict.workers,
            capacity: verdict.capacity,
            time: verdict.time,
            warnings,
        }
    }

    fn steps(&self, alone: &Alone) -> Vec<Step> {
        let step = self.step.as_secs_f64();
        let each = self.points.iter().map(|point| {
            let mut served = point.rate - point.failed;
            if let Some((bound, usual)) = alone.quick {
                let quick = point.share_within(bound).unwrap_or(0.0);
                // Who waits is not quick: then all that are were refused.
                if quick > usual + OFTENER {
                    served = served.min(point.rate * (1.0 - quick));
                }
            }
            // A gauge and the histogram each have their lag: the fewer of both were there for sure.
            let inside = point.in_flight.map_or(point.time, |it| it.min(point.time));
            let waiting = inside - served * alone.time;
            let least = WAITING * alone.spread * point.instances.max(1.0);
            Step {
                served: served.max(0.0),
                requests: point.rate * step,
                is_full: waiting >= least,
            }
        });
        each.collect()
    }

    fn verdict(&self, alone: &Alone, steps: &[Step], requests: f64) -> Verdict {
        let most = averages(steps.iter().map(|it| it.served)).fold(0.0, f64::max);
        let chance = self.chance(alone, most);
        // The highest of many is high by chance.
        let least = most * (1.0 - HIGHEST * chance).max(0.0);
        let served = steps.iter().map(|it| it.served).sum::<f64>() * self.step.as_secs_f64();
        if served < LEAST || !self.tells_status && alone.quick.is_none() {
            let why = if requests < LEAST {
                "too few requests to say anything"
            } else if served < LEAST {
                "hardly a request was served, and refusals tell nothing"
            } else {
                "the series tell neither how requests were answered nor which were quick, so that refusals may be among the answers: \
                 keep a label of the status, or buckets"
            };
            return Verdict::asked(alone.time, least.min(alone.rate), why);
        }
        if let Some(at) = self.full(alone, steps, most, chance) {
            return at;
        }
        // One worker, at least, does one request after the other: with a time that is no guess to the optimistic side.
        let longest = alone.time * (1.0 + alone.error.max(SLACK));
        let rate = least.max(1.0 / longest.max(1e-6));
        let workers = nearest(rate * alone.time);
        let time = f64::from(workers) / rate;
        Verdict {
            knee: Knee::Open,
            workers: Known::measured(
                workers,
                workers,
                None,
                format!("{rate:.0} a second keep {workers} busy"),
            ),
            capacity: Known::measured(
                rate,
                least,
                None,
                format!(
                    "it answered {least:.0} a second, and no stretch shows that it had no room left{}",
                    self.apart()
                ),
            ),
            time: Known::measured(
                time,
                time.min(alone.time),
                time.max(alone.time),
                "answers at the lowest load, with their waits if any waited",
            ),
        }
    }

    /// By which share of it a rate over a few steps is off by chance: as much as the times of its requests vary.
    fn chance(&self, alone: &Alone, rate: f64) -> f64 {
        #[expect(clippy::cast_precision_loss)] // a handful
        let requests = rate * self.step.as_secs_f64() * SMOOTHED as f64;
        let variation = (2.0 * alone.spread - 1.0).max(1.0);
        (variation / requests.max(1.0)).sqrt()
    }

    /// What the service does where it has no room, if a stretch shows that.
    fn full(&self, alone: &Alone, steps: &[Step], most: f64, chance: f64) -> Option<Verdict> {
        let full: Vec<&Step> = steps.iter().filter(|it| it.is_full).collect();
        if full.len() < STEPS || !alone.is_low || !self.apart().is_empty() {
            return None;
        }
        let mut served: Vec<f64> = full.iter().map(|it| it.served).collect();
        served.sort_by(f64::total_cmp);
        let at = |share: f64| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss
            )]
            let index = (share * (served.len() - 1) as f64).round() as usize;
            served[index]
        };
        let (low, middle, high) = (at(0.25), at(0.5), at(0.75));
        let near = steps.iter().filter(|it| it.served >= 0.95 * middle);
        let (all, without) = near.fold((0.0, 0.0), |(all, without), it| {
            (all + 1.0, without + f64::from(u8::from(it.is_full)))
        });
        let by_chance = 2.0 * chance;
        let is_one = middle > 0.0
            && high - low <= (SAME + by_chance) * middle
            && most <= (1.0 + SAME + HIGHEST * chance) * middle;
        if !is_one || without < MOST * all {
            return None;
        }
        let requests: f64 = full.iter().map(|it| it.requests).sum();
        let own = WITHIN * (2.0 * alone.spread / requests.max(1.0)).sqrt();
        let (low, high) = (
            low.min(middle * (1.0 - own)),
            high.max(middle * (1.0 + own)),
        );
        let room = 1.0 / (1.0 - 0.5 / WAITING);
        let workers = |rate: f64| (rate * alone.time).round().max(1.0);
        let number = |it: f64| u32::try_from(whole(it)).unwrap_or(u32::MAX).max(1);
        let value = workers(middle);
        Some(Verdict {
            knee: Knee::Seen,
            workers: Known::measured(
                number(value),
                number((low * alone.time * 0.9).floor()),
                number((high * room * alone.time * 1.1).ceil()),
                "the rate without room by the service time at low load",
            ),
            capacity: Known::measured(
                middle,
                low,
                high * room,
                format!(
                    "what it answered in {} steps in which requests waited for others all the time",
                    full.len()
                ),
            ),
            time: Known::measured(
                value / middle,
                (value / (high * room)).min(alone.time),
                (value / low).max(alone.time),
                "workers by the rate without room",
            ),
        })
    }

    /// What to say where a gauge and Little's law differ.
    fn apart(&self) -> String {
        let both = self
            .points
            .iter()
            .filter_map(|it| Some((it.in_flight?, it.time)));
        let (gauge, law) = both.fold((0.0, 0.0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
        let share = if law > 0.0 { gauge / law } else { 1.0 };
        let same = 1.0 / (1.0 + APART)..=1.0 + APART;
        if gauge > 0.0 && !same.contains(&share) {
            format!(
                "; the gauge says {share:.2} times what rate and time say by Little's law, so that they do not measure the same"
            )
        } else {
            String::new()
        }
    }

    /// The bound that the longest answers keep, or twice the longest mean.
    fn longest(&self) -> Duration {
        let mean = self
            .points
            .iter()
            .map(|it| it.time / it.rate)
            .fold(0.0, f64::max);
        let bounds = self.points.iter().filter_map(|point| {
            let all = point.buckets.last()?.rate;
            let of = point
                .buckets
                .iter()
                .find(|it| it.rate >= 0.999 * all && it.bound.is_finite());
            of.map(|it| it.bound)
        });
        let longest = bounds.fold(2.0 * mean, f64::max);
        Duration::from_secs_f64(longest.clamp(0.01, 10.0))
    }

    /// Mean times by how many requests were in the service.
    fn curve(&self, verdict: &Verdict) -> Vec<Found> {
        let mut points: Vec<&Point> = self.points.iter().collect();
        points.sort_by(|one, other| one.time.total_cmp(&other.time));
        let size = points.len().div_ceil(PICTURED).max(1);
        let step = self.step.as_secs_f64();
        let (time, workers) = (verdict.time.value, f64::from(verdict.workers.value));
        let each = points.chunks(size).map(|group| {
            let rate: f64 = group.iter().map(|it| it.rate).sum();
            #[expect(clippy::cast_precision_loss)] // a handful
            let count = group.len() as f64;
            let number = group.iter().map(|it| it.time).sum::<f64>() / count;
            let mean = group.iter().map(|it| it.time).sum::<f64>() / rate;
            let means = group.iter().map(|it| it.time / it.rate);
            let (low, high) = means.fold((mean, mean), |it, one| (it.0.min(one), it.1.max(one)));
            Found {
                number,
                requests: whole(rate * step),
                mean,
                interval: (low, high),
                fitted: (verdict.knee == Knee::Seen)
                    .then(|| time * ((number + 1.0) / workers).max(1.0)),
            }
        });
        each.collect()
    }
}

impl Verdict {
    fn asked(time: f64, least: f64, why: &str) -> Self {
        let time = time.max(1e-6);
        let workers = ceil(least * time);
        let rate = (least / 0.95).max(1e-3);
        Self {
            knee: Knee::Refused,
            workers: Known::ask(
                workers,
                format!("how many requests does the service work on at once; {why}"),
            ),
            capacity: Known::ask(
                rate,
                format!("how many requests a second can it serve; {why}"),
            ),
            time: Known::ask(
                f64::from(workers) / rate,
                "how long does a request take that does not wait",
            ),
        }
    }
}

impl Retries {
    /// What stands in until somebody says it.
    pub(crate) fn usual() -> Self {
        Self {
            by: None,
            repeated: 0,
            failed_calls: 0,
            amplification: 1.0,
            attempts: 4,
            base: Duration::from_millis(100),
            multiplier: 2.0,
            jitter: "full".into(),
        }
    }
}

fn first_tries(rate: f64, length: Duration) -> Known<FirstTries> {
    let tries = FirstTries {
        rate,
        dispersion: (1.0, 1.0),
        bursts: None::<Bursts>,
        trace: Vec::new(),
    };
    let because = format!("the busiest stretch of {length:.0?}, with retries if there were some");
    Known::ask(tries, because)
}

/// The means of neighbours.
fn averages(each: impl Iterator<Item = f64>) -> impl Iterator<Item = f64> {
    let all: Vec<f64> = each.collect();
    let size = SMOOTHED.min(all.len()).max(1);
    #[expect(clippy::cast_precision_loss)] // a handful
    let means: Vec<f64> = all
        .windows(size)
        .map(|it| it.iter().sum::<f64>() / size as f64)
        .collect();
    means.into_iter()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // counts
fn whole(number: f64) -> u64 {
    number.round().max(0.0) as u64
}

fn nearest(number: f64) -> u32 {
    u32::try_from(whole(number)).unwrap_or(u32::MAX).max(1)
}

fn ceil(number: f64) -> u32 {
    u32::try_from(whole(number.ceil()))
        .unwrap_or(u32::MAX)
        .max(1)
}
