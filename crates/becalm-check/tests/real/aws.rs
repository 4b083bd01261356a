//! AWS SDKs: Python's botocore, of the version with the figures of 2026 and of the last one before.

use std::process::Stdio;
use std::time::Duration;

use becalm_http_faults::{Does, Server, Version, within};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::predicted::{Fails, attempts, calls, is_refused, read};
use crate::processes::{free_port, installed, is_there};

const VERSIONS: [&str; 2] = ["1.44", "1.43"];

/// A Python that makes clients of this version.
struct Botocore {
    version: &'static str,
    _process: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    directory: TempDir,
}

/// A file, of which profile a client is made, and how often it is asked for what.
#[derive(Debug)]
struct Asked<'a> {
    text: &'a str,
    profile: &'a str,
    method: &'a str,
    fails: Fails,
    calls: usize,
    draw: f64,
}

impl<'a> Asked<'a> {
    fn of(text: &'a str, method: &'a str, fails: Fails) -> Self {
        Self {
            text,
            profile: "default",
            method,
            fails,
            calls: 1,
            draw: 1.0,
        }
    }
}

/// What came of it.
struct Ended {
    is_refused: bool,
    attempts: usize,
    sleeps: Vec<f64>,
    said: Value,
}

impl Botocore {
    async fn start(version: &'static str, environment: &[(&str, &str)]) -> Option<Self> {
        let directory = TempDir::new().expect("a directory");
        let python = || {
            let mut command = Command::new(installed("pypi/bin/python"));
            command.env_clear().env("HOME", directory.path());
            command.envs(environment.iter().copied());
            command.env("AWS_EC2_METADATA_DISABLED", "true");
            if version == VERSIONS[1] {
                command.env("PYTHONPATH", installed("botocore-1.43"));
            }
            command
        };
        let check =
            format!("import botocore; assert botocore.__version__.startswith('{version}.')");
        let from = format!("PyPI's botocore {version}");
        if !is_there(python().arg("-c").arg(check), &from).await {
            return None;
        }
        let mut command = python();
        command.arg("-c").arg(include_str!("aws_client.py"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.kill_on_drop(true).spawn().expect("it runs");
        let input = process.stdin.take().expect("it is ours");
        let output = BufReader::new(process.stdout.take().expect("it is ours")).lines();
        Some(Self {
            version,
            _process: process,
            input,
            output,
            directory,
        })
    }

    fn system(&self) -> String {
        format!("aws-config@botocore-{}", self.version)
    }

    async fn ask(&mut self, asked: &Asked<'_>) -> Ended {
        let does = match asked.fails {
            Fails::Status(status) => Does::Answer(status),
            Fails::Throttles => {
                let code = "ThrottlingException".to_owned();
                Does::AnswerWith(400, "x-amzn-errortype", code)
            }
            Fails::Stalls => Does::Stall,
            _ => Does::CloseAfterRequest,
        };
        let server = Server::start(Version::Http1, vec![does; 400]).await;
        let port = match asked.fails {
            Fails::Refuses => free_port(),
            _ => server.port,
        };
        let path = self.directory.path().join("config");
        std::fs::write(&path, asked.text).expect("a file");
        let line = json!({
            "config": path, "profile": asked.profile, "port": port, "method": asked.method,
            "calls": asked.calls, "draw": asked.draw, "timeout": if asked.fails == Fails::Stalls { 0.2 } else { 30.0 },
        });
        let line = format!("{line}\n");
        self.input
            .write_all(line.as_bytes())
            .await
            .expect("it reads");
        let said = within(self.output.next_line()).await.expect("a line");
        let said: Value = serde_json::from_str(&said.expect("an answer")).expect("JSON");
        let sleeps = said["sleeps"].as_array().cloned().unwrap_or_default();
        Ended {
            is_refused: !said["refused"].is_null(),
            attempts: server.count(),
            sleeps: sleeps.iter().filter_map(Value::as_f64).collect(),
            said,
        }
    }
}

const GET: &str = "GET";
const DOWN: Fails = Fails::Status(503);

/// What stands in a profile.
const PROFILES: &[&str] = &[
    "",
    "retry_mode = legacy",
    "retry_mode = standard",
    "retry_mode = adaptive",
    "retry_mode = Standard",
    "retry_mode = standard # the default",
    "retry_mode =",
    "retry_mode = none",
    "max_attempts = 0",
    "max_attempts = 1",
    "max_attempts = 3",
    "max_attempts = 10",
    "max_attempts = 1_0",
    "max_attempts : +2",
    "Max_Attempts = 2",
    "max_attempts = -1",
    "max_attempts =",
    "max_attempts = 2.0",
    "max_attempts = three",
    "max_attempts = 3 # the first try included",
    "max_attempts = 3\n  4",
    "max_attempts = 2\nmax_attempts = 4",
    "max_attempts = 2\nMAX_ATTEMPTS = 4",
    "retry_mode = legacy\nmax_attempts = 10",
    "retry_mode = legacy\nmax_attempts = 1",
    "retry_mode = adaptive\nmax_attempts = 5",
    "max_attempt = 7",
    "s3 =\n  retry_mode = legacy\n  max_attempts = 9",
    "s3 =\n  # nothing\n  max_concurrent_requests",
    "region = eu-central-1\n  max_attempts = 9",
    "defaults_mode = standard",
    "defaults_mode = LEGACY",
    "defaults_mode = auto\nretry_mode = legacy",
    "defaults_mode = fast",
    "defaults_mode =",
];

/// Whole files, and the profile that is asked for.
const FILES: &[(&str, &str)] = &[
    (
        "[profile x]\nmax_attempts = 2\n[default]\nmax_attempts = 4\n",
        "x",
    ),
    (
        "[profile x]\nregion = x\n[default]\nretry_mode = legacy\nmax_attempts = 4\n",
        "x",
    ),
    ("[profile \"x\"]\nmax_attempts = 2\n", "x"),
    (
        "[DEFAULT]\nmax_attempts = 2\n[profile x]\nretry_mode = legacy\n",
        "x",
    ),
    (
        "[profile default]\nmax_attempts = 2\n[default]\nmax_attempts = 4\n",
        "default",
    ),
    (
        "[default]\nmax_attempts = 4\n[profile default]\nmax_attempts = 2\n",
        "default",
    ),
    (
        "  [default]\n  # a comment\n  max_attempts = 2\n",
        "default",
    ),
    (
        "[default]\n; a comment\n\nmax_attempts = 2\n[sso-session x]\nmax_attempts = 9\n",
        "default",
    ),
    (
        "[default]\nmax_attempts = 2\n[default]\nregion = x\n",
        "default",
    ),
    ("max_attempts = 2\n[default]\n", "default"),
    ("[default]\nmax_attempts\n", "default"),
    (include_str!("../files/14-aws-config.ini"), "default"),
    (include_str!("../files/14-aws-config.ini"), "batch"),
    (include_str!("../golden/aws-config.ini"), "every-field"),
];

/// How the mapping of this profile predicts it.
fn same(botocore: &Botocore, asked: &Asked<'_>, ended: &Ended) -> Result<(), String> {
    let mut checked = read(&botocore.system(), asked.text);
    // A corner of its parser: nothing is claimed, and nothing said to be safe.
    if checked.findings.iter().any(|it| it.code == "not-known") {
        let is_safe = checked.findings.iter().any(|it| it.code == "never-retries");
        assert!(!is_safe, "{asked:?}: {checked:?}");
        return Ok(());
    }
    let name = format!("profile {}", asked.profile);
    checked.mappings.retain(|it| it.name == name);
    let told = |what: String| {
        Err(format!(
            "{asked:?}: {what}, {} {:?}",
            ended.said, checked.findings
        ))
    };
    if ended.is_refused || checked.mappings.is_empty() {
        let is_said = is_refused(&checked) && checked.mappings.is_empty();
        let is_nothing = !ended.is_refused && !is_refused(&checked);
        return match ended.is_refused {
            true if !is_said => told("not refused by the mapping".to_owned()),
            false if !is_nothing => told("refused by the mapping".to_owned()),
            _ => Ok(()),
        };
    }
    let mapping = checked.mappings.first();
    let expected = match (asked.fails, asked.calls) {
        (Fails::Refuses, _) => 0,
        (fails, 1) => attempts(mapping, asked.method, fails) as usize,
        (fails, times) => calls(mapping, fails, times),
    };
    if ended.attempts != expected {
        return told(format!("{} attempts for {expected}", ended.attempts));
    }
    let mut policy = mapping.expect("a mapping").policy.clone();
    if matches!(asked.fails, Fails::Throttles | Fails::Status(429)) {
        policy.base = policy.throttled_base.unwrap_or(policy.base);
    }
    let waits = expected.saturating_sub(1).min(ended.sleeps.len());
    let waits: Vec<Duration> = policy
        .schedule()
        .take(waits)
        .map(|it| if asked.draw > 0.0 { it.most } else { it.least })
        .collect();
    let slept = ended.sleeps.iter().map(|it| Duration::from_secs_f64(*it));
    if asked.calls == 1 && asked.fails != Fails::Refuses && !slept.eq(waits.iter().copied()) {
        return told(format!("waits {:?} for {waits:?}", ended.sleeps));
    }
    Ok(())
}

async fn all(version: &'static str, asked: Vec<Asked<'_>>) {
    let Some(mut botocore) = Botocore::start(version, &[]).await else {
        return;
    };
    let mut wrong = Vec::new();
    for asked in asked {
        let ended = botocore.ask(&asked).await;
        wrong.extend(same(&botocore, &asked, &ended).err());
    }
    assert!(wrong.is_empty(), "{version}: {}", wrong.join("\n"));
}

#[tokio::test]
async fn botocore_reads_profiles_as_they_are_mapped() {
    let texts: Vec<_> = PROFILES
        .iter()
        .map(|it| format!("[default]\n{it}\n"))
        .collect();
    for version in VERSIONS {
        let profiles = texts.iter().map(|it| Asked::of(it, GET, DOWN));
        let files = FILES.iter().map(|(text, profile)| Asked {
            profile,
            ..Asked::of(text, GET, DOWN)
        });
        all(version, profiles.chain(files).collect()).await;
    }
}

#[tokio::test]
async fn botocore_repeats_what_the_mapping_says() {
    let modes = ["legacy", "standard", "adaptive"];
    let texts = modes.map(|it| format!("[default]\nretry_mode = {it}\nmax_attempts = 4\n"));
    for version in VERSIONS {
        let mut asked = Vec::new();
        for text in &texts {
            for status in [400, 404, 408, 409, 429, 500, 501, 502, 503, 504, 509] {
                // As the mapping says itself: of the version before, a bare 429.
                if !(status == 429 && version == VERSIONS[1]) {
                    asked.push(Asked::of(text, GET, Fails::Status(status)));
                }
            }
            for method in ["POST", "PUT", "DELETE"] {
                asked.push(Asked::of(text, method, DOWN));
                asked.push(Asked::of(text, method, Fails::Status(409)));
            }
            for fails in [
                Fails::Throttles,
                Fails::HangsUp,
                Fails::Stalls,
                Fails::Refuses,
            ] {
                asked.push(Asked::of(text, "POST", fails));
            }
            asked.push(Asked {
                draw: 0.0,
                ..Asked::of(text, GET, DOWN)
            });
        }
        all(version, asked).await;
    }
}

#[tokio::test]
async fn the_quota_of_botocore_is_the_budget_of_the_mapping() {
    let modes = ["legacy", "standard", "adaptive"];
    let texts = modes.map(|it| format!("[default]\nretry_mode = {it}\nmax_attempts = 10\n"));
    for version in VERSIONS {
        let mut asked = Vec::new();
        for text in &texts {
            for fails in [DOWN, Fails::Throttles] {
                asked.push(Asked {
                    calls: 30,
                    ..Asked::of(text, GET, fails)
                });
            }
        }
        all(version, asked).await;
    }
}

#[tokio::test]
async fn the_environment_overrides_the_file() {
    for version in VERSIONS {
        let environment = [("AWS_MAX_ATTEMPTS", "2"), ("AWS_RETRY_MODE", "legacy")];
        let Some(mut botocore) = Botocore::start(version, &environment).await else {
            return;
        };
        let text = "[default]\nretry_mode = standard\nmax_attempts = 7\n";
        let ended = botocore
            .ask(&Asked::of(text, GET, Fails::Status(509)))
            .await;
        assert_eq!(ended.attempts, 2, "{version}: {}", ended.said);
        let findings = read(&botocore.system(), text).findings;
        assert!(findings.iter().any(|it| it.code == "overridden"));
    }
}
