//! How does a test get a registry of packages that fails as it should?

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a registry does with a request for a package.
#[derive(Debug, Clone, Copy)]
pub enum Registry {
    Answers(u16),
    HangsUp,
}

/// A registry of one package that does this with the first requests for it, and counts all of them.
pub struct Stub {
    pub port: u16,
    requests: Arc<AtomicUsize>,
}

impl Stub {
    /// Serves until the test's process ends.
    pub fn start(package: Vec<u8>, script: Vec<Registry>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let requests = Arc::<AtomicUsize>::default();
        let count = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let Some(path) = path_of(&stream) else {
                    continue;
                };
                if !path.contains("/-/lamp-") {
                    answer(stream, 404, b"");
                    continue;
                }
                let index = count.fetch_add(1, Ordering::Relaxed);
                match script.get(index).copied().unwrap_or(Registry::Answers(200)) {
                    Registry::Answers(200) => answer(stream, 200, &package),
                    Registry::Answers(status) => answer(stream, status, b""),
                    Registry::HangsUp => drop(stream),
                }
            }
        });
        Self { port, requests }
    }

    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }
}

fn path_of(stream: &TcpStream) -> Option<String> {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    lines.find(String::is_empty)?;
    Some(path)
}

/// A client that has gone by now is no matter of the registry's.
fn answer(mut stream: TcpStream, status: u16, body: &[u8]) {
    let head = format!(
        "HTTP/1.1 {status} Said\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all(head.as_bytes());
    let _ = stream.write_all(body);
    // It closes when it has read all: what it has not read would become a reset.
    let _ = stream.shutdown(Shutdown::Write);
    let _ = stream.read(&mut [0; 1]);
}
