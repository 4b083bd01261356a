//! What does a server do that answers a line with a line?

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// What it does with a connection.
#[derive(Debug, Clone, Copy)]
pub enum Does {
    /// Answers with the same line.
    Echo,
    /// Closes it, unanswered.
    HangUp,
    /// Holds it, unanswered.
    Stall,
}

/// A server that does this, one connection after the other, and echoes from then on.
pub struct LineServer {
    pub address: SocketAddr,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl LineServer {
    pub fn start(script: Vec<Does>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let is_over = Arc::<AtomicBool>::default();
        let ends = Arc::clone(&is_over);
        let thread = std::thread::spawn(move || {
            let mut script = script.into_iter();
            let mut held = Vec::new();
            for stream in listener.incoming().map_while(Result::ok) {
                if ends.load(Ordering::Acquire) {
                    return;
                }
                match script.next().unwrap_or(Does::Echo) {
                    Does::Echo => echo(&stream),
                    Does::HangUp => drop(stream),
                    Does::Stall => held.push(stream),
                }
            }
        });
        Self {
            address,
            is_over,
            thread: Some(thread),
        }
    }
}

/// A client that has gone by now is no matter of the server's.
fn echo(mut stream: &TcpStream) {
    let mut line = String::new();
    if BufReader::new(stream).read_line(&mut line).is_ok() {
        let _ = stream.write_all(line.as_bytes());
    }
}

impl Drop for LineServer {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        let _ = TcpStream::connect(self.address); // wakes it
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
