//! How do tests run `becalm check` on the files of becalm-check?

#![allow(dead_code)] // each test program uses a part

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub fn files() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../becalm-check/tests/files")
}

pub fn becalm(arguments: &[&str], directory: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_becalm"))
        .args(arguments)
        .current_dir(directory)
        .env_remove("NO_COLOR")
        .output()
        .expect("the binary starts")
}

pub fn check(arguments: &[&str]) -> (i32, String, String) {
    let output = becalm(&[&["check"], arguments].concat(), &files());
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    let code = output.status.code().expect("an exit code");
    (code, text(output.stdout), text(output.stderr))
}
