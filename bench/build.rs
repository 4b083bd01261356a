//! Which compiler built the figures, and with which profile? The table says so.
use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let compiler = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(compiler).arg("--version").output();
    let version = version
        .ok()
        .and_then(|out| String::from_utf8(out.stdout).ok());
    let number = version.as_deref().and_then(|text| text.split(' ').nth(1));
    println!(
        "cargo::rustc-env=COMPILER={}",
        number.unwrap_or("of an unknown version")
    );
    // .../<profile>/build/<package>/out
    let out = env::var_os("OUT_DIR").map(PathBuf::from);
    let profile = out.as_deref().and_then(|out| out.ancestors().nth(3));
    let profile = profile.and_then(|path| path.file_name()?.to_str());
    println!(
        "cargo::rustc-env=PROFILE_NAME={}",
        profile.unwrap_or("of an unknown profile")
    );
}
