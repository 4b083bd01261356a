//! Does the ratio budget keep its law, exactly, over every interval of every history?
//!
//! Over any interval, withdrawals <= ratio x deposits + floor/s x length + held + refunds in it; since
//! creation, withdrawals - refunds <= ratio x deposits + floor/s x age + least held. What is held is the
//! burst, or 1 + ratio where that is more; a burst in time is what that time earns at the mean rate up to the first
//! withdrawal of the interval, since an earlier one.

use std::time::Duration;

use becalm::budget::{Burst, RatioBudget, Withdrawal};
use becalm::{Budget, time::Instant};
use proptest::prelude::*;

/// All sums are in parts of 3.6 x 10^18 a token, in which a nanosecond of the floor, a millionth an hour,
/// is a whole number.
const TOKEN: i128 = 3_600_000_000_000_000_000;
const MICRO: i128 = TOKEN / 1_000_000;

/// A configuration in millionths, and the budget made of it.
#[derive(Debug, Clone, Copy)]
struct Config {
    ratio: u32,
    burst: u32,
    /// The time that earns the burst; zero where it is a number.
    span: Duration,
    /// An hour.
    floor: u64,
}

impl Config {
    fn budget(self) -> RatioBudget {
        let tokens = |micros| f64::from(micros) / 1e6;
        let burst = match self.span {
            Duration::ZERO => Burst::Tokens(tokens(self.burst)),
            span => Burst::Earned {
                span,
                min: tokens(self.burst),
            },
        };
        let config = Budget::ratio(tokens(self.ratio)).burst(burst);
        #[expect(clippy::cast_precision_loss)] // at most 3.6 x 10^12
        let floor = self.floor as f64 / 1e6 / 3600.0;
        RatioBudget::new(config.floor_per_second(floor))
    }

    fn held(self) -> u32 {
        self.burst.max(1_000_000 + self.ratio)
    }
}

fn any_config() -> impl Strategy<Value = Config> {
    let ratio = prop_oneof![
        1..3_000_000_u32,
        Just(100_000),
        Just(1),
        1..1_000_000_000_u32
    ];
    let burst = prop_oneof![1_000_000..20_000_000_u32, Just(1_000_000), Just(10_000_000)];
    let floor = prop_oneof![
        Just(0),
        1..5_000_000_u64,
        Just(10_000_000),
        Just(3_600_000_000),
        1..3_600_000_000_000_u64
    ];
    let span = prop_oneof![
        Just(Duration::ZERO),
        (1..60_000_u64).prop_map(Duration::from_millis)
    ];
    (ratio, burst, span, floor).prop_map(|(ratio, burst, span, floor)| Config {
        ratio,
        burst,
        span,
        floor,
    })
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Deposit,
    Withdraw,
    /// Returns the oldest withdrawal that is out, if there is one.
    Refund,
    Pass(Duration),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Deposit),
        4 => Just(Step::Withdraw),
        1 => Just(Step::Refund),
        2 => (0..40_u32, any::<u64>()).prop_map(|(bits, n)| {
            Step::Pass(Duration::from_nanos(n >> (63 - bits)))
        }),
    ]
}

/// What has happened up to a moment.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    nanos: i128,
    deposits: i128,
    withdrawn: i128,
    refunded: i128,
}

/// The sums before the first step and after each.
fn history(budget: &RatioBudget, steps: &[Step]) -> Vec<Sums> {
    let (mut now, mut sums, mut out) = (Instant::ZERO, Sums::default(), Vec::new());
    let mut history = vec![sums];
    for step in steps {
        match step {
            Step::Deposit => {
                budget.deposit();
                sums.deposits += 1;
            }
            Step::Withdraw => {
                if let Some(withdrawal) = budget.withdraw(now) {
                    sums.withdrawn += i128::from(withdrawal.micros()) * MICRO;
                    out.insert(0, withdrawal);
                }
            }
            Step::Refund => {
                if let Some(withdrawal) = out.pop() {
                    budget.refund(&withdrawal);
                    sums.refunded += i128::from(withdrawal.micros()) * MICRO;
                }
            }
            Step::Pass(time) => now = now.after(*time),
        }
        sums.nanos = i128::from(now.as_nanos());
        history.push(sums);
    }
    history
}

/// What the law leaves between two moments, refunds apart, to a budget that holds this at the first.
fn room(config: Config, from: Sums, to: Sums, held: i128) -> i128 {
    let of_calls = i128::from(config.ratio) * MICRO * (to.deposits - from.deposits);
    // A millionth of a token an hour is MICRO in 3.6 x 10^12 nanoseconds.
    let of_clock = i128::from(config.floor) * (to.nanos - from.nanos);
    of_calls + of_clock + held
}

/// The most that a full budget may hold after the last of these.
fn held(config: Config, history: &[Sums]) -> i128 {
    let least = i128::from(config.held()) * MICRO;
    let span = i128::try_from(config.span.as_nanos()).unwrap();
    let Some(now) = history.last().filter(|_| span > 0) else {
        return least;
    };
    let earned = |then: &Sums| {
        let deposits = i128::from(config.ratio) * (now.deposits - then.deposits);
        deposits * span / (now.nanos - then.nanos).max(span) * MICRO
    };
    history.iter().map(earned).fold(least, i128::max)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn over_every_interval_of_every_history_the_law_holds(
        config in any_config(), steps in proptest::collection::vec(any_step(), 1..150),
    ) {
        let history = history(&config.budget(), &steps);
        for (start, from) in history.iter().enumerate() {
            let is_withdrawal = |at: &usize| history[*at].withdrawn > from.withdrawn;
            let Some(first) = (start..history.len()).find(is_withdrawal) else { continue };
            let held = held(config, &history[..first]);
            for to in &history[first..] {
                let withdrawn = to.withdrawn - from.withdrawn;
                let refunded = to.refunded - from.refunded;
                let room = room(config, *from, *to, held) + refunded;
                prop_assert!(withdrawn <= room, "{config:?} from {from:?} to {to:?}");
            }
        }
    }

    #[test]
    fn since_creation_the_law_holds_without_what_was_refunded(
        config in any_config(), steps in proptest::collection::vec(any_step(), 1..400),
    ) {
        let history = history(&config.budget(), &steps);
        for to in history {
            let used = to.withdrawn - to.refunded;
            let least = i128::from(config.held()) * MICRO;
            prop_assert!(used <= room(config, Sums::default(), to, least), "{config:?} up to {to:?}");
        }
    }

    /// No history mints: however it went, the budget is never more than full.
    #[test]
    fn the_fill_is_a_fraction_at_any_time(
        config in any_config(), steps in proptest::collection::vec(any_step(), 1..100),
        later in any::<u64>().prop_map(Instant::from_nanos),
    ) {
        let budget = config.budget();
        let history = history(&budget, &steps);
        let deposits = history.last().unwrap().deposits;
        let least = i128::from(config.held());
        // Even if the clock goes back: no more than was earned.
        let earned = if config.span.is_zero() { 0 } else { deposits * i128::from(config.ratio) };
        #[expect(clippy::cast_precision_loss, reason = "at most 10^12")]
        let most = least.max(earned) as f64 / 1e6;
        for now in [Instant::ZERO, later, Instant::NEVER] {
            let (fill, tokens) = (budget.fill(now), budget.tokens(now));
            prop_assert!((0.0..=1.0).contains(&fill), "{fill}");
            prop_assert!((0.0..=most).contains(&tokens), "{tokens}");
        }
    }
}

/// The floor is counted in whole millionths of a token, and the law holds between two of them, too:
/// an interval that starts in the middle of one is not paid for the whole of it.
#[test]
fn between_two_millionths_of_the_floor_the_law_is_kept_to_the_nanosecond() {
    let first = 1_900; // the floor has added 1.9 millionths
    for later in [1_000_000_000, 1_000_000_899] {
        // It holds a token and a millionth, so it owes the second after a second less a millionth.
        let budget = RatioBudget::new(Budget::ratio(1e-6).burst(1.0).floor_per_second(1.0));
        assert!(budget.withdraw(Instant::from_nanos(first)).is_some());
        let second = budget.withdraw(Instant::from_nanos(later));
        assert!(second.is_none(), "{} ns are less than that", later - first);
        let in_time = Instant::from_nanos(first + 1_000_000_000);
        assert!(budget.withdraw(in_time).is_some(), "a second");
    }
}

/// The law is not only kept but used: what it allows to the last token is granted.
#[test]
fn what_the_law_allows_is_granted() {
    let budget = RatioBudget::new(Budget::ratio(0.25).burst(2.0).floor_per_second(0.5));
    let take = |seconds: u64| {
        let now = Instant::ZERO.after(Duration::from_secs(seconds));
        std::iter::from_fn(|| budget.withdraw(now)).count()
    };
    assert_eq!(take(0), 2, "the burst");
    for _ in 0..6 {
        budget.deposit(); // 1.5 tokens
    }
    assert_eq!(take(0), 1);
    assert_eq!(take(1), 1, "half a token was left, and half has been added");
    assert_eq!(take(2), 0);
    assert_eq!(
        take(1000),
        2,
        "no more than the burst however long it takes"
    );
}

/// A refund of more than there is room for is not saved up.
#[test]
fn a_refund_never_lifts_the_budget_above_its_burst() {
    let budget = RatioBudget::new(Budget::ratio(1.0).burst(2.0));
    let taken: Vec<Withdrawal> = std::iter::from_fn(|| budget.withdraw(Instant::ZERO)).collect();
    for _ in 0..5 {
        budget.deposit();
    }
    for withdrawal in &taken {
        budget.refund(withdrawal);
    }
    assert_eq!(budget.fill(Instant::ZERO).to_bits(), 1.0_f64.to_bits());
    let granted = std::iter::from_fn(|| budget.withdraw(Instant::ZERO)).count();
    assert_eq!(granted, 2);
}

#[test]
fn no_budget_grants_everything_and_owes_nothing() {
    let budget = RatioBudget::new(Budget::None);
    for _ in 0..1000 {
        let withdrawal = budget.withdraw(Instant::ZERO).expect("nothing is bounded");
        assert_eq!(withdrawal.micros(), 0);
        budget.refund(&withdrawal);
    }
    assert!(budget.tokens(Instant::ZERO).is_infinite());
    assert_eq!(budget.fill(Instant::ZERO).to_bits(), 1.0_f64.to_bits());
}

/// Ten an hour is no whole number of millionths a second, and yet exact.
#[test]
fn ten_an_hour_are_ten_after_each_hour() {
    let budget = RatioBudget::new(Budget::default());
    let take = |now: Duration| {
        let now = Instant::ZERO.after(now);
        std::iter::from_fn(|| budget.withdraw(now)).count()
    };
    let hour = Duration::from_secs(3600);
    assert_eq!(take(Duration::ZERO), 10, "the burst");
    let granted: usize = (1..=24 * 365).map(|hours| take(hours * hour)).sum();
    assert_eq!(granted, 10 * 24 * 365);
    let after_a_year = 24 * 365 * hour;
    assert_eq!(
        take((after_a_year + hour / 10).saturating_sub(Duration::from_nanos(1))),
        0
    );
    assert_eq!(take(after_a_year + hour / 10), 1);
}

/// B5: with a burst of 1 half of what was deposited was lost.
#[test]
fn b5_a_burst_of_one_loses_no_deposit_while_retries_are_wanted() {
    for (ratio, expected) in [(0.3, 3_000), (0.7, 7_000), (0.1, 1_000), (1.5, 15_000)] {
        let config = Budget::ratio(ratio).burst(1.0).floor_per_second(0.0);
        let budget = RatioBudget::new(config);
        let granted: usize = (0..10_000)
            .map(|_| {
                budget.deposit();
                std::iter::from_fn(|| budget.withdraw(Instant::ZERO)).count()
            })
            .sum();
        // And what it held at first.
        let surplus = granted - expected;
        assert!(surplus <= 2, "{granted} of {expected} at {ratio}");
    }
}
