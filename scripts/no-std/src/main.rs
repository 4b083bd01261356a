//! Does becalm link where there is no standard library, and does it decide there?
//!
//! This program brings its own panic handler, and a program can have only one: were the standard
//! library linked, by becalm or by anything below it, the compiler would refuse the second.
#![no_std]
#![no_main]

use core::panic::PanicInfo;
use core::time::Duration;

use becalm::rng::SplitMix64;
use becalm::{
    Budget, Failure, Policy, Scope, StopReason,
    call::{Call, CallOptions, Decision},
    shared::Shared,
    time::Instant,
};
use becalm_admission::{AddressGroup, Admission, AdmissionController, Answer, Arrival};
use becalm_fleet::budget::{Fleet, FleetBudget, Step};

#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

unsafe extern "C" {
    safe fn abort() -> !;
}

#[panic_handler]
fn on_panic(_: &PanicInfo<'_>) -> ! {
    abort()
}

/// Named by the unwind tables of the precompiled compiler support; with `panic = "abort"` never
/// called.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

/// Named by the clean-up of the precompiled `alloc`, where the linker's optimizer takes that in; never called either.
#[unsafe(no_mangle)]
extern "C" fn _Unwind_Resume() -> ! {
    abort()
}

/// The C library's entry point; the exit code says whether the decisions were right.
#[unsafe(no_mangle)]
extern "C" fn main() -> i32 {
    i32::from(
        !(two_attempts_then_exhausted()
            && one_comes_in_and_the_next_waits()
            && an_exchange_is_due()),
    )
}

fn two_attempts_then_exhausted() -> bool {
    let cap = Duration::from_millis(50);
    let policy = Policy::exponential(Duration::from_millis(20))
        .cap(cap)
        .attempts(2);
    let Ok(shared) = Shared::new(policy, Duration::ZERO) else {
        return false;
    };
    let mut now = Instant::ZERO;
    let mut random = SplitMix64::new(7);
    let mut call = Call::begin(&shared, CallOptions::new(), Scope::NONE, now);
    let mut fail = |now: Instant, call: &mut Call<&Shared>| {
        call.start(now, &mut random)
            .map(|_| call.on_outcome(now, Failure::transient().into(), &mut random))
    };
    let Ok(Decision::RetryIn(delay)) = fail(now, &mut call) else {
        return false;
    };
    now = now.after(delay);
    let second = fail(now, &mut call);
    delay <= cap && second == Ok(Decision::Stop(StopReason::AttemptsExhausted))
}

fn one_comes_in_and_the_next_waits() -> bool {
    let settings = Admission::per_second(10);
    let Ok(mut door) = AdmissionController::new(settings, SplitMix64::new(7)) else {
        return false;
    };
    let arrival = Arrival::of(AddressGroup::new(1));
    let first = door.arrive(Instant::ZERO, &arrival);
    let second = door.arrive(Instant::ZERO, &arrival);
    matches!((first, second), (Answer::Admit(_), Answer::Wait(_)))
}

fn an_exchange_is_due() -> bool {
    let Ok(budget) = FleetBudget::new(Fleet::new(Budget::ratio(0.1))) else {
        return false;
    };
    let mut exchanges = budget.exchanges(SplitMix64::new(7), Instant::ZERO);
    let period = Instant::ZERO.after(budget.fleet().period);
    matches!(exchanges.poll(&budget, period), Step::Send(_))
}
