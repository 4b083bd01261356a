//! How is a measurement shown? As SVG charts, as self-contained HTML pages, and in a terminal.
//!
//! Everything here turns plain data into text and does nothing else: no file is written, no
//! terminal is asked for its size, and no outside resource is named in the output. A page runs one
//! small script of its own, which shows the values at the pointer; without it everything is still
//! readable. All text is escaped, and values that are not finite are left out rather than drawn
//! wrong, so no data panics or breaks a picture.
//!
//! ```
//! use becalm_report::{Band, Colour, Figure, LineChart, Page, Series};
//!
//! let chart = LineChart::new("Goodput")
//!     .x_label("seconds")
//!     .y_label("calls per second")
//!     .band(Band::new(1.0, 3.0, "the server hangs"))
//!     .series(Series::line("with a budget", Colour::Green, vec![(0.0, 260.0), (1.0, 258.0)]));
//! let alone: String = chart.to_svg();
//! let page: String = Page::new("A drill").figure(&chart, "Calls that succeeded.").to_html();
//! assert!(alone.starts_with("<svg") && page.starts_with("<!doctype html>"));
//! ```

#![forbid(unsafe_code)]

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
