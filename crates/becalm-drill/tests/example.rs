//! Does a program of somebody else hold a drill? The example breaks a service, which comes back.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::AtomicUsize;
use std::thread;

use becalm_drill::{Drill, Plain, Show, listen};

/// Answers every request.
fn serve(stream: TcpStream) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut writer = stream;
    loop {
        let mut line = String::new();
        while reader.read_line(&mut line)? > 2 {
            line.clear();
        }
        if line.is_empty() {
            return Ok(());
        }
        writer.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")?;
    }
}

/// Examples are built beside the tests.
fn example() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().and_then(std::path::Path::parent).unwrap();
    let path = folder.join("examples/staging");
    assert!(
        path.exists(),
        "build it: cargo build -p becalm-drill --examples"
    );
    path
}

#[test]
fn a_drill_is_held_without_the_command() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || serve(stream));
        }
    });
    let held = Command::new(example())
        .arg(format!("http://{address}/"))
        .output()
        .unwrap();
    let told = String::from_utf8(held.stdout).unwrap();
    let noted = String::from_utf8(held.stderr).unwrap();
    assert_eq!(held.status.code(), Some(0), "{told}{noted}");
    assert!(told.contains("Under default it was back"), "{told}");
}

#[test]
fn what_cannot_be_held_is_refused_with_a_sentence() {
    let refused = Command::new(example())
        .arg("https://127.0.0.1:1/")
        .output()
        .unwrap();
    let told = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(told.contains("without TLS"), "{told}");
}

#[test]
fn a_program_that_would_not_know_its_processes_is_told_so() {
    let plan = listen::Plan::new(listen::Options {
        upstream: "http://127.0.0.1:1".into(),
        ..listen::Options::default()
    });
    let held = plan.unwrap().run(&Show::on(&Plain), &AtomicUsize::new(0));
    let told = held.err().unwrap().to_string();
    assert!(told.contains("call becalm_drill::stand_in first"), "{told}");
}
