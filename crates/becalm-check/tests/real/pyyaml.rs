//! Is each file read that `PyYAML` reads? Files in all forms of YAML, drawn, and those with letters changed that `PyYAML` still reads.

use becalm_check::{File, Settings, check};
use tokio::process::Command;

use crate::processes::{installed, is_there};

async fn files(many: usize, seed: u32) -> Option<Vec<String>> {
    let python = || Command::new(installed("pypi/bin/python"));
    let from = "PyPI's PyYAML into target/pypi";
    if !is_there(python().args(["-c", "import yaml"]), from).await {
        return None;
    }
    let mut command = python();
    command.arg("-c").arg(include_str!("pyyaml_files.py"));
    command.arg(many.to_string()).arg(seed.to_string());
    let output = command.output().await.expect("it runs");
    let told = String::from_utf8(output.stdout).expect("a text");
    let read: Vec<String> = (told.lines())
        .map(|it| serde_json::from_str(it).expect("a text"))
        .collect();
    assert_eq!(
        read.len(),
        many,
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(read)
}

async fn are_read(many: usize, seed: u32) {
    let Some(files) = files(many, seed).await else {
        return;
    };
    let refused = files.iter().filter_map(|text| {
        let checked = check(&[File::new("a.yaml", text)], &Settings::default());
        let mut findings = checked.findings.into_iter();
        let why = findings.find(|it| it.code == "cannot-read")?;
        Some(format!("{text:?}: {}", why.sentence))
    });
    let refused: Vec<_> = refused.collect();
    assert!(
        refused.is_empty(),
        "{}\n{}",
        refused.len(),
        refused.join("\n")
    );
}

#[tokio::test]
async fn what_pyyaml_reads_is_read() {
    are_read(1500, 1).await;
}

/// `scripts/prove check`
#[tokio::test]
#[ignore = "60,000 files, by hand: scripts/prove check"]
async fn what_pyyaml_reads_is_read_in_full() {
    for seed in 2..12 {
        are_read(6000, seed).await;
    }
}
