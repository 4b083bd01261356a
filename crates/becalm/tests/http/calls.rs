//! Whole calls over HTTP's semantics, on a fake clock: what the headers say is what is waited.
#![cfg(feature = "http")]

use std::time::{Duration, SystemTime};

use becalm::classify::{Cause, Rejected, judged};
use becalm::hint::pushback;
use becalm::http::{Exchange, operation, verdict};
use becalm::rng::Seed;
use becalm::time::FakeSleeper;
use becalm::{Budget, Failure, GaveUp, Jitter, Operation, Policy, Retrier, Sleeper, StopReason};
use http::{Request, Response};

type Answer = Response<&'static str>;
type Never = std::convert::Infallible;
type Outcome = Result<Answer, GaveUp<Rejected<Answer, Never>>>;

fn answer(status: u16, lines: &[(&str, &str)]) -> Answer {
    let start = Response::builder().status(status);
    let response = lines.iter().fold(start, |response, (name, value)| {
        response.header(*name, *value)
    });
    response.body("").unwrap()
}

/// A client whose time is fake and whose jitter is the same in every run.
struct Client {
    retrier: Retrier,
    clock: FakeSleeper,
}

impl Client {
    fn new(policy: Policy) -> Self {
        let clock = FakeSleeper::auto();
        let builder = policy.builder().sleeper(clock.clone());
        let retrier = builder.seed(Seed::fixed(7)).build().unwrap();
        Self { retrier, clock }
    }

    /// Sends a request to a server that gives these answers in turn, the last one for ever.
    #[expect(
        clippy::result_large_err,
        reason = "the answer is in the give-up, as a user has it"
    )]
    fn send(&self, request: &Request<()>, answers: &[Answer]) -> Outcome {
        let operation = operation(request.method(), request.headers());
        self.retrier
            .blocking(|attempt| {
                let turn = usize::try_from(attempt.number()).unwrap();
                let answer = answers[turn.min(answers.len()) - 1].clone();
                let exchange = Exchange::new(operation, attempt.number());
                let wall = || self.clock.wall();
                judged(Ok(answer), |result: Result<&Answer, &Never>| match result {
                    Ok(answer) => verdict(answer.status(), answer.headers(), exchange, wall),
                    Err(never) => match *never {},
                })
            })
            .operation(operation)
            .call()
    }
}

fn get() -> Request<()> {
    Request::get("/").body(()).unwrap()
}

fn post() -> Request<()> {
    Request::post("/").body(()).unwrap()
}

/// A 503 with this line, and the date from which its dates count.
fn busy(line: (&str, &str)) -> Answer {
    answer(503, &[line, ("date", "Sun, 06 Nov 1994 08:49:30 GMT")])
}

/// The waits of this many GETs that are answered by a 503 with this line, then by a 200.
fn waits(policy: Policy, line: (&str, &str), calls: usize) -> Vec<Duration> {
    let client = Client::new(policy);
    for _ in 0..calls {
        let outcome = client.send(&get(), &[busy(line), answer(200, &[])]);
        assert!(outcome.is_ok(), "{line:?}");
    }
    client.clock.slept()
}

const SEVEN_SECONDS: [(&str, &str); 8] = [
    ("retry-after", "7"),
    ("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"),
    ("retry-after", "Sunday, 06-Nov-94 08:49:37 GMT"),
    ("retry-after", "Sun Nov  6 08:49:37 1994"),
    ("retry-after-ms", "7000"),
    ("retry-after-ms", "7000.0"),
    ("x-ms-retry-after-ms", "7000"),
    ("x-amz-retry-after", "7000"),
];

/// Never early, spread on top.
#[test]
fn conformance_16_a_servers_delay_is_waited_out_with_jitter_on_top() {
    let policy = Policy::exponential(Duration::from_millis(100)).budget(Budget::None);
    for line in SEVEN_SECONDS {
        let delays = waits(policy.clone(), line, 50);
        let (least, most) = (*delays.iter().min().unwrap(), *delays.iter().max().unwrap());
        assert!(least >= Duration::from_secs(7), "{line:?}: {least:?}");
        assert!(most <= Duration::from_millis(7_700), "{line:?}: {most:?}");
        let spread = most.saturating_sub(least);
        assert!(spread > Duration::from_millis(350), "{line:?}: {spread:?}");
    }
}

/// Beyond the longest accepted hint or the deadline the call stops at once.
#[test]
fn conformance_16_a_servers_delay_that_does_not_fit_stops_the_call_at_once() {
    let short_hints = Policy::default().max_hint(Duration::from_millis(6_999));
    let short_call = Policy::default().deadline(Duration::from_secs(7));
    for policy in [short_hints, short_call] {
        for line in SEVEN_SECONDS {
            let client = Client::new(policy.clone());
            let gave_up = client.send(&get(), &[busy(line)]).unwrap_err();
            assert_eq!(gave_up.reason(), StopReason::HintTooLong, "{line:?}");
            assert_eq!(gave_up.attempts(), 1);
            assert_eq!(client.clock.slept(), []);
        }
    }
}

/// Garbage falls back to the computed delay; 10^30 seconds stop the call.
#[test]
fn conformance_17_garbage_falls_back_to_the_computed_delay() {
    let computed = Duration::from_millis(100);
    let policy = Policy::fixed(computed).jitter(Jitter::None);
    for value in ["1.5", "-1", "soon", "", "+5", "1e3"] {
        let waits = waits(policy.clone(), ("retry-after", value), 1);
        assert_eq!(waits, [computed], "{value:?}");
    }
    let patient = Client::new(policy.max_hint(Duration::from_secs(1_000_000_000)));
    let ages = busy(("retry-after", "1000000000000000000000000000000"));
    let gave_up = patient.send(&get(), &[ages]).unwrap_err();
    assert_eq!(gave_up.reason(), StopReason::HintTooLong);
    assert_eq!(patient.clock.slept(), []);
}

/// Now means now: the next attempt starts without a timer.
#[test]
fn conformance_20_a_pushback_of_0_is_not_waited_for() {
    let client = Client::new(Policy::default());
    let outcome = client
        .retrier
        .blocking(|attempt| match attempt.number() {
            1 => {
                let trailers = answer(200, &[("grpc-retry-pushback-ms", "0")]);
                let values = trailers.headers().get_all("grpc-retry-pushback-ms");
                let failure = Failure::transient().hint(pushback(values).unwrap());
                Err((failure, "pushed back"))
            }
            number => Ok(number),
        })
        .call();
    assert_eq!(outcome.unwrap(), 2);
    assert_eq!(client.clock.slept(), []);
}

/// One POST, and the reason.
#[test]
fn conformance_23_a_post_is_not_repeated_on_a_503() {
    let insisting = answer(503, &[("retry-after", "1"), ("x-should-retry", "true")]);
    let client = Client::new(Policy::default());
    let gave_up = client.send(&post(), &[insisting]).unwrap_err();
    assert_eq!(gave_up.reason(), StopReason::NotIdempotent);
    assert_eq!(gave_up.attempts(), 1);
    let last = gave_up.into_error();
    assert!(matches!(last, Some(Rejected::Value(last)) if last.status() == 503));
}

#[test]
fn a_post_is_repeated_with_a_key_or_on_proof_that_it_was_not_processed() {
    let client = Client::new(Policy::default());
    let mut keyed = post();
    let key = "\"order-17\"".parse().unwrap();
    keyed.headers_mut().insert("idempotency-key", key);
    let in_flight = [answer(503, &[]), answer(409, &[]), answer(200, &[])];
    assert!(client.send(&keyed, &in_flight).is_ok());
    let too_early = [answer(425, &[]), answer(200, &[])];
    assert!(client.send(&post(), &too_early).is_ok());
}

#[test]
fn a_conflict_on_the_first_attempt_stops_even_a_keyed_call() {
    let mut keyed = post();
    let key = "order-17".parse().unwrap();
    keyed.headers_mut().insert("idempotency-key", key);
    let outcome = Client::new(Policy::default()).send(&keyed, &[answer(409, &[])]);
    assert_eq!(outcome.unwrap_err().reason(), StopReason::Permanent);
}

#[test]
fn the_servers_word_on_retrying_counts() {
    let client = Client::new(Policy::default());
    for name in ["x-should-retry", "stripe-should-retry"] {
        let veto = client.send(&get(), &[answer(503, &[(name, "false")])]);
        assert_eq!(veto.unwrap_err().reason(), StopReason::DoNotRetry);
        let wish = [answer(400, &[(name, "true")]), answer(200, &[])];
        assert!(client.send(&get(), &wish).is_ok());
    }
}

#[test]
fn a_response_of_any_body_is_judged() {
    struct NotEvenClone;
    let response = Response::builder().status(502).body(NotEvenClone).unwrap();
    let exchange = Exchange::new(Operation::Idempotent, 1);
    let judged = verdict(
        response.status(),
        response.headers(),
        exchange,
        SystemTime::now,
    );
    let failure = Failure::transient().because(Cause::Status(502));
    assert_eq!(judged, failure.into());
}
