//! What is kept of the head of a request, so that it can be sent again? As little as can be copied at once.

use http::request::Parts;
use http::{Extensions, HeaderName, HeaderValue, Method, Request, Uri, Version};

/// The head of a request, for further attempts. The fields are a list, which is one copy: a map is made of it for an attempt
/// that follows.
#[derive(Debug)]
pub(super) struct KeptHead {
    method: Method,
    uri: Uri,
    version: Version,
    fields: Box<[(HeaderName, HeaderValue)]>,
    extensions: Extensions,
}

impl KeptHead {
    pub fn of(head: &Parts) -> Self {
        let mut fields = Vec::with_capacity(head.headers.len());
        let all = head.headers.iter();
        fields.extend(all.map(|(name, value)| (name.clone(), value.clone())));
        Self {
            method: head.method.clone(),
            uri: head.uri.clone(),
            version: head.version,
            fields: fields.into_boxed_slice(), // with no room to spare
            extensions: head.extensions.clone(),
        }
    }

    /// A request with this head.
    pub fn request<B>(&self, body: B) -> Request<B> {
        let mut request = Request::new(body);
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.uri.clone();
        *request.version_mut() = self.version;
        *request.extensions_mut() = self.extensions.clone();
        let headers = request.headers_mut();
        // A map refuses room for very many lines, though it may hold them: they may have few names.
        let _ = headers.try_reserve(self.fields.len());
        for (name, value) in &self.fields {
            headers.append(name, value.clone());
        }
        request
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_again_is_the_same() {
        let request = Request::put("http://shop.example/orders/17?a=b")
            .version(Version::HTTP_2)
            .header("accept", "text/plain")
            .header("cookie", "a=1")
            .header("x-shop", "17")
            .header("cookie", "b=2")
            .extension("a mark");
        let (head, ()) = request.body(()).expect("valid").into_parts();
        let again = KeptHead::of(&head).request(());
        assert_eq!(
            (again.method(), again.uri(), again.version()),
            (&head.method, &head.uri, head.version)
        );
        assert!(again.headers().iter().eq(head.headers.iter()));
        assert_eq!(again.extensions().get(), Some(&"a mark"));
    }
}
