//! Does what becalm notes for itself ever stop a command?

#![cfg(target_os = "linux")] // flock(1), and modes of files

mod run_support;

use std::fs;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use nix::sys::signal::Signal;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use run_support::{Done, Folder, RunCommand, becalm, becalm_at_once};

/// Where no file may grow.
fn without_room(run: RunCommand) -> RunCommand {
    run.with(|command| {
        let becalm = std::mem::replace(command, Command::new("/bin/sh"));
        command.args(["-c", "ulimit -f 0; exec \"$@\"", "sh"]);
        command.arg(becalm.get_program()).args(becalm.get_args());
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
    })
}

#[test]
fn k2_a_limit_of_files_ends_nothing() {
    let folder = Folder::new();
    let (report, budget) = (folder.path("report"), folder.path("budget"));
    let run = becalm_at_once()
        .flags("--attempts 2 --stdin replay --hold-output")
        .flag("--report", report)
        .flag("--budget-file", budget);
    let done = without_room(run).sh("echo it ran; exit 7");
    assert_eq!(
        (done.code(), done.out().as_str()),
        (7, "it ran\n"),
        "{}",
        done.err()
    );
    assert!(
        done.err().contains("cannot write the report"),
        "{}",
        done.err()
    );
    // The command is ended by the signal as without becalm.
    let file = folder.path("file");
    let run =
        without_room(becalm().flags("--attempts 1")).sh(&format!("echo x > {}", file.display()));
    assert_eq!(run.code(), 128 + Signal::SIGXFSZ as i32, "{}", run.err());
}

#[test]
fn k2_a_disk_that_is_full_ends_nothing() {
    let script = format!(
        "mount -t tmpfs -o size=4k none \"$1\" && cd \"$1\" && head -c 1M /dev/zero > full 2>/dev/null
         exec env TMPDIR=. {} run --base 0 --attempts 2 --report report --budget-file budget -- echo it ran",
        env!("CARGO_BIN_EXE_becalm")
    );
    let folder = Folder::new();
    let unshare = run_support::namespaces::unshare("--mount");
    let mut words = unshare.split(' ');
    let mut command = Command::new(words.next().unwrap());
    command
        .args(words)
        .args(["sh", "-c", &script, "sh"])
        .arg(folder.path(""));
    let output = command.output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "it ran\n", "{err}");
    assert!(output.status.success(), "{err}");
    assert!(err.contains("cannot write the report"), "{err}");
}

#[test]
fn k2_a_report_waits_for_no_reader() {
    let folder = Folder::new();
    let fifo = folder.path("fifo");
    mkfifo(&fifo, Mode::S_IRWXU).unwrap();
    let run = |script: &str| {
        becalm_at_once()
            .flags("--attempts 2")
            .flag("--report", &fifo)
            .sh(script)
    };
    let done = run("echo it ran; exit 7");
    assert_eq!((done.code(), done.out().as_str()), (7, "it ran\nit ran\n"));
    assert!(done.err().contains("nobody reads it"), "{}", done.err());
    // One that comes late gets all of it.
    let mut running = becalm_at_once()
        .flags("--attempts 2")
        .flag("--report", &fifo)
        .stdin_piped()
        .start_sh("[ $BECALM_ATTEMPT = 2 ] || exit 7; echo second; read -r _ || true");
    assert_eq!(running.line(), "second");
    let at_once = |options: &mut fs::OpenOptions| {
        OpenOptionsExt::custom_flags(options, nix::libc::O_NONBLOCK);
        options.open(&fifo).unwrap()
    };
    let reader = at_once(fs::File::options().read(true));
    let done = running.finish();
    assert_eq!(done.code(), 0, "{}", done.err());
    let got = std::io::read_to_string(reader).unwrap();
    assert_eq!(got.lines().count(), 3, "{got}");
    assert!(got.contains("summary"), "{got}");
    // One that takes nothing holds nobody up.
    let reader = fs::File::options()
        .read(true)
        .write(true)
        .open(&fifo)
        .unwrap();
    let mut full = at_once(fs::File::options().write(true));
    while std::io::Write::write(&mut full, &[b'x'; 4096]).is_ok() {}
    let done = run("echo it ran");
    assert_eq!((done.code(), done.out().as_str()), (0, "it ran\n"));
    assert!(done.err().contains("nobody reads it"), "{}", done.err());
    drop(reader);
}

/// A pipe that nobody empties, full.
fn stalled() -> (fs::File, fs::File) {
    let (reader, writer) = nix::unistd::pipe().unwrap();
    let (reader, mut writer) = (fs::File::from(reader), fs::File::from(writer));
    for end in [&reader, &writer] {
        let close = nix::fcntl::FcntlArg::F_SETFD(nix::fcntl::FdFlag::FD_CLOEXEC);
        nix::fcntl::fcntl(end, close).unwrap();
    }
    let flags = nix::fcntl::FcntlArg::F_SETFL;
    nix::fcntl::fcntl(&writer, flags(nix::fcntl::OFlag::O_NONBLOCK)).unwrap();
    while std::io::Write::write(&mut writer, &[b'x'; 4096]).is_ok() {}
    nix::fcntl::fcntl(&writer, flags(nix::fcntl::OFlag::empty())).unwrap();
    (reader, writer)
}

#[test]
fn k2_who_does_not_read_becalms_complaints_holds_no_attempt_up() {
    let (_reader, writer) = stalled();
    let folder = Folder::new();
    let run = becalm_at_once()
        .flags("--attempts 3 --report /no/such/folder/report")
        .with(|it| _ = it.stderr(writer));
    let mark = folder.path("mark");
    let done = run.sh(&format!("echo try >> {}; exit 7", mark.display()));
    assert_eq!(done.code(), 7);
    assert_eq!(fs::read_to_string(mark).unwrap(), "try\ntry\ntry\n");
}

#[test]
fn k3_becalm_ends_when_told_though_a_reader_has_stalled() {
    for flags in ["--hold-output", "--report -", "--retry-on-output never"] {
        let (_reader, writer) = stalled();
        let folder = Folder::new();
        let mark = folder.path("mark");
        let mut running = becalm()
            .flags("--kill-after 1h")
            .flags(flags)
            .with(|it| _ = it.stdout(writer))
            .start_sh(&format!(
                "test '{flags}' = '--report -' || echo held; echo > {}",
                mark.display()
            ));
        let start = std::time::Instant::now();
        while running.child.try_wait().unwrap().is_none() {
            assert!(
                start.elapsed() < run_support::HANG,
                "{flags}: becalm waits on"
            );
            if mark.exists() {
                running.signal(Signal::SIGTERM);
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        assert_eq!(running.finish().died_by(), Some(15), "{flags}");
    }
}

#[test]
fn k3_a_deadline_ends_becalm_though_a_reader_has_stalled() {
    for flags in ["--hold-output", "--report -", "--retry-on-output never"] {
        let (_reader, writer) = stalled();
        let run = becalm()
            .flags("--deadline 500ms --kill-after 100ms")
            .flags(flags)
            .with(|it| _ = it.stdout(writer));
        let script = format!("test '{flags}' = '--report -' || echo some; sleep 1000");
        let done = run.sh(&script);
        assert_eq!(done.code(), 124, "{flags}: {}", done.err());
        let told = done.err();
        assert!(
            told.contains("no program reads the output"),
            "{flags}: {told}"
        );
    }
}

/// Its output is on its way still.
#[test]
fn k3_a_limit_bounds_the_output_of_a_command_that_has_ended() {
    for flags in [
        "--deadline 500ms --hold-output",
        "--deadline 500ms --retry-on-output never",
        "--deadline 500ms --report -",
        "--deadline 500ms --report - --hold-output",
        "--attempt-timeout 500ms --retry-on-output never",
        "--attempt-timeout 500ms --hold-output",
        "--attempt-timeout 500ms --report -",
        "--attempt-timeout 500ms --report - --hold-output",
    ] {
        let (_reader, writer) = stalled();
        let run = becalm()
            .flags("--kill-after 100ms")
            .flags(flags)
            .with(|it| _ = it.stdout(writer));
        let script =
            format!("echo try >&2; case '{flags}' in *'--report -') ;; *) echo some;; esac");
        let done = run.sh(&script);
        let told = done.err();
        assert!(
            told.contains("no program reads the output"),
            "{flags}: {told}"
        );
        // What is only a report changes no code.
        let is_lost = !flags.ends_with("--report -");
        assert!(done.code() == 124 || !is_lost, "{flags}: {told}");
        // Another attempt would write to the same reader.
        assert_eq!(told.matches("try\n").count(), 1, "{flags}: {told}");
    }
}

/// Time that passes while some of it is taken is no stall.
#[test]
fn k3_who_reads_slowly_gets_all_that_was_held() {
    const BYTES: usize = 400_000;
    let limit = std::time::Duration::from_secs(2);
    let mut running = becalm()
        .flags("--attempt-timeout 2s --kill-after 10ms --hold-output")
        .start_sh(&format!("head -c {BYTES} /dev/zero"));
    let start = std::time::Instant::now();
    let mut read = 0;
    // More than a pipe holds is left.
    while start.elapsed() < limit * 2 && read < BYTES / 2 {
        let mut part = [0; 8_192];
        running.read_exact(&mut part);
        read += part.len();
        std::thread::sleep(limit / 10);
    }
    let done = running.finish();
    assert_eq!((done.code(), done.err().as_str()), (0, ""));
    assert_eq!(read + done.0.stdout.len(), BYTES);
}

fn with_budget(path: &Path) -> Done {
    becalm_at_once()
        .flags("--attempts 30 --budget ratio:0.000001,burst:3")
        .flag("--budget-file", path)
        .sh("echo try; exit 3")
}

#[test]
fn x10_who_may_only_read_a_budget_file_stops_no_retry() {
    let folder = Folder::new();
    let path = folder.path("budget");
    assert_eq!(with_budget(&path).out().lines().count(), 4);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    // One of an earlier becalm, and one that a group shares.
    for (before, after) in [
        (0o644, 0o600),
        (0o664, 0o660),
        (0o660, 0o660),
        (0o666, 0o666),
    ] {
        fs::set_permissions(&path, fs::Permissions::from_mode(before)).unwrap();
        with_budget(&path);
        assert_eq!(mode(&path), after, "{before:o}");
    }
    fs::remove_file(&path).unwrap();
    fs::write(&path, "").unwrap();
    let mut lock = Command::new("flock")
        .arg(&path)
        .args(["sh", "-c", "echo locked; read line"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut locked = [0; 7];
    std::io::Read::read_exact(lock.stdout.as_mut().unwrap(), &mut locked).unwrap();
    let done = with_budget(&path);
    assert_eq!(done.out().lines().count(), 4, "{}", done.err());
    drop(lock.stdin.take());
    lock.wait().unwrap();
}

#[test]
fn x10_more_than_the_burst_is_not_believed() {
    let folder = Folder::new();
    let path = folder.path("budget");
    with_budget(&path);
    let body = format!("becalm-budget/1 micros={:020} at={:020}", u64::MAX / 2, 0);
    let check = body.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    fs::write(&path, format!("{body} check={check:08x}\n")).unwrap();
    assert_eq!(with_budget(&path).out().lines().count(), 4);
    assert_eq!(with_budget(&path).out().lines().count(), 1);
}

#[test]
fn x10_what_is_no_file_of_its_own_is_not_used_and_not_waited_for() {
    let folder = Folder::new();
    let (fifo, link, aim) = (folder.path("fifo"), folder.path("link"), folder.path("aim"));
    mkfifo(&fifo, Mode::S_IRWXU).unwrap();
    symlink(&aim, &link).unwrap();
    for path in [fifo, link, "/dev/zero".into(), "/dev/null".into()] {
        let done = with_budget(&path);
        assert_eq!((done.code(), done.out().as_str()), (3, "try\n"), "{path:?}");
        assert!(
            done.err().contains("is not a regular file"),
            "{}",
            done.err()
        );
    }
    assert!(!aim.exists());
}

#[test]
fn x10_a_command_that_puts_a_fifo_in_place_of_its_hint_file_is_not_waited_for() {
    let done = becalm_at_once()
        .flags("--attempts 2")
        .sh("rm $BECALM_HINT_FILE; mkfifo $BECALM_HINT_FILE; echo try; exit 7");
    assert_eq!((done.code(), done.out().as_str()), (7, "try\ntry\n"));
}

#[test]
fn x10_names_move_no_cursor() {
    let bell = "no-such\x1b[31m\x07\u{202e}program";
    let done = becalm()
        .flag("--report", "/no/such\x1b[2J/report")
        .flag("--", bell)
        .run();
    assert_eq!(done.code(), 127);
    let seen = done.err();
    assert!(
        seen.contains(r"no-such\u{1b}[31m\u{7}\u{202e}program"),
        "{seen:?}"
    );
    assert!(!seen.contains(['\x1b', '\x07', '\u{202e}']), "{seen:?}");
}

#[test]
fn x10_what_has_no_end_is_no_policy_and_its_name_moves_no_cursor() {
    let folder = Folder::new();
    let odd = folder.path("od\x1b[31md.toml");
    symlink("/dev/zero", &odd).unwrap();
    for words in [
        &["run", "--policy"][..],
        &["plan", "--policy"],
        &["fit"],
        &["fit", "--no-such-flag"],
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_becalm"));
        command.args(words);
        if words == ["fit"] {
            command.arg(odd.with_extension("log"));
        } else {
            command.arg(&odd);
        }
        let output = command
            .args(["--", "true"].iter().filter(|_| words[0] == "run"))
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success());
        assert!(!told.contains('\x1b'), "{words:?}: {told:?}");
        if words[1..] == ["--policy"] {
            assert!(
                told.contains("longer than 1 MiB") && told.contains(r"od\u{1b}[31md.toml"),
                "{told}"
            );
        }
    }
}
