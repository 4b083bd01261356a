//! Does the engine run without tokio?

use becalm_examples::smol_client::{ask, retrier};

use crate::servers::lines::{Does, LineServer};

#[test]
fn c5_a_question_is_answered_under_smol_after_a_stall_and_a_hang_up() {
    let server = LineServer::start(vec![Does::HangUp, Does::Stall]);
    let retrier = retrier().expect("a valid policy");
    let answer = smol::block_on(ask(&retrier, server.address, "are you there?"));
    assert_eq!(answer.expect("an answer"), "are you there?");
}
