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
    for does in ["400", "403", "404", "405"] {
        let again = statuses(&layer, [("a", does, does), ("a", does, "201")]).await;
        assert_eq!(again, [does.parse::<u16>().expect("a status"); 2]);
        clock.advance(Duration::from_secs(10));
        assert_eq!(statuses(&layer, [("a", does, "201")]).await, [201]);
    }
}

/// Once this was so for a caller with more than its share at any time, and made-up names pushed out its payments of a moment ago.
#[tokio::test]
async fn after_ten_minutes_who_has_most_makes_room_and_before_that_the_new_one_waits() {
    let clock = FakeSleeper::new();
    let store = MemoryStore::new().entries(4).clock(clock.clone());
    let layer = IdempotencyLayer::new(store.clone());
    let fill = [
        ("b", "b1", "201"),
        ("a", "a1", "201"),
        ("a", "a2", "201"),
        ("a", "a3", "201"),
    ];
    assert_eq!(statuses(&layer, fill).await, [201; 4]);
    clock.advance(Duration::from_nanos(599_999_999_999));
    assert_eq!(statuses(&layer, [("c", "c1", "201")]).await, [503]);
    clock.advance(Duration::from_nanos(1));
    // The first of a's goes, and the next. Then each has one, and the oldest goes.
    let others = [
        ("c", "c1", "201"),
        ("d", "d1", "201"),
        ("e", "e1", "201"),
        ("f", "f1", "201"),
    ];
    assert_eq!(statuses(&layer, others).await, [201; 4]);
    assert_eq!(store.forgotten_early(), 4);
    assert_eq!(statuses(&layer, [("g", "g1", "201")]).await, [503]);
    assert_eq!(
        statuses(&layer, others.map(|(user, key, _)| (user, key, "409"))).await,
        [201; 4]
    );
    // Who has its share makes room for itself.
    assert_eq!(
        statuses(&layer, [("d", "d2", "201"), ("d", "d2", "409")]).await,
        [201; 2]
    );
    assert_eq!(statuses(&layer, [("c", "c1", "409")]).await, [201]);
}

#[tokio::test]
async fn twelve_thousand_users_of_a_day_are_all_served() {
    let clock = FakeSleeper::new();
    let layer = IdempotencyLayer::new(MemoryStore::new().clock(clock.clone()));
    for user in 0..12_000 {
        clock.advance(Duration::from_secs(7));
        let user = user.to_string();
        assert_eq!(statuses(&layer, [(&user, &user, "201")]).await, [201]);
    }
}

#[tokio::test]
async fn a_flood_of_made_up_names_ends_by_itself() {
    for (does, at_once) in [("403", 201), ("201", 503), ("302", 503), ("402", 503)] {
        let clock = FakeSleeper::new();
        let layer = IdempotencyLayer::new(MemoryStore::new().clock(clock.clone()));
        for name in 0..10_000 {
            let name = format!("made up {name}");
            statuses(&layer, [(&name, &name, does)]).await;
        }
        let honest = [("honest", "1", "201")];
        assert_eq!(statuses(&layer, honest).await, [at_once], "{does}");
        clock.advance(Duration::from_secs(600));
        assert_eq!(statuses(&layer, honest).await, [201], "{does}");
    }
}

#[tokio::test]
async fn a_merchant_with_three_shares_pays_nothing_twice_beside_made_up_names() {
    for does in ["403", "201"] {
        let (layer, runs) = (IdempotencyLayer::new(MemoryStore::new()), Runs::default());
        let service = counting(&layer, &runs);
        let payments = || (0..300).map(|key| post("merchant", &key.to_string(), "201"));
        let strangers = (0..10_000).map(|name| {
            let name = format!("made up {name}");
            post(&name, &name, does)
        });
        for request in payments().chain(strangers).chain(payments()) {
            let answer = service.clone().oneshot(request).await;
            answer.expect("infallible");
        }
        let runs = runs.lock().expect("unpoisoned");
        let of_merchant = runs.iter().filter(|((user, _), _)| user == "merchant");
        assert!(
            of_merchant.clone().count() == 300 && of_merchant.clone().all(|(_, runs)| *runs == 1),
            "{does}"
        );
    }
}
