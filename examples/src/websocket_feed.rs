//! How does a client follow a WebSocket for ever? A session that ends is an attempt that failed; one
//! that has brought something begins the count anew.

use std::fmt;
use std::time::SystemTime;

use becalm::classify::{connect, websocket};
use becalm::{Failure, GaveUp, Retrier, http};
use futures_util::StreamExt;
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::Error;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Message};

/// Hands on every text of the feed at this address, connecting again as long as the retrier allows.
/// Ready when the server says that the feed is complete (close code 1000).
///
/// Give the retrier many attempts and no budget: its waits are what spreads the clients of a server
/// that restarts.
pub async fn follow(
    address: &str,
    retrier: &Retrier,
    mut each: impl FnMut(&str),
) -> Result<(), GaveUp<Ended>> {
    let mut call = retrier.call();
    while call.next().await.is_some() {
        let mut feed = match connect_async(address).await {
            Ok((feed, _)) => feed,
            Err(error) => {
                let ended = Ended::Handshake(Box::new(error));
                call.failure_as(ended.meaning(), ended);
                continue;
            }
        };
        let mut is_good = false;
        let ended = loop {
            match feed.next().await {
                Some(Ok(Message::Text(text))) => {
                    if !is_good {
                        is_good = true;
                        call.count_anew();
                    }
                    each(&text);
                }
                Some(Ok(Message::Close(frame))) => break Ended::Closed(frame),
                Some(Ok(_)) => (),
                Some(Err(error)) => break Ended::Broken(Box::new(error)),
                None => break Ended::Closed(None),
            }
        };
        if matches!(&ended, Ended::Closed(Some(frame)) if u16::from(frame.code) == 1000) {
            call.success(());
            return Ok(());
        }
        call.failure_as(ended.meaning(), ended);
    }
    Err(call.gave_up())
}

/// How a session ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum Ended {
    /// There was none: no connection, or no handshake.
    Handshake(Box<Error>),
    /// The server closed it, with a code or without.
    Closed(Option<CloseFrame>),
    /// The connection broke.
    Broken(Box<Error>),
}

impl Ended {
    /// What that means for connecting again.
    fn meaning(&self) -> Failure {
        match self {
            Self::Handshake(error) => match &**error {
                Error::Io(error) => connect::classify(error),
                Error::Http(answer) => {
                    let mut failure = websocket::classify_handshake(answer.status().as_u16());
                    failure.hint = http::hint(answer.headers(), SystemTime::now);
                    failure
                }
                Error::Url(_) | Error::HttpFormat(_) => Failure::permanent(),
                _ => Failure::transient().unsent(),
            },
            Self::Closed(Some(frame)) => websocket::classify_close(frame.code.into()),
            Self::Closed(None) => websocket::classify_close(1005),
            Self::Broken(_) => websocket::classify_close(1006),
        }
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Handshake(error) => write!(f, "no session: {error}"),
            Self::Closed(None) => f.write_str("the server closed the session"),
            Self::Closed(Some(frame)) => write!(f, "the server closed the session: {frame}"),
            Self::Broken(error) => write!(f, "the session broke: {error}"),
        }
    }
}

impl std::error::Error for Ended {}
