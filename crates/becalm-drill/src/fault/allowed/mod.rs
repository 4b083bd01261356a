//! Whom may a drill break? This machine; another host only where its owner has repeated its name.
//!
//! A name is resolved once, and what it meant then is what is broken: a name that means something else later, or a redirect
//! to somewhere else, does not lead the drill there.

mod listen;
mod refused;

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

use http::Uri;
use http::uri::Scheme;

pub use listen::listen;
pub use refused::Refused;

/// What a name means: its addresses. Tests have their own.
pub type Resolve<'a> = &'a dyn Fn(&str, u16) -> io::Result<Vec<SocketAddr>>;

/// What the system says a name means.
///
/// # Errors
///
/// As the system says.
pub fn system(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    (host, port).to_socket_addrs().map(Iterator::collect)
}

/// Somewhere that a drill may break, with the addresses that its name meant when it was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pinned {
    /// As it was spelled, without the brackets of IPv6.
    pub host: String,
    pub port: u16,
    /// Whether what is said to it is encrypted, so that single requests cannot be seen.
    pub tls: bool,
    /// Path and query, `/` without one.
    pub path: String,
    /// At least one, in the order in which they are tried.
    pub addresses: Vec<SocketAddr>,
}

impl Pinned {
    /// Where this URL leads. `owned` are the hosts of `--i-own`.
    ///
    /// # Errors
    ///
    /// It is no such URL, or nothing that the drill may break.
    pub fn url(url: &str, owned: &[String], resolve: Resolve<'_>) -> Result<Self, Refused> {
        let uri: Uri = url.parse().map_err(|_| Refused::NoUrl)?;
        let tls = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTP => false,
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            _ => return Err(Refused::NoUrl),
        };
        let authority = uri.authority().ok_or(Refused::NoUrl)?;
        if authority.as_str().contains('@') {
            return Err(Refused::Credentials);
        }
        let port = match authority.port_u16() {
            Some(port) => port,
            // "host:" and "host:99999"
            None if !authority.as_str().ends_with(authority.host()) => return Err(Refused::NoUrl),
            None if tls => 443,
            None => 80,
        };
        let path = uri.path_and_query().map_or("/", |it| it.as_str());
        let path = if path.starts_with('/') {
            path.into()
        } else {
            format!("/{path}")
        };
        let host = bare(authority.host());
        Ok(Self {
            addresses: pin(host, port, owned, resolve)?,
            host: host.into(),
            port,
            tls,
            path,
        })
    }

    /// Where `HOST:PORT` leads.
    ///
    /// # Errors
    ///
    /// It is no such address, or nothing that the drill may break.
    pub fn address(text: &str, owned: &[String], resolve: Resolve<'_>) -> Result<Self, Refused> {
        let (host, port) = text.rsplit_once(':').ok_or(Refused::NoAddress)?;
        let port = port.parse().map_err(|_| Refused::NoAddress)?;
        if host.is_empty() || (host.contains(':') && !host.starts_with('[')) {
            return Err(Refused::NoAddress);
        }
        let host = bare(host);
        Ok(Self {
            addresses: pin(host, port, owned, resolve)?,
            host: host.into(),
            port,
            tls: false,
            path: "/".into(),
        })
    }

    /// Its host and port, as they were given.
    pub fn named(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// Whether the name still means what it did: asked before anything is broken again.
    ///
    /// # Errors
    ///
    /// It means something else.
    pub fn still(&self, resolve: Resolve<'_>) -> Result<(), Refused> {
        let now = ask(&self.host, self.port, resolve)?;
        match now.iter().find(|it| !self.addresses.contains(it)) {
            Some(new) => Err(Refused::Changed {
                host: self.host.clone(),
                new: new.ip(),
            }),
            None => Ok(()),
        }
    }

    /// Whether a redirect (RFC 9110 section 10.2.2) leads to the same scheme, host and port.
    ///
    /// # Errors
    ///
    /// It leads elsewhere, or nobody can say where.
    pub fn redirect(&self, location: &str) -> Result<(), Refused> {
        let elsewhere = || Refused::Redirect(location.chars().take(200).collect());
        // A backslash is a slash to some, which makes a host of what others take for a path.
        if location.starts_with("//") || location.contains('\\') {
            return Err(elsewhere());
        }
        let relative = match location.split_once(':') {
            None => true,
            // RFC 3986 section 4.2: what has a colon in its first segment has a scheme.
            Some((first, _)) => first.contains(['/', '?', '#']),
        };
        if relative {
            return Ok(());
        }
        let uri: Uri = location.parse().map_err(|_| elsewhere())?;
        let authority = uri.authority().ok_or_else(elsewhere)?;
        let scheme = if self.tls {
            Scheme::HTTPS
        } else {
            Scheme::HTTP
        };
        let port = authority
            .port_u16()
            .unwrap_or(if self.tls { 443 } else { 80 });
        let same = uri.scheme() == Some(&scheme)
            && bare(authority.host()).eq_ignore_ascii_case(&self.host)
            && port == self.port
            && !authority.as_str().contains('@');
        if same { Ok(()) } else { Err(elsewhere()) }
    }
}

fn bare(host: &str) -> &str {
    let inner = host.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    inner.unwrap_or(host)
}

fn ask(host: &str, port: u16, resolve: Resolve<'_>) -> Result<Vec<SocketAddr>, Refused> {
    let unknown = |why: String| Refused::Unknown {
        host: host.into(),
        why,
    };
    let found = resolve(host, port).map_err(|error| unknown(error.to_string()))?;
    if found.is_empty() {
        return Err(unknown("it has no address".into()));
    }
    Ok(found)
}

/// The addresses of a host, if all of them may be broken: one of several would be tried sooner or later.
fn pin(
    host: &str,
    port: u16,
    owned: &[String],
    resolve: Resolve<'_>,
) -> Result<Vec<SocketAddr>, Refused> {
    let found = ask(host, port, resolve)?;
    let is_owned = owned.iter().any(|it| bare(it) == host);
    for address in &found {
        let address = address.ip();
        // An address of IPv4 in one of IPv6 (RFC 4291 section 2.5.5.2) is what it is within.
        let within = address.to_canonical();
        let many = within.is_multicast()
            || within.is_unspecified()
            || matches!(within, IpAddr::V4(it) if it.is_broadcast());
        if many {
            return Err(Refused::NoOne { address });
        }
        if !within.is_loopback() && !is_owned {
            return Err(Refused::NotOwned {
                host: host.into(),
                address,
            });
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name that means these addresses.
    fn means(
        addresses: &'static [&'static str],
    ) -> impl Fn(&str, u16) -> io::Result<Vec<SocketAddr>> {
        move |_, port| {
            let address = |it: &&str| SocketAddr::new(it.parse().unwrap(), port);
            Ok(addresses.iter().map(address).collect())
        }
    }

    fn own(host: &str) -> [String; 1] {
        [host.into()]
    }

    #[test]
    fn this_machine_needs_no_word() {
        for addresses in [
            &["127.0.0.1"][..],
            &["127.9.9.9"],
            &["::1"],
            &["::ffff:127.0.0.1"],
            &["::1", "127.0.0.1"],
        ] {
            let found = Pinned::url("http://staging:8080/a?b=c", &[], &means(addresses)).unwrap();
            assert_eq!(found.addresses.len(), addresses.len());
            assert_eq!(
                (&*found.host, found.port, found.tls),
                ("staging", 8080, false)
            );
            assert_eq!(found.path, "/a?b=c");
        }
        let found = Pinned::url("https://[::1]", &[], &system).unwrap();
        assert_eq!((&*found.host, found.port, found.tls), ("::1", 443, true));
        assert_eq!(found.path, "/");
        assert!(Pinned::url("http://localhost:1", &[], &system).is_ok());
    }

    #[test]
    fn another_machine_needs_its_name_repeated_as_it_was_spelled() {
        let public = means(&["192.0.2.7"]);
        for owned in [
            &[][..],
            &own("192.0.2.7"),
            &own("Shop.example"),
            &own("shop.example."),
            &own(""),
        ] {
            let refused = Pinned::url("http://shop.example/", owned, &public).unwrap_err();
            assert_eq!(
                refused,
                Refused::NotOwned {
                    host: "shop.example".into(),
                    address: [192, 0, 2, 7].into()
                }
            );
            assert!(
                refused.to_string().ends_with("--i-own shop.example"),
                "{refused}"
            );
        }
        assert!(Pinned::url("http://shop.example/", &own("shop.example"), &public).is_ok());
        assert!(Pinned::address("shop.example:5432", &own("shop.example"), &public).is_ok());
        assert!(Pinned::address("shop.example:5432", &[], &public).is_err());
        let six = means(&["2001:db8::7"]);
        assert!(Pinned::url("http://[2001:db8::7]/", &own("[2001:db8::7]"), &six).is_ok());
        assert!(Pinned::url("http://[2001:db8::7]/", &[], &six).is_err());
    }

    #[test]
    fn one_address_elsewhere_among_those_of_this_machine_is_refused() {
        for addresses in [
            &["127.0.0.1", "192.0.2.7"][..],
            &["::1", "2001:db8::7"],
            &["::ffff:192.0.2.7"],
            &["10.0.0.1"],
            &["169.254.169.254"],
            &["fe80::1"],
        ] {
            let refused = Pinned::url("http://localhost/", &[], &means(addresses));
            assert!(
                matches!(refused, Err(Refused::NotOwned { .. })),
                "{addresses:?}"
            );
        }
    }

    #[test]
    fn nobody_owns_an_address_of_many_or_of_none() {
        for address in [
            &["0.0.0.0"][..],
            &["::"],
            &["224.0.0.1"],
            &["ff02::1"],
            &["255.255.255.255"],
            &["::ffff:0.0.0.0"],
        ] {
            let refused = Pinned::url("http://h/", &own("h"), &means(address));
            assert!(matches!(refused, Err(Refused::NoOne { .. })), "{address:?}");
        }
    }

    /// As the system reads them: without a word of their owner they mean this machine, or nothing.
    #[test]
    fn twenty_seven_spellings_of_hosts_lead_nowhere_else() {
        let elsewhere = [
            "192.0.2.7",
            "3221225991",
            "0xC0000207",
            "0xc0.0.2.7",
            "0300.0.2.7",
            "192.0.519",
            "192.519",
            "[::ffff:192.0.2.7]",
            "[::ffff:c000:207]",
            "[::192.0.2.7]",
            "[64:ff9b::c000:207]",
            "0",
            "0.0.0.0",
            "0x0",
            "[::]",
            "169.254.169.254",
            "2852039166",
            "0xA9FEA9FE",
            "[fe80::1]",
            "255.255.255.255",
            "224.0.0.1",
        ];
        for host in elsewhere {
            let found = Pinned::url(&format!("http://{host}/"), &own("192.0.2.8"), &system);
            assert!(found.is_err(), "{host}: {found:?}");
        }
        let here = [
            "LOCALHOST",
            "127.1",
            "2130706433",
            "0x7f000001",
            "0177.0.0.1",
            "[::ffff:127.0.0.1]",
        ];
        for host in here {
            if let Ok(found) = Pinned::url(&format!("http://{host}/"), &[], &system) {
                let mut addresses = found.addresses.iter();
                assert!(
                    addresses.all(|it| it.ip().to_canonical().is_loopback()),
                    "{host}"
                );
            }
        }
        assert_eq!(elsewhere.len() + here.len(), 27);
    }

    #[test]
    fn a_url_that_misleads_or_is_none_is_refused() {
        let here = means(&["127.0.0.1"]);
        for url in [
            "",
            "localhost",
            "localhost:80",
            "/path",
            "ftp://h/",
            "http://",
            "http:///x",
            "http://h:99999/",
            "http://h:/",
            "unix:/run/x",
        ] {
            assert_eq!(Pinned::url(url, &[], &here), Err(Refused::NoUrl), "{url}");
        }
        for url in [
            "http://localhost@shop.example/",
            "http://a:b@localhost/",
            "http://localhost:80@shop.example/",
        ] {
            assert_eq!(
                Pinned::url(url, &[], &here),
                Err(Refused::Credentials),
                "{url}"
            );
        }
        for address in ["", "h", "h:", ":80", "h:x", "::1:80", "h:99999"] {
            assert_eq!(
                Pinned::address(address, &[], &here),
                Err(Refused::NoAddress),
                "{address}"
            );
        }
        let none = |_: &str, _| Ok(Vec::new());
        assert!(matches!(
            Pinned::url("http://h/", &[], &none),
            Err(Refused::Unknown { .. })
        ));
    }

    #[test]
    fn a_name_that_means_something_else_later_is_refused() {
        let two = means(&["127.0.0.1", "127.0.0.2"]);
        let pinned = Pinned::url("http://staging/", &[], &two).unwrap();
        assert_eq!(pinned.still(&two), Ok(()));
        assert_eq!(pinned.still(&means(&["127.0.0.2"])), Ok(()));
        for changed in [
            means(&["192.0.2.7"]),
            means(&["127.0.0.1", "192.0.2.7"]),
            means(&["127.0.0.3"]),
        ] {
            assert!(matches!(
                pinned.still(&changed),
                Err(Refused::Changed { .. })
            ));
        }
        let owned = Pinned::url("http://h/", &own("h"), &means(&["192.0.2.7"])).unwrap();
        assert!(owned.still(&means(&["192.0.2.8"])).is_err());
        assert_eq!(owned.addresses, ["192.0.2.7:80".parse().unwrap()]);
    }

    #[test]
    fn a_redirect_leads_nowhere_else() {
        let pinned = Pinned::url("http://localhost:8080/", &[], &means(&["127.0.0.1"])).unwrap();
        for same in [
            "/login",
            "login",
            "?a=http://b",
            "#x",
            "/a:b",
            "",
            "http://localhost:8080/x",
            "HTTP://LOCALHOST:8080",
        ] {
            assert_eq!(pinned.redirect(same), Ok(()), "{same}");
        }
        for elsewhere in [
            "http://192.0.2.7/",
            "http://localhost/",
            "http://localhost:8081/",
            "https://localhost:8080/",
            "//192.0.2.7/",
            "/\\192.0.2.7/",
            "http://localhost:8080@192.0.2.7/",
            "http://user@localhost:8080/",
            "http:192.0.2.7",
            "mailto:a@b",
        ] {
            let refused = pinned.redirect(elsewhere);
            assert!(matches!(refused, Err(Refused::Redirect(_))), "{elsewhere}");
        }
        let long = pinned
            .redirect(&format!("http://{}", "é".repeat(10_000)))
            .unwrap_err();
        assert!(long.to_string().len() < 1_000);
    }
}
