//! How is a Prometheus asked? By one GET over plain HTTP/1.1, bounded in time and size.

use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use crate::usage::shown;

/// For a connection.
const CONNECT: Duration = Duration::from_secs(5);
/// For the answer: by default Prometheus ends a query after two minutes.
const ANSWER: Duration = Duration::from_secs(130);
/// Bytes of an answer, at most.
pub const MOST: u64 = 256 << 20;

/// The body of what `/api/v1/query_range` below this URL answers; also one that says why the query is refused.
pub fn get(url: &str, parameters: &[(&str, String)]) -> Result<Vec<u8>, String> {
    let told = shown(&without_password(url).0);
    let Some(rest) = url.strip_prefix("http://") else {
        return Err(format!("{told}: becalm asks over plain http:// alone"));
    };
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    if authority.contains('@') {
        return Err("becalm sends no password to a Prometheus".into());
    }
    if rest.contains(|it: char| it.is_whitespace() || it.is_control() || it == '?' || it == '#') {
        return Err(format!(
            "{told} is no URL of a Prometheus; write http://HOST:9090"
        ));
    }
    let has_port = authority
        .rsplit_once(':')
        .is_some_and(|it| !it.1.contains(']'));
    let address = if has_port {
        authority.to_owned()
    } else {
        format!("{authority}:80")
    };
    let path = path.trim_end_matches('/');
    let slash = if path.is_empty() { "" } else { "/" };
    let mut request = format!("GET {slash}{path}/api/v1/query_range");
    for ((name, value), between) in parameters.iter().zip(["?", "&", "&", "&"]) {
        let _ = write!(request, "{between}{name}={}", encoded(value));
    }
    let _ = write!(
        request,
        " HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: becalm\r\nAccept: application/json\r\nConnection: close\r\n\r\n"
    );
    let answer = exchange(&address, request.as_bytes());
    let answer = answer.map_err(|error| format!("cannot ask {told}: {error}"))?;
    body(&answer).map_err(|why| format!("{told} {why}"))
}

/// The URL without what says who asks, and whether there was any.
pub fn without_password(url: &str) -> (String, bool) {
    let found = url.split_once("://").and_then(|(scheme, rest)| {
        let end = rest.find('/').unwrap_or(rest.len());
        let at = rest[..end].rfind('@')?;
        Some(format!("{scheme}://{}", &rest[at + 1..]))
    });
    let has_one = found.is_some();
    (found.unwrap_or_else(|| url.to_owned()), has_one)
}

fn exchange(address: &str, request: &[u8]) -> io::Result<Vec<u8>> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, CONNECT) {
            Ok(stream) => return ask(stream, request),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn ask(mut stream: TcpStream, request: &[u8]) -> io::Result<Vec<u8>> {
    let until = Instant::now() + ANSWER;
    stream.set_write_timeout(Some(CONNECT))?;
    stream.write_all(request)?;
    let mut answer = Vec::new();
    let mut part = vec![0; 1 << 16];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut part) {
            Ok(0) => return Ok(answer),
            Ok(length) => answer.extend_from_slice(&part[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if answer.len() as u64 > MOST {
            return Err(io::Error::other("the answer is longer than 256 MiB"));
        }
    }
}

/// What follows the head, unless the status is none of Prometheus's API: 4xx and 5xx come with JSON that says why.
fn body(answer: &[u8]) -> Result<Vec<u8>, String> {
    let end = answer.windows(4).position(|it| it == b"\r\n\r\n");
    let end = end.ok_or("does not answer as HTTP has it")?;
    let head = String::from_utf8_lossy(&answer[..end]).to_ascii_lowercase();
    let mut lines = head.split("\r\n");
    let status = lines
        .next()
        .and_then(|it| it.split(' ').nth(1))
        .unwrap_or_default();
    let body = &answer[end + 4..];
    let headers: Vec<_> = lines.filter_map(|it| it.split_once(':')).collect();
    let header = |name: &str| {
        headers
            .iter()
            .find(|it| it.0 == name)
            .map_or("", |it| it.1.trim())
    };
    let body = if header("transfer-encoding") == "chunked" {
        unchunked(body).ok_or("broke its answer off")?
    } else {
        let length = header("content-length").parse::<usize>().ok();
        if length.is_some_and(|it| it > body.len()) {
            return Err("broke its answer off".into());
        }
        body.to_vec()
    };
    let says_why = || body.windows(7).any(|it| it == b"\"error\"");
    if status == "200" || body.trim_ascii_start().starts_with(b"{") && says_why() {
        Ok(body)
    } else {
        Err(format!("answers {} to /api/v1/query_range", shown(status)))
    }
}

/// The chunks, put together (RFC 9112, section 7.1).
fn unchunked(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = rest.windows(2).position(|it| it == b"\r\n")?;
        let size = std::str::from_utf8(&rest[..end]).ok()?;
        let size = size.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16).ok()?;
        if size == 0 {
            return Some(body);
        }
        let from = end + 2;
        body.extend_from_slice(rest.get(from..from.checked_add(size)?)?);
        rest = rest.get(from + size + 2..)?;
    }
}

fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            byte => {
                let _ = write!(encoded, "%{byte:02X}");
            }
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_read_whole_or_not_at_all() {
        for (answer, expected) in [
            ("HTTP/1.1 200 OK\r\n\r\n{}", Some("{}")),
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", Some("{}")),
            ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}", None),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1;a=b\r\n}\r\n0\r\n\r\n",
                Some("{}"),
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{}",
                None,
            ),
            (
                "HTTP/1.1 400 Bad Request\r\n\r\n{\"status\":\"error\"}",
                Some("{\"status\":\"error\"}"),
            ),
            ("HTTP/1.1 404 Not Found\r\n\r\nnothing", None),
            (
                "HTTP/1.1 401 No\r\n\r\n{\"message\":\"Unauthorized\"}",
                None,
            ),
            ("hello", None),
        ] {
            let body = body(answer.as_bytes()).ok();
            assert_eq!(body.as_deref(), expected.map(str::as_bytes), "{answer}");
        }
    }

    #[test]
    fn what_is_no_plain_address_is_refused() {
        for (url, part) in [
            ("https://a:9090", "plain http:// alone"),
            ("http://me:word@a:9090", "no password"),
            (
                "https://me:word@a:9090",
                "https://a:9090: becalm asks over plain",
            ),
            ("http://a:9090/?x", "no URL of a Prometheus"),
        ] {
            let sentence = get(url, &[]).expect_err(url);
            assert!(
                sentence.contains(part) && !sentence.contains("word@"),
                "{sentence}"
            );
        }
        assert_eq!(encoded("a{b=\"c\"}"), "a%7Bb%3D%22c%22%7D");
    }
}
