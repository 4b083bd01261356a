//! Does a store that all callers share keep what it promised to each, whatever another sends?

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use becalm::time::FakeSleeper;
use becalm_tower::server::{BufferedBody, IdempotencyLayer, MemoryStore};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Request, Response};
use tower::{Layer, Service, ServiceExt, service_fn};

type Got = Response<BufferedBody<Full<Bytes>>>;
type Runs = Arc<Mutex<HashMap<(String, String), usize>>>;

fn text(request: &Request<BufferedBody<Full<Bytes>>>, name: &str) -> String {
    let value = request.headers().get(name).expect("a header");
    value.to_str().expect("a text").to_owned()
}

/// What counts how often it has run for each user and key, and answers with the status that the request names.
fn counting(
    layer: &IdempotencyLayer<MemoryStore>,
    runs: &Runs,
) -> impl Service<Request<Full<Bytes>>, Response = Got, Error = Infallible, Future: Send> + Clone + use<>
{
    let runs = Arc::clone(runs);
    layer.layer(service_fn(move |request| {
        let of = (
            text(&request, "authorization"),
            text(&request, "idempotency-key"),
        );
        *runs.lock().expect("unpoisoned").entry(of).or_default() += 1;
        let answer = Response::builder().status(text(&request, "does").as_str());
        let answer = answer.body(Full::from(vec![7_u8; 20])).expect("valid");
        async { Ok::<_, Infallible>(answer) }
    }))
}

fn post(user: &str, key: &str, does: &str) -> Request<Full<Bytes>> {
    let request = Request::post("http://shop.example/payments")
        .header("authorization", user)
        .header("idempotency-key", format!("\"{key}\""))
        .header("does", does);
    request.body(Full::from("17 EUR")).expect("valid")
}

/// A stranger who sends many keys.
#[derive(Debug, Clone, Copy)]
struct Stranger {
    keys: usize,
    does: &'static str,
    /// The stranger calls itself by another name each time.
    has_names: bool,
}

/// How many of the payments of a hundred users, and of a hundred of one, run twice around what the stranger sends; how many
/// of the stranger's were refused; and the store.
async fn payments_twice(stranger: Stranger, store: MemoryStore) -> (usize, usize) {
    let runs = Runs::default();
    let layer = IdempotencyLayer::new(store);
    let service = counting(&layer, &runs);
    let payments: Vec<_> = (0..100)
        .map(|user| (format!("user {user}"), format!("of {user}")))
        .collect();
    let of_one = (0..100).map(|key| ("one".to_owned(), format!("one {key}")));
    let payments: Vec<_> = payments.into_iter().chain(of_one).collect();
    let pay = |does: &'static str| {
        let service = service.clone();
        let payments = payments.clone();
        async move {
            for (user, key) in &payments {
                service
                    .clone()
                    .oneshot(post(user, key, does))
                    .await
                    .expect("an answer");
            }
        }
    };
    pay("201").await;
    let refused = AtomicUsize::new(0);
    for key in 0..stranger.keys {
        let name = if stranger.has_names {
            format!("stranger {key}")
        } else {
            "stranger".to_owned()
        };
        let request = post(&name, &format!("stranger {key}"), stranger.does);
        let answer = service.clone().oneshot(request).await.expect("an answer");
        refused.fetch_add(usize::from(answer.status() == 503), Ordering::Relaxed);
    }
    pay("201").await;
    let runs = runs.lock().expect("unpoisoned");
    let twice = runs
        .iter()
        .filter(|((user, _), runs)| !user.starts_with("stranger") && **runs > 1);
    (twice.count(), refused.into_inner())
}

#[tokio::test]
async fn ten_thousand_keys_of_a_stranger_make_no_payment_run_twice() {
    for does in ["404", "405", "400", "201"] {
        for has_names in [false, true] {
            let stranger = Stranger {
                keys: 10_000,
                does,
                has_names,
            };
            let (twice, refused) = payments_twice(stranger, MemoryStore::new()).await;
            println!("{stranger:?}: {twice} of 200 payments twice, {refused} refused");
            assert_eq!(twice, 0, "{stranger:?}");
        }
    }
}

#[tokio::test]
#[ignore = "a million keys; scripts/prove strangers"]
async fn a_million_keys_of_a_stranger_make_no_payment_run_twice() {
    for (does, has_names) in [("404", false), ("201", false), ("404", true), ("201", true)] {
        let stranger = Stranger {
            keys: 1_000_000,
            does,
            has_names,
        };
        let (twice, refused) = payments_twice(stranger, MemoryStore::new()).await;
        println!("{stranger:?}: {twice} of 200 payments twice, {refused} refused");
        assert_eq!(twice, 0, "{stranger:?}");
    }
}

/// The statuses of these requests, one after another.
async fn statuses<const N: usize>(
    layer: &IdempotencyLayer<MemoryStore>,
    requests: [(&str, &str, &str); N],
) -> [u16; N] {
    let service = counting(layer, &Runs::default());
    let mut statuses = [0; N];
    for (at, (user, key, does)) in requests.into_iter().enumerate() {
        let answer = service.clone().oneshot(post(user, key, does)).await;
        statuses[at] = answer.expect("an answer").status().as_u16();
    }
    statuses
}

#[tokio::test]
async fn an_answer_under_which_nothing_was_done_is_kept_for_seconds() {
    let clock = FakeSleeper::new();
    let layer = IdempotencyLayer::new(MemoryStore::new().clock(clock.clone()));
    for does in ["400", "404", "405"] {
        let again = statuses(&layer, [("a", does, does), ("a", does, "201")]).await;
        assert_eq!(again, [does.parse::<u16>().expect("a status"); 2]);
        clock.advance(Duration::from_secs(10));
        assert_eq!(statuses(&layer, [("a", does, "201")]).await, [201]);
    }
}

#[tokio::test]
async fn who_has_most_makes_room_and_where_all_have_little_the_new_one_waits() {
    let store = MemoryStore::new().entries(4);
    let layer = IdempotencyLayer::new(store.clone());
    let fill = [
        ("a", "a1", "201"),
        ("a", "a2", "201"),
        ("a", "a3", "201"),
        ("b", "b1", "201"),
    ];
    assert_eq!(statuses(&layer, fill).await, [201; 4]);
    // The first of a's goes, and then the next.
    assert_eq!(
        statuses(&layer, [("c", "c1", "201"), ("d", "d1", "201")]).await,
        [201; 2]
    );
    assert_eq!(store.forgotten_early(), 2);
    // Now each has one, which is promised.
    assert_eq!(statuses(&layer, [("e", "e1", "201")]).await, [503]);
    let known = [
        ("a", "a3", "409"),
        ("b", "b1", "409"),
        ("c", "c1", "409"),
        ("d", "d1", "409"),
    ];
    assert_eq!(statuses(&layer, known).await, [201; 4]);
    // Who has its share makes room for itself.
    assert_eq!(
        statuses(&layer, [("d", "d2", "201"), ("d", "d2", "409")]).await,
        [201; 2]
    );
    assert_eq!(statuses(&layer, [("b", "b1", "409")]).await, [201]);
}
