//! tower-resilience: layers around a service, each a package of its own.

pub mod breaker;
mod hedge;
pub mod retry;
mod stack;

pub use self::hedge::TowerResilienceHedge;
pub use self::retry::{TowerResilience, TowerResilienceBudget};
pub use self::stack::TowerResilienceStack;
