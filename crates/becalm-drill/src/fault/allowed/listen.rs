//! Where may a drill's proxy listen, and where may it lead from there?

use std::net::{IpAddr, SocketAddr, UdpSocket};

use super::{Pinned, Refused, Resolve, bare};

/// Where a proxy may listen: as where it may lead, since who listens in public lets the public in.
///
/// # Errors
///
/// It is no address of this machine alone, and nobody has said that it is theirs.
pub fn listen(text: &str, owned: &[String], resolve: Resolve<'_>) -> Result<SocketAddr, Refused> {
    // ":8081" is this machine, and nobody else.
    let text = if text.starts_with(':') {
        format!("127.0.0.1{text}")
    } else {
        text.into()
    };
    let Some((host, port)) = text.rsplit_once(':') else {
        return Err(Refused::NoAddress);
    };
    let everywhere = text
        .parse::<SocketAddr>()
        .ok()
        .filter(|it| it.ip().is_unspecified());
    if let Some(everywhere) = everywhere {
        return if owned.iter().any(|it| bare(it) == bare(host)) {
            Ok(everywhere)
        } else {
            Err(Refused::NotOwned {
                host: bare(host).into(),
                address: everywhere.ip(),
            })
        };
    }
    let pinned = Pinned::address(&format!("{host}:{port}"), owned, resolve)?;
    pinned.addresses.first().copied().ok_or(Refused::NoAddress)
}

impl Pinned {
    /// Whether a proxy that listens there may lead here: one that leads to itself opens connections until there are no more.
    ///
    /// # Errors
    ///
    /// It leads to itself.
    pub fn behind(self, listen: SocketAddr) -> Result<Self, Refused> {
        let (ip, port) = (listen.ip().to_canonical(), listen.port());
        let is_there = |it: IpAddr| {
            if ip.is_unspecified() {
                is_here(it)
            } else {
                it.to_canonical() == ip
            }
        };
        let is_itself = |it: &SocketAddr| it.port() == port && is_there(it.ip());
        match self.addresses.iter().find(|it| is_itself(it)) {
            Some(itself) => Err(Refused::Itself(*itself)),
            None => Ok(self),
        }
    }
}

/// Whether this machine has the address: only then something can be bound to it.
fn is_here(ip: IpAddr) -> bool {
    ip.to_canonical().is_loopback() || UdpSocket::bind((ip, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::super::system;
    use super::*;

    #[test]
    fn a_proxy_does_not_lead_to_itself() {
        for (listen, to, expected) in [
            ("127.0.0.1:9", "127.0.0.1:9", false),
            ("0.0.0.0:9", "127.0.0.1:9", false),
            ("127.0.0.1:9", "[::ffff:127.0.0.1]:9", false),
            ("[::]:9", "127.0.0.2:9", false),
            ("127.0.0.2:9", "127.0.0.1:9", true),
            ("0.0.0.0:9", "127.0.0.1:8", true),
            // Documentation's own (RFC 5737, RFC 3849): no machine has them.
            ("0.0.0.0:9", "192.0.2.7:9", true),
            ("[::]:9", "[2001:db8::7]:9", true),
        ] {
            let owned: [String; 2] = ["192.0.2.7".into(), "2001:db8::7".into()];
            let to = Pinned::address(to, &owned, &system).unwrap();
            let behind = to.behind(listen.parse().unwrap());
            assert_eq!(behind.is_ok(), expected, "{listen} {behind:?}");
        }
    }

    #[test]
    fn a_proxy_listens_to_this_machine_alone() {
        for (text, address) in [
            (":8081", "127.0.0.1:8081"),
            ("127.0.0.1:0", "127.0.0.1:0"),
            ("[::1]:8081", "[::1]:8081"),
        ] {
            assert_eq!(
                listen(text, &[], &system),
                Ok(address.parse().unwrap()),
                "{text}"
            );
        }
        for text in ["0.0.0.0:8081", "[::]:8081", "192.0.2.7:8081"] {
            assert!(
                matches!(listen(text, &[], &system), Err(Refused::NotOwned { .. })),
                "{text}"
            );
        }
        for (text, owned) in [
            ("0.0.0.0:8081", "0.0.0.0"),
            ("[::]:8081", "::"),
            ("[::]:8081", "[::]"),
            ("192.0.2.7:1", "192.0.2.7"),
        ] {
            assert_eq!(
                listen(text, &[owned.into()], &system),
                Ok(text.parse().unwrap())
            );
        }
        assert_eq!(listen("8081", &[], &system), Err(Refused::NoAddress));
    }
}
