//! What goes wrong while connecting?

use std::fmt;

use crate::ATTEMPTS;

/// What is wrong with the certificate of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certificate {
    /// Its time is over.
    Expired,
    /// Its time has not begun.
    NotYetValid,
    /// It is of another name.
    WrongName,
    /// Its authority is not trusted.
    UnknownIssuer,
    /// It is its own authority.
    SelfSigned,
    /// Its signature is not that of its authority.
    BadSignature,
    /// It is for clients.
    WrongPurpose,
    /// Its authority has revoked it.
    Revoked,
}

/// What a server says in place of its part of a handshake (RFC 8446 section 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alert {
    /// No cipher is common to both.
    HandshakeFailure = 40,
    /// No version is common to both.
    ProtocolVersion = 70,
    /// It is in trouble itself.
    InternalError = 80,
    /// It knows of no such server name.
    UnrecognisedName = 112,
    /// No protocol above TLS is common to both.
    NoApplicationProtocol = 120,
}

/// What a proxy of SOCKS 5 replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// Its rules do not allow it.
    NotAllowed = 2,
    /// It cannot reach the server.
    HostUnreachable = 4,
    /// The server refuses it.
    ConnectionRefused = 5,
    /// It does not know the command.
    CommandNotSupported = 7,
    /// It does not know this kind of address.
    AddressNotSupported = 8,
    /// It wants a login, which it says before all.
    WantsLogin = 255,
}

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The client refuses the certificate of the server.
    Refuses(Certificate),
    /// The server demands a certificate of the client, which has none: over TLS 1.2 within the handshake, over TLS 1.3 after
    /// the client's part of it.
    Demands {
        /// Over TLS 1.3.
        afterwards: bool,
    },
    /// The server answers the client's greeting with this alert.
    Says(Alert),
    /// The server speaks HTTP without TLS.
    Http,
    /// The server speaks first, and no TLS.
    Ssh,
    /// Nothing has this name.
    NoSuchName,
    /// Nothing listens.
    Refused,
    /// There is no way to the address.
    Unreachable,
    /// The server accepts, and resets the connection.
    Reset,
    /// The server closes the connection within the handshake.
    Closed,
    /// The server accepts, and says nothing.
    Silent,
    /// The server has a good certificate, and chooses no protocol above TLS.
    NoHttp2,
    /// The head of what a proxy answers to CONNECT does not end.
    LongHead,
    /// A proxy closes the connection in place of an answer.
    NoHead,
    /// A proxy makes a tunnel, to a server whose certificate has expired.
    ExpiredBehindProxy,
    /// A proxy answers a request of SOCKS 5 with this reply (RFC 1928 section 6).
    Socks(Reply),
    /// A proxy answers CONNECT with this status.
    Proxy {
        /// The status.
        status: u16,
        /// It names a wait, in `Retry-After`.
        asks_for_wait: bool,
    },
}

impl Fault {
    /// The rows, in their order.
    pub fn all() -> impl Iterator<Item = Self> {
        use Certificate as Of;
        let refused = [
            Of::Expired,
            Of::NotYetValid,
            Of::WrongName,
            Of::UnknownIssuer,
            Of::SelfSigned,
            Of::BadSignature,
            Of::WrongPurpose,
            Of::Revoked,
        ];
        let demands = [false, true].map(|afterwards| Self::Demands { afterwards });
        let says = [
            Alert::ProtocolVersion,
            Alert::HandshakeFailure,
            Alert::UnrecognisedName,
            Alert::NoApplicationProtocol,
            Alert::InternalError,
        ];
        let plain = [
            Self::Http,
            Self::Ssh,
            Self::NoSuchName,
            Self::Refused,
            Self::Unreachable,
            Self::Reset,
            Self::Closed,
            Self::Silent,
            Self::NoHttp2,
        ];
        let of_proxies = [
            (301, false),
            (400, false),
            (403, false),
            (407, false),
            (408, false),
            (425, false),
            (429, true),
            (500, false),
            (501, false),
            (502, false),
            (503, true),
            (504, false),
        ];
        let of_proxies = of_proxies.map(|(status, asks_for_wait)| Self::Proxy {
            status,
            asks_for_wait,
        });
        let socks = [
            Reply::NotAllowed,
            Reply::CommandNotSupported,
            Reply::AddressNotSupported,
            Reply::WantsLogin,
            Reply::HostUnreachable,
            Reply::ConnectionRefused,
        ];
        let of_proxies =
            of_proxies
                .into_iter()
                .chain([Self::LongHead, Self::NoHead, Self::ExpiredBehindProxy]);
        let of_proxies = of_proxies.chain(socks.map(Self::Socks));
        let refused = refused.into_iter().map(Self::Refuses);
        let of_tls = refused
            .chain(demands)
            .chain(says.into_iter().map(Self::Says));
        of_tls.chain(plain).chain(of_proxies)
    }

    /// Whether it is a proxy's.
    pub fn is_of_proxy(self) -> bool {
        matches!(
            self,
            Self::Proxy { .. }
                | Self::LongHead
                | Self::NoHead
                | Self::ExpiredBehindProxy
                | Self::Socks(_)
        )
    }

    /// Whether it names a wait.
    pub fn asks_for_wait(self) -> bool {
        matches!(
            self,
            Self::Proxy {
                asks_for_wait: true,
                ..
            }
        )
    }

    /// How often it is to be dialled: again where it may pass.
    pub fn expected(self) -> u32 {
        let may_pass = matches!(
            self,
            Self::NoSuchName
                | Self::Refused
                | Self::Unreachable
                | Self::Reset
                | Self::Closed
                | Self::Silent
                | Self::NoHead
                | Self::Says(Alert::InternalError)
                | Self::Socks(Reply::HostUnreachable | Reply::ConnectionRefused)
                | Self::Proxy {
                    status: 408 | 425 | 429 | 500 | 502..=504,
                    ..
                }
        );
        if may_pass { ATTEMPTS } else { 1 }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = match self {
            Self::Refuses(fault) => {
                return f.write_str(match fault {
                    Certificate::Expired => "certificate: expired",
                    Certificate::NotYetValid => "certificate: not yet valid",
                    Certificate::WrongName => "certificate: of another name",
                    Certificate::UnknownIssuer => "certificate: of an unknown authority",
                    Certificate::SelfSigned => "certificate: signed by itself",
                    Certificate::BadSignature => "certificate: wrong signature",
                    Certificate::WrongPurpose => "certificate: for clients",
                    Certificate::Revoked => "certificate: revoked",
                });
            }
            Self::Demands { afterwards: false } => "client certificate demanded, TLS 1.2",
            Self::Demands { afterwards: true } => "client certificate demanded, TLS 1.3",
            Self::Says(Alert::HandshakeFailure) => "alert: no common cipher",
            Self::Says(Alert::ProtocolVersion) => "alert: no common version",
            Self::Says(Alert::InternalError) => "alert: internal error",
            Self::Says(Alert::UnrecognisedName) => "alert: unknown server name",
            Self::Says(Alert::NoApplicationProtocol) => "alert: no common protocol above TLS",
            Self::Http => "HTTP where TLS is expected",
            Self::Ssh => "SSH where TLS is expected",
            Self::NoSuchName => "a name that does not exist",
            Self::Refused => "refused",
            Self::Unreachable => "unreachable",
            Self::Reset => "reset after accept",
            Self::Closed => "closed in the handshake",
            Self::Silent => "no answer in time",
            Self::NoHttp2 => "TLS without HTTP/2",
            Self::LongHead => "CONNECT answered without an end",
            Self::NoHead => "CONNECT not answered, closed",
            Self::ExpiredBehindProxy => "CONNECT answered 200, certificate: expired",
            Self::Socks(Reply::NotAllowed) => "SOCKS: not allowed",
            Self::Socks(Reply::HostUnreachable) => "SOCKS: unreachable",
            Self::Socks(Reply::ConnectionRefused) => "SOCKS: refused",
            Self::Socks(Reply::CommandNotSupported) => "SOCKS: unknown command",
            Self::Socks(Reply::AddressNotSupported) => "SOCKS: unknown kind of address",
            Self::Socks(Reply::WantsLogin) => "SOCKS: login demanded",
            Self::Proxy {
                status,
                asks_for_wait,
            } => {
                write!(f, "CONNECT answered {status}")?;
                if *asks_for_wait {
                    f.write_str(", `Retry-After: 1`")?;
                }
                return Ok(());
            }
        };
        f.write_str(plain)
    }
}
