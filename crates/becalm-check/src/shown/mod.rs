//! How is what was found shown: to people in a terminal, to code review, to a build?

mod bounded;
mod folded;
mod github;
mod policy_file;
mod printable;
mod sarif;
mod snippet;

pub use bounded::{Bounded, OF_A_KIND, bounded, grouped};
pub use folded::{Folded, folded};
pub use github::github;
pub use policy_file::policy_file;
pub use printable::printable;
pub use sarif::sarif;
pub use snippet::{Snippet, snippet};
