//! Does a process stand still as long as it is told, and not a moment longer, whoever dies?

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use super::service::Service;
use super::{Client, Gunicorn, Helper, PATIENCE, duration, until};

const NAME: &str = "becalm-drill-watchdog";

/// Processes that wait. Dropped, they and all that they have started end.
pub struct Waiting(pub Child);

impl Waiting {
    /// A shell with two children of which one has another.
    pub fn start() -> Self {
        // In a session of its own, as a service is: those of the test's would be continued by the system when it ends (_exit(2)).
        let mut shell = Command::new("setsid");
        shell.args(["/bin/sh", "-c", "sleep 1000 & (sleep 1000; true) & wait"]);
        let started = Self(shell.stdin(Stdio::null()).spawn().unwrap());
        // A shell that has not begun its command yet does not stand still while it waits for that (vfork(2)).
        let is_sleep = |id: &i32| {
            fs::read_to_string(format!("/proc/{id}/comm")).is_ok_and(|it| it.trim() == "sleep")
        };
        until("it has three descendants", || {
            let all = started.all();
            all.len() == 4 && all.iter().filter(|id| is_sleep(id)).count() == 2
        });
        started
    }

    pub fn id(&self) -> i32 {
        i32::try_from(self.0.id()).unwrap()
    }

    /// It and its descendants, which are all of its group.
    pub fn all(&self) -> Vec<i32> {
        processes()
            .filter(|id| stat(*id, 5).is_some_and(|it| it == self.id().to_string()))
            .collect()
    }

    pub fn standing(&self) -> usize {
        self.all().into_iter().filter(|id| stands(*id)).count()
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let _ = kill(Pid::from_raw(-self.id()), Signal::SIGKILL);
        let _ = self.0.wait();
    }
}

fn processes() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|it| it.file_name().to_str()?.parse().ok())
}

/// A field of proc(5), counted from 1.
pub fn stat(id: i32, field: usize) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let behind = text.rsplit(')').next()?;
    Some(behind.split_ascii_whitespace().nth(field - 3)?.to_string())
}

pub fn stands(id: i32) -> bool {
    stat(id, 3).is_some_and(|it| it == "T")
}

pub fn watchdog(id: i32, reach: &str, at_most: Duration) -> Helper {
    let started: u64 = stat(id, 22).unwrap().parse().unwrap();
    started_at(id, started, reach, at_most)
}

fn started_at(id: i32, started: u64, reach: &str, at_most: Duration) -> Helper {
    Helper::start(NAME, &brief(id, started, reach, at_most))
}

fn brief(id: i32, started: u64, reach: &str, at_most: Duration) -> Value {
    json!({"process": {"id": id, "started": started}, "reach": reach, "at_most": duration(at_most)})
}

/// Begins, and says how many it has stopped.
fn stopped(watchdog: &mut Helper) -> usize {
    let told = watchdog.ask("Begin");
    let stopped = told["Told"]["Stopped"].as_array();
    stopped.unwrap_or_else(|| panic!("{told}")).len()
}

fn done() -> Value {
    json!({"Told": "Done"})
}

#[test]
fn as_many_stand_still_as_are_within_reach() {
    for (reach, standing) in [("Process", 1), ("Children", 4), ("Group", 4)] {
        let waiting = Waiting::start();
        let mut watchdog = watchdog(waiting.id(), reach, PATIENCE);
        for _ in 0..2 {
            assert_eq!(stopped(&mut watchdog), standing);
            until(format_args!("{standing} stand still"), || {
                waiting.standing() == standing
            });
            assert_eq!(watchdog.ask("Lift"), done());
            until("none stands still", || waiting.standing() == 0);
            assert_eq!(watchdog.ask("Lift"), done(), "twice does no harm");
        }
    }
}

#[test]
fn nobody_stands_still_when_the_drill_or_its_time_is_over_or_the_watchdog_is_told_to_end() {
    for (end, at_most) in [
        ("drill", PATIENCE),
        ("time", Duration::from_millis(300)),
        ("SIGTERM", PATIENCE),
        ("SIGINT", PATIENCE),
    ] {
        let waiting = Waiting::start();
        let mut watchdog = watchdog(waiting.id(), "Children", at_most);
        stopped(&mut watchdog);
        let id = Pid::from_raw(i32::try_from(watchdog.child.id()).unwrap());
        match end {
            "drill" => watchdog.drill_dies(),
            "SIGTERM" => kill(id, Signal::SIGTERM).unwrap(),
            "SIGINT" => kill(id, Signal::SIGINT).unwrap(),
            _ => {}
        }
        until(format_args!("none stands still: {end}"), || {
            waiting.standing() == 0
        });
        if end != "time" {
            until("the watchdog has ended", || watchdog.ended());
        }
    }
}

#[test]
fn a_process_that_has_another_ones_id_is_left_alone() {
    let waiting = Waiting::start();
    let started: u64 = stat(waiting.id(), 22).unwrap().parse().unwrap();
    let mut watchdog = started_at(waiting.id(), started - 1, "Children", PATIENCE);
    let refused = watchdog.ask("Begin")["Refused"].to_string();
    assert!(refused.contains("has ended"), "{refused}");
    assert_eq!(waiting.standing(), 0);
    // Nor is it continued by one that has stopped its predecessor.
    kill(Pid::from_raw(waiting.id()), Signal::SIGSTOP).unwrap();
    until("it stands still", || waiting.standing() == 1);
    assert_eq!(watchdog.ask("Lift"), done());
    watchdog.drill_dies();
    until("the watchdog has ended", || watchdog.ended());
    assert_eq!(waiting.standing(), 1);
}

#[test]
fn who_was_stopped_by_somebody_else_is_not_continued() {
    let waiting = Waiting::start();
    let child = *waiting.all().iter().max().unwrap();
    kill(Pid::from_raw(child), Signal::SIGSTOP).unwrap();
    until("one stands still", || waiting.standing() == 1);
    let mut watchdog = watchdog(waiting.id(), "Children", PATIENCE);
    assert_eq!(stopped(&mut watchdog), 3);
    until("four stand still", || waiting.standing() == 4);
    assert_eq!(watchdog.ask("Lift"), done());
    until("one stands still", || waiting.standing() == 1);
    assert!(stands(child));
}

#[test]
fn the_drill_itself_and_who_has_started_it_are_never_stopped() {
    let own = i32::try_from(std::process::id()).unwrap();
    let mut watchdog = watchdog(own, "Process", PATIENCE);
    let refused = watchdog.ask("Begin")["Refused"].to_string();
    assert!(refused.contains("has started it"), "{refused}");
}

#[test]
fn where_one_within_reach_may_not_be_stopped_nobody_stands_still() {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("not tested: only root can start a process of another user");
        return;
    }
    let mut shell = Command::new("/bin/sh");
    shell.args([
        "-c",
        "setpriv --reuid 65534 --clear-groups sleep 1000 & wait",
    ]);
    let waiting = Waiting(shell.process_group(0).stdin(Stdio::null()).spawn().unwrap());
    let is_others =
        |id: &i32| fs::metadata(format!("/proc/{id}")).is_ok_and(|it| it.uid() == 65534);
    until("its child is another user's (setpriv(1))", || {
        waiting.all().iter().any(is_others)
    });
    // Root that may not do what root may: it needs the path under its own name, since setpriv(1) names what it runs by that.
    let folder = tempfile::tempdir().unwrap();
    symlink(env!("CARGO_BIN_EXE_becalm"), folder.path().join(NAME)).unwrap();
    let path = std::env::var("PATH").unwrap();
    let started = stat(waiting.id(), 22).unwrap().parse().unwrap();
    let mut command = Command::new("setpriv");
    command
        .args(["--bounding-set=-kill", NAME])
        .arg(brief(waiting.id(), started, "Children", PATIENCE).to_string())
        .env("PATH", format!("{}:{path}", folder.path().display()));
    let mut watchdog = Helper::of(command);
    let refused = watchdog.ask("Begin")["Refused"].to_string();
    assert!(refused.contains("cannot be stopped"), "{refused}");
    until("nobody stands still", || waiting.standing() == 0);
}

#[test]
fn the_drill_continues_whom_its_watchdog_had_stopped_even_if_who_started_them_is_gone() {
    let (service, waiting) = (Service::start(), Waiting::start());
    let folder = tempfile::tempdir().unwrap();
    let (url, id) = (
        format!("http://{}/", service.address),
        waiting.id().to_string(),
    );
    let mut drill = crate::drill(folder.path());
    drill.args(["--target", &url, "--quiet", "--no-html", "--load", "40"]);
    drill.args([
        "--before",
        "1s",
        "--trigger",
        "60s",
        "--client-timeout",
        "10s",
    ]);
    drill.args(["--fault", "stop:children", "--pid", &id]);
    let mut drill = drill.spawn().expect("the drill starts");
    until("its fault has begun", || waiting.standing() == 4);
    // The watchdog tells whom it has stopped, and nothing shows when the drill has heard it.
    std::thread::sleep(Duration::from_secs(1));
    let is_watchdog = |id: &i32| {
        let line = fs::read_to_string(format!("/proc/{id}/cmdline")).unwrap_or_default();
        line.starts_with(NAME) && line.contains(&format!("\"id\":{},", waiting.id()))
    };
    let watchdog = processes().find(is_watchdog).expect("a watchdog");
    for id in [watchdog, waiting.id()] {
        kill(Pid::from_raw(id), Signal::SIGKILL).unwrap();
    }
    let own = Pid::from_raw(i32::try_from(drill.id()).unwrap());
    kill(own, Signal::SIGINT).unwrap();
    assert_eq!(drill.wait().unwrap().code(), Some(130));
    until("nobody stands still", || waiting.standing() == 0);
}

#[test]
fn the_workers_of_gunicorn_stand_still_and_serve_again() {
    let Some(gunicorn) = Gunicorn::start(4, "0.010", None) else {
        return;
    };
    let id = i32::try_from(gunicorn.id()).unwrap();
    let mut watchdog = watchdog(id, "Children", PATIENCE);
    stopped(&mut watchdog);
    until("it stands still", || stands(id));
    let mut client = Client::to(gunicorn.address());
    client.get("held");
    assert_eq!(watchdog.ask("Lift"), done());
    assert_eq!(client.answer().0, 200);
}
