//! What stands behind the proxy? A small server that notes what reaches it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// Each serves one connection at a time; no test keeps more open. To begin a thread for each connection would cost more than what
/// `overhead` measures.
const WORKERS: usize = 256;

/// A server of HTTP/1.1. It answers with what it was sent, and notes the ids of requests. It lasts as long as the test's process.
pub struct Service {
    pub address: SocketAddr,
    ids: Arc<Mutex<Vec<String>>>,
    connections: Arc<Mutex<usize>>,
}

impl Service {
    pub fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let service = Self {
            address: listener.local_addr().unwrap(),
            ids: Arc::default(),
            connections: Arc::default(),
        };
        let listener = Arc::new(listener);
        for _ in 0..WORKERS {
            let listener = Arc::clone(&listener);
            let (ids, connections) = (Arc::clone(&service.ids), Arc::clone(&service.connections));
            thread::spawn(move || {
                for stream in listener.incoming().flatten() {
                    *connections.lock().unwrap() += 1;
                    converse(stream, &ids);
                }
            });
        }
        service
    }

    /// Ids of the requests that have reached it, in order.
    pub fn ids(&self) -> Vec<String> {
        self.ids.lock().unwrap().clone()
    }

    pub fn connections(&self) -> usize {
        *self.connections.lock().unwrap()
    }
}

fn converse(stream: TcpStream, ids: &Mutex<Vec<String>>) -> Option<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            stream.read_line(&mut head).ok().filter(|it| *it > 0)?;
        }
        let header = |name: &str| {
            let line = head
                .lines()
                .find(|it| it.to_ascii_lowercase().starts_with(name))?;
            Some(line[name.len()..].trim().to_string())
        };
        let id = header("x-request-id:").unwrap_or_default();
        let length = header("content-length:").and_then(|it| it.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        stream.read_exact(&mut body).ok()?;
        ids.lock().unwrap().push(id);
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nX-Case: Kept\r\n\r\n",
            body.len()
        );
        stream.get_mut().write_all(head.as_bytes()).ok()?;
        stream.get_mut().write_all(&body).ok()?;
    }
}
