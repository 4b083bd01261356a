//! Is what the pages say so?

mod default_figures;
mod pages;
mod readme;
mod which_protection;
