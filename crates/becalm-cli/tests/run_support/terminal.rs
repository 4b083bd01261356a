//! What does a person see and type? A shell script on a real pseudo-terminal.
//!
//! `setsid --ctty` makes it the controlling one, and the test types.

#![allow(dead_code)] // each test program uses a part

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use nix::pty::openpty;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::HANG;

pub const BECALM: &str = concat!(env!("CARGO_BIN_EXE_becalm"), " run");

/// A shell script on a terminal of its own.
pub struct Session {
    pub child: Child,
    keyboard: File,
    screen: Receiver<Vec<u8>>,
    pub seen: String,
    place: usize,
}

impl Session {
    /// Runs a script, in which `@run` is becalm, by this shell.
    pub fn start(shell: &str, script: &str) -> Self {
        let words = [shell, "-c", &script.replace("@run", BECALM)];
        Self::start_words(&words)
    }

    /// Runs a program with its arguments.
    pub fn start_words(words: &[&str]) -> Self {
        let pty = openpty(None, None).unwrap();
        let (master, slave) = (File::from(pty.master), File::from(pty.slave));
        let end = || slave.try_clone().unwrap();
        let child = Command::new("setsid")
            .args(["--ctty", "--wait"])
            .args(words)
            // A test does not hang on the terminal that it is started from.
            .env("TERM", "xterm")
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .unwrap();
        drop(slave);
        let mut output = master.try_clone().unwrap();
        let (sender, screen) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            loop {
                // An error (EIO) may be the end, or pass: the child tells. Nothing is sent then.
                let count = output.read(&mut bytes).unwrap_or(0);
                if sender.send(bytes[..count].to_vec()).is_err() {
                    return;
                }
                if count == 0 {
                    std::thread::sleep(Duration::from_millis(10));
                }
            }
        });
        Self {
            child,
            keyboard: master,
            screen,
            seen: String::new(),
            place: 0,
        }
    }

    /// Waits until the screen shows this, behind what was waited for before.
    pub fn expect(&mut self, text: &str) {
        let start = Instant::now();
        let mut looks_since_the_end = 0;
        loop {
            if let Some(at) = self.seen[self.place..].find(text) {
                self.place += at + text.len();
                return;
            }
            let left = HANG.checked_sub(start.elapsed()).unwrap_or(Duration::ZERO);
            let bytes = self.screen.recv_timeout(left).unwrap_or_default();
            if bytes.is_empty() && self.child.try_wait().unwrap().is_some() {
                looks_since_the_end += 1;
            }
            let is_over = left.is_zero() || looks_since_the_end > 100;
            assert!(!is_over, "no {text:?} in {:?}", self.seen);
            self.seen.push_str(&String::from_utf8_lossy(&bytes));
        }
    }

    /// All that the screen has shown when the shell has ended.
    pub fn ended(&mut self) -> &str {
        let start = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            assert!(start.elapsed() < HANG, "no end after {:?}", self.seen);
            let bytes = self.screen.recv_timeout(Duration::from_millis(10));
            self.seen
                .push_str(&String::from_utf8_lossy(&bytes.unwrap_or_default()));
        }
        while let Ok(bytes) = self.screen.recv_timeout(Duration::from_millis(50)) {
            if bytes.is_empty() {
                break;
            }
            self.seen.push_str(&String::from_utf8_lossy(&bytes));
        }
        &self.seen
    }

    /// Types on the keyboard.
    pub fn type_in(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// The processes of its session that run.
    fn processes(&self) -> Vec<Pid> {
        let leader = self.child.id().to_string();
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let of_session = entries.filter(|entry| {
            let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
            let fields: Vec<_> = stat
                .rsplit(')')
                .next()
                .unwrap()
                .split_whitespace()
                .collect();
            fields.get(3) == Some(&leader.as_str()) && fields[0] != "Z"
        });
        of_session
            .map(|entry| Pid::from_raw(entry.file_name().to_string_lossy().parse().unwrap()))
            .collect()
    }

    /// Waits until no process of its session is left, as soon after the shell's end.
    pub fn is_empty_in_the_end(&self) -> bool {
        let start = Instant::now();
        while !self.processes().is_empty() {
            if start.elapsed() > HANG {
                return false;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        true
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // A test that failed may leave more than the shell.
        for id in self.processes() {
            let _ = kill(id, Signal::SIGKILL);
        }
        let _ = self.child.wait();
    }
}
