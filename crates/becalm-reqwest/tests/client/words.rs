//! What does a call say that got no answer? All of it, down to the root cause, and nothing twice.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use becalm_http_faults::{Does, Server, Version, quick, retrier, within};
use becalm_reqwest::Client;
use reqwest::dns::{Name, Resolve, Resolving};

use crate::clients::{builder, client};

/// As anyhow's `{:#}` and others show an error.
fn chain(error: &(dyn Error + 'static)) -> String {
    let all = std::iter::successors(Some(error), |&error| error.source());
    all.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// Knows of no name.
struct NoNames;

impl Resolve for NoNames {
    fn resolve(&self, _: Name) -> Resolving {
        Box::pin(async { Err(io::Error::other("no such name").into()) })
    }
}

#[tokio::test]
async fn the_root_cause_is_in_the_sentence_once() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a socket");
    let refusing = format!("http://{}", free.local_addr().expect("an address"));
    drop(free);
    let plain = || Client::new(reqwest::Client::builder().no_proxy(), &retrier(&quick()));
    let nameless = reqwest::Client::builder()
        .no_proxy()
        .dns_resolver(Arc::new(NoNames));
    let nameless = Client::new(nameless, &retrier(&quick()));
    let cut = Server::start(Version::Http1, [const { Does::CloseAfterRequest }; 4]).await;
    for (client, url, root) in [
        (plain().expect("a client"), refusing, "Connection refused"),
        (
            nameless.expect("a client"),
            "http://shop.example".to_owned(),
            "no such name",
        ),
        (client(Version::Http1, 0), cut.url(), "connection closed"),
    ] {
        let gave_up = within(client.get(&url).send())
            .await
            .expect_err("no answer");
        let sentence = gave_up.to_string();
        assert_eq!(sentence.matches(root).count(), 1, "{sentence}");
        assert_eq!(chain(&gave_up), sentence);
    }
}

#[test]
fn what_could_not_be_built_says_why_once() {
    let wrong = reqwest::Client::builder().user_agent("two\nlines");
    let error = Client::new(wrong, &retrier(&quick())).expect_err("no header");
    assert_eq!(chain(&error), error.to_string());
    assert!(error.to_string().contains("header value"), "{error}");
}

/// The first program of the README, whose client has a time-out of its own.
#[tokio::test]
async fn a_body_that_stalls_after_its_head_ends_by_the_clients_time_out() {
    let server = Server::start(Version::Http1, [Does::CloseInResponse]).await;
    let builder = builder(Version::Http1, 0);
    let shop = Client::new(
        builder.timeout(Duration::from_millis(300)),
        &retrier(&quick()),
    );
    let sent = shop.expect("a client").get(server.url()).send();
    let answer = within(sent).await.expect("a head");
    let error = within(answer.text()).await.expect_err("the body stalls");
    assert!(error.is_timeout(), "{error}");
}

/// The words of an address are those of its caller, and say nothing of a connection.
#[tokio::test]
async fn the_address_of_a_request_does_not_say_that_its_failure_is_final() {
    let paths = [
        "orders",
        "errors/missing scheme",
        "rules/invalid-dns-name",
        "x?of=invalid server name",
    ];
    for path in paths {
        let policy = becalm::Policy::fixed(Duration::from_millis(1)).attempts(3);
        let retrier = policy.retrier().expect("a valid policy");
        let resolver = reqwest::Client::builder().no_proxy().dns_resolver(NoNames);
        let client = Client::new(resolver, &retrier).expect("a client");
        let url = reqwest::Url::parse(&format!("http://shop.example/{path}")).expect("an address");
        let gave_up = client
            .get(url)
            .send()
            .await
            .expect_err("there is no such name");
        assert_eq!(gave_up.attempts(), 3, "{path}: {gave_up}");
    }
}
