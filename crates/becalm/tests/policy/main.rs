//! Is a policy read, checked, told and decided as it is written?

mod any_file;
mod any_policy;
mod decision;
mod delays;
mod file;
mod interval;
mod lints;
mod lints_protection;
mod lints_repeats;
mod lone_clients;
mod precision;
mod presets;
mod randomness;
mod retry_on;
mod set;
mod setters;
mod tables;
mod text;
mod validation;
