//! Are the lines that real servers write read as what happened?

mod circle;
mod envoy;
mod gunicorn;
mod haproxy;
mod nginx;
mod process;
mod visits;
