//! Do two addresses belong to one server? By scheme, host and port (RFC 6454 section 4).

use reqwest::Url;

pub(super) fn is_same(one: &Url, other: &Url) -> bool {
    one.scheme() == other.scheme()
        && one.host() == other.host()
        && one.port_or_known_default() == other.port_or_known_default()
}

/// A server, and nothing beside it.
pub(super) fn read(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let is_web = matches!(url.scheme(), "http" | "https");
    let is_bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
    let has_user = !url.username().is_empty() || url.password().is_some();
    (is_web && is_bare && !has_user).then_some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_scheme_host_and_port_and_nothing_else() {
        let origin = |text: &str| read(text).expect(text);
        assert!(is_same(
            &origin("HTTP://Shop.example/"),
            &origin("http://shop.example:80")
        ));
        for other in [
            "https://shop.example",
            "http://shop.example:81",
            "http://a.shop.example",
        ] {
            assert!(
                !is_same(&origin("http://shop.example"), &origin(other)),
                "{other}"
            );
        }
        for text in [
            "",
            "shop.example",
            "/orders",
            "http://shop.example/orders",
            "http://shop.example?a",
            "http://shop.example#a",
            "http://a@shop.example",
            "ws://x",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
