//! How are the results of a simulation told apart by one number?
//!
//! FNV-1a (Fowler, Noll, Vo; 64 bits) over everything that was measured, each float by its bits.
//! Sentences and titles are left out, so that a word may be improved without a new number.

pub mod golden;
pub mod sizes;

use becalm_sim::record::{Histogram, PopulationRecord, Recording, ServiceRecord};
use becalm_sim::study::{Chart, ChartKind, Figure, Study};

/// The number so far.
#[derive(Debug)]
pub struct Fingerprint(u64);

impl Fingerprint {
    pub fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    pub fn value(&self) -> u64 {
        self.0
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn number(&mut self, number: u64) {
        self.bytes(&number.to_le_bytes());
    }

    fn float(&mut self, float: f64) {
        // The sign and the payload of what is not a number are the platform's.
        self.number(if float.is_nan() {
            u64::MAX
        } else {
            float.to_bits()
        });
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.bytes(text.as_bytes());
    }

    fn floats(&mut self, floats: &[f64]) {
        self.number(floats.len() as u64);
        for float in floats {
            self.float(*float);
        }
    }

    fn counts(&mut self, counts: &[u32]) {
        self.number(counts.len() as u64);
        for count in counts {
            self.number(u64::from(*count));
        }
    }

    fn histogram(&mut self, histogram: &Histogram) {
        self.number(histogram.len());
        for percent in 0..=100 {
            let quantile = histogram.quantile(f64::from(percent) / 100.0);
            self.number(quantile.unwrap_or(u64::MAX));
        }
    }

    /// Adds all that a run left behind.
    pub fn recording(&mut self, recording: &Recording) {
        self.number(u64::try_from(recording.bucket.as_nanos()).unwrap_or(u64::MAX));
        self.number(recording.events);
        recording
            .populations
            .iter()
            .for_each(|it| self.population(it));
        recording.services.iter().for_each(|it| self.service(it));
    }

    fn population(&mut self, it: &PopulationRecord) {
        let counts = [
            &it.calls,
            &it.first_tries,
            &it.attempts,
            &it.hedges,
            &it.succeeded,
            &it.succeeded_of,
            &it.gave_up,
            &it.timed_out,
            &it.failed,
        ];
        for counts in counts {
            self.counts(counts);
        }
        for (reason, count) in &it.stops {
            self.text(reason.0);
            self.number(*count);
        }
        self.histogram(&it.latency);
        for endings in &it.endings {
            self.histogram(&endings.latency);
            self.number(endings.gave_up);
        }
        self.number(it.under_way);
    }

    fn service(&mut self, it: &ServiceRecord) {
        let counts = [
            &it.arrived,
            &it.refused,
            &it.served,
            &it.stale,
            &it.dropped,
            &it.queue,
            &it.hits,
            &it.misses,
        ];
        for counts in counts {
            self.counts(counts);
        }
        self.number(it.inside);
    }

    /// Adds all that a study measured.
    pub fn study(&mut self, study: &Study) {
        self.text(&study.scenario);
        self.number(study.seed);
        self.number(u64::from(study.runs));
        self.number(study.events);
        for contender in &study.contenders {
            self.text(&contender.name);
            self.text(contender.verdict.map_or("", |verdict| verdict.as_str()));
            contender.figures.iter().for_each(|it| self.figure(it));
            contender.charts.iter().for_each(|it| self.chart(it));
        }
        study.charts.iter().for_each(|it| self.chart(it));
    }

    fn figure(&mut self, figure: &Figure) {
        self.text(figure.id);
        self.float(figure.value.unwrap_or(f64::NAN));
        let (low, high) = figure.interval.unwrap_or((f64::NAN, f64::NAN));
        self.floats(&[low, high]);
    }

    fn chart(&mut self, chart: &Chart) {
        self.text(&chart.id);
        match &chart.kind {
            ChartKind::Lines(lines) => {
                for (_, points) in lines {
                    for (x, y) in points {
                        self.floats(&[*x, *y]);
                    }
                }
            }
            ChartKind::Map {
                columns,
                rows,
                cells,
                ..
            } => [columns, rows, cells]
                .into_iter()
                .for_each(|all| self.floats(all)),
            ChartKind::Bars(bars) => bars.iter().for_each(|(_, value)| self.float(*value)),
            other => panic!("{other:?} has no fingerprint yet"),
        }
        for (from, to, _) in &chart.bands {
            self.floats(&[*from, *to]);
        }
        chart
            .levels
            .iter()
            .for_each(|(level, _)| self.float(*level));
    }
}
