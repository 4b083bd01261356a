//! What does a drill ask of the operating system?

#[cfg(not(unix))]
mod elsewhere;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
pub use elsewhere::{allow_files, apart, files, is_shortage};
#[cfg(unix)]
pub use unix::{allow_files, apart, files, is_shortage};
