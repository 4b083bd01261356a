//! How is each kind written, and what is its state? One row for each in both tables, in the order of
//! [`Kind::ALL`].

use alloc::boxed::Box;

use super::account::Account;
use super::concurrency::{self, ConcurrencyBudget};
use super::grpc::{self, GrpcBudget};
use super::kind::{Budget, Kind};
use super::per_minute;
use super::ratio::{self, RatioBudget};
use super::tokens::{self, TokenBudget};
use super::window::{self, WindowBudget};
use crate::grammar::Kind as Text;

impl Budget {
    /// How its kinds are written.
    pub(crate) const TEXTS: &'static [Text<Self>; Kind::ALL.len()] = &[
        ratio::TEXT,
        ratio::FIRST_TRIES,
        tokens::TEXT,
        grpc::TEXT,
        concurrency::TEXT,
        per_minute::TEXT,
        window::TEXT,
    ];
}

impl Kind {
    /// Its state, closed.
    pub(super) fn closed(self) -> Box<dyn Account> {
        match self {
            Self::Ratio | Self::FirstTries => Box::new(RatioBudget::new(Budget::None)),
            Self::Tokens => Box::new(TokenBudget::default()),
            Self::Grpc => Box::new(GrpcBudget::default()),
            Self::Concurrency => Box::new(ConcurrencyBudget::default()),
            Self::PerMinute => Box::new(WindowBudget::<{ per_minute::LIVE }>::default()),
            Self::Window => Box::new(WindowBudget::<{ window::LIVE }>::default()),
        }
    }
}
