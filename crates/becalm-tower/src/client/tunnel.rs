//! How does a client get through a proxy, and learn what the proxy has answered?

use std::error::Error;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::SystemTime;

use becalm::classify::connect::ProxyRefused;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use hyper::rt::{Read, ReadBuf, Write};
use tower_service::Service;

type BoxError = Box<dyn Error + Send + Sync>;

/// How many answers of 1xx may come before the one that counts.
const INTERIM: usize = 10;
/// The longest head of an answer.
const LONGEST: usize = 16 * 1024;

/// A connector through a proxy, by CONNECT: for hyper-util's client below hyper-rustls, and for a channel of tonic.
///
/// Where the proxy makes no tunnel, the error is a [`ProxyRefused`] with its status and its `Retry-After`. So a 403 and a 407
/// end the call, and a 502 and a 503 are tried again, not before the proxy says. hyper-util's own `Tunnel`, which reqwest has
/// as well, keeps of the answer only that it is a 407.
///
/// ```
/// # use tower_service::Service;
/// use becalm_tower::client::Tunnel;
/// use hyper_util::client::legacy::connect::HttpConnector;
/// let proxy = "http://proxy.example:3128".parse().expect("a URI");
/// let connector = Tunnel::new(proxy, HttpConnector::new());
/// // hyper_rustls::HttpsConnectorBuilder::new().. .wrap_connector(connector)
/// // tonic::transport::Endpoint::from_static("https://..").connect_with_connector_lazy(connector)
/// # fn is_connector<C: Service<http::Uri>>(_: C) {}
/// # is_connector(connector);
/// ```
#[derive(Debug, Clone)]
pub struct Tunnel<C> {
    proxy: Uri,
    headers: HeaderMap,
    connector: C,
}

impl<C> Tunnel<C> {
    /// Through this proxy, which the connector connects to.
    pub fn new(proxy: Uri, connector: C) -> Self {
        Self {
            proxy,
            headers: HeaderMap::new(),
            connector,
        }
    }

    /// Adds a header to each CONNECT, such as `Proxy-Authorization`.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.append(name, value);
        self
    }

    /// What is sent, for a tunnel to there.
    fn request(&self, to: &Uri) -> Result<Vec<u8>, io::Error> {
        let missing = || io::Error::new(io::ErrorKind::InvalidInput, "the address has no host");
        let host = to.host().ok_or_else(missing)?;
        let port = match (to.port_u16(), to.scheme_str()) {
            (Some(port), _) => port,
            (None, Some("http")) => 80,
            (None, _) => 443,
        };
        let mut request =
            format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n").into_bytes();
        for (name, value) in &self.headers {
            request.extend_from_slice(name.as_str().as_bytes());
            request.extend_from_slice(b": ");
            request.extend_from_slice(value.as_bytes());
            request.extend_from_slice(b"\r\n");
        }
        request.extend_from_slice(b"\r\n");
        Ok(request)
    }
}

impl<C> Service<Uri> for Tunnel<C>
where
    C: Service<Uri>,
    C::Response: Read + Write + Send + Unpin + 'static,
    C::Error: Into<BoxError>,
    C::Future: Send + 'static,
{
    type Response = C::Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<C::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.connector.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let connecting = self.connector.call(self.proxy.clone());
        let request = self.request(&to);
        Box::pin(async move {
            let mut stream = connecting.await.map_err(Into::into)?;
            write(&mut stream, &request?).await?;
            for _ in 0..=INTERIM {
                let (status, headers) = answer(&mut stream).await?;
                if status.is_success() {
                    return Ok(stream);
                }
                if !status.is_informational() {
                    let hint = becalm::http::hint(&headers, SystemTime::now);
                    return Err(ProxyRefused::new(status.as_u16(), hint).into());
                }
            }
            Err(no_answer().into())
        })
    }
}

async fn write<S: Write + Unpin>(stream: &mut S, mut rest: &[u8]) -> io::Result<()> {
    while !rest.is_empty() {
        let written = poll_fn(|context| Pin::new(&mut *stream).poll_write(context, rest)).await?;
        if written == 0 {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        rest = &rest[written..];
    }
    poll_fn(|context| Pin::new(&mut *stream).poll_flush(context)).await
}

/// The head of an answer. It is read byte by byte, since what follows is the other end's.
async fn answer<S: Read + Unpin>(stream: &mut S) -> io::Result<(StatusCode, HeaderMap)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        let mut buffer = ReadBuf::new(&mut byte);
        poll_fn(|context| Pin::new(&mut *stream).poll_read(context, buffer.unfilled())).await?;
        match buffer.filled() {
            [] => return Err(io::ErrorKind::UnexpectedEof.into()),
            [byte] if head.len() < LONGEST => head.push(*byte),
            _ => return Err(no_answer()),
        }
    }
    parsed(&head).ok_or_else(no_answer)
}

fn parsed(head: &[u8]) -> Option<(StatusCode, HeaderMap)> {
    let mut fields = [httparse::EMPTY_HEADER; 100];
    let mut answer = httparse::Response::new(&mut fields);
    answer.parse(head).ok()?;
    let mut headers = HeaderMap::new();
    for field in &*answer.headers {
        let name = HeaderName::from_bytes(field.name.as_bytes()).ok()?;
        headers.append(name, HeaderValue::from_bytes(field.value).ok()?);
    }
    Some((StatusCode::from_u16(answer.code?).ok()?, headers))
}

fn no_answer() -> io::Error {
    let words = "what the proxy answered is no HTTP";
    io::Error::new(io::ErrorKind::InvalidData, words)
}

#[cfg(test)]
mod tests {
    use becalm::classify::{Class, connect};
    use hyper_util::rt::TokioIo;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

    use super::*;

    /// A proxy that answers so, what it was asked, and what came of that.
    async fn through(says: &'static [u8]) -> (String, Result<TokioIo<DuplexStream>, BoxError>) {
        let (ours, mut theirs) = duplex(1024);
        let proxy = tokio::spawn(async move {
            let mut asked = vec![0; 1024];
            let length = theirs.read(&mut asked).await.expect("a request");
            asked.truncate(length);
            theirs.write_all(says).await.expect("it is read");
            String::from_utf8(asked).expect("text")
        });
        let mut ours = Some(TokioIo::new(ours));
        let connector = tower::service_fn(move |_: Uri| {
            std::future::ready(Ok::<_, io::Error>(ours.take().expect("one dial")))
        });
        let tunnel = Tunnel::new("http://proxy.test:3128".parse().expect("a URI"), connector);
        let login = HeaderValue::from_static("Basic c2hvcA==");
        let mut tunnel = tunnel.header(http::header::PROXY_AUTHORIZATION, login);
        let connected = tunnel.call("https://shop.test".parse().expect("a URI"));
        let connected = connected.await;
        (proxy.await.expect("no panic"), connected)
    }

    #[tokio::test]
    async fn what_follows_the_answer_is_left_to_the_client() {
        let (asked, connected) =
            through(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nvia: a\r\n\r\nhello").await;
        assert_eq!(
            asked,
            "CONNECT shop.test:443 HTTP/1.1\r\nHost: shop.test:443\r\nproxy-authorization: Basic c2hvcA==\r\n\r\n"
        );
        let mut stream = connected.expect("a tunnel").into_inner();
        let mut rest = String::new();
        stream.read_to_string(&mut rest).await.expect("text");
        assert_eq!(rest, "hello");
    }

    #[tokio::test]
    async fn no_http_is_permanent_and_half_an_answer_is_not() {
        for (says, class) in [
            (&b"SSH-2.0-OpenSSH\r\n\r\n"[..], Class::Permanent),
            (b"HTTP/1.1 200", Class::Transient),
            (b"", Class::Transient),
        ] {
            let error = through(says).await.1.map(drop).expect_err("no tunnel");
            assert_eq!(connect::classify(&*error).class, class, "{error}");
        }
    }
}
