//! What does one more delay of a schedule cost, jitter included?

use std::hint::black_box;

use becalm::Policy;

use crate::measure::{Case, Group};
use crate::ours::exponential;
use crate::peers::{BASE, CAP};
use crate::versions::with_version;

/// The rows of the table. Schedules without end, so that nothing but the delays is measured.
pub fn cases() -> Vec<Case> {
    vec![
        becalm(),
        backon(),
        mettle(),
        backoff(),
        tokio_retry(),
        retry(),
    ]
}

fn case<T>(package: &str, note: &'static str, mut next: impl FnMut() -> T + 'static) -> Case {
    Case::timed(Group::Delay, with_version(package), note, move |delays| {
        for _ in 0..delays {
            black_box(next());
        }
    })
}

/// Each with a further draw of the call's own stream.
fn becalm() -> Case {
    use becalm::rng::SplitMix64;

    let policy = exponential().attempts(Policy::UNLIMITED);
    let mut delays = policy.delays(SplitMix64::new(1));
    case("becalm", "", move || delays.next())
}

fn backon() -> Case {
    use backon::{BackoffBuilder, ExponentialBuilder};

    let mut delays = ExponentialBuilder::default()
        .with_min_delay(BASE)
        .with_max_delay(CAP)
        .without_max_times()
        .with_jitter()
        .build();
    case("backon", "", move || delays.next())
}

fn mettle() -> Case {
    use mettle::backoff::{Backoff, ExponentialBackoff, ExponentialBackoffConfig};

    let config = ExponentialBackoffConfig {
        factor: 2,
        base: BASE,
        max_retries: u32::MAX,
        max_delay: CAP,
    };
    let mut delays = ExponentialBackoff::new(config)
        .expect("constants that it accepts")
        .jittered();
    case("mettle", "", move || delays.next_delay())
}

fn backoff() -> Case {
    use backoff::ExponentialBackoffBuilder;
    use backoff::backoff::Backoff;

    let mut delays = ExponentialBackoffBuilder::new()
        .with_initial_interval(BASE)
        .with_multiplier(2.0)
        .with_max_interval(CAP)
        .build();
    case("backoff", "reads the clock", move || delays.next_backoff())
}

fn tokio_retry() -> Case {
    use tokio_retry::strategy::{ExponentialBackoff, jitter};

    let delays = ExponentialBackoff::from_millis(2).factor(50);
    let mut delays = delays.max_delay(CAP).map(jitter);
    case("tokio-retry", "", move || delays.next())
}

fn retry() -> Case {
    use retry::delay::{Exponential, jitter};

    let delays = Exponential::from_millis_with_factor(100, 2.0);
    let mut delays = delays.map(|delay| delay.min(CAP)).map(jitter);
    case("retry", "", move || delays.next())
}
