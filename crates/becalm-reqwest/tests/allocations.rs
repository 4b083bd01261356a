//! What does a request allocate that succeeds at once? What reqwest does, and a copy of its address.

use std::sync::mpsc;
use std::thread;

use allocation_counter::measure;
use becalm::Policy;
use becalm_http_faults::{Server, Version};
use tokio::runtime::{Builder, Runtime};

/// So many that some need no more than they must: in how many pieces an answer arrives is the network's affair.
const REQUESTS: usize = 200;

fn runtime() -> Runtime {
    let builder = &mut Builder::new_current_thread();
    builder.enable_all().build().expect("a runtime")
}

/// A server on a thread of its own, where nothing is counted, until the sender is dropped.
fn serve() -> (String, tokio::sync::oneshot::Sender<()>) {
    let (tells, told) = mpsc::channel();
    let (holds, held) = tokio::sync::oneshot::channel();
    thread::spawn(move || {
        runtime().block_on(async {
            let server = Server::start(Version::Http1, []).await;
            let _ = tells.send(format!("http://127.0.0.1:{}/", server.port));
            let _ = held.await;
        });
    });
    (told.recv().expect("it starts"), holds)
}

fn of_requests<F: Future<Output = bytes::Bytes>>(runtime: &Runtime, send: impl Fn() -> F) -> u64 {
    // In a box, for tokio would put one of them into one, which is larger than it likes.
    let run = || assert_eq!(runtime.block_on(Box::pin(send())).len(), 2);
    let counts = (0..REQUESTS).map(|_| measure(run).count_total);
    counts.min().expect("some")
}

#[test]
fn a_success_allocates_a_copy_of_its_address_beside_what_reqwest_does() {
    let (url, _held) = serve();
    let builder = || reqwest::Client::builder().no_proxy();
    let bare = builder().build().expect("a client");
    let retrier = Policy::default().retrier().expect("a valid policy");
    let ours = becalm_reqwest::Client::new(builder(), &retrier).expect("a client");
    let runtime = runtime();

    let of_bare = of_requests(&runtime, || async {
        let answer = bare.get(&url).send().await.expect("an answer");
        answer.bytes().await.expect("a body")
    });
    let of_ours = of_requests(&runtime, || async {
        let answer = ours.get(&url).send().await.expect("an answer");
        answer.bytes().await.expect("a body")
    });
    assert_eq!(of_ours, of_bare + 1);
}
