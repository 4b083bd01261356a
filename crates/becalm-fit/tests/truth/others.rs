//! Services of other kinds: is what a fit says of them true, or does it say that it does not know?

use std::time::Duration;

use becalm_fit::{Fitted, How, Knee, Known, Options, Warning};
use becalm_sim::study::Verdict;

use crate::kinds::others;
use crate::log::fit;
use crate::verdicts::{SEEDS, is_too_often, judged, middle};
use crate::workers::Other;

/// What fits say, beside the truth.
#[derive(Debug, Default)]
pub struct Figures {
    fits: u32,
    refused: u32,
    closed: u32,
    /// Of those that measure a capacity, those whose interval has one that is true at some time.
    held: u32,
    wrong: Vec<String>,
    optimistic: Vec<String>,
}

impl Figures {
    fn count(&mut self, other: &Other, with_verdicts: bool) {
        let mut options = Options::default();
        options.is_one_pool = true;
        let fitted = fit(&other.log, options);
        let line = line(other, &fitted);
        self.fits += 1;
        self.closed += u32::from(fitted.knee == Knee::Seen);
        if let How::Measured { low, high } = fitted.capacity.how {
            let holds = low <= other.most && high.is_none_or(|it| other.capacity <= it);
            self.held += u32::from(holds);
            if !holds {
                println!("MISSED");
            }
        } else {
            self.refused += 1;
        }
        // What a scenario has of it: the worse end of an interval, or what stands in.
        let least = match fitted.capacity.how {
            How::Measured { low, .. } => low,
            _ => fitted.capacity.value,
        };
        // Chance alone makes a service faster by some percent in a minute.
        if least > other.capacity * 1.05 {
            self.wrong.push(line.clone());
        }
        let verdicts = if with_verdicts {
            let texts = [
                fitted.scenario("fitted"),
                other.truly(fitted).scenario("truth"),
            ];
            let judged = |seeds: &[u64]| texts.each_ref().map(|it| judged(it, seeds));
            let differ = |[said, truly]: &[Vec<[Verdict; 2]>; 2], at: usize| {
                let pairs = || {
                    said.iter()
                        .zip(truly)
                        .map(|(said, truly)| (said[at], truly[at]))
                };
                let better = pairs().filter(|(said, truly)| truly.is_down() && !said.is_down());
                let worse = pairs().filter(|(said, truly)| said.is_down() && !truly.is_down());
                (better.count(), worse.count())
            };
            let mut both = judged(&[1]);
            if (0..2).any(|at| differ(&both, at).0 > 0) {
                both = judged(&SEEDS.collect::<Vec<_>>());
            }
            let [said, truly] = both.each_ref().map(|it| middle(it));
            let verdicts = format!(", {said:?} for {truly:?}");
            let differ = [0, 1].map(|at| differ(&both, at));
            if differ
                .iter()
                .any(|(better, worse)| is_too_often(*better, *worse))
            {
                self.optimistic.push(format!("{line}{verdicts} {differ:?}"));
            }
            verdicts
        } else {
            String::new()
        };
        println!("{line}{verdicts}");
    }
}

impl Other {
    /// A fit that knows the truth.
    fn truly(&self, mut fitted: Fitted) -> Fitted {
        let mean = self.times.iter().sum::<f64>() / self.times.len() as f64;
        let workers = self
            .workers
            .unwrap_or((self.capacity * mean).round().max(1.0) as u32);
        let by = f64::from(workers) / self.capacity / mean;
        let mut times = self.times.clone();
        times.sort_by(f64::total_cmp);
        let each = times
            .chunks(times.len() / 100)
            .map(|it| it.iter().sum::<f64>() / it.len() as f64);
        fitted.times = each.map(|it| Duration::from_secs_f64(it * by)).collect();
        fitted.workers = Known::given(workers);
        fitted.time = Known::given(mean * by);
        let mut arrivals = fitted.arrivals.value.clone();
        (arrivals.rate, arrivals.bursts) = (self.rate, None);
        fitted.arrivals = Known::given(arrivals);
        fitted
    }
}

fn line(other: &Other, fitted: &Fitted) -> String {
    let ends = match fitted.capacity.how {
        How::Measured {
            low,
            high: Some(high),
        } => format!("[{low:.1}..{high:.1}]"),
        How::Measured { low, high: None } => format!("[{low:.1}..)"),
        ref it => it.to_string(),
    };
    let codes: Vec<&str> = fitted.warnings.iter().map(Warning::code).collect();
    format!(
        "{:34} {:7} W {:?} -> {} {:?}, {:.1} to {:.1} -> {:.1} {ends} ({:+.1} %), rate {:.1} -> {:.1}, {}",
        other.name,
        format!("{:?}", fitted.knee),
        other.workers,
        fitted.workers.value,
        fitted.workers.interval(),
        other.capacity,
        other.most,
        fitted.capacity.value,
        (fitted.capacity.value / other.capacity - 1.0) * 100.0,
        other.rate,
        fitted.arrivals.value.rate,
        codes.join(" "),
    )
}

impl Figures {
    pub fn of(others: &[Other], with_verdicts: bool) -> Self {
        let mut figures = Self::default();
        for other in others {
            figures.count(other, with_verdicts);
        }
        let Self {
            fits,
            refused,
            closed,
            held,
            ..
        } = figures;
        println!("{fits} fits, {refused} refused, {closed} closed, {held} held");
        figures
    }

    pub fn hold(&self) {
        assert!(self.wrong.is_empty(), "{}", self.wrong.join("\n"));
        assert!(self.optimistic.is_empty(), "{}", self.optimistic.join("\n"));
        let measured = self.fits - self.refused;
        assert!(
            self.held * 10 >= measured * 9,
            "{} of {measured}",
            self.held
        );
    }
}

#[test]
fn whatever_a_service_is_it_is_not_said_to_be_faster() {
    let wrong_before = ["a neighbour at 0.8", "8 workers, then 4 at 0.6"];
    let others = others().into_iter().enumerate();
    let few = others.filter(|(nth, it)| nth % 5 == 0 || wrong_before.contains(&&*it.name));
    let others: Vec<Other> = few.map(|it| it.1).collect();
    Figures::of(&others, false).hold();
}

#[test]
#[ignore = "seventy logs, 4 minutes: scripts/prove fit"]
fn others_in_full() {
    Figures::of(&others(), true).hold();
}
