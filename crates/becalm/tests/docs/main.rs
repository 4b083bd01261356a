//! Is what the pages say so?

mod default_figures;
mod packages;
mod pages;
mod readme;
mod which_protection;
