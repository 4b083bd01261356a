//! How are retries kept to a share of first tries, exactly and without a lock?
#[derive(Debug)]
pub struct RatioBudget;
