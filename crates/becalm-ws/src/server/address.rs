//! Whose arrival is it? The connection's other end, or, where a proxy of yours stands between, whom its header names.

use std::error::Error;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use tokio_tungstenite::tungstenite::http::HeaderMap;

/// The proxies whose word on addresses is taken. Default: none, and every header is a stranger's.
///
/// A chain of proxies is read from its near end: the first address that is of no proxy is the client's, and what stands
/// before it anybody could have written.
///
/// ```
/// use becalm_ws::server::{AddressHeader, Proxies};
///
/// let proxies = Proxies::of(["10.0.0.0/8", "fd00::/8", "::1"])?.header(AddressHeader::Forwarded);
/// # let _ = proxies;
/// # Ok::<(), becalm_ws::server::InvalidNetwork>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Proxies {
    networks: Vec<Network>,
    header: AddressHeader,
}

/// The header by which your proxies name the client. One of them, since a proxy that sets the one hands on the other as the
/// client has sent it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum AddressHeader {
    /// `X-Forwarded-For`. The default.
    #[default]
    XForwardedFor,
    /// `Forwarded` (RFC 7239).
    Forwarded,
}

/// The refusal of a network that is none, with its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidNetwork(String);

impl fmt::Display for InvalidNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the proxy {:?} is no network: write an address, or one with its length, such as 10.0.0.0/8",
            self.0
        )
    }
}

impl Error for InvalidNetwork {}

impl Proxies {
    /// The proxies in these networks: addresses, or addresses with a length.
    ///
    /// # Errors
    ///
    /// A text is no network.
    pub fn of<'a>(networks: impl IntoIterator<Item = &'a str>) -> Result<Self, InvalidNetwork> {
        let networks = networks.into_iter().map(str::parse);
        Ok(Self {
            networks: networks.collect::<Result<_, _>>()?,
            header: AddressHeader::default(),
        })
    }

    /// Sets the header by which they name the client.
    #[must_use]
    pub fn header(mut self, header: AddressHeader) -> Self {
        self.header = header;
        self
    }

    /// Whether a proxy has this address.
    pub(crate) fn has(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.networks.iter().any(|network| network.has(address))
    }

    /// The address of the client whose request came from `peer` with these headers.
    pub(crate) fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut nearest = peer;
        if !self.has(peer) {
            return nearest;
        }
        let (name, read): (_, fn(&str) -> Option<IpAddr>) = match self.header {
            AddressHeader::XForwardedFor => ("x-forwarded-for", address),
            AddressHeader::Forwarded => ("forwarded", forwarded),
        };
        let lines: Vec<_> = headers.get_all(name).iter().collect();
        let texts = lines.iter().rev().map(|line| line.to_str().unwrap_or(""));
        for hop in texts.flat_map(|line| line.rsplit(',')) {
            // What cannot be read ends the chain at the last proxy that is known.
            let Some(before) = read(hop.trim()) else {
                break;
            };
            nearest = before;
            if !self.has(before) {
                break;
            }
        }
        nearest
    }
}

/// An address with or without a port.
fn address(text: &str) -> Option<IpAddr> {
    let bare = || text.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
    let with_port = || text.parse().ok().map(|address: SocketAddr| address.ip());
    text.parse().ok().or_else(with_port).or_else(bare)
}

/// The `for` of one element of `Forwarded`.
fn forwarded(element: &str) -> Option<IpAddr> {
    element.split(';').find_map(|pair| {
        let (name, value) = pair.trim().split_once('=')?;
        let is_for = name.eq_ignore_ascii_case("for");
        is_for.then(|| address(value.trim_matches('"'))).flatten()
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Network {
    address: IpAddr,
    length: u32,
}

impl Network {
    fn has(self, other: IpAddr) -> bool {
        let (bits, own, other) = match (self.address, other) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                (32, u128::from(own.to_bits()), u128::from(other.to_bits()))
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => (128, own.to_bits(), other.to_bits()),
            _ => return false,
        };
        let differs = (own ^ other).checked_shr(bits - self.length);
        differs.is_none_or(|differs| differs == 0)
    }
}

impl FromStr for Network {
    type Err = InvalidNetwork;

    fn from_str(text: &str) -> Result<Self, InvalidNetwork> {
        let invalid = || InvalidNetwork(text.to_owned());
        let (address, length) = text.split_once('/').unwrap_or((text, ""));
        let address: IpAddr = address.parse().map_err(|_| invalid())?;
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let length = match length {
            "" if !text.contains('/') => bits,
            length => length.parse().map_err(|_| invalid())?,
        };
        if length > bits {
            return Err(invalid());
        }
        Ok(Self { address, length })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    fn client(proxies: &Proxies, peer: &str, lines: &[(&'static str, &'static str)]) -> String {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, value.parse().expect("a value"));
        }
        proxies.client(ip(peer), &headers).to_string()
    }

    #[test]
    fn only_proxies_are_believed_and_only_from_their_end_of_the_chain() {
        const XFF: &str = "x-forwarded-for";
        let proxies = Proxies::of(["10.0.0.0/8", "::1"]).expect("networks");
        let of = |peer, lines: &[_]| client(&proxies, peer, lines);
        assert_eq!(of("203.0.113.9", &[(XFF, "198.51.100.1")]), "203.0.113.9");
        assert_eq!(
            of("10.0.0.1", &[(XFF, "1.1.1.1, 198.51.100.1, 10.9.9.9")]),
            "198.51.100.1"
        );
        assert_eq!(
            of("10.0.0.1", &[(XFF, "1.1.1.1"), (XFF, "198.51.100.1:4711")]),
            "198.51.100.1"
        );
        assert_eq!(
            of("::ffff:10.0.0.1", &[(XFF, "[2001:db8::1]:80")]),
            "2001:db8::1"
        );
        // Garbage, and no header at all, are the proxy's own.
        assert_eq!(of("10.0.0.1", &[(XFF, "1.1.1.1, unknown")]), "10.0.0.1");
        assert_eq!(of("::1", &[]), "::1");
        // The header that they do not set is the client's.
        assert_eq!(of("10.0.0.1", &[("forwarded", "for=1.1.1.1")]), "10.0.0.1");

        let proxies = proxies.header(AddressHeader::Forwarded);
        let of = |lines: &[_]| client(&proxies, "10.0.0.1", lines);
        assert_eq!(
            of(&[(
                "forwarded",
                "for=1.1.1.1, proto=http;For=\"[2001:db8::1]:80\""
            )]),
            "2001:db8::1"
        );
        // A quote that is left open swallows nothing.
        assert_eq!(
            of(&[("forwarded", "for=\"1.1.1.1, for=198.51.100.1")]),
            "198.51.100.1"
        );
        assert_eq!(of(&[("forwarded", "for=_hidden")]), "10.0.0.1");
    }

    #[test]
    fn networks_have_their_addresses_and_others_are_refused() {
        let has =
            |network: &str, other: &str| network.parse::<Network>().expect("one").has(ip(other));
        assert!(has("0.0.0.0/0", "203.0.113.9") && has("::/0", "2001:db8::1"));
        assert!(has("192.0.2.128/25", "192.0.2.255") && !has("192.0.2.128/25", "192.0.2.127"));
        assert!(has("fd00::/8", "fdff::1") && !has("fd00::/8", "fe00::1"));
        assert!(!has("0.0.0.0/0", "::1"));
        for text in [
            "",
            "10.0.0.0/33",
            "10.0.0.0/",
            "::/129",
            "ten",
            "10.0.0.0/8/8",
        ] {
            assert_eq!(
                text.parse::<Network>(),
                Err(InvalidNetwork(text.to_owned()))
            );
        }
    }
}
