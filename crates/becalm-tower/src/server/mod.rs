//! What stands around an HTTP server so that it is asked again without harm?
//!
//! [`IdempotencyLayer`] does once what comes several times under one `Idempotency-Key`, and keeps the
//! answers in a [`Store`]. [`ScopeLayer`], outside of it, makes what a caller says of its attempt and of its
//! time the scope of the request's work, so that retries inside add to those of the caller instead of
//! multiplying them. [`AdmissionLayer`] takes on what the server can do, and sheds the rest.

mod admission;
mod body;
mod fields;
mod grpc;
mod idempotency;
mod scope;
mod waiting;

pub use admission::{Admission, AdmissionFuture, AdmissionLayer, AdmittedBody, ArrivingBody};
pub use body::BufferedBody;
pub use idempotency::{
    Answer, Caller, Claim, Fingerprint, IdempotencyFuture, IdempotencyLayer, Idempotent,
    MemoryStore, Name, Store, Task,
};
pub use scope::{ScopeFuture, ScopeLayer, WithScope};
