//! Does a server see a request once where it may not be repeated, and again where it may?

use std::sync::{Arc, Mutex};
use std::time::Duration;

use becalm::run::Last;
use becalm_http_faults::sent_once::{Case, everywhere};
use becalm_http_faults::{Does, Server, Version, bytes, quick, retrier, within};
use reqwest::Method;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::clients::{builder, client};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_method_at_every_point_over_http_1() {
    everywhere(Version::Http1, send).await;
}

#[cfg(feature = "h2")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_method_at_every_point_over_http_2() {
    everywhere(Version::Http2, send).await;
    becalm_http_faults::sent_once::refused_streams(true, send).await;
}

async fn send(case: &Case, server: &Server) {
    let client = client(case.version, case.refused());
    let mut request = client.request(case.method.clone(), server.url());
    if case.has_key {
        request = request.keyed();
    }
    if case.length > 0 {
        request = request.body(bytes(case.length));
    }
    match request.send().await {
        Ok(answer) => {
            if case.is_cut() {
                server.hang_up();
            }
            let body = answer.bytes().await;
            assert_eq!(body.is_err(), case.is_cut(), "{body:?}");
        }
        Err(gave_up) => {
            // Where a connection is closed as it opens, hyper 1.12 over HTTP/2 may wait for ever.
            let is_cut = matches!(gave_up.last(), Last::AttemptTimeout);
            assert!(is_cut || gave_up.error().is_some(), "{gave_up}");
        }
    }
}

#[tokio::test]
async fn of_reqwests_time_out_and_the_attempts_the_lesser_holds() {
    let (short, long) = (Duration::from_millis(300), Duration::from_secs(50));
    for (own, of_policy) in [(short, long), (long, short)] {
        for (method, attempts) in [(Method::PUT, 2), (Method::POST, 1)] {
            let server = Server::start(Version::Http1, [Does::Stall, Does::Stall]).await;
            let policy = quick()
                .attempt_timeout(of_policy)
                .deadline(None)
                .attempts(2);
            let own = builder(Version::Http1, 0).timeout(own);
            let client = becalm_reqwest::Client::new(own, &retrier(&policy)).expect("a client");
            let sent = client.request(method, server.url()).send();
            let gave_up = within(sent).await.expect_err("nobody answers");
            assert_eq!(gave_up.attempts(), attempts);
            if of_policy == short {
                assert!(matches!(gave_up.last(), Last::AttemptTimeout));
            } else {
                assert!(gave_up.error().is_some_and(reqwest::Error::is_timeout));
            }
        }
    }
}

/// reqwest leaves `retry_canceled_requests` of hyper-util on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pooled_connection_that_has_died_is_replaced_and_no_request_is_doubled() {
    const REQUESTS: usize = 50;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let heads = Arc::clone(&seen);
    // It closes every connection after one answer, without saying so.
    let server = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                match stream.read_u8().await {
                    Ok(byte) => head.push(byte),
                    Err(_) => break,
                }
            }
            if let Some(line) = head.split(|byte| *byte == b'\r').next() {
                heads.lock().expect("unpoisoned").push(line.to_vec());
            }
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
            let _ = stream.write_all(answer).await;
        }
    });
    let client = client(Version::Http1, 0);
    let mut answered = 0;
    for number in 0..REQUESTS {
        let request = client.post(format!("{url}/{number}")).attempts(1);
        answered += usize::from(within(request.send()).await.is_ok());
    }
    server.abort();
    let mut seen = seen.lock().expect("unpoisoned").clone();
    seen.retain(|line| !line.is_empty());
    let count = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), count, "none came twice");
    assert!(0 < answered && answered <= count);
}
