//! How does a test ask for one answer over HTTP/1?

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The status and the head of the answer to a request with this method, with a body where methods have one.
pub async fn ask(port: u16, method: &str) -> (u16, String) {
    ask_with(port, method, "").await
}

/// As [`ask`], with more lines in the head, each with its end.
pub async fn ask_with(port: u16, method: &str, more: &str) -> (u16, String) {
    let asked = async {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
        let body = if matches!(method, "POST" | "PUT" | "PATCH") {
            "x"
        } else {
            ""
        };
        let request = format!(
            "{method} /orders HTTP/1.1\r\nHost: shop\r\nConnection: close\r\nContent-Length: {}\r\n{more}\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        Ok::<_, std::io::Error>(String::from_utf8_lossy(&answer).into_owned())
    };
    let answer = tokio::time::timeout(Duration::from_secs(30), asked).await;
    let answer = answer.expect("an answer in time").expect("an answer");
    let head = answer
        .split("\r\n\r\n")
        .next()
        .unwrap_or_default()
        .to_owned();
    let status = head.split(' ').nth(1).and_then(|it| it.parse().ok());
    (status.expect("a status"), head)
}
