//! How is somebody told to come later? With a 503, or, where a browser hides that, with a close.

use becalm_admission::{Advice, TICKET_HEADER};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::http::header::{
    CACHE_CONTROL, CONNECTION, ORIGIN, RETRY_AFTER, SEC_WEBSOCKET_PROTOCOL,
};
use tokio_tungstenite::tungstenite::http::{HeaderMap, HeaderValue, Response, StatusCode};
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, frame::coding::CloseCode};

use super::Server;

/// How long a client that was accepted to be sent away may take to go.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(2);

/// Whether a browser sent it: those name where the script is from (RFC 6455 section 10.2), and show it no status.
pub(crate) fn is_of_browser(headers: &HeaderMap) -> bool {
    headers.contains_key(ORIGIN)
}

/// The 503.
pub(crate) fn unavailable<D: Default>(advice: &Advice) -> Response<D> {
    let mut response = Response::new(D::default());
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    let headers = response.headers_mut();
    headers.insert(RETRY_AFTER, advice.seconds().into());
    headers.insert("retry-after-ms", advice.millis().into());
    let ticket = advice.ticket.as_deref().map(HeaderValue::from_str);
    if let Some(Ok(ticket)) = ticket {
        headers.insert(TICKET_HEADER, ticket);
    }
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Its descriptor is somebody else's.
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// The subprotocols that are offered, in order of preference.
pub(crate) fn offered(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let lines = headers.get_all(SEC_WEBSOCKET_PROTOCOL).into_iter();
    let texts = lines.filter_map(|line| line.to_str().ok());
    texts.flat_map(|line| line.split(',')).map(str::trim)
}

/// Any of them: a browser fails a connection without one before it looks at its close (WHATWG WebSockets, section 2.2).
pub(crate) fn any_protocol(headers: &HeaderMap) -> Option<HeaderValue> {
    HeaderValue::from_str(offered(headers).next()?).ok()
}

impl Server {
    /// Closes a connection that was accepted to be told so.
    pub(crate) async fn send_away<IO: AsyncRead + AsyncWrite + Unpin>(
        &self,
        io: IO,
        advice: &Advice,
    ) {
        let until = self.now().after(PATIENCE);
        let close = async {
            let limits = Some(self.settings().limits);
            let mut wire = WebSocketStream::from_raw_socket(io, Role::Server, limits).await;
            let close = Message::Close(Some(CloseFrame {
                code: CloseCode::Again,
                reason: advice.to_string().into(),
            }));
            if send(&mut wire, close).await.is_ok() {
                while let Some(Ok(_)) = next(&mut wire).await {}
            }
        };
        tokio::select! {
            () = close => (),
            () = self.sleeper().sleep_until(until) => (),
        }
        self.counters().closed(1013);
    }
}

async fn send<S>(wire: &mut S, message: Message) -> Result<(), S::Error>
where
    S: futures_sink::Sink<Message> + Unpin,
{
    use std::pin::Pin;
    std::future::poll_fn(|context| Pin::new(&mut *wire).poll_ready(context)).await?;
    Pin::new(&mut *wire).start_send(message)?;
    std::future::poll_fn(|context| Pin::new(&mut *wire).poll_flush(context)).await
}

async fn next<S: futures_core::Stream + Unpin>(wire: &mut S) -> Option<S::Item> {
    std::future::poll_fn(|context| std::pin::Pin::new(&mut *wire).poll_next(context)).await
}
