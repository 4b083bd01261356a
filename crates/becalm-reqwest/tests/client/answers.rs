//! What does the caller get at the end, and what is held until then?

use std::time::Duration;

use becalm::classify::Verdict;
use becalm::http::Answer;
use becalm::run::{Last, Stopped};
use becalm::{Attempt, Effect, Failure, Jitter, Policy, StopReason};
use becalm_http_faults::{Does, Server, Version, bytes, quick, retrier, within};

use reqwest::Method;

use crate::clients::{VERSIONS, client, client_builder};

#[tokio::test]
async fn the_last_answer_comes_back_as_it_came_with_a_record_of_the_call() {
    for (status, reason, attempts) in [
        (503, StopReason::AttemptsExhausted, 4),
        (429, StopReason::AttemptsExhausted, 4),
        (404, StopReason::Permanent, 1),
    ] {
        let server = Server::start(Version::Http1, [0; 4].map(|_| Does::Answer(status))).await;
        let sent = client(Version::Http1, 0).get(server.url()).send();
        let answer = within(sent).await.expect("an answer");
        assert_eq!(answer.status(), status);
        let stopped = answer.extensions().get::<Stopped>().expect("a record");
        assert_eq!((stopped.reason(), stopped.attempts()), (reason, attempts));
        assert_eq!(server.count(), attempts as usize);
        assert_eq!(answer.bytes().await.expect("a body"), bytes(2));
    }
}

#[tokio::test]
async fn a_success_has_no_record_but_the_number_of_its_attempt() {
    for failures in [0, 1, 3] {
        let server = Server::start(Version::Http1, vec![Does::Answer(503); failures]).await;
        for is_whole in [false, true] {
            let mut request = client(Version::Http1, 0).get(server.url());
            if is_whole {
                request = request.whole();
            }
            let failures = if is_whole { 0 } else { failures };
            let answer = within(request.send()).await.expect("an answer");
            assert!(answer.extensions().get::<Stopped>().is_none());
            let attempt = answer.extensions().get::<Attempt>();
            let made = attempt.map_or(1, |attempt| attempt.number() as usize);
            assert_eq!((made, answer.status().as_u16()), (failures + 1, 200));
        }
        assert_eq!(server.count(), failures + 2);
    }
}

#[tokio::test]
async fn the_last_answer_is_an_error_where_the_client_says_so() {
    let server = Server::start(Version::Http1, [Does::Answer(404)]).await;
    let client = client_builder(&quick())
        .answers_are_errors()
        .build()
        .expect("a client");
    let gave_up = within(client.get(server.url()).send())
        .await
        .expect_err("a 404");
    assert_eq!(gave_up.reason(), StopReason::Permanent);
    let status = gave_up.error().and_then(reqwest::Error::status);
    assert_eq!(status, Some(reqwest::StatusCode::NOT_FOUND));
}

#[tokio::test]
async fn what_the_server_says_about_time_is_kept_or_ends_the_call() {
    for (name, value, reason) in [
        ("retry-after", "3600", StopReason::HintTooLong),
        ("x-should-retry", "false", StopReason::DoNotRetry),
    ] {
        for status in [429, 503] {
            let does = Does::AnswerWith(status, name, value.to_owned());
            let server = Server::start(Version::Http1, [does]).await;
            let sent = client(Version::Http1, 0).get(server.url()).send();
            let answer = within(sent).await.expect("an answer");
            assert_eq!((answer.status().as_u16(), server.count()), (status, 1));
            let stopped = answer.extensions().get::<Stopped>().expect("a record");
            assert_eq!(stopped.reason(), reason);
        }
    }

    let does = Does::AnswerWith(503, "retry-after", "1".to_owned());
    let server = Server::start(Version::Http1, [does]).await;
    let began = std::time::Instant::now();
    let sent = client(Version::Http1, 0).get(server.url()).send();
    assert_eq!(within(sent).await.expect("an answer").status(), 200);
    assert!(began.elapsed() >= Duration::from_secs(1));
}

#[tokio::test]
async fn what_a_server_forbids_is_forbidden_to_the_layers_above() {
    for (does, reason, requests) in [
        (
            Does::AnswerWith(503, "x-should-retry", "false".to_owned()),
            StopReason::DoNotRetry,
            1,
        ),
        (Does::Answer(500), StopReason::AttemptsExhausted, 4 + 3),
    ] {
        let server = Server::start(Version::Http1, vec![does; 20]).await;
        let client = client(Version::Http1, 0);
        let outer = retrier(&quick());
        let calls = outer.retry(|_| async {
            let answer = client.get(server.url()).send().await;
            let status = answer.map_err(std::io::Error::other)?.status();
            Err::<(), _>(std::io::Error::other(status.to_string()))
        });
        let gave_up = within(calls).await.expect_err("it fails");
        assert_eq!((gave_up.reason(), server.count()), (reason, requests));
    }
}

#[tokio::test]
async fn what_never_connected_is_an_error_and_proved_unsent() {
    let server = Server::start(Version::Http1, []).await;
    for url in [server.url(), server.url().replace("shop", "nowhere")] {
        let sent = client(Version::Http1, 9).post(url).send();
        let gave_up = within(sent).await.expect_err("nobody listens");
        assert_eq!(gave_up.reason(), StopReason::AttemptsExhausted);
        assert!(matches!(gave_up.last(), Last::Error(error) if error.is_connect()));
        let mut records = gave_up.records();
        assert!(records.all(|record| record.effect == Effect::Unsent));
    }
    assert_eq!(server.count(), 0);
}

#[tokio::test]
async fn a_request_that_cannot_be_built_is_reqwests_own_error() {
    let sent = client(Version::Http1, 0).get("no URL").send();
    let gave_up = within(sent).await.expect_err("no URL");
    assert_eq!(
        (gave_up.reason(), gave_up.attempts()),
        (StopReason::Permanent, 1)
    );
    assert!(gave_up.error().is_some_and(reqwest::Error::is_builder));
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_repeated_where_it_is_asked_for_whole_and_that_is_safe() {
    for version in VERSIONS {
        for (at, is_length_told) in [(0, true), (1, true), (63, true), (0, false), (64, false)] {
            for (method, is_whole, expected) in [
                (Method::GET, true, 2),
                (Method::PUT, true, 2),
                (Method::POST, true, 1),
                (Method::GET, false, 1),
            ] {
                let breaks = Does::BreakAt { at, is_length_told };
                let server = Server::start(*version, [breaks]).await;
                let mut request = client(*version, 0).request(method.clone(), server.url());
                if is_whole {
                    request = request.whole();
                }
                let ended = within(request.send()).await;
                let case = format!("{method}, {is_whole}, {at}, {is_length_told}, {version:?}");
                assert_eq!(server.count(), expected, "{case}");
                match ended {
                    Ok(answer) => {
                        assert_eq!(answer.url().as_str(), server.url(), "{case}");
                        assert!(answer.headers().contains_key("date"), "{case}");
                        let body = answer.bytes().await.ok();
                        assert_eq!(body, is_whole.then(|| bytes(2)), "{case}");
                    }
                    Err(gave_up) => assert!(gave_up.error().is_some() && expected == 1, "{case}"),
                }
            }
        }
    }
}

#[tokio::test]
async fn an_answer_that_is_asked_for_whole_has_its_body_within_the_time_out_of_its_attempt() {
    let script = [
        Does::CloseInResponse,
        Does::AnswerWith(200, "x-page", "17".to_owned()),
    ];
    let server = Server::start(Version::Http1, script).await;
    let policy = quick().attempt_timeout(Duration::from_millis(500));
    let client = client_builder(&policy).build().expect("a client");
    let sent = client.get(server.url()).whole().send();
    let answer = within(sent).await.expect("an answer");
    assert_eq!(answer.headers()["x-page"], "17");
    assert_eq!(answer.content_length(), Some(0));
}

async fn accepted(length: usize) -> usize {
    let reject = Does::RejectWith(length);
    let server = Server::start(Version::Http1, [reject.clone(), reject]).await;
    // Waits longer than it takes to read a rejection.
    let policy = Policy::fixed(Duration::from_millis(300)).jitter(Jitter::None);
    let client = client_builder(&policy).build().expect("a client");
    let answer = within(client.get(server.url()).send())
        .await
        .expect("an answer");
    assert_eq!((answer.status().as_u16(), server.count()), (200, 3));
    server.accepted()
}

#[tokio::test]
async fn a_short_rejection_is_read_to_its_end_and_a_long_one_closes() {
    assert_eq!(accepted(10 << 20).await, 3);
    // On a busy machine what is short may be slow.
    for _ in 0..5 {
        if accepted(10 * 1024).await == 1 {
            return;
        }
    }
    panic!("its connection never served again");
}

#[tokio::test]
async fn an_answer_before_a_time_out_leaves_its_status() {
    let server = Server::start(Version::Http1, [Does::Answer(503), Does::Stall]).await;
    let policy = quick().attempts(2).attempt_timeout(Duration::from_secs(2));
    let client = client_builder(&policy).build().expect("a client");
    let gave_up = within(client.get(server.url()).send())
        .await
        .expect_err("no last answer");
    assert!(matches!(gave_up.last(), Last::AttemptTimeout));
    let status = gave_up.error().and_then(reqwest::Error::status);
    assert_eq!(status, Some(reqwest::StatusCode::SERVICE_UNAVAILABLE));
}

#[tokio::test]
async fn a_judge_of_answers_is_heard_before_http() {
    let does = || {
        let stale = Does::AnswerWith(200, "x-stale", "1".to_owned());
        [stale, Does::Answer(404), Does::Answer(409)]
    };
    for is_whole in [false, true] {
        let server = Server::start(Version::Http1, does()).await;
        let judged = client_builder(&quick()).judge(move |answer| {
            let is_read = answer.status == 200 && is_whole;
            assert_eq!(answer.body.is_some(), is_read);
            match answer.status.as_u16() {
                404 => Some(Failure::transient().into()),
                409 => Some(Verdict::Success),
                _ => answer
                    .headers
                    .get("x-stale")
                    .map(|_| Failure::transient().into()),
            }
        });
        let mut request = judged.build().expect("a client").get(server.url());
        if is_whole {
            request = request.whole();
        }
        let answer = within(request.send()).await.expect("an answer");
        assert_eq!((answer.status().as_u16(), server.count()), (409, 3));
    }
}

#[tokio::test]
async fn the_last_answer_that_a_judge_refuses_by_its_body_comes_back_as_it_came() {
    let server = Server::start(Version::Http1, []).await;
    let refuses = |answer: &Answer<'_>| {
        Some(Failure::throttled().into()).filter(|_| answer.body == Some(&bytes(2)))
    };
    let judged = client_builder(&quick())
        .judge(refuses)
        .build()
        .expect("a client");
    let sent = judged.get(server.url()).whole().send();
    let answer = within(sent).await.expect("an answer");
    let stopped = answer.extensions().get::<Stopped>().expect("a record");
    assert_eq!((stopped.attempts(), server.count()), (4, 4));
    assert_eq!(answer.bytes().await.expect("a body"), bytes(2));
}
