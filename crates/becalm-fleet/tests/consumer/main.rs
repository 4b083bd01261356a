//! Does a queue survive an outage of what its handlers call? In virtual time, through the public interface.

mod laws;
mod outage;
mod world;
