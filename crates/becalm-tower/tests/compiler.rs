//! What does rustc say where a `RetryLayer` stands over boxed errors? Its layout may change from version to version, but our words
//! are in it.

use std::fs;
use std::path::Path;
use std::process::Command;

const MANIFEST: &str = r#"
[package]
name = "boxed-errors"
edition = "2024"

[dependencies]
becalm-tower = { path = "BECALM_TOWER" }
tower = { version = "0.5", features = ["timeout", "util"] }

[workspace]
"#;

/// `BETWEEN` is what stands between the layer and the service with its boxed error, and `CALLS` what is done with the client.
const PROGRAM: &str = r"
#![allow(unused)]
use becalm_tower::bytes::Bytes;
use becalm_tower::client::{Boxed, ReplayBody, RetryLayer};
use becalm_tower::http::{Request, Response};
use becalm_tower::http_body::{Body, Frame};
use becalm_tower::{Policy, Service};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tower::ServiceBuilder;

#[derive(Debug)]
pub struct Empty;

impl Body for Empty {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(None)
    }
}

#[derive(Clone)]
pub struct Below;

impl Service<Request<ReplayBody<Empty>>> for Below {
    type Response = Response<Empty>;
    type Error = Infallible;
    type Future = std::future::Ready<Result<Response<Empty>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<ReplayBody<Empty>>) -> Self::Future {
        std::future::ready(Ok(Response::new(Empty)))
    }
}

fn takes<S: Service<Request<Empty>>>(_: S) {}

pub fn run(retrier: &becalm_tower::Retrier) {
    let mut client = ServiceBuilder::new()
        .layer(RetryLayer::new(retrier))
        BETWEEN
        .timeout(Duration::from_secs(1))
        .service(Below);
    CALLS
}
";

/// Whether it compiles, and what the compiler says.
fn compiled(between: &str, calls: &str) -> (bool, String) {
    let package = Path::new(env!("CARGO_TARGET_TMPDIR")).join("boxed-errors");
    let source = PROGRAM.replace("BETWEEN", between).replace("CALLS", calls);
    let manifest = MANIFEST.replace("BECALM_TOWER", env!("CARGO_MANIFEST_DIR"));
    fs::create_dir_all(package.join("src")).expect("a directory");
    fs::write(package.join("Cargo.toml"), manifest).expect("it writes");
    fs::write(package.join("src/lib.rs"), source).expect("it writes");
    // The versions that are there.
    let locked = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock");
    fs::copy(locked, package.join("Cargo.lock")).expect("it copies");
    let checked = Command::new(env!("CARGO"))
        .args(["check", "--offline", "--quiet", "--color=never"])
        .current_dir(&package)
        .env("CARGO_TARGET_DIR", package.join("target"))
        .output()
        .expect("cargo runs");
    let said = String::from_utf8(checked.stderr).expect("a text");
    (checked.status.success(), said)
}

#[test]
fn the_compiler_says_what_to_write_over_a_boxed_error() {
    let remedy = "put `.map_err(becalm_tower::client::Boxed::new)` right below `.layer(RetryLayer::new(..))`";
    let call = "let _ = client.call(Request::new(Empty));";
    // The first is said of the classifier, by `Classifier`; the second of the client, by `Knows`.
    for (calls, code, whose) in [
        ("takes(client);", "E0277", "does not say what the error"),
        (
            call,
            "E0599",
            "box their errors, and a boxed error is no `Error`",
        ),
    ] {
        let (compiles, said) = compiled("", calls);
        assert!(!compiles, "{said}");
        for words in [code, remedy, whose] {
            assert!(said.contains(words), "no {words} in:\n{said}");
        }
        let (compiles, said) = compiled(".map_err(Boxed::new)", calls);
        assert!(compiles, "{said}");
    }
}
