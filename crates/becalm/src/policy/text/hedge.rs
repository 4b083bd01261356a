//! How is a hedge written?

use core::time::Duration;

use super::reader::read_text;
use super::{InvalidPolicy, Kind, Parameter, Unreadable, Written};
use crate::grammar::{field, of};
use crate::hedge::{Hedge, HedgeDelay, QuantileDelay};

/// The slot of a field of a delay that is a quantile.
macro_rules! of_quantile {
    ($slot:ident, $field:ident) => {
        of!($slot, |it| it.delay, HedgeDelay::Quantile(delay) => delay.$field)
    };
    ($slot:ident, $field:ident, unless default) => {
        of!($slot, |it| it.delay, HedgeDelay::Quantile(delay) => delay.$field,
            unless QuantileDelay::default().$field)
    };
}

impl Written for Hedge {
    const NOUN: &'static str = "hedge";

    const KINDS: &'static [Kind<Self>] = &[
        Kind {
            name: "after",
            example: "after:50ms",
            start: || Self::after(Duration::ZERO),
            first: Some(of!(Duration, |it| it.delay, HedgeDelay::After(time) => *time)),
            parameters: &[COPIES],
        },
        Kind {
            name: PERCENTILE,
            example: "p95",
            start: || Self::at_quantile(0.0),
            first: Some(of_quantile!(Percentile, quantile)),
            parameters: &[LATENCIES, COPIES],
        },
    ];

    fn check(&self) -> Result<(), InvalidPolicy> {
        self.validate().map_err(InvalidPolicy::Hedge)
    }

    /// Of a percentile the colon is left out.
    fn of_text(text: &str) -> Result<Self, Unreadable> {
        let percentile = text.strip_prefix(PERCENTILE);
        match percentile.filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
            Some(rest) => read_text(&[PERCENTILE, ":", rest].concat()),
            None => read_text(text),
        }
    }
}

const PERCENTILE: &str = "p";

const LATENCIES: &[Parameter<Hedge>] = &[
    ("min", of_quantile!(Duration, min)),
    ("max", of_quantile!(Duration, max)),
    ("samples", of_quantile!(Whole, min_samples, unless default)),
    ("window", of_quantile!(Duration, window, unless default)),
];

const COPIES: &[Parameter<Hedge>] = &[("copies", field!(Whole, copies))];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hedge::InvalidHedge;
    use alloc::string::ToString;
    use proptest::prelude::*;

    #[test]
    fn a_hedge_reads_back_what_it_displays() {
        for text in [
            "after:50ms,copies:1",
            "after:0s,copies:4",
            "p95,min:10ms,copies:2",
            "p50,min:0s,copies:1",
            "p99.9,min:1ms,max:2s,samples:5000,window:1m,copies:3",
        ] {
            assert_eq!(text.parse::<Hedge>().unwrap().to_string(), text);
        }
        assert_eq!("p95".parse(), Ok(Hedge::at_quantile(0.95)));
        assert_eq!("p99.9".parse(), Ok(Hedge::at_quantile(0.999)));
        let after = Hedge::after(Duration::from_millis(50));
        assert_eq!("after:50ms".parse(), Ok(after));
    }

    #[test]
    fn out_of_range_is_refused_by_name() {
        for (text, reason) in [
            ("p5", InvalidHedge::Quantile),
            ("p49.9", InvalidHedge::Quantile),
            ("p99.91", InvalidHedge::Quantile),
            ("p100", InvalidHedge::Quantile),
            ("p950", InvalidHedge::Quantile),
            ("after:61m", InvalidHedge::After),
            ("p95,min:2h", InvalidHedge::Min),
            ("p95,min:10ms,max:9ms", InvalidHedge::Max),
            ("p95,max:2h", InvalidHedge::Max),
            ("p95,samples:0", InvalidHedge::Samples),
            ("p95,samples:1000001", InvalidHedge::Samples),
            ("p95,window:999ms", InvalidHedge::Window),
            ("p95,window:11m", InvalidHedge::Window),
            ("p95,copies:0", InvalidHedge::Copies),
            ("after:1s,copies:5", InvalidHedge::Copies),
        ] {
            assert_eq!(
                text.parse::<Hedge>(),
                Err(InvalidPolicy::Hedge(reason).into()),
                "{text}"
            );
        }
        let nan = Hedge::at_quantile(f64::NAN);
        assert_eq!(nan.validate(), Err(InvalidHedge::Quantile));
        let forever = Hedge::after(Duration::MAX);
        assert_eq!(forever.validate(), Err(InvalidHedge::After));
        // What is refused can still be shown.
        for quantile in [f64::NAN, f64::INFINITY, -1.0, 0.0, 1.0, 1e-300] {
            let _ = Hedge::at_quantile(quantile).to_string();
        }
    }

    #[test]
    fn five_samples_lie_above_the_quantile() {
        for (quantile, needed) in [(0.5, 100), (0.95, 100), (0.96, 125), (0.99, 500)] {
            let delay = QuantileDelay {
                quantile,
                ..QuantileDelay::default()
            };
            assert_eq!(delay.samples_needed(), needed, "{quantile}");
        }
        let p999 = QuantileDelay {
            quantile: 0.999,
            ..QuantileDelay::default()
        };
        assert_eq!(p999.samples_needed(), 5000);
        let many = QuantileDelay {
            min_samples: 7000,
            ..p999
        };
        assert_eq!(many.samples_needed(), 7000);
    }

    proptest! {
        #[test]
        fn every_valid_hedge_reads_back(
            quantile in 0.5..=0.999,
            min in 0_u64..=1_000_000_000,
            above in proptest::option::of(0_u64..=3_000_000_000),
            samples in 1_u32..=1_000_000,
            window in 1_000_000_000_u64..=600_000_000_000,
            copies in 1_u32..=4,
        ) {
            let mut hedge = Hedge::at_quantile(quantile)
                .min(Duration::from_nanos(min))
                .min_samples(samples)
                .window(Duration::from_nanos(window))
                .copies(copies);
            if let Some(above) = above {
                hedge = hedge.max(Duration::from_nanos(min + above));
            }
            prop_assert_eq!(hedge.to_string().parse(), Ok(hedge));
            let after = Hedge::after(Duration::from_nanos(window)).copies(copies);
            prop_assert_eq!(after.to_string().parse(), Ok(after));
        }

        #[test]
        fn no_text_panics(text in "(p|after:)?.*") {
            let _ = text.parse::<Hedge>();
        }
    }
}
