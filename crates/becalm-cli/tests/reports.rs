//! What do people read of `becalm plan`, `presets`, `check` and `fit`, from the first line to the last?
//!
//! The reports are files of `snapshots/`. `INSTA_UPDATE=always cargo nextest run -p becalm-cli --test reports` writes them anew: read the
//! difference before you keep it.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use insta::assert_snapshot;

/// What the command prints, run in a folder.
fn told(folder: &Path, arguments: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_becalm"))
        .args(arguments.split(' '))
        .current_dir(folder)
        .output()
        .expect("the binary starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "becalm {arguments}: {stderr}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn here(arguments: &str) -> String {
    told(Path::new(env!("CARGO_MANIFEST_DIR")), arguments)
}

#[test]
fn a_plan_reads_as_it_did() {
    assert_snapshot!("plan_default", here("plan"));
    assert_snapshot!(
        "plan_deadline",
        here("plan --attempts 8 --base 1s --deadline 6s --attempt-timeout 2s")
    );
    assert_snapshot!(
        "plan_every_guard",
        here(
            "plan --throttle accepts:4 --rate cubic,max-wait:5s --budget ratio:0.1+per-minute:60 --hedge p90,copies:2 \
             --bulkhead calls:50,waiting:10 --breaker share:0.5,within:10s,min:20 --attempt-timeout 2s"
        )
    );
    assert_snapshot!("presets", here("presets grpc envoy"));
}

#[test]
fn a_check_reads_as_it_did() {
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("../becalm-check/tests/golden");
    for name in ["istio.yaml", "nginx.conf", "aws-config.ini"] {
        let (stem, _) = name.split_once('.').expect("a name with its end");
        assert_snapshot!(
            format!("check_{stem}"),
            told(&files, &format!("check {name}"))
        );
    }
}

/// Four workers of 20 ms on average at 150 requests a second, by draws that are the same everywhere.
fn log() -> String {
    let mut state = 7_u64;
    let mut draw = |mean: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % (2 * mean)
    };
    let mut free = [0_u64; 4];
    let mut log = String::from("start_us,duration_us,status\n");
    let mut start = 1_760_000_000_000_000_u64;
    for _ in 0..6000 {
        start += draw(6_667);
        let worker = free.iter_mut().min().expect("there are four");
        *worker = start.max(*worker) + draw(20_000);
        let _ = writeln!(log, "{start},{},200", *worker - start);
    }
    log
}

#[test]
fn a_fit_reads_as_it_did() {
    let folder = tempfile::tempdir().expect("a directory");
    std::fs::write(folder.path().join("access.csv"), log()).expect("a file");
    assert_snapshot!("fit", told(folder.path(), "fit --one-pool access.csv"));
}
