//! Does becalm agree with what others published: vectors, figures, formulas?

mod breaker;
mod budget;
mod budget_kinds;
mod budget_measured;
mod calls;
mod hints;
mod spread_bounds;
mod spread_streams;
mod spread_wave;
mod throttle;
