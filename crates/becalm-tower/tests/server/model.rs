//! Does a store of answers do as a model of it does, in random worlds of HTTP, gRPC and gRPC-Web?

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use becalm::rng::{Random, SplitMix64};
use becalm::time::FakeSleeper;
use becalm_tower::server::{IdempotencyLayer, MemoryStore};
use http::{HeaderMap, Request, Response};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tower::{Layer, ServiceExt, service_fn};

use crate::grpc::{self, Says};

/// How the request and its answer are written; `None` is HTTP.
type Speaks = Option<Says>;
const SPEAKS: [Speaks; 4] = [
    None,
    Some(Says::InHead),
    Some(Says::InTrailers),
    Some(Says::InBody),
];
const STATUSES: [u16; 16] = [
    200, 201, 204, 303, 400, 401, 404, 408, 409, 422, 425, 429, 500, 501, 503, 504,
];
const KEYS: u64 = 6;

/// A request: who, under which key, with which payload, and what its handler would answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Asked {
    caller: u64,
    key: u64,
    payload: u64,
    speaks: Speaks,
    code: u16,
}

/// What comes of it: status or code, whether it is a replay, which run of the handler has made it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Got {
    code: String,
    is_replay: bool,
    run: Option<u64>,
}

impl Asked {
    fn draw(random: &mut SplitMix64) -> Self {
        let mut below = |most: u64| random.next_u64() % most;
        let speaks = SPEAKS[usize::try_from(below(4)).expect("small")];
        let drawn = usize::try_from(below(16)).expect("small");
        // Codes of gRPC up to 16, and one that is none.
        let code = match speaks {
            None => STATUSES[drawn],
            Some(_) => [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]
                [drawn + usize::from(below(3) > 0)],
        };
        Self {
            caller: below(2),
            key: below(KEYS),
            payload: below(2),
            speaks,
            code,
        }
    }

    fn request(&self) -> Request<Full<Bytes>> {
        let kind = match self.speaks {
            None => "text/plain",
            Some(Says::InBody) => "application/grpc-web+proto",
            Some(_) => "application/grpc",
        };
        let request = Request::post("http://shop.example/payments")
            .header("caller", self.caller)
            .header("content-type", kind)
            .header("idempotency-key", format!("\"{}\"", self.key));
        let payload = Bytes::from(vec![b'x'; usize::try_from(self.payload).expect("small")]);
        request.body(Full::from(payload)).expect("valid")
    }

    fn answer(&self, run: u64) -> Response<BoxBody<Bytes, Infallible>> {
        let mut answer = match self.speaks {
            None => {
                let body = BoxBody::new(Full::from(run.to_string()));
                let answer = Response::builder().status(self.code);
                answer.body(body).expect("valid")
            }
            Some(says) => grpc::answer(&self.code.to_string(), says),
        };
        answer.headers_mut().insert("run", run.into());
        answer
    }

    fn is_kept(&self) -> bool {
        match self.speaks {
            None => !matches!(self.code, 401 | 408 | 425 | 429 | 500..),
            Some(_) => [0, 3, 5, 6, 7, 9, 11].contains(&self.code),
        }
    }

    /// Whether it is the same request, whatever its handler would do.
    fn is(&self, other: &Self) -> bool {
        let kind = |asked: &Self| (asked.payload, asked.speaks.map(|says| says == Says::InBody));
        kind(self) == kind(other)
    }

    /// What it gets that is not done, because of what is known; `None` where it is done.
    fn expects(&self, known: Option<&Known>) -> Option<Got> {
        Some(match known? {
            Known::Runs(first) | Known::Kept(first, _) if !first.is(self) => self.refused(422, 3),
            Known::Runs(_) => self.refused(409, 14),
            Known::Kept(first, run) => Got {
                is_replay: true,
                ..first.done(*run)
            },
        })
    }

    fn done(&self, run: u64) -> Got {
        Got {
            code: self.code.to_string(),
            is_replay: false,
            run: Some(run),
        }
    }

    fn refused(&self, status: u16, code: u16) -> Got {
        let code = if self.speaks.is_some() { code } else { status };
        Got {
            code: code.to_string(),
            is_replay: false,
            run: None,
        }
    }
}

async fn got(answer: Response<impl hyper::body::Body<Data = Bytes>>, speaks: Speaks) -> Got {
    let run =
        |headers: &HeaderMap| -> Option<u64> { headers.get("run")?.to_str().ok()?.parse().ok() };
    let run = run(answer.headers());
    let (code, is_replay) = if speaks.is_some() {
        let (code, is_replay, _) = grpc::ended(answer).await;
        (code, is_replay)
    } else {
        let is_replay = answer.headers().contains_key("idempotency-replayed");
        let status = answer.status().as_u16();
        let Ok(body) = answer.into_body().collect().await else {
            panic!("the body breaks off");
        };
        if let Some(run) = run {
            assert_eq!(body.to_bytes(), run.to_string());
        }
        (status.to_string(), is_replay)
    };
    Got {
        code,
        is_replay,
        run,
    }
}

/// What is known under a name.
enum Known {
    Runs(Asked),
    Kept(Asked, u64),
}

/// The next handler that is called does this, and not before it is told to.
type Next = Arc<Mutex<Option<(Asked, Option<oneshot::Receiver<()>>)>>>;

/// Of so many requests, how many were replayed, refused, and done.
async fn compare(seed: u64, requests: u64) -> [u64; 3] {
    let (next, runs) = (Next::default(), Arc::<AtomicU64>::default());
    let (told, counted) = (Arc::clone(&next), Arc::clone(&runs));
    let store = MemoryStore::new().clock(FakeSleeper::new());
    let layer = IdempotencyLayer::new(store)
        .caller(|head| Some(head.headers.get("caller")?.as_bytes().to_vec()));
    let service = layer.layer(service_fn(move |_| {
        let (asked, waits) = told
            .lock()
            .expect("unpoisoned")
            .take()
            .expect("one was sent");
        let run = counted.fetch_add(1, Ordering::SeqCst) + 1;
        async move {
            if let Some(waits) = waits {
                waits.await.expect("it is told");
            }
            Ok::<_, Infallible>(asked.answer(run))
        }
    }));
    let mut known: HashMap<(u64, u64), Known> = HashMap::new();
    let mut running: Vec<(Asked, u64, oneshot::Sender<()>, JoinHandle<Got>)> = Vec::new();
    let mut random = SplitMix64::new(seed);
    let mut counts = [0; 3];
    for _ in 0..requests {
        if running.len() > 3 || (!running.is_empty() && random.next_u64() % 4 == 0) {
            let at = usize::try_from(random.next_u64()).unwrap_or(0) % running.len();
            let (asked, run, tell, ends) = running.swap_remove(at);
            tell.send(()).expect("it waits");
            let expected = asked.done(run);
            assert_eq!(
                ends.await.expect("no panic"),
                expected,
                "{asked:?}, seed {seed}"
            );
            let name = (asked.caller, asked.key);
            if asked.is_kept() {
                known.insert(name, Known::Kept(asked, run));
            } else {
                known.remove(&name);
            }
        }
        let asked = Asked::draw(&mut random);
        let name = (asked.caller, asked.key);
        let expected = asked.expects(known.get(&name));
        let is_slow = expected.is_none() && random.next_u64() % 4 == 0;
        let (tell, waits) = oneshot::channel();
        *next.lock().expect("unpoisoned") = Some((asked, is_slow.then_some(waits)));
        let answer = service.clone().oneshot(asked.request());
        if is_slow {
            let before = runs.load(Ordering::SeqCst);
            let ends =
                tokio::spawn(
                    async move { got(answer.await.expect("infallible"), asked.speaks).await },
                );
            while runs.load(Ordering::SeqCst) == before {
                tokio::task::yield_now().await;
            }
            known.insert(name, Known::Runs(asked));
            running.push((asked, before + 1, tell, ends));
            counts[2] += 1;
            continue;
        }
        let got = got(answer.await.expect("infallible"), asked.speaks).await;
        if let Some(expected) = expected {
            assert_eq!(got, expected, "{asked:?}, seed {seed}");
            counts[usize::from(!got.is_replay)] += 1;
        } else {
            let run = runs.load(Ordering::SeqCst);
            assert_eq!(got, asked.done(run), "{asked:?}, seed {seed}");
            counts[2] += 1;
            if asked.is_kept() {
                known.insert(name, Known::Kept(asked, run));
            }
        }
        // A new world, or in the end nothing would be done any more.
        if random.next_u64() % 64 == 0 && running.is_empty() {
            break;
        }
    }
    counts
}

/// Worlds until there were so many requests.
async fn worlds(requests: u64) {
    let mut all = [0; 3];
    for seed in 0.. {
        let left = requests.saturating_sub(all.iter().sum());
        if left == 0 {
            break;
        }
        let counts = compare(seed, left).await;
        for (all, count) in all.iter_mut().zip(counts) {
            *all += count;
        }
    }
    println!("{} replayed, {} refused, {} done", all[0], all[1], all[2]);
    assert!(all.iter().all(|count| *count > requests / 20), "{all:?}");
}

#[tokio::test]
async fn random_worlds_do_as_the_model_does() {
    worlds(10_000).await;
}

#[tokio::test]
#[ignore = "a million requests"]
async fn in_full() {
    worlds(1_000_000).await;
}
