#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod axis;
mod bar_chart;
mod canvas;
mod colour;
mod csv;
pub mod escape;
pub mod format;
mod grid;
mod line_chart;
mod map_chart;
mod page;
mod plot;
pub mod policy;
mod ramp;
mod range_chart;
mod rows;
mod samples;
mod series;
mod svg;
mod table;
pub mod terminal;

pub use axis::{Axis, Scale};
pub use bar_chart::BarChart;
pub use canvas::Canvas;
pub use colour::Colour;
pub use grid::Grid;
pub use line_chart::LineChart;
pub use map_chart::MapChart;
pub use page::Page;
pub use range_chart::{RangeChart, RangeRow};
pub use series::{Band, Rule, Series};
pub use svg::Figure;
pub use table::{Cell, Table};
