//! Files in the documented shapes of each system, five hundred of each: none panics, none is refused,
//! and what was written is what is read.

mod aws;
mod dotnet;
mod envoy;
mod jvm;
mod linkerd;
mod mesh;
mod mutated;
mod shapes;

use becalm_check::{Checked, File, Settings, Severity, check};
use serde_json::Value;

use shapes::{Draw, written};

const FILES: u64 = 500;

/// Reads a document in a form that is drawn, and finds no fault with its shape.
fn read(draw: &Draw, document: &Value) -> Checked {
    read_text(&written(draw, document))
}

/// Reads a file, and finds no fault with its shape.
fn read_text(text: &str) -> Checked {
    let checked = check(&[File::new("generated", text)], &Settings::default());
    for finding in &checked.findings {
        // A danger is no refusal.
        let is_refused = finding.severity == Severity::Error
            && ![
                "repeats-non-idempotent",
                "no-bound",
                "unlimited-without-budget",
            ]
            .contains(&finding.code);
        let is_misread = [
            "unknown-system",
            "not-understood",
            "key-not-read",
            "unknown-value",
            "key-twice",
        ]
        .contains(&finding.code);
        assert!(!is_refused && !is_misread, "{finding:?}\n{text}");
    }
    checked
}
