//! What does becalm learn from the output that it copies?

use std::io;

use super::output_rules::OutputMatch;
use crate::run::unix::spool::Spool;

/// What was learnt from the output of an attempt.
#[derive(Debug, Default)]
pub struct Seen {
    /// What its lines decided.
    pub matched: Option<OutputMatch>,
    /// Its standard output, if it is held.
    pub held: Option<Spool>,
    /// Nobody reads what becalm passes on, nor will for another attempt.
    pub reader_is_gone: bool,
    /// What becalm could not write or keep.
    pub fault: Option<Fault>,
}

/// Output that was lost.
#[derive(Debug)]
pub enum Fault {
    /// It could not be passed on.
    Write(io::Error),
    /// It could not be kept.
    Hold(io::Error),
}
