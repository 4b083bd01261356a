//! Do samples lie within the plan, and repeat with their seed?

use super::{becalm, plan, retries, stdout};

fn samples(flags: &str) -> Vec<Vec<f64>> {
    let text = stdout(&format!("plan {flags}"));
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a JSON array"))
        .collect()
}

#[test]
fn samples_lie_within_the_plan() {
    for flags in [
        "",
        "--jitter decorrelated --cap 1s",
        "--jitter equal --floor 60ms",
    ] {
        let flags = format!("--attempts 8 {flags}");
        let bounds = retries(&plan(&flags));
        let sequences = samples(&format!("--sample 200 {flags}"));
        assert_eq!(sequences.len(), 200);
        for sequence in sequences {
            assert_eq!(sequence.len(), 7, "{flags}");
            for (delay, [_, least, _, most]) in sequence.into_iter().zip(&bounds) {
                assert!(*least <= delay && delay <= *most, "{flags}: {delay}");
            }
        }
    }
}

#[test]
fn samples_are_reproducible_by_seed_and_otherwise_independent() {
    let seeded = stdout("plan --sample 20 --seed 7");
    assert_eq!(seeded, stdout("plan --sample 20 --seed 7"));
    assert_ne!(seeded, stdout("plan --sample 20 --seed 8"));
    let unseeded = stdout("plan --sample 20");
    assert_ne!(unseeded, stdout("plan --sample 20"));
    for text in [seeded, unseeded] {
        let mut lines: Vec<_> = text.lines().collect();
        lines.sort_unstable();
        lines.dedup();
        assert_eq!(lines.len(), 20, "two calls draw the same delays");
    }
}

#[test]
fn samples_are_bounded() {
    let unlimited = samples("--sample 5 --attempts unlimited");
    assert!(unlimited.iter().all(|sequence| sequence.len() == 20));
    for sequence in samples("--sample 50 --attempts unlimited --deadline 2s --jitter equal") {
        assert!(sequence.iter().sum::<f64>() < 2000.0, "{sequence:?}");
    }
    for count in ["0", "100001", "-1", "many"] {
        let refused = becalm(&format!("plan --sample {count}"));
        assert_eq!(refused.status.code(), Some(2), "{count}");
        assert!(
            String::from_utf8_lossy(&refused.stderr).contains("--sample"),
            "{count}"
        );
    }
}
