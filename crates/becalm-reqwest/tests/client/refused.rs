//! What does HTTP/2 prove?

use becalm_http_faults::frames::{Does, NO_ERROR, REFUSED_STREAM, Server, goaway_between, proofs};
use becalm_http_faults::{Version, within};

use crate::clients::{builder, client};

#[tokio::test]
async fn a_request_that_was_refused_is_repeated_and_no_other_that_may_not_be() {
    proofs(async |url| client(Version::Http2, 0).post(url).send().await.is_ok()).await;
}

#[tokio::test]
async fn of_two_streams_a_goaway_between_them_refuses_the_second_alone() {
    let client = client(Version::Http2, 0);
    goaway_between(async |url| Box::pin(client.post(url).send()).await.is_ok()).await;
}

#[tokio::test]
async fn reqwests_own_repetitions_are_off() {
    for does in [Does::Reset(REFUSED_STREAM), Does::GoAwayBefore(NO_ERROR)] {
        let server = Server::start([does; 8]).await;
        let bare = builder(Version::Http2, 0).build().expect("a client");
        assert!(within(bare.get(&server.url).send()).await.is_err());
        assert_eq!(server.count(), 3, "of a client as reqwest builds it");

        let server = Server::start([does; 8]).await;
        let once = client(Version::Http2, 0).get(&server.url).attempts(1);
        assert!(within(once.send()).await.is_err());
        assert_eq!(server.count(), 1);
    }
}
