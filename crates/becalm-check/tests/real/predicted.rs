//! What does the mapping of a file say of a request whose attempts all fail in one way?

use std::time::Duration;

use becalm::classify::{Cause, Class, FailureKind};
use becalm::idempotency::Operation;
use becalm::time::FakeSleeper;
use becalm::{Failure, Policy};
use becalm_check::{As, Checked, File, Mapping, Settings, Severity, check};

/// How all attempts of a request fail.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fails {
    /// An answer with this status.
    Status(u16),
    /// A 400 that says in a header that it throttles.
    Throttles,
    /// A call of gRPC with this code.
    Code(u8),
    /// The server takes the request and hangs up.
    HangsUp,
    /// The server takes the request and says nothing.
    Stalls,
    /// Nobody listens.
    Refuses,
}

/// What the file says.
pub fn read(system: &str, text: &str) -> Checked {
    let mut settings = Settings::default();
    settings.versions.push(As::parse(system).expect("a system"));
    check(&[File::new("tried", text)], &settings)
}

/// Whether a finding says that the system refuses the file.
pub fn is_refused(checked: &Checked) -> bool {
    let mut findings = checked.findings.iter();
    findings.any(|it| it.severity == Severity::Error && it.code != "repeats-non-idempotent")
}

/// How many attempts a request makes: 1 where the file has no mapping.
pub fn attempts(mapping: Option<&Mapping>, method: &str, fails: Fails) -> u32 {
    let Some(policy) = mapping.map(|it| &it.policy) else {
        return 1;
    };
    if !repeats(policy, method, fails) {
        return 1;
    }
    let length = match fails {
        Fails::Stalls => policy.attempt_timeout.expect("it would wait for ever"),
        _ => Duration::ZERO,
    };
    let mut now = length;
    let mut attempts = 1;
    for step in policy.schedule() {
        now += step.mean;
        if policy.deadline.is_some_and(|deadline| now >= deadline) {
            break;
        }
        now += length;
        attempts += 1;
    }
    attempts
}

fn repeats(policy: &Policy, method: &str, fails: Fails) -> bool {
    let Some(lists) = policy.retry_on.as_deref() else {
        panic!("a mapping says what is repeated");
    };
    let is_idempotent = lists.operation(method, Operation::NotIdempotent) == Operation::Idempotent;
    lists.class_of(&failure(fails)) != Class::Permanent
        && (is_idempotent || fails == Fails::Refuses)
}

fn failure(fails: Fails) -> Failure {
    let cause = match fails {
        Fails::Status(status) => Cause::Status(status),
        Fails::Throttles => return Failure::throttled().because(Cause::Status(400)),
        Fails::Code(code) => Cause::Code(code),
        Fails::HangsUp => Cause::Kind(FailureKind::Reset),
        Fails::Stalls => Cause::Kind(FailureKind::TimedOut),
        Fails::Refuses => Cause::Kind(FailureKind::Connect),
    };
    Failure::permanent().because(cause)
}

/// How much sooner a proxy's timer may ring: Envoy arms it from the time at which its event loop last woke, which on a busy
/// machine is some milliseconds ago.
const TICK: Duration = Duration::from_millis(10);

/// Waits as they were counted against those of the mapping: none shorter than the shortest that can be drawn. How much longer they
/// are is how late the machine is.
pub fn assert_waits(name: &str, policy: &Policy, calls: &[Vec<Duration>]) {
    for (at, step) in policy.schedule().enumerate() {
        let nth: Vec<Duration> = calls.iter().filter_map(|it| it.get(at).copied()).collect();
        assert!(
            nth.iter().all(|it| *it + TICK >= step.least),
            "{name}: retry {} came after {nth:?}, and not {:?}",
            at + 1,
            step.least
        );
    }
}

/// Attempts that all stalled were each given up no sooner than the mapping says, up to its deadline. Counted from the
/// caller's first word to the last: when a server sees a request depends on how busy the machine is.
pub fn assert_timed_out(name: &str, mapping: Option<&Mapping>, attempts: u32, took: Duration) {
    let Some(policy) = mapping.map(|it| &it.policy) else {
        return;
    };
    let each = policy.attempt_timeout.unwrap_or_default();
    let all = each.saturating_sub(TICK) * attempts;
    let least = all.min(
        policy
            .deadline
            .unwrap_or(Duration::MAX)
            .saturating_sub(TICK),
    );
    assert!(
        took >= least,
        "{name}: {attempts} attempts of {each:?} in {took:?}"
    );
}

/// How many attempts so many calls make together, one after the other, as becalm makes them with the policy of the
/// mapping: its budget is theirs.
pub fn calls(mapping: Option<&Mapping>, fails: Fails, times: usize) -> usize {
    let Some(policy) = mapping.map(|it| &it.policy) else {
        return times;
    };
    // A time-out of nothing: no call leaves the client.
    if policy
        .deadline
        .is_some_and(|it| it < Duration::from_micros(1))
    {
        return 0;
    }
    let retrier = policy.clone().builder().sleeper(FakeSleeper::auto());
    let retrier = retrier.build().expect("a valid policy");
    let mut made = 0;
    for _ in 0..times {
        let ended = retrier.retry_blocking(|_| {
            made += 1;
            Err::<(), _>((failure(fails), "as told"))
        });
        assert!(ended.is_err());
    }
    made
}
