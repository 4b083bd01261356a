//! What happens between a failure and the wait, and what does it cost?

use std::hint::black_box;

use becalm::budget::{RatioBudget, RetryBudget};
use becalm::rng::SplitMix64;
use becalm::{
    Budget, Failure, Policy, Retrier, Scope,
    call::{Call, CallOptions, Decision},
    time::Instant,
};
use becalm_fleet::budget::{Fleet, FleetBudget};
use tower::retry::Policy as _;

use crate::measure::{Case, Group};
use crate::operation::Failed;
use crate::ours::{exponential, retrier};
use crate::peers::tower::Attempts;
use crate::versions::with_version;

/// Of a chain of decisions in one call.
const CHAIN: u32 = 8;

/// The first decision of a call.
pub const FIRST: &str = "the first of a call, which draws entropy";
/// A later one.
pub const FURTHER: &str = "a further one, in chains of eight";

/// What a retry takes from the default budget, and what comes back.
pub const TOKEN: &str = "a token of a ratio budget, taken and returned";
/// What it takes from one that a fleet shares.
pub const LEASED: &str = "a token of a fleet's budget, taken and returned";

/// What tower's row holds besides.
pub const TOWERS: &str = "with its deposit and its timer";

/// The rows of the table.
pub fn cases() -> Vec<Case> {
    vec![first(), further(), token(), leased(), tower()]
}

/// Every decision is paid: a first try deposits as many tokens as a chain takes.
fn policy() -> Policy {
    let budget = Budget::first_tries(f64::from(CHAIN)).burst(100.0);
    exponential().attempts(Policy::UNLIMITED).budget(budget)
}

fn case(note: &'static str, mut call: impl FnMut(&'static Retrier) + 'static, each: u32) -> Case {
    let retrier = retrier(policy());
    Case::timed(
        Group::Decision,
        with_version("becalm"),
        note,
        move |decisions| {
            for _ in 0..decisions / u64::from(each) {
                call(retrier);
            }
        },
    )
}

fn first() -> Case {
    let call = |retrier: &'static Retrier| {
        let mut call = begin(retrier);
        decide(&mut call, &mut retrier.random());
    };
    case(FIRST, call, 1)
}

fn further() -> Case {
    let mut random = SplitMix64::new(1);
    let call = move |retrier: &'static Retrier| {
        let mut call = begin(retrier);
        for _ in 0..CHAIN {
            decide(&mut call, &mut random);
        }
    };
    case(FURTHER, call, CHAIN)
}

fn token() -> Case {
    let budget = RatioBudget::new(Budget::default());
    withdrawals(TOKEN, move || {
        let token = black_box(&budget).withdraw(now());
        budget.refund(&token.expect("it came back"));
    })
}

fn leased() -> Case {
    let budget = FleetBudget::new(Fleet::new(Budget::default())).expect("a valid fleet");
    let failure = Failure::transient();
    withdrawals(LEASED, move || {
        let token = black_box(&budget).withdraw(now(), &failure);
        budget.refund(token.expect("it came back"));
    })
}

fn withdrawals(note: &'static str, mut one: impl FnMut() + 'static) -> Case {
    Case::timed(
        Group::Decision,
        with_version("becalm"),
        note,
        move |withdrawals| (0..withdrawals).for_each(|_| one()),
    )
}

fn begin(retrier: &'static Retrier) -> Call<&'static Retrier> {
    Call::begin(retrier, CallOptions::default(), Scope::NONE, now())
}

fn now() -> Instant {
    black_box(Instant::ZERO)
}

fn decide(call: &mut Call<&'static Retrier>, random: &mut SplitMix64) {
    assert!(call.start(now(), &mut || 0).is_ok());
    let decision = call.on_outcome(now(), Failure::transient().into(), random);
    assert!(matches!(black_box(decision), Decision::RetryIn(_)));
}

/// Its user writes the decision; this is the one of its documentation. It makes the timer at once.
fn tower() -> Case {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime of one thread needs nothing that could be missing");
    let policy = Attempts::jittered();
    Case::timed(
        Group::Decision,
        with_version("tower"),
        TOWERS,
        move |decisions| {
            let _entered = runtime.enter();
            for _ in 0..decisions {
                policy.deposit();
                let decision = policy.clone().retry(&mut (), &mut Err(black_box(Failed)));
                assert!(black_box(decision).is_some());
            }
        },
    )
}
