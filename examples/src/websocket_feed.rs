//! How does a client follow a WebSocket for ever? On one that outlives its connections.

use becalm_ws::{Client, CloseCode, Ended, GaveUp, Message};
use futures_util::StreamExt;

/// Hands on every text of the feed, connecting again for as long as the client's settings allow. Ready when the
/// server says that the feed is complete (close code 1000).
pub async fn follow(client: &Client, mut each: impl FnMut(&str)) -> Result<(), FeedError> {
    let mut feed = client.open()?;
    while let Some(message) = feed.next().await {
        match message {
            Ok(Message::Text(text)) => each(&text),
            Ok(_) => (),
            Err(gave_up) if is_complete(&gave_up) => break,
            Err(gave_up) => return Err(gave_up.into()),
        }
    }
    Ok(())
}

/// Why a feed is followed no longer: it gave up, or its settings are refused.
pub type FeedError = Box<dyn std::error::Error + Send + Sync>;

fn is_complete(gave_up: &GaveUp) -> bool {
    matches!(&gave_up.ended, Ended::Closed(Some(frame)) if frame.code == CloseCode::Normal)
}
