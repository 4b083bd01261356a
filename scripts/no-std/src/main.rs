//! Does becalm link where there is no standard library, and does it decide there?
//!
//! This program brings its own panic handler, and a program can have only one: were the standard
//! library linked, by becalm or by anything below it, the compiler would refuse a second.
#![no_std]
#![no_main]

use core::panic::PanicInfo;
use core::time::Duration;

use becalm::{Policy};

#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

#[panic_handler]
fn on_panic(_: &PanicInfo<'_>) -> ! {
    loop {}
}

/// The C library's entry point; the exit code says whether the decision was right.
#[unsafe(no_mangle)]
extern "C" fn main() -> i32 {
    i32::from(Policy::default().base(Duration::from_millis(20)).validate().is_err())
}
