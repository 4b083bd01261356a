//! Which HTTP methods may be done twice, as a policy declares it?

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::suggest;

/// Methods that a policy declares safe to repeat.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Methods {
    /// All of them, as proxies that do not ask repeat them.
    Any,
    /// These, in capital letters as HTTP has them (RFC 9110 section 9.1).
    Listed(Vec<String>),
}

impl Methods {
    /// These methods.
    pub fn of<'a>(methods: impl IntoIterator<Item = &'a str>) -> Self {
        Self::Listed(methods.into_iter().map(Into::into).collect())
    }

    /// Whether this method is one of them. Methods are case-sensitive.
    pub fn contains(&self, method: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Listed(methods) => methods.iter().any(|listed| listed == method),
        }
    }

    /// Of these, the first that is not idempotent by RFC 9110 section 9.2.2, RFC 4918 or RFC 10008.
    #[cfg(feature = "lints")]
    pub(crate) fn not_idempotent(&self) -> Option<&str> {
        match self {
            Self::Any => Some("POST"),
            Self::Listed(methods) => {
                let mut methods = methods.iter().map(String::as_str);
                methods.find(|method| !IDEMPOTENT.contains(method))
            }
        }
    }

    /// Whether all are methods, and none is there twice.
    pub(crate) fn are_valid(&self) -> bool {
        let Self::Listed(methods) = self else {
            return true;
        };
        let mut all = methods.iter().enumerate();
        all.all(|(at, method)| is_method(method) && !methods[..at].contains(method))
    }
}

/// By the registry of HTTP methods of IANA.
const IDEMPOTENT: [&str; 18] = [
    "GET",
    "HEAD",
    "OPTIONS",
    "TRACE",
    "PUT",
    "DELETE",
    "QUERY",
    "PROPFIND",
    "PROPPATCH",
    "MKCOL",
    "COPY",
    "MOVE",
    "UNLOCK",
    "REPORT",
    "SEARCH",
    "BIND",
    "UNBIND",
    "ACL",
];
/// Others that people write.
const OTHERS: [&str; 5] = ["POST", "PATCH", "LOCK", "CONNECT", "PURGE"];

/// What to write instead of what is no method.
#[cfg(feature = "serde")]
pub(crate) fn remedy(method: &str) -> Option<String> {
    let all = || "write it in capital letters, such as \"GET\"".into();
    (!is_method(method)).then(|| suggest::remedy(method, known(), all))
}

fn known() -> impl Iterator<Item = &'static str> {
    IDEMPOTENT.iter().chain(&OTHERS).copied()
}

/// Whether it is a token in capital letters (RFC 9110 section 5.6.2; of the methods in use none has a small letter), and no
/// slip of one that is known.
fn is_method(method: &str) -> bool {
    let is_in_token = |byte: u8| {
        byte.is_ascii_uppercase() || byte.is_ascii_digit() || b"!#$%&'*+-.^_`|~".contains(&byte)
    };
    let is_known = known().any(|other| other == method);
    let is_token = !method.is_empty() && method.bytes().all(is_in_token);
    is_known || is_token && suggest::nearest(method, known()).is_none()
}

/// The names apart by commas, or `any`.
impl fmt::Display for Methods {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any"),
            Self::Listed(methods) => f.write_str(&methods.join(", ")),
        }
    }
}
