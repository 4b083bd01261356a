//! What do other systems' configuration files say about retrying, and is it safe?
//!
//! [`check`] reads files that are given to it as text: it opens nothing and asks nobody. What it
//! finds are [`Mapping`]s, each a [`Policy`](becalm::Policy) with the origin of every key, and
//! [`Finding`]s, each with its file, line, sentence and remedy.
//!
//! ```
//! use becalm_check::{File, Settings, check};
//!
//! let file = File::new(
//!     "orders.yaml",
//!     "
//! apiVersion: networking.istio.io/v1
//! kind: VirtualService
//! metadata: {name: orders}
//! spec:
//!   hosts: [orders]
//!   http:
//!   - route: [{destination: {host: orders}}]
//!     retries: {attempts: 40, perTryTimeout: 1s}
//!     timeout: 60s
//! ",
//! );
//! let checked = check(&[file], &Settings::default());
//! assert_eq!(checked.mappings[0].policy.attempts, 41); // Istio counts the retries
//! ```

#![forbid(unsafe_code)]

mod below;
mod check;
pub mod code;
pub mod document;
mod finding;
pub mod layers;
mod lints;
mod mapping;
mod reading;
mod said;
pub mod shown;
mod system;
mod systems;
mod template;

pub use check::{Checked, File, Settings, check};
pub use finding::{Finding, Severity};
pub use mapping::{Draft, Mapping, NotExpressible, Origin};
pub use reading::{Reading, Told};
pub use system::{As, Evidence, Form, System};
