//! Does `becalm check` end, with a sentence and its exit code, whatever a name stands for?

#![cfg(unix)]

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use nix::pty::openpty;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

const SERVICE: &str = "apiVersion: networking.istio.io/v1\nkind: VirtualService\nspec: {hosts: [a], http: [{route: [{destination: {host: a}}], retries: {attempts: 3}}]}\n";

fn becalm(arguments: &[&str], directory: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_becalm"))
        .args(arguments)
        .current_dir(directory)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn fifo(path: &Path) {
    mkfifo(path, Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
}

fn told(output: &Output) -> (i32, String) {
    let both = [&output.stdout[..], &output.stderr[..]].concat();
    let text = String::from_utf8(both).unwrap();
    (
        output.status.code().unwrap(),
        text.split_whitespace().collect::<Vec<_>>().join(" "),
    )
}

#[test]
fn a_pipe_without_a_writer_is_refused() {
    let folder = folder();
    fifo(&folder.path().join("pipe"));
    for arguments in [
        &["check", "pipe"][..],
        &["check", "--baseline", "pipe", "a.yaml"],
    ] {
        fs::write(folder.path().join("a.yaml"), SERVICE).unwrap();
        let (code, text) = told(&becalm(arguments, folder.path()));
        assert!(
            code == 2 && text.contains("cannot read pipe: no program has written to this pipe"),
            "{text}"
        );
    }
}

#[test]
fn a_pipe_is_read_to_its_end() {
    let folder = folder();
    let path = folder.path().join("pipe");
    fifo(&path);
    let writer = thread::spawn(move || {
        let mut pipe = OpenOptions::new().write(true).open(path).unwrap();
        for part in SERVICE.as_bytes().chunks(20) {
            pipe.write_all(part).unwrap();
        }
    });
    let (code, text) = told(&becalm(&["check", "pipe"], folder.path()));
    assert!(code == 0 && text.contains("; 1 policy"), "{text}");
    writer.join().unwrap();
    let script = format!("{} check <(cat)", env!("CARGO_BIN_EXE_becalm"));
    let mut shell = Command::new("bash")
        .args(["-c", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    shell
        .stdin
        .take()
        .unwrap()
        .write_all(SERVICE.as_bytes())
        .unwrap();
    let (code, text) = told(&shell.wait_with_output().unwrap());
    assert!(code == 0 && text.contains("; 1 policy"), "{text}");
}

#[test]
fn a_terminal_is_refused() {
    let pty = openpty(None, None).unwrap();
    let name = nix::unistd::ttyname(&pty.slave).unwrap();
    for name in ["-", name.to_str().unwrap()] {
        let output = Command::new(env!("CARGO_BIN_EXE_becalm"))
            .args(["check", name])
            .stdin(File::from(pty.slave.try_clone().unwrap()))
            .output()
            .unwrap();
        let (code, text) = told(&output);
        assert!(code == 2 && text.contains("it is a terminal"), "{text}");
    }
}

#[test]
fn what_has_no_end_is_too_long() {
    let folder = folder();
    let growing = folder.path().join("growing.yaml");
    // As a file that grows while it is read, and longer than is read.
    let mut file = File::create(&growing).unwrap();
    file.write_all(SERVICE.as_bytes()).unwrap();
    file.write_all(&vec![b'#'; 16 << 20]).unwrap();
    for name in ["/dev/zero", "growing.yaml"] {
        let (code, text) = told(&becalm(&["check", name], folder.path()));
        assert!(
            code == 2 && text.contains("a file of more than 16777216 bytes is not read"),
            "{text}"
        );
    }
    let zero = File::open("/dev/zero").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_becalm"))
        .args(["check", "-"])
        .stdin(zero)
        .output()
        .unwrap();
    assert_eq!(told(&output).0, 2);
    fs::write(folder.path().join("a.yaml"), SERVICE).unwrap();
    for flag in ["--baseline", "--service"] {
        let output = becalm(&["check", "a.yaml", flag, "/dev/zero"], folder.path());
        let (code, text) = told(&output);
        assert!(code == 2 && text.contains("it is longer than"), "{text}");
    }
}

#[test]
fn a_file_that_grows_is_read_as_far_as_it_goes() {
    let folder = folder();
    let path = folder.path().join("a.yaml");
    fs::write(&path, SERVICE).unwrap();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut file = OpenOptions::new().append(true).open(&path).unwrap();
            while !is_over.load(Ordering::Relaxed) {
                file.write_all(b"# more\n").unwrap();
            }
        });
        let (code, text) = told(&becalm(&["check", "a.yaml"], folder.path()));
        is_over.store(true, Ordering::Relaxed);
        assert!(
            code == 0 && text.contains("; 1 policy") || code == 2,
            "{text}"
        );
    });
}

#[test]
fn a_directory_is_read_beside_what_is_no_file() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("a.yaml"), SERVICE).unwrap();
    fifo(&at("pipe.yaml"));
    let _socket = UnixListener::bind(at("socket.yaml")).unwrap();
    assert!(
        fs::metadata(at("socket.yaml"))
            .unwrap()
            .file_type()
            .is_socket()
    );
    fs::create_dir(at("sub")).unwrap();
    symlink("..", at("sub/up")).unwrap();
    symlink("loop.yaml", at("loop.yaml")).unwrap();
    symlink("nowhere", at("gone.yaml")).unwrap();
    symlink("../a.yaml", at("sub/b.yaml")).unwrap();
    for path in [".", "**/*.yaml"] {
        let (code, text) = told(&becalm(&["check", path], folder.path()));
        assert!(code == 0 && text.starts_with("2 files:"), "{path}: {text}");
    }
    for (name, why) in [
        ("socket.yaml", "No such device or address"),
        ("loop.yaml", "Too many levels of symbolic links"),
        ("gone.yaml", "No such file or directory"),
    ] {
        let (code, text) = told(&becalm(&["check", name], folder.path()));
        assert!(code == 2 && text.contains(why), "{text}");
    }
    fs::write(at("c.yaml"), SERVICE).unwrap();
    fs::set_permissions(at("c.yaml"), PermissionsExt::from_mode(0o0)).unwrap();
    // Root reads it all the same.
    if File::open(at("c.yaml")).is_err() {
        let (code, text) = told(&becalm(&["check", "."], folder.path()));
        assert!(
            code == 2 && text.contains("c.yaml: Permission denied"),
            "{text}"
        );
    }
}

/// A file that has what another has is named, however many places the other has.
#[test]
fn c5_a_cause_of_many_places_names_each_of_a_few_files() {
    let folder = tempfile::tempdir().unwrap();
    let route = |it| {
        format!(
            "  - route: [{{destination: {{host: h{it}}}}}]\n    retries: {{attempts: 3, retryOn: 5xx}}\n"
        )
    };
    let routes = (0..60).map(route).collect::<Vec<_>>().concat();
    let file = format!(
        "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {{name: a}}\nspec:\n  hosts: [a]\n  http:\n{routes}"
    );
    for name in ["a.yaml", "b.yaml", "c.yaml"] {
        fs::write(folder.path().join(name), &file).unwrap();
    }
    let output = becalm(
        &["check", "--quiet", "a.yaml", "b.yaml", "c.yaml"],
        folder.path(),
    );
    let told = String::from_utf8(output.stdout).unwrap();
    for name in ["a.yaml:", "b.yaml:", "c.yaml:"] {
        assert!(told.contains(name), "{told}");
    }
}
