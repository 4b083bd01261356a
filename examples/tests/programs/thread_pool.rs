//! Do blocking threads retry, and stop when they are told?

use std::time::Duration;

use becalm::{Policy, StopReason};
use becalm_examples::thread_pool::Pool;

use crate::LONG;
use crate::recorder::Recorder;
use crate::servers::free_port;
use crate::servers::lines::{Does, LineServer};

#[test]
fn c5_every_question_is_answered_by_a_server_that_hangs_up_and_stalls() {
    let server = LineServer::start(vec![Does::HangUp, Does::Stall, Does::HangUp]);
    let retrier = Policy::exponential(Duration::from_millis(5))
        .attempt_timeout(Duration::from_secs(1))
        .builder()
        .count_demand()
        .build()
        .expect("a valid policy");
    let pool = Pool::new(4, server.address, &retrier);
    let questions: Vec<String> = (0..12).map(|number| format!("question {number}")).collect();
    let asked: Vec<_> = questions
        .iter()
        .map(|question| pool.ask(question))
        .collect();
    for (question, answers) in questions.iter().zip(asked) {
        let answer = answers.recv_timeout(LONG).expect("a result");
        assert_eq!(answer.expect("an answer"), *question);
    }
    pool.shut_down();
    let demand = retrier.demand().expect("it is counted");
    assert_eq!((demand.first_tries, demand.attempts), (12, 15));
}

#[test]
fn a_pool_that_shuts_down_ends_the_waits_of_its_threads() {
    let (recorder, events) = Recorder::new();
    let hour = Duration::from_secs(3600);
    let retrier = Policy::fixed(hour)
        .jitter(becalm::Jitter::None)
        .builder()
        .observer(recorder)
        .build();
    let nobody = ([127, 0, 0, 1], free_port()).into();
    let pool = Pool::new(1, nobody, &retrier.expect("a valid policy"));
    let answers = pool.ask("are you there?");
    while !events
        .recv_timeout(LONG)
        .expect("a wait")
        .starts_with("Retry")
    {}
    let shut_down = std::thread::spawn(|| pool.shut_down());
    let gave_up = answers
        .recv_timeout(LONG)
        .expect("a result")
        .expect_err("nobody is");
    assert_eq!(
        (gave_up.reason(), gave_up.attempts()),
        (StopReason::Cancelled, 1)
    );
    shut_down.join().expect("all threads have ended");
}
