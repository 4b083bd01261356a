//! Why may a drill not break something, and what makes it possible?

use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// Why a drill may not break something.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    NoUrl,
    NoAddress,
    Credentials,
    Unknown { host: String, why: String },
    NotOwned { host: String, address: IpAddr },
    NoOne { address: IpAddr },
    Changed { host: String, new: IpAddr },
    Redirect(String),
    Itself(SocketAddr),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoUrl => f.write_str("this is no URL of a service; write http://HOST:PORT/PATH"),
            Self::NoAddress => {
                f.write_str("this is no address; write HOST:PORT, such as 127.0.0.1:8081")
            }
            Self::Credentials => f.write_str(
                "the URL names a user before its host, who would read as another host; leave out what stands before \"@\"",
            ),
            Self::Unknown { host, why } => {
                write!(f, "the address of {host} cannot be found: {why}; name a host of this machine")
            }
            Self::NotOwned { host, address } => write!(
                f,
                "{host} is {address}, which is not this machine alone, and a drill breaks what it is given; if it is yours, say \
                 so: --i-own {host}"
            ),
            Self::NoOne { address } => write!(
                f,
                "{address} is not the address of one machine; name the host that is to be broken"
            ),
            Self::Changed { host, new } => write!(
                f,
                "{host} is {new} now, and was not when the drill began; name the address in place of the host, or try again when \
                 it has settled"
            ),
            Self::Redirect(location) => write!(
                f,
                "the service redirects elsewhere, to {location:?}, where a drill does not follow; name the URL that answers"
            ),
            Self::Itself(address) => write!(
                f,
                "it listens at {address} and leads there, to itself; name another port to listen at"
            ),
        }
    }
}

impl std::error::Error for Refused {}
