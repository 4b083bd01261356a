//! Do the budgets keep their laws, whatever is asked of them?

mod laws;
mod models;
mod ratio_law;
mod ratio_model;
mod ratio_reload;
mod ratio_tokens;
mod reload;
mod slow_budgets;
mod under_threads;
