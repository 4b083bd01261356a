//! How does a program retry on another runtime than tokio? With the standard library's timer; nothing
//! else changes.

use std::io::{Error, ErrorKind};
use std::net::SocketAddr;
use std::time::Duration;

use becalm::classify::connect;
use becalm::time::StdSleeper;
use becalm::{Classify, Failure, GaveUp, Policy, Retrier, policy::InvalidPolicy};
use smol::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use smol::net::TcpStream;

/// A retrier whose waits and time limits need no runtime.
///
/// # Errors
///
/// This policy is not refused.
pub fn retrier() -> Result<Retrier, InvalidPolicy> {
    Policy::exponential(Duration::from_millis(20))
        .attempt_timeout(Duration::from_secs(1))
        .deadline(Duration::from_secs(20))
        .builder()
        .sleeper(StdSleeper::new())
        .build()
}

/// Asks the server this line; an attempt that takes too long is dropped.
pub async fn ask(
    retrier: &Retrier,
    server: SocketAddr,
    question: &str,
) -> Result<String, GaveUp<Error>> {
    let attempt = |_| async move {
        let stream = TcpStream::connect(server)
            .await
            .map_err(|error| (connect::classify(&error), error))?;
        let answer = talk(stream, question).await;
        answer.map_err(|error| (error.classify(), error))
    };
    retrier.retry::<_, _, _, (Failure, Error)>(attempt).await
}

async fn talk(mut stream: TcpStream, question: &str) -> Result<String, Error> {
    stream.write_all(format!("{question}\n").as_bytes()).await?;
    let mut line = String::new();
    match BufReader::new(stream).read_line(&mut line).await? {
        0 => Err(ErrorKind::UnexpectedEof.into()),
        _ => Ok(line.trim_end().to_owned()),
    }
}
