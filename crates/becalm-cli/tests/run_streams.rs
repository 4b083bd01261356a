//! What does each attempt read, and what of its output is seen?

mod run_support;

use std::io::Write;

use run_support::{Folder, RunCommand, becalm, becalm_at_once, report};

/// becalm with this on standard input.
fn fed(run: RunCommand, bytes: Vec<u8>, script: &str) -> run_support::Done {
    let mut running = run.stdin_piped().start_sh(script);
    let mut stdin = running.child.stdin.take().unwrap();
    let feeder = std::thread::spawn(move || {
        // The command need not read it.
        let _ = stdin.write_all(&bytes);
    });
    let done = running.finish();
    feeder.join().unwrap();
    done
}

#[test]
fn stdin_is_inherited_and_read_once() {
    let run = becalm_at_once().flags("--attempts 2");
    let done = fed(run, b"all of it\n".to_vec(), "cat; exit 1");
    assert_eq!((done.code(), done.out().as_str()), (1, "all of it\n"));
}

#[test]
fn stdin_null_is_empty() {
    let run = becalm_at_once().flags("--attempts 2 --stdin null");
    let done = fed(run, b"unread\n".to_vec(), "cat; echo end; exit 1");
    assert_eq!(done.out(), "end\nend\n");
}

#[test]
fn stdin_is_replayed_to_every_attempt() {
    let run = becalm_at_once().flags("--attempts 3 --stdin replay");
    let done = fed(run, b"all of it\n".to_vec(), "cat; exit 1");
    assert_eq!(
        (done.code(), done.out().as_str()),
        (1, "all of it\n".repeat(3).as_str())
    );
}

#[test]
fn an_attempt_that_read_only_a_part_does_not_spoil_the_next() {
    let run = becalm_at_once().flags("--attempts 3 --stdin replay");
    let script = "case $BECALM_ATTEMPT in 1) exit 1;; 2) head -c 5; exit 1;; *) exec cat;; esac";
    let done = fed(run, b"all of it\n".to_vec(), script);
    assert_eq!((done.code(), done.out().as_str()), (0, "all oall of it\n"));
}

#[test]
fn more_stdin_than_memory_shall_hold_is_replayed_too() {
    let bytes: Vec<u8> = (0..3_000_000_u32).flat_map(u32::to_le_bytes).collect();
    let folder = Folder::new();
    let script = "cat > $COPY.$BECALM_ATTEMPT; [ $BECALM_ATTEMPT -eq 3 ]";
    let copy = folder.path("copy");
    let run = becalm_at_once().flags("--stdin replay").env("COPY", &copy);
    assert_eq!(fed(run, bytes.clone(), script).code(), 0);
    for attempt in 1..=3 {
        let copy = std::fs::read(folder.path(&format!("copy.{attempt}"))).unwrap();
        assert!(copy == bytes, "attempt {attempt}: {} bytes", copy.len());
    }
}

#[test]
fn stdin_is_handed_on_while_it_still_comes() {
    let mut running = becalm()
        .flags("--stdin replay")
        .stdin_piped()
        .start_sh("while read line; do echo got $line; done");
    for word in ["one", "two"] {
        let stdin = running.child.stdin.as_mut().unwrap();
        writeln!(stdin, "{word}").unwrap();
        assert_eq!(running.line(), format!("got {word}"));
    }
    assert_eq!(running.finish().code(), 0);
}

#[test]
fn held_output_is_that_of_the_attempt_that_counts() {
    let script =
        "echo out $BECALM_ATTEMPT; echo err $BECALM_ATTEMPT >&2; [ $BECALM_ATTEMPT -eq 3 ]";
    let done = becalm_at_once().flags("--hold-output --quiet").sh(script);
    assert_eq!(done.out(), "out 3\n");
    assert_eq!(done.err(), "err 1\nerr 2\nerr 3\n");
    let done = becalm_at_once()
        .flags("--hold-output --attempts 2")
        .sh(script);
    assert_eq!((done.code(), done.out().as_str()), (1, "out 2\n"));
}

#[test]
fn held_output_is_not_printed_when_becalm_is_told_to_end() {
    let mut running = becalm()
        .flags("--hold-output")
        .start_sh("echo half; echo ready >&2; exec sleep 1000");
    assert_eq!(running.error_line(), "ready");
    running.signal(nix::sys::signal::Signal::SIGTERM);
    let done = running.finish();
    assert_eq!((done.code(), done.out().as_str()), (143, ""));
}

#[test]
fn a_line_of_output_asks_for_a_retry_whatever_the_exit_code() {
    let folder = Folder::new();
    let path = folder.path("report");
    for stream in ["1", "2"] {
        let done = becalm_at_once()
            .flag("--retry-on-output", "^HTTP 50[0-9]$")
            .flag("--report", &path)
            .sh(&format!(
                "[ $BECALM_ATTEMPT -lt 3 ] && echo HTTP 503 >&{stream} || echo HTTP 200; exit 0"
            ));
        assert_eq!(done.code(), 0);
        let lines = report(&path);
        assert_eq!(lines.len(), 4, "{}", done.err());
        assert_eq!(
            (&lines[0]["matched"], &lines[0]["decision"]),
            (&"retry".into(), &"retry".into())
        );
        assert_eq!(
            (&lines[2]["matched"], &lines[2]["decision"]),
            (&().into(), &"done".into())
        );
    }
}

#[test]
fn a_line_of_output_forbids_a_retry_and_wins() {
    let done = becalm_at_once()
        .flags("--retry-on-output busy --stop-on-output denied")
        .sh("echo busy; echo denied >&2; echo busy; exit 7");
    assert_eq!((done.code(), done.out().as_str()), (7, "busy\nbusy\n"));
    assert!(
        done.err()
            .contains("gave up because --stop-on-output knows a line of its output"),
        "{}",
        done.err()
    );
}

#[test]
fn without_a_match_the_exit_code_decides() {
    let run =
        || becalm_at_once().flags("--attempts 2 --retry-on-output busy --stop-on-output denied");
    assert_eq!(run().sh("echo fine").out(), "fine\n");
    assert_eq!(run().sh("echo fine; exit 1").out(), "fine\nfine\n");
}

#[test]
fn watched_output_passes_as_it_comes() {
    let mut running = becalm()
        .flags("--retry-on-output never")
        .stdin_piped()
        .start_sh("printf 'half a line'; read line; echo; echo err >&2; read line; echo $line");
    let mut half = [0; 11];
    running.read_exact(&mut half);
    assert_eq!(&half, b"half a line");
    writeln!(running.child.stdin.as_mut().unwrap()).unwrap();
    assert_eq!(running.error_line(), "err");
    writeln!(running.child.stdin.as_mut().unwrap(), "last").unwrap();
    assert_eq!(running.finish().out(), "\nlast\n");
}

#[test]
fn a_reader_that_has_gone_ends_the_command_and_the_retries() {
    for flags in ["", "--retry-on-output y"] {
        let mut running = becalm_at_once()
            .flags(flags)
            .start_sh("echo try >&2; exec yes");
        assert_eq!(running.line(), "y");
        running.close_stdout();
        let done = running.finish();
        assert_eq!(done.code(), 141, "{flags}");
        assert_eq!(
            done.err().matches("try\n").count(),
            1,
            "{flags}: {}",
            done.err()
        );
    }
}

#[test]
fn progress_is_one_line_for_each_retry() {
    let done = becalm()
        .flags("--base 1ms --jitter none --attempts 3")
        .sh("exit 7");
    assert_eq!(
        done.err(),
        "becalm: attempt 1 of 3 failed (exit 7); retry in 1ms\n\
         becalm: attempt 2 of 3 failed (exit 7); retry in 2ms\n\
         becalm: gave up because all attempts were used, after 3 attempts (exit 7): /bin/sh\n"
    );
}

#[test]
fn without_room_for_files_there_is_no_replay_but_one_whole_attempt() {
    let folder = Folder::new();
    let path = folder.path("report");
    let run = becalm_at_once()
        .flags("--stdin replay")
        .flag("--report", &path)
        .env("TMPDIR", "/no/such/folder");
    let done = fed(run, vec![b'x'; 5 << 20], "wc -c; exit 7");
    assert_eq!((done.code(), done.out().trim()), (7, "5242880"));
    assert!(
        done.err().contains("cannot keep standard input"),
        "{}",
        done.err()
    );
    assert_eq!(report(&path)[1]["reason"], "body_not_replayable");
}

#[test]
fn output_that_cannot_be_kept_is_an_error_of_becalm() {
    let run = || {
        becalm_at_once()
            .flags("--hold-output")
            .env("TMPDIR", "/no/such/folder")
    };
    let done = run().sh("head -c 5242880 /dev/zero");
    assert_eq!((done.code(), done.out().as_str()), (125, ""));
    assert!(
        done.err().contains("cannot keep the output"),
        "{}",
        done.err()
    );
    // A little needs no file.
    assert_eq!(run().sh("echo little").out(), "little\n");
}

#[test]
fn output_that_cannot_be_written_is_told() {
    let full = || std::fs::File::create("/dev/full").unwrap();
    let done = becalm()
        .flags("--hold-output")
        .with(|it| _ = it.stdout(full()))
        .sh("echo out");
    assert_eq!(done.code(), 125);
    assert!(
        done.err().contains("cannot print the output"),
        "{}",
        done.err()
    );
    let watched = becalm()
        .flags("--retry-on-output never")
        .with(|it| _ = it.stdout(full()));
    let done = watched.sh("exec yes");
    assert_eq!(done.code(), 125);
    assert!(
        done.err().contains("cannot pass on the output"),
        "{}",
        done.err()
    );
    // A report matters less than the command.
    let done = becalm_at_once()
        .flags("--attempts 3 --report /dev/full")
        .sh("exit 7");
    assert_eq!(done.code(), 7);
    assert_eq!(
        done.err().matches("cannot write the report").count(),
        1,
        "{}",
        done.err()
    );
}

#[test]
#[cfg(target_os = "linux")] // /dev/full
fn r4_output_that_is_lost_is_never_success() {
    for flags in ["--retry-on-output never", "--hold-output"] {
        let full = std::fs::File::options().write(true).open("/dev/full");
        let folder = Folder::new();
        let path = folder.path("report");
        let done = becalm_at_once()
            .flags(flags)
            .flag("--report", &path)
            .with(|command| {
                command.stdout(full.unwrap());
            })
            .sh("echo $BECALM_ATTEMPT >&2; echo result");
        assert_eq!(done.code(), 125, "{flags}: {}", done.err());
        assert!(
            done.err().starts_with("1\nbecalm: cannot p"),
            "{}",
            done.err()
        );
        // The attempt and the run have their lines all the same.
        let lines = report(&path);
        let is_known_at_once = flags != "--hold-output";
        let decision = if is_known_at_once { "error" } else { "done" };
        assert_eq!(lines[0]["decision"], decision, "{flags}");
        assert_eq!(
            (
                &lines[1]["outcome"],
                &lines[1]["exit"],
                &lines[1]["attempts"]
            ),
            (&"error".into(), &125.into(), &1.into())
        );
        assert_eq!(lines.len(), 2);
    }
}
