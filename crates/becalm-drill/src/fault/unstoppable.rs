//! What stands still where no process can be stopped? None: Windows has no signal that stops one.

use std::time::Duration;

use super::spec::Reach;

/// No process: none of this system can be stopped.
#[derive(Debug, Clone, Copy)]
pub enum Process {}

impl Process {
    /// Refuses every id.
    ///
    /// # Errors
    ///
    /// A sentence.
    pub fn of(id: i32) -> Result<Self, String> {
        Err(format!(
            "this system cannot stop the process {id}; break a proxy before the service instead (--fault hold), or hold the \
             drill on Linux"
        ))
    }
}

/// As no process can be stopped, none stands still.
#[derive(Debug)]
pub enum Stopped {}

impl Stopped {
    /// There is no such process.
    ///
    /// # Errors
    ///
    /// None, as it is never called.
    pub fn new(process: Process, _: Reach, _: Duration) -> Result<Self, String> {
        match process {}
    }

    pub fn begin(&mut self) -> Result<(), String> {
        match *self {}
    }

    pub fn lift(&mut self) -> Result<(), String> {
        match *self {}
    }
}
