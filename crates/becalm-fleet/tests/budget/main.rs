//! Does a process that leases its retries do as it should, and the fleet keep its law?

mod law;
#[cfg(feature = "std")]
mod leases;
