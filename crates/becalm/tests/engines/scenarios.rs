//! Do all drivers take the same decisions? One table, run through the async and the blocking engine,
//! the loop by hand in both forms, a first attempt without an engine, and the sans-IO call.

use std::sync::Mutex;
use std::time::Duration;

use becalm::rng::SplitMix64;
use becalm::time::FakeSleeper;
use becalm::{
    Attempt, Failure, Hint, IdempotencyKey, Operation, Policy, Scope, Sleeper, StopReason,
    call::{Call, CallOptions, Decision},
    classify::Verdict,
};

use crate::probe::{Fault, MS, SECOND, Seen, Watched, by_first_attempt, fixed, ready, watched};

/// What a service does, attempt by attempt: how long it takes, and what it answers.
type Script = [(Duration, Result<u32, Fault>)];

struct Scenario {
    name: &'static str,
    policy: Policy,
    options: CallOptions,
    tokens: u32,
    script: Vec<(Duration, Result<u32, Fault>)>,
    ended: Result<u32, StopReason>,
    /// When each attempt started.
    starts: Vec<Duration>,
    /// The time that each attempt was told was left.
    remaining: Vec<Duration>,
    /// Tokens that the call cost in the end.
    spent: u32,
}

impl Scenario {
    /// 100 ms between attempts, 10 tokens.
    fn new(name: &'static str, script: &Script) -> Self {
        Self {
            name,
            policy: fixed(100 * MS),
            options: CallOptions::new(),
            tokens: 10,
            script: script.to_vec(),
            ended: Ok(0),
            starts: Vec::new(),
            remaining: Vec::new(),
            spent: 0,
        }
    }

    fn policy(mut self, change: impl FnOnce(Policy) -> Policy) -> Self {
        self.policy = change(self.policy);
        self
    }

    fn options(mut self, change: impl FnOnce(&mut CallOptions)) -> Self {
        change(&mut self.options);
        self
    }

    fn operation(self, operation: Operation) -> Self {
        self.options(|options| options.operation = operation)
    }

    fn tokens(mut self, tokens: u32) -> Self {
        self.tokens = tokens;
        self
    }

    fn remaining(mut self, remaining: &[Duration]) -> Self {
        self.remaining = remaining.to_vec();
        self
    }

    fn ends(mut self, ended: Result<u32, StopReason>, starts: &[Duration]) -> Self {
        (self.ended, self.starts) = (ended, starts.to_vec());
        self.spent = u32::try_from(starts.len()).unwrap().saturating_sub(1);
        self
    }
}

const NOW: Duration = Duration::ZERO;
const DOWN: (Duration, Result<u32, Fault>) = (NOW, Err(Fault::DOWN));
const REFUSED: (Duration, Result<u32, Fault>) = (NOW, Err(Fault::REFUSED));
const GOOD: (Duration, Result<u32, Fault>) = (NOW, Ok(17));
const KEY: IdempotencyKey = IdempotencyKey::from_random(17);

const fn hinted(hint: Hint) -> (Duration, Result<u32, Fault>) {
    (NOW, Err(Fault(Failure::throttled().hint(hint))))
}

const fn at(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn scenarios() -> impl Iterator<Item = Scenario> {
    [of_attempts(), of_operations(), of_hints(), of_limits()]
        .into_iter()
        .flatten()
}

/// How often, and when.
fn of_attempts() -> Vec<Scenario> {
    vec![
        Scenario::new("success at once", &[GOOD]).ends(Ok(17), &[NOW]),
        Scenario::new("failure, then success", &[DOWN, GOOD]).ends(Ok(17), &[NOW, at(100)]),
        Scenario::new("the last attempt succeeds", &[DOWN, DOWN, DOWN, GOOD])
            .ends(Ok(17), &[NOW, at(100), at(200), at(300)]),
        Scenario::new("every attempt fails", &[DOWN, DOWN, DOWN, DOWN]).ends(
            Err(StopReason::AttemptsExhausted),
            &[NOW, at(100), at(200), at(300)],
        ),
        Scenario::new("a permanent failure", &[(NOW, Err(Fault::GONE))])
            .ends(Err(StopReason::Permanent), &[NOW]),
        Scenario::new(
            "a permanent failure later",
            &[DOWN, (NOW, Err(Fault::GONE))],
        )
        .ends(Err(StopReason::Permanent), &[NOW, at(100)]),
        Scenario::new(
            "throttled has its own base",
            &[(NOW, Err(Fault::BUSY)), DOWN, GOOD],
        )
        .policy(|policy| policy.throttled_base(SECOND))
        .ends(Ok(17), &[NOW, at(1000), at(1100)]),
        Scenario::new("one attempt by policy", &[DOWN])
            .policy(|policy| policy.attempts(1))
            .ends(Err(StopReason::AttemptsExhausted), &[NOW]),
        Scenario::new("fewer attempts by option", &[DOWN, DOWN])
            .options(|options| options.attempts = Some(2))
            .ends(Err(StopReason::AttemptsExhausted), &[NOW, at(100)]),
        Scenario::new("more attempts by option", &[DOWN, DOWN, DOWN, DOWN, GOOD])
            .options(|options| options.attempts = Some(9))
            .ends(Ok(17), &[NOW, at(100), at(200), at(300), at(400)]),
        Scenario::new("0 attempts by option are 1", &[DOWN])
            .options(|options| options.attempts = Some(0))
            .ends(Err(StopReason::AttemptsExhausted), &[NOW]),
    ]
}

/// May it be repeated?
fn of_operations() -> Vec<Scenario> {
    vec![
        Scenario::new("not idempotent, perhaps done", &[DOWN])
            .operation(Operation::NotIdempotent)
            .ends(Err(StopReason::NotIdempotent), &[NOW]),
        Scenario::new(
            "not idempotent, never sent, then perhaps done",
            &[REFUSED, DOWN],
        )
        .operation(Operation::NotIdempotent)
        .ends(Err(StopReason::NotIdempotent), &[NOW, at(100)]),
        Scenario::new("not idempotent, never sent", &[REFUSED, GOOD])
            .operation(Operation::NotIdempotent)
            .ends(Ok(17), &[NOW, at(100)]),
        Scenario::new("keyed", &[DOWN, GOOD])
            .operation(Operation::Keyed(KEY))
            .ends(Ok(17), &[NOW, at(100)]),
        Scenario::new("keyed by the caller", &[DOWN, GOOD])
            .operation(Operation::KeyedByCaller)
            .ends(Ok(17), &[NOW, at(100)]),
    ]
}

/// What the server says.
fn of_hints() -> Vec<Scenario> {
    vec![
        Scenario::new("the server says stop", &[hinted(Hint::Stop)])
            .ends(Err(StopReason::DoNotRetry), &[NOW]),
        Scenario::new("the server says now", &[hinted(Hint::Exactly(NOW)), GOOD])
            .ends(Ok(17), &[NOW, NOW]),
        Scenario::new(
            "the server says when",
            &[hinted(Hint::Exactly(at(7000))), DOWN, GOOD],
        )
        .ends(Ok(17), &[NOW, at(7000), at(7100)]),
        Scenario::new(
            "the server says much later",
            &[hinted(Hint::AtLeast(at(60_001)))],
        )
        .ends(Err(StopReason::HintTooLong), &[NOW]),
        Scenario::new(
            "the server says later than the deadline",
            &[hinted(Hint::AtLeast(SECOND))],
        )
        .policy(|policy| policy.deadline(SECOND))
        .remaining(&[SECOND])
        .ends(Err(StopReason::HintTooLong), &[NOW]),
    ]
}

/// Deadlines and budgets.
fn of_limits() -> Vec<Scenario> {
    vec![
        Scenario::new("the next wait ends at the deadline", &[DOWN, DOWN, DOWN])
            .policy(|policy| policy.deadline(at(300)))
            .remaining(&[at(300), at(200), at(100)])
            .ends(Err(StopReason::DeadlineExceeded), &[NOW, at(100), at(200)]),
        Scenario::new("the next wait just fits", &[DOWN, DOWN, DOWN, GOOD])
            .policy(|policy| policy.deadline(at(301)))
            .remaining(&[at(301), at(201), at(101), at(1)])
            .ends(Ok(17), &[NOW, at(100), at(200), at(300)]),
        Scenario::new(
            "remaining counts attempts too",
            &[(at(250), Err(Fault::DOWN)), GOOD],
        )
        .options(|options| options.deadline = Some(SECOND))
        .policy(|policy| policy.deadline(at(50)))
        .remaining(&[SECOND, at(650)])
        .ends(Ok(17), &[NOW, at(350)]),
        Scenario::new(
            "the attempt outlasts the deadline",
            &[(SECOND, Err(Fault::DOWN))],
        )
        .policy(|policy| policy.deadline(SECOND))
        .remaining(&[SECOND])
        .ends(Err(StopReason::DeadlineExceeded), &[NOW]),
        Scenario::new("the answer is late but there", &[(2 * SECOND, Ok(17))])
            .policy(|policy| policy.deadline(SECOND))
            .remaining(&[SECOND])
            .ends(Ok(17), &[NOW]),
        Scenario::new("the budget pays once", &[DOWN, DOWN])
            .tokens(1)
            .ends(Err(StopReason::BudgetExhausted), &[NOW, at(100)]),
        Scenario::new("the budget never pays", &[DOWN])
            .tokens(0)
            .ends(Err(StopReason::BudgetExhausted), &[NOW]),
        Scenario::new(
            "another reason before the budget",
            &[(NOW, Err(Fault::GONE))],
        )
        .tokens(0)
        .ends(Err(StopReason::Permanent), &[NOW]),
        Scenario::new("retries without a wait", &[DOWN, DOWN, GOOD])
            .policy(|policy| policy.base(NOW))
            .ends(Ok(17), &[NOW, NOW, NOW]),
        Scenario::new("an unsent attempt pays too", &[REFUSED, REFUSED])
            .tokens(1)
            .ends(Err(StopReason::BudgetExhausted), &[NOW, at(100)]),
    ]
}

/// The service of a scenario.
struct Service<'a> {
    clock: &'a FakeSleeper,
    script: &'a Script,
    served: Mutex<Vec<(Duration, Attempt)>>,
}

impl Service<'_> {
    fn serve(&self, attempt: Attempt) -> Result<u32, Fault> {
        let mut served = self.served.lock().unwrap();
        let step = served.len();
        served.push((now(self.clock), attempt));
        let (took, answer) = self.script[step];
        self.clock.advance(took);
        answer
    }
}

fn now(clock: &FakeSleeper) -> Duration {
    Duration::from_nanos(clock.now().as_nanos())
}

/// One way to make a call.
type Driver = fn(&Watched, &CallOptions, &Service<'_>) -> Result<u32, (StopReason, u32)>;

const DRIVERS: [(&str, Driver); 6] = [
    ("async", in_async_engine),
    ("blocking", in_blocking_engine),
    ("loop", in_async_loop),
    ("blocking loop", in_blocking_loop),
    ("without futures", by_the_first_attempt),
    ("sans-IO", sans_io),
];

macro_rules! with_options {
    ($call:expr, $options:expr) => {{
        let call = $call.operation($options.operation);
        let call = match $options.attempts {
            Some(attempts) => call.attempts(attempts),
            None => call,
        };
        match $options.deadline {
            Some(deadline) => call.deadline(deadline),
            None => call,
        }
    }};
}

fn in_async_engine(
    watched: &Watched,
    options: &CallOptions,
    service: &Service<'_>,
) -> Result<u32, (StopReason, u32)> {
    let call = watched
        .retrier
        .retry(|attempt| async move { service.serve(attempt) });
    ready(with_options!(call, options)).map_err(|gave_up| (gave_up.reason(), gave_up.attempts()))
}

fn in_blocking_engine(
    watched: &Watched,
    options: &CallOptions,
    service: &Service<'_>,
) -> Result<u32, (StopReason, u32)> {
    let call = watched.retrier.blocking(|attempt| service.serve(attempt));
    let result = with_options!(call, options).call();
    result.map_err(|gave_up| (gave_up.reason(), gave_up.attempts()))
}

fn in_async_loop(
    watched: &Watched,
    options: &CallOptions,
    service: &Service<'_>,
) -> Result<u32, (StopReason, u32)> {
    ready(async {
        let mut call = watched.retrier.call().options(*options);
        while let Some(attempt) = call.next().await {
            match service.serve(attempt) {
                Ok(answer) => return Ok(call.success(answer)),
                Err(fault) => call.failure(fault),
            }
        }
        let gave_up = call.gave_up();
        Err((gave_up.reason(), gave_up.attempts()))
    })
}

fn in_blocking_loop(
    watched: &Watched,
    options: &CallOptions,
    service: &Service<'_>,
) -> Result<u32, (StopReason, u32)> {
    let mut call = watched.retrier.call().options(*options);
    while let Some(attempt) = call.next_blocking() {
        match service.serve(attempt) {
            Ok(answer) => return Ok(call.success(answer)),
            Err(fault) => call.failure(fault),
        }
    }
    let gave_up = call.gave_up();
    Err((gave_up.reason(), gave_up.attempts()))
}

fn by_the_first_attempt(
    watched: &Watched,
    options: &CallOptions,
    service: &Service<'_>,
) -> Result<u32, (StopReason, u32)> {
    let call = watched.retrier.engine().options(*options);
    let result = by_first_attempt(&watched.retrier, call, |attempt| service.serve(attempt));
    result.map_err(|gave_up| (gave_up.reason(), gave_up.attempts()))
}

/// As a driver of another kind, such as a simulator, would.
fn sans_io(
    watched: &Watched,
    options: &CallOptions,
    service: &Service<'_>,
) -> Result<u32, (StopReason, u32)> {
    let clock = &watched.clock;
    let mut random = SplitMix64::new(7);
    let mut call = Call::begin(&watched.retrier, *options, Scope::NONE, clock.now());
    loop {
        let attempt = call
            .start(clock.now(), &mut || 0)
            .map_err(|reason| (reason, call.attempt_number()))?;
        let verdict = match service.serve(attempt) {
            Ok(answer) => {
                call.on_outcome(clock.now(), Verdict::Success, &mut random);
                return Ok(answer);
            }
            Err(Fault(failure)) => Verdict::Failure(failure),
        };
        match call.on_outcome(clock.now(), verdict, &mut random) {
            Decision::RetryIn(delay) => clock.advance(delay),
            Decision::Stop(reason) => return Err((reason, call.attempt_number())),
            other => panic!("{other:?} after a failure"),
        }
    }
}

#[test]
fn every_driver_takes_the_same_decisions() {
    for scenario in scenarios() {
        let mut told = None;
        for (driver, drive) in DRIVERS {
            let context = format!("{}, {driver}", scenario.name);
            let clock = FakeSleeper::auto();
            let watched = watched(&clock, scenario.policy.clone(), scenario.tokens);
            let service = Service {
                clock: &clock,
                script: &scenario.script,
                served: Mutex::default(),
            };
            let ended = drive(&watched, &scenario.options, &service);

            let served = service.served.into_inner().unwrap();
            let attempts = u32::try_from(served.len()).unwrap();
            let expected = scenario.ended.map_err(|reason| (reason, attempts));
            assert_eq!(ended, expected, "{context}");
            let starts: Vec<_> = served.iter().map(|(start, _)| *start).collect();
            assert_eq!(starts, scenario.starts, "{context}: starts");
            let remaining: Vec<_> = served.iter().filter_map(|(_, a)| a.remaining()).collect();
            assert_eq!(remaining, scenario.remaining, "{context}: remaining");
            for (number, (_, attempt)) in (1..).zip(&served) {
                assert_eq!(attempt.number(), number, "{context}: numbers");
                assert_eq!(
                    attempt.key(),
                    scenario.options.operation.key(),
                    "{context}: key"
                );
            }

            let book = watched.ledger.book();
            assert_eq!(book.first_tries, 1, "{context}: one first try");
            let succeeded = u32::from(scenario.ended.is_ok());
            assert_eq!(book.deposits, succeeded, "{context}: once a success");
            assert_eq!(book.spent(), scenario.spent, "{context}: spent");
            assert_eq!(
                book.tokens,
                scenario.tokens - scenario.spent,
                "{context}: left"
            );
            assert_eq!(watched.retrier.waiting(), 0, "{context}: waiting");
            if driver != "sans-IO" {
                let seen = watched.journal.seen();
                assert_eq!(
                    *told.get_or_insert_with(|| seen.clone()),
                    seen,
                    "{context}: events"
                );
            }
        }
    }
}

/// The table proves nothing about events if every engine is silent.
#[test]
fn the_engines_of_the_table_tell_their_observer() {
    for (driver, drive) in DRIVERS
        .into_iter()
        .filter(|(driver, _)| *driver != "sans-IO")
    {
        let clock = FakeSleeper::auto();
        let watched = watched(&clock, fixed(100 * MS), 10);
        let service = Service {
            clock: &clock,
            script: &[DOWN, GOOD],
            served: Mutex::default(),
        };
        drive(&watched, &CallOptions::new(), &service).expect("an answer");
        let seen = [
            Seen::Attempt(1, NOW),
            Seen::Retry(2, at(100)),
            Seen::Attempt(2, at(100)),
            Seen::Recovered(2, at(100)),
        ];
        assert_eq!(watched.journal.seen(), seen, "{driver}");
    }
}
