//! What does HTTP say about a call: its status, its fields, its layers?

mod answers;
mod any_headers;
mod calls;
mod hints;
mod layers;
