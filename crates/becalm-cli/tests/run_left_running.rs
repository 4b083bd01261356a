//! What does becalm do with what it cannot end, and with what is to live on?

#![cfg(target_os = "linux")] // setsid(1), setpriv(1), /proc

mod run_support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Instant;

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getsid};
use run_support::{Done, Folder, RunCommand, becalm, is_running};

#[test]
fn k3_what_a_command_puts_into_a_session_of_its_own_at_last_lives_on() {
    for script in [
        "setsid sleep 1000 >/dev/null 2>&1 & echo $!",
        "setsid sh -c 'exec sleep 1000' >/dev/null 2>&1 & echo $!; exit 3",
        "(setsid sleep 1000 >/dev/null 2>&1 & echo $!) & wait",
    ] {
        for _ in 0..10 {
            let done = becalm().flags("--attempts 1").sh(script);
            let id = done.out().trim().to_owned();
            assert!(is_running(&id), "{script}: {}", done.err());
            kill(Pid::from_raw(id.parse().unwrap()), Signal::SIGKILL).unwrap();
        }
    }
}

#[test]
fn k3_what_stays_in_the_group_is_ended_busy_or_not() {
    for rest in [
        "sleep 1000",
        "yes > /dev/null",
        "sh -c \"while :; do sleep 0.01; done\"",
    ] {
        let done = becalm().sh(&format!("{rest} & echo $!; exit 0"));
        assert_eq!(done.code(), 0);
        assert!(!is_running(done.out().trim()), "{rest}: {}", done.err());
    }
}

#[test]
fn k3_what_a_script_started_before_it_became_becalm_lives_on() {
    let becalm = env!("CARGO_BIN_EXE_becalm");
    let flags = "--attempts 1 --attempt-timeout 300ms --kill-after 50ms";
    let script = format!(
        "sleep 1000 >/dev/null 2>&1 & echo $!; exec {becalm} run {flags} -- sh -c 'trap \"\" TERM; while :; do sleep 0.05; done'"
    );
    let done = Command::new("sh").arg("-c").arg(script).output().unwrap();
    let id = String::from_utf8(done.stdout).unwrap().trim().to_owned();
    let told = String::from_utf8_lossy(&done.stderr);
    assert!(is_running(&id), "{told}");
    assert!(!told.contains("cannot end"), "{told}");
    kill(Pid::from_raw(id.parse().unwrap()), Signal::SIGKILL).unwrap();
}

/// becalm as another user, and a program by which that one becomes root. Only root can make both.
struct Other {
    folder: Folder,
}

impl Other {
    fn new() -> Option<Self> {
        if !nix::unistd::geteuid().is_root() {
            eprintln!("this test needs root");
            return None;
        }
        let folder = Folder::new();
        let setpriv = ["/usr/bin/setpriv", "/bin/setpriv"]
            .into_iter()
            .find(|it| fs::exists(it).unwrap());
        let place = |from: &str, name: &str, mode| {
            let to = folder.path(name);
            fs::copy(from, &to).unwrap();
            fs::set_permissions(&to, fs::Permissions::from_mode(mode)).unwrap();
        };
        place(setpriv.unwrap(), "as-root", 0o4755);
        place(env!("CARGO_BIN_EXE_becalm"), "becalm", 0o755);
        fs::create_dir(folder.path("tmp")).unwrap();
        fs::set_permissions(folder.path("tmp"), fs::Permissions::from_mode(0o1777)).unwrap();
        fs::set_permissions(folder.path(""), fs::Permissions::from_mode(0o755)).unwrap();
        Some(Self { folder })
    }

    /// A line of shell that runs becalm as that user, in which `@root` makes root of a command.
    fn line(&self, line: &str) -> String {
        let path = |name: &str| self.folder.path(name).display().to_string();
        let root = format!("{} --reuid 0 --regid 0 --clear-groups", path("as-root"));
        let other = format!(
            "env TMPDIR={} setpriv --reuid 65534 --regid 65534 --clear-groups {} run",
            path("tmp"),
            path("becalm")
        );
        let line = line.replace("@run", &other).replace("@root", &root);
        line.replace("@becalm", &path("becalm"))
    }

    fn becalm(&self) -> RunCommand {
        let words = self.line("@run");
        let mut words = words.split(' ').map(str::to_owned);
        becalm().with(|command| {
            let mut other = Command::new(words.next().unwrap());
            other.args(words).stdin(std::process::Stdio::null());
            other
                .stdout(std::process::Stdio::piped())
                .stderr(std::process::Stdio::piped());
            *command = other;
        })
    }
}

/// The processes that becalm says it left, killed by who may.
fn left(done: &Done) -> Vec<String> {
    let err = done.err();
    let told = err
        .lines()
        .find(|line| line.contains("cannot end what still runs"));
    let told = told.unwrap_or_else(|| panic!("nothing is said: {err}"));
    let ids: Vec<_> = told
        .split("process ")
        .skip(1)
        .map(|rest| rest.split(' ').next().unwrap().to_owned())
        .collect();
    for id in &ids {
        assert!(is_running(id));
        kill(Pid::from_raw(id.parse().unwrap()), Signal::SIGKILL).unwrap();
    }
    ids
}

#[test]
fn k4_what_cannot_be_signalled_is_left_in_time_and_told() {
    let Some(other) = Other::new() else { return };
    for script in [
        "echo ready; exec @root nohup sleep 1000 >/dev/null 2>&1",
        "echo ready; @root nohup sleep 1000 >/dev/null 2>&1 & wait",
    ] {
        let flags = "--base 0 --attempt-timeout 1s --kill-after 50ms";
        let done = other.becalm().flags(flags).sh(&other.line(script));
        assert_eq!(
            (done.code(), done.out().as_str()),
            (124, "ready\n"),
            "{}",
            done.err()
        );
        assert!(done.err().contains("sleep (user 0)"), "{}", done.err());
        let why = "another attempt would run beside what cannot be ended";
        assert!(done.err().contains(why), "{}", done.err());
        assert_eq!(left(&done).len(), 1);
    }
    // Told to end, it ends by the signal.
    let mut running = other
        .becalm()
        .flags("--kill-after 50ms")
        .start_sh(&other.line(
            "(until grep -q sleep /proc/$$/comm; do sleep 0.01; done; echo ready) &
         exec @root nohup sleep 1000 >/dev/null 2>&1",
        ));
    running.line();
    let start = Instant::now();
    running.signal(Signal::SIGTERM);
    let done = running.finish();
    assert!(start.elapsed() < run_support::HANG);
    assert_eq!(done.died_by(), Some(15));
    left(&done);
    // What a command leaves behind stands in the way of another attempt, and not of success.
    for (code, attempts) in [(0, 1), (7, 1)] {
        let done = other.becalm().flags("--base 0 --kill-after 50ms").sh(&other.line(&format!(
            "echo try; @root nohup sleep 1000 >/dev/null 2>&1 & until grep -q sleep /proc/$!/comm; do sleep 0.01; done; exit {code}"
        )));
        assert_eq!(
            (done.code(), done.out().lines().count()),
            (code, attempts),
            "{}",
            done.err()
        );
        left(&done);
    }
}

/// A program of root that says when it was hung up on.
fn heard(mark: &str) -> String {
    format!(
        "@root sh -c 'trap \"echo hung up > {mark}; exit\" HUP; echo ready; while :; do sleep 0.05; done'"
    )
}

fn wait_for(mark: &str, why: &str) {
    let start = Instant::now();
    while fs::read_to_string(mark).unwrap_or_default() != "hung up\n" {
        assert!(start.elapsed() < run_support::HANG, "{why}");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    fs::remove_file(mark).unwrap();
}

#[test]
fn k4_what_is_left_is_hung_up_on_when_becalm_has_gone_with_and_without_a_terminal() {
    let Some(other) = Other::new() else { return };
    if getsid(Some(Pid::from_raw(1))) == getsid(None) {
        eprintln!("the first process is of this session, and hangs up on nothing");
        return;
    }
    let mark = other.folder.path("mark").display().to_string();
    let flags = "--attempts 1 --attempt-timeout 2s --kill-after 50ms";
    let done = other
        .becalm()
        .flags(flags)
        .sh(&other.line(&format!("exec {}", heard(&mark))));
    assert!(
        done.err().contains("cannot end what still runs"),
        "{}",
        done.err()
    );
    wait_for(&mark, &done.err());
    // becalm is killed: its guard cannot end the command either.
    let command = other.line(&format!("exec {}", heard(&mark)));
    let mut running = other.becalm().flags("--kill-after 50ms").start_sh(&command);
    assert_eq!(running.line().trim(), "ready");
    run_support::guard_of(&running.id());
    running.signal(Signal::SIGKILL);
    running.finish();
    wait_for(&mark, "killed");
    // becalm is a job of a shell, which keeps the terminal.
    let line = other.line(&format!(
        "@run {flags} -- {}; echo over; read x",
        heard(&mark)
    ));
    let mut session = run_support::terminal::Session::start("sh", &line);
    session.expect("over");
    wait_for(&mark, &session.seen);
}

#[test]
fn k4_an_outer_becalm_tells_what_an_inner_one_could_not_end() {
    let Some(other) = Other::new() else { return };
    let flags = "--deadline 2s --kill-after 50ms";
    let inner = "exec @becalm run --kill-after 1h -- @root nohup sleep 1000 >/dev/null 2>&1";
    let done = other.becalm().flags(flags).sh(&other.line(inner));
    assert_eq!(done.code(), 124, "{}", done.err());
    assert!(done.err().contains("sleep (user 0)"), "{}", done.err());
    assert_eq!(left(&done).len(), 1);
}

/// becalm leads the session of the terminal, as under `ssh -t`.
#[test]
fn k4_a_terminal_that_goes_with_becalm_hangs_up_on_what_cannot_be_signalled() {
    use run_support::terminal::Session;
    let Some(other) = Other::new() else { return };
    let mark = other.folder.path("mark");
    let line = other.line(&format!(
        "@run --attempts 1 --attempt-timeout 2s --kill-after 50ms -- @root sh -c \
         'trap \"echo hung up > {mark}; exit\" HUP; echo ready; while :; do sleep 0.05; done'",
        mark = mark.display()
    ));
    let mut session = Session::start("sh", &format!("exec {line}"));
    session.expect("ready");
    session.expect("cannot end what still runs");
    let start = Instant::now();
    while fs::read_to_string(&mark).unwrap_or_default() != "hung up\n" {
        assert!(start.elapsed() < run_support::HANG, "{}", session.seen);
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn k4_a_control_group_that_is_delegated_ends_what_cannot_be_signalled() {
    let Some(other) = Other::new() else { return };
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let mount = mounts
        .lines()
        .find(|line| line.split(' ').nth(2) == Some("cgroup2"));
    let own = mount.map(|line| {
        format!(
            "{}/becalm-test-{}",
            line.split(' ').nth(1).unwrap(),
            std::process::id()
        )
    });
    let Some(own) = own.filter(|own| fs::create_dir(own).is_ok()) else {
        return eprintln!(
            "this test needs a control group of the second version that it can divide"
        );
    };
    if !fs::exists(format!("{own}/cgroup.kill")).unwrap() {
        fs::remove_dir(&own).unwrap();
        return eprintln!("this test needs cgroup.kill (Linux 5.14)");
    }
    let line = format!(
        "for file in {own} {own}/cgroup.procs; do chown 65534 $file; done; echo $$ > {own}/cgroup.procs
         @run --attempts 1 --attempt-timeout 1s --kill-after 50ms -- @root sh -c 'echo $$; exec sleep 1000 >/dev/null 2>&1'; code=$?
         echo $$ > {own}/../cgroup.procs; exit $code"
    );
    let output = Command::new("sh")
        .args(["-c", &other.line(&line)])
        .output()
        .unwrap();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    let id = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let lives = is_running(&id);
    if lives {
        kill(Pid::from_raw(id.parse().unwrap()), Signal::SIGKILL).unwrap();
    }
    while fs::remove_dir(&own).is_err() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert_eq!(output.status.code(), Some(124), "{err}");
    assert!(!lives && !err.contains("still runs"), "{err}");
}
