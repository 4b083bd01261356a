//! What is broken when the drill, or what breaks for it, is killed at any moment? Nothing.

use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use becalm::rng::{Random, SplitMix64};

use super::service::Service;
use super::stopped::{Waiting, watchdog};
use super::{Client, PATIENCE, Proxy, until};
use crate::drill;

/// Moments at which it is tried, drawn from 0 to 3 ms after an order was given: before, while and after it is obeyed.
const MOMENTS: u64 = 20;

fn moments() -> impl Iterator<Item = Duration> {
    let mut draws = SplitMix64::new(14);
    (0..MOMENTS).map(move |_| Duration::from_micros(draws.next_u64() % 3_000))
}

/// Waits more exactly than a sleep does.
fn spin(time: Duration) {
    let began = Instant::now();
    while began.elapsed() < time {
        std::hint::spin_loop();
    }
}

#[test]
fn a_proxy_passes_everything_on_when_the_drill_was_killed_at_any_moment() {
    let service = Service::start();
    for (number, moment) in moments().enumerate() {
        let fault = ["hold", "reset", "status:503", "loss:1", "delay:1h"][number % 5];
        let mut proxy = Proxy::start(fault, service.address, "Http");
        let mut held = proxy.connect();
        proxy.helper.say("Begin");
        held.get("held");
        spin(moment);
        proxy.helper.drill_dies();
        until(format_args!("all passes, {fault}, {moment:?}"), || {
            let mut client = proxy.connect();
            client.get("after");
            let mut first = [0; 12];
            std::io::Read::read_exact(&mut client.0, &mut first).is_ok()
                && &first == b"HTTP/1.1 200"
        });
        if matches!(fault, "hold" | "delay:1h") {
            assert_eq!(held.answer().0, 200, "{fault}, {moment:?}");
        }
        assert!(!proxy.helper.ended(), "it goes on until it is stopped");
    }
}

#[test]
fn a_service_is_whole_when_the_proxy_was_killed_at_any_moment() {
    let service = Service::start();
    for moment in moments() {
        let mut proxy = Proxy::start("hold", service.address, "Http");
        let mut held = proxy.connect();
        held.get("held");
        proxy.helper.say("Begin");
        spin(moment);
        proxy.helper.child.kill().unwrap();
        proxy.helper.child.wait().unwrap();
        let mut client = super::Client::to(service.address);
        client.get("direct");
        assert_eq!(client.answer().0, 200);
    }
}

#[test]
fn nobody_stands_still_when_the_drill_was_killed_at_any_moment() {
    let waiting = Waiting::start();
    for moment in moments() {
        let mut watchdog = watchdog(waiting.id(), "Children", PATIENCE);
        watchdog.say("Begin");
        spin(moment);
        watchdog.drill_dies();
        until("the watchdog has ended", || watchdog.ended());
        assert_eq!(waiting.standing(), 0, "{moment:?}");
    }
}

#[test]
fn a_proxy_that_nobody_needs_any_more_ends_by_itself() {
    let service = Service::start();
    let mut proxy = Proxy::start("hold", service.address, "Http");
    let mut client = proxy.connect();
    client.get("one");
    assert_eq!(client.answer().0, 200);
    proxy.helper.drill_dies();
    // Ten seconds after the last connection, and not while there is one.
    drop(client);
    until("it has ended", || proxy.helper.ended());
}

/// The processes of a drill that was killed end by themselves, or serve those who know their address; a test leaves none.
struct Orphan(String);

impl Drop for Orphan {
    fn drop(&mut self) {
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let line = std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
            let id = entry.file_name().to_str().and_then(|it| it.parse().ok());
            if let (Some(id), true) = (
                id,
                line.starts_with("becalm-drill-") && line.contains(&self.0),
            ) {
                let _ = kill(Pid::from_raw(id), Signal::SIGTERM);
            }
        }
    }
}

#[test]
fn a_whole_drill_that_was_killed_at_any_moment_leaves_no_fault_and_nobody_standing() {
    let service = Service::start();
    let url = format!("http://{}/", service.address);
    let folder = tempfile::tempdir().unwrap();
    let mut draws = SplitMix64::new(20);
    let began = Instant::now();
    // All at once, each killed at a moment of its own: before its fault begins, and while it lasts.
    let drills = (0..MOMENTS).map(|number| {
        let waiting = Waiting::start();
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let listen = free.local_addr().unwrap();
        drop(free);
        let place = if number % 2 == 0 {
            [
                "--pid".into(),
                waiting.id().to_string(),
                "--fault".into(),
                "stop:children".into(),
            ]
        } else {
            let leads = format!("{listen}=http://{}", service.address);
            [
                "--dependency".into(),
                leads,
                "--fault".into(),
                "hold".into(),
            ]
        };
        let mut command = drill(folder.path());
        command.args([
            "--target",
            &url,
            "--quiet",
            "--no-html",
            "--load",
            "40",
            "--client-timeout",
            "10s",
        ]);
        command
            .args(["--before", "1s", "--trigger", "60s", "--after", "3s"])
            .args(place);
        let child = command.spawn().expect("the drill starts");
        let moment = Duration::from_millis(500 + draws.next_u64() % 2_500);
        (moment, child, waiting, listen, number % 2 == 1)
    });
    let mut drills: Vec<_> = drills.collect();
    drills.sort_by_key(|it| it.0);
    for (moment, child, waiting, _, is_dependency) in &mut drills {
        std::thread::sleep(moment.saturating_sub(began.elapsed()));
        if moment.as_millis() % 3 == 0 && !*is_dependency {
            until("its fault has begun", || waiting.standing() == 4);
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    for (moment, _, waiting, listen, is_dependency) in drills {
        until(format_args!("none stands still after {moment:?}"), || {
            waiting.standing() == 0
        });
        let _orphan = Orphan(listen.to_string());
        // One that had not begun to listen does not begin any more.
        if is_dependency && std::net::TcpStream::connect(listen).is_ok() {
            let mut client = Client::to(listen);
            client.get("after");
            assert_eq!(client.answer().0, 200, "{moment:?}");
        }
    }
}
