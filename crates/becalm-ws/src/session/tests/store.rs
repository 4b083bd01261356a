//! Is a session kept for whom, for how long and at whose cost as promised?
