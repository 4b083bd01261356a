//! Is what the pages say so?

mod default_figures;
mod packages;
mod pages;
mod which_protection;
