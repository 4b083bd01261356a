//! How do connections pass of which nobody can read what they carry: TLS, a database's protocol?
//!
//! What a client sends at once, a piece, stands for its request; and so does a connection that comes while nothing may come.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedWriteHalf;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::{Instant, timeout};

use super::Proxy;
use super::wire::Wire;
use crate::fault::spec::Fault;

/// How much is read at once.
const PIECE: usize = 1 << 16;

/// How much of what a client sends is kept while it is held; then the client's own buffers fill, and nobody hears that it leaves.
const KEPT: usize = 1 << 20;

/// Pieces of answers that may be late together.
const LATE: usize = 256;

/// Passes on what either side says until one has gone.
pub async fn converse(client: TcpStream, proxy: Arc<Proxy>) {
    let _open = proxy.tally.connection();
    let (wire, resets) = Wire::new(client, Arc::clone(&proxy));
    let (mut from_client, mut to_client) = tokio::io::split(wire);
    // The service is asked when nothing holds the client any more, and not only when it has said something: there are
    // protocols in which the service speaks first.
    let mut first = Vec::new();
    let stays = match proxy.gate.now() {
        Some(fault @ (Fault::Hold | Fault::Pour | Fault::Reset)) => {
            befall(fault, &mut from_client, &mut first, &proxy).await
        }
        _ => Ok(()),
    };
    let is_reset = |_: &Cut| {
        let is_reset = proxy.gate.now() == Some(Fault::Reset);
        resets.store(is_reset, Ordering::Relaxed);
    };
    if stays.inspect_err(is_reset).is_err() {
        return;
    }
    let Ok(service) = proxy.connect().await else {
        resets.store(true, Ordering::Relaxed);
        proxy.tally.request(None).unreachable();
        return;
    };
    let (mut from_service, to_service) = service.into_split();
    let (queue, queued) = channel(LATE);
    let asks = async {
        let passed = pass(first, &mut from_client, to_service, &proxy).await;
        if passed.inspect_err(is_reset).is_err() {
            return;
        }
        // It has said all that it has to say, and may still hear.
        std::future::pending::<()>().await;
    };
    let answers = async {
        tokio::join!(
            hear(&mut from_service, queue, &proxy),
            say(queued, &mut to_client, &proxy)
        );
    };
    tokio::select! {
        () = asks => {}
        () = answers => {}
    }
}

/// The connection ends here.
struct Cut;

/// What the client sends next, when nothing holds it any more; nothing when it has no more to say.
async fn next(client: &mut (impl AsyncRead + Unpin), proxy: &Proxy) -> Result<Vec<u8>, Cut> {
    let mut bytes = vec![0; PIECE];
    let read = client.read(&mut bytes).await.map_err(|_| Cut)?;
    bytes.truncate(read);
    if read == 0 {
        return Ok(bytes);
    }
    match proxy.gate.now() {
        Some(fault) => befall(fault, client, &mut bytes, proxy).await?,
        None => proxy.tally.request(None).passed(),
    }
    Ok(bytes)
}

/// What a fault does to the next piece.
async fn befall(
    fault: Fault,
    client: &mut (impl AsyncRead + Unpin),
    bytes: &mut Vec<u8>,
    proxy: &Proxy,
) -> Result<(), Cut> {
    let mut seen = proxy.tally.request(None);
    match fault {
        Fault::Hold => {
            seen.held();
            held(client, bytes, proxy).await?;
        }
        Fault::Pour => {
            seen.held();
            proxy.gate.lifted().await;
        }
        Fault::Reset => {
            seen.broken();
            return Err(Cut);
        }
        Fault::Loss(share) if proxy.gate.loses(share) => {
            seen.broken();
            held(client, bytes, proxy).await?;
            return Err(Cut);
        }
        _ => {}
    }
    seen.passed();
    Ok(())
}

/// Waits until the fault is lifted, or the client leaves. It is read meanwhile: only behind what it has sent is that seen.
async fn held(
    client: &mut (impl AsyncRead + Unpin),
    bytes: &mut Vec<u8>,
    proxy: &Proxy,
) -> Result<(), Cut> {
    let lifted = proxy.gate.lifted();
    tokio::pin!(lifted);
    while bytes.len() < KEPT {
        tokio::select! {
            () = &mut lifted => return Ok(()),
            read = client.read_buf(bytes) => {
                if !matches!(read, Ok(1..)) {
                    return Err(Cut);
                }
            }
        }
    }
    lifted.await;
    Ok(())
}

async fn pass(
    mut bytes: Vec<u8>,
    client: &mut (impl AsyncRead + Unpin),
    mut service: OwnedWriteHalf,
    proxy: &Proxy,
) -> Result<(), Cut> {
    loop {
        service.write_all(&bytes).await.map_err(|_| Cut)?;
        bytes = next(client, proxy).await?;
        if bytes.is_empty() {
            return service.shutdown().await.map_err(|_| Cut);
        }
    }
}

/// What the service has said, and when it may be passed on.
type Piece = (Instant, Vec<u8>);

async fn hear(service: &mut (impl AsyncRead + Unpin), queue: Sender<Piece>, proxy: &Proxy) {
    let mut bytes = vec![0; PIECE];
    while let Ok(read @ 1..) = service.read(&mut bytes).await {
        let late = match proxy.gate.now() {
            Some(Fault::Delay(time)) => time,
            _ => Duration::ZERO,
        };
        let piece = (Instant::now() + late, bytes[..read].to_vec());
        if queue.send(piece).await.is_err() {
            return;
        }
    }
}

async fn say(mut queue: Receiver<Piece>, client: &mut (impl AsyncWriteExt + Unpin), proxy: &Proxy) {
    while let Some((due, bytes)) = queue.recv().await {
        let late = due.saturating_duration_since(Instant::now());
        if !late.is_zero() {
            let _ = timeout(late, proxy.gate.lifted()).await;
        }
        if client.write_all(&bytes).await.is_err() {
            return;
        }
    }
    let _ = client.shutdown().await;
}
