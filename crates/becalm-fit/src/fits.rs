//! What does each upstream of a log say, fitted apart?

use crate::{Fit, Fitted, Options, Request};

/// The fit of a log, and one of each upstream beside it.
#[derive(Debug)]
pub struct Fits {
    whole: Fit,
    pools: Vec<(u32, Fit)>,
    options: Options,
    only: Option<u32>,
    is_split: bool,
    requests: u64,
    beyond: u64,
}

impl Fits {
    /// Upstreams that are fitted apart: each takes some megabytes.
    pub const MOST: usize = 32;

    /// Begins them: of one upstream alone, or of each apart.
    pub fn new(mut options: Options, only: Option<u32>, is_split: bool) -> Self {
        options.is_one_pool |= only.is_some();
        Self {
            whole: Fit::new(options),
            pools: Vec::new(),
            options,
            only,
            is_split,
            requests: 0,
            beyond: 0,
        }
    }

    /// Takes the request of the next line in.
    pub fn push(&mut self, request: Request) {
        let upstream = request.upstream;
        if self.only.is_some_and(|only| only != upstream) {
            return;
        }
        self.requests += 1;
        self.whole.push(request);
        if self.is_split && upstream != 0 {
            self.push_apart(upstream, request);
        }
    }

    /// Takes in that lines could not be read, beside requests. Which pool such a line is of is not known: each has its share of them.
    pub fn unread(&mut self, lines: u64, requests: u64) {
        let pools = self.pools.iter_mut().map(|(_, fit)| fit);
        for fit in std::iter::once(&mut self.whole).chain(pools) {
            fit.unread(lines, requests);
        }
    }

    /// Requests that were taken in.
    pub const fn requests(&self) -> u64 {
        self.requests
    }

    /// Of these, those of further upstreams than are fitted apart.
    pub const fn beyond(&self) -> u64 {
        self.beyond
    }

    /// What all of the log says, and each upstream apart, by its number.
    pub fn finish(self) -> (Fitted, Vec<(u32, Fitted)>) {
        let pools = self.pools.into_iter();
        let pools = pools.map(|(upstream, fit)| (upstream, fit.finish()));
        (self.whole.finish(), pools.collect())
    }

    fn push_apart(&mut self, upstream: u32, request: Request) {
        let known = self
            .pools
            .iter()
            .position(|(number, _)| *number == upstream);
        let at = match known {
            Some(at) => at,
            None if self.pools.len() == Self::MOST => {
                self.beyond += 1;
                return;
            }
            None => {
                let mut options = self.options;
                options.is_one_pool = true;
                self.pools.push((upstream, Fit::new(options)));
                self.pools.len() - 1
            }
        };
        self.pools[at].1.push(request);
    }
}
