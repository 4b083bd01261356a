//! How does a chat go on through restarts of its server? On a socket that comes back as it is told.

use becalm_ws::Client;
use futures_util::StreamExt;
use tokio::sync::mpsc::Receiver;

/// Says what comes from `says`, and hands on what is said in the room, until nobody says anything any more.
pub async fn chat(
    client: &Client,
    mut says: Receiver<String>,
    mut hears: impl FnMut(&str),
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let mut room = client.open()?;
    let handle = room.handle();
    let mut is_over = false;
    loop {
        tokio::select! {
            line = says.recv(), if !is_over => {
                is_over = line.is_none();
                match line {
                    Some(line) => handle.send(line).await?,
                    None => handle.close(None),
                }
            }
            line = room.next() => match line {
                Some(line) => hears(line?.to_text()?),
                None => return Ok(()),
            },
        }
    }
}
