//! What do systems know of all files together, before they read one of them?
//!
//! A file of nginx is read in the place of an `include` of another, and the defaults of HAProxy hold in the files after
//! theirs. Each file would otherwise read all others again.

use super::{haproxy, nginx};
use crate::document::Together;

/// Of the files of one check.
#[derive(Debug)]
pub(crate) struct Shared<'a> {
    pub nginx: nginx::Files<'a>,
    pub haproxy: haproxy::Files<'a>,
}

impl<'a> Shared<'a> {
    pub fn of(files: &[Together<'a>]) -> Self {
        Self {
            nginx: nginx::Files::of(files),
            haproxy: haproxy::Files::of(files),
        }
    }
}
