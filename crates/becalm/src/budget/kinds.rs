//! What is the state of each kind?

use alloc::boxed::Box;

use super::account::Account;
use super::concurrency::ConcurrencyBudget;
use super::grpc::GrpcBudget;
use super::kind::{Budget, Kind};
use super::per_minute;
use super::ratio::RatioBudget;
use super::tokens::TokenBudget;
use super::window::{self, WindowBudget};

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
