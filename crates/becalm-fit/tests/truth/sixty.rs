//! Are workers and capacity those of the truth, over sixty logs?

use std::time::Duration;

use becalm_fit::{Fitted, How, Knee, Warning};
use becalm_sim::scenario::Distribution;

use crate::log::Truth;

fn times() -> [(&'static str, Distribution); 5] {
    let ms = Duration::from_millis;
    [
        ("constant", Distribution::Constant(ms(10))),
        ("exponential", Distribution::Exponential(ms(20))),
        ("uniform", Distribution::Uniform(ms(5), ms(25))),
        (
            "lognormal",
            Distribution::Lognormal {
                median: ms(15),
                sigma: 1.0,
            },
        ),
        (
            "bimodal",
            Distribution::Bimodal {
                fast: ms(10),
                slow: ms(200),
                slow_share: 0.05,
            },
        ),
    ]
}

/// The sixty.
pub fn sixty() -> Vec<Truth> {
    let loads = [
        0.2, 0.4, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.05, 1.2,
    ];
    let mut all = Vec::new();
    for (at, load) in loads.into_iter().enumerate() {
        for nth in 0..5 {
            all.push(truth(at, nth, &[4, 8, 12, 16, 32, 64], load));
        }
    }
    all
}

/// Twelve like them, shorter and smaller.
pub fn twelve() -> Vec<Truth> {
    let loads = [
        0.2, 0.2, 0.65, 0.7, 0.75, 0.8, 0.8, 0.85, 0.9, 0.9, 0.95, 1.2,
    ];
    let each = loads.into_iter().enumerate();
    let truths = each.map(|(at, load)| {
        let mut truth = truth(at, at % 5, &[4, 12, 8, 6], load);
        truth.seconds = 30.0;
        truth
    });
    truths.collect()
}

fn truth(at: usize, nth: usize, workers: &[u32], load: f64) -> Truth {
    let workers = workers[(at + nth) % workers.len()];
    let (kind, time) = times()[nth].clone();
    let name = format!("{kind}-{workers}-{:.0}", load * 100.0);
    let mut truth = Truth::new(&name, workers, time, load);
    truth.seed = (at * 5 + nth) as u64 + 1;
    // A third each: no bound, one that few reach, and one that many do.
    (truth.queue, truth.timeout) = match (at + nth) % 3 {
        0 => (None, Some(Duration::from_millis(500))),
        1 => (Some(workers * 5), Some(Duration::from_millis(500))),
        _ => (Some(workers * 50), Some(Duration::from_secs(2))),
    };
    truth
}

/// What fits of logs of one pool say, beside the truth.
#[derive(Debug, Default)]
struct Figures {
    /// Of logs whose interval is closed, those that it holds the truth of.
    held: (u32, u32),
    /// Of logs from 60 to 95 % load, those whose capacity is within 8 %.
    near: (u32, u32),
    /// Of logs of which at most five requests found all workers busy, those that are open.
    open: (u32, u32),
    /// The most by which a capacity is above the true one, as a share of it.
    optimistic: f64,
}

impl Figures {
    fn of(truths: &[Truth]) -> Self {
        let mut figures = Self::default();
        let count = |(yes, all): &mut (u32, u32), is_so: bool| {
            *yes += u32::from(is_so);
            *all += 1;
        };
        for truth in truths {
            let fitted = truth.fit();
            println!("{}", line(truth, &fitted));
            if let Some((low, high)) = fitted.workers.interval() {
                count(&mut figures.held, (low..=high).contains(&&truth.workers));
            }
            let off = fitted.capacity.value / truth.capacity() - 1.0;
            if (0.595..0.955).contains(&truth.loads[0]) {
                count(&mut figures.near, off.abs() <= 0.08);
            }
            let busy = fitted
                .curve
                .iter()
                .filter(|it| it.number >= f64::from(truth.workers));
            if busy.map(|it| it.requests).sum::<u64>() <= 5 {
                count(&mut figures.open, fitted.knee == Knee::Open);
            }
            if fitted.knee != Knee::Refused {
                figures.optimistic = figures.optimistic.max(off);
            }
        }
        println!("{figures:?}");
        figures
    }

    fn hold(&self) {
        let nine_tenths = |(yes, all): (u32, u32)| yes * 10 >= all * 9;
        assert!(nine_tenths(self.held) && nine_tenths(self.near), "{self:?}");
        assert_eq!(self.open.0, self.open.1, "{self:?}");
        assert!(self.optimistic < 0.05, "{self:?}");
    }
}

#[test]
fn workers_and_capacity_are_those_of_the_truth() {
    let figures = Figures::of(&twelve());
    figures.hold();
    assert!(figures.held.1 >= 9 && figures.open.1 >= 1, "{figures:?}");
}

#[test]
#[ignore = "sixty logs: scripts/prove fit"]
fn sixty_in_full() {
    Figures::of(&sixty()).hold();
}

fn line(truth: &Truth, fitted: &Fitted) -> String {
    let low = match &fitted.workers.how {
        How::Measured { low, .. } => low.to_string(),
        other => other.to_string(),
    };
    let high = fitted
        .workers
        .interval()
        .map_or("open".into(), |it| it.1.to_string());
    let off = (fitted.capacity.value / truth.capacity() - 1.0) * 100.0;
    let codes: Vec<&str> = fitted.warnings.iter().map(Warning::code).collect();
    format!(
        "{:20} {:7} {:2} [{low}..{high}], capacity {:6.1} -> {:6.1} ({off:+.1} %), time {:.2} -> {:.2} ms, queue {:?} -> {:?} ({}), \
         timeout {:?} ({}), {}",
        truth.name,
        format!("{:?}", fitted.knee),
        fitted.workers.value,
        truth.capacity(),
        fitted.capacity.value,
        truth.time.mean() * 1e3,
        fitted.time.value * 1e3,
        truth.queue,
        fitted.queue.value,
        fitted.queue.how,
        fitted.timeout.value,
        fitted.timeout.how,
        codes.join(" "),
    )
}
