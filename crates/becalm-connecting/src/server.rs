//! What does a server do that is not there for its clients, and who has come?

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use crate::{Authority, Fault, RETRY_AFTER, Reply};

/// What comes before TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// Nothing.
    Open,
    /// The client of a Postgres asks whether the server speaks TLS, and it says that it does.
    Postgres,
}

/// A server on loopback with one fault.
#[derive(Debug)]
pub struct Server {
    port: u16,
    accepted: Arc<Mutex<Vec<Instant>>>,
    serves: Serves,
}

#[derive(Debug)]
enum Serves {
    Task(JoinHandle<()>),
    /// The port is taken, and nothing listens.
    Nothing {
        _port: TcpSocket,
    },
}

impl Server {
    /// Starts it. Where nothing is to listen, nothing does.
    ///
    /// # Panics
    ///
    /// There is no port left.
    pub fn start(fault: Fault, door: Door, authority: &Authority) -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        let any = (Ipv4Addr::LOCALHOST, 0);
        socket.bind(any.into()).expect("a port");
        let port = socket.local_addr().expect("an address").port();
        let accepted = Arc::<Mutex<Vec<Instant>>>::default();
        let serves = if fault == Fault::Refused {
            Serves::Nothing { _port: socket }
        } else {
            let listener = socket.listen(64).expect("a listener");
            let tls = TlsAcceptor::from(Arc::new(authority.server(fault)));
            let counted = Arc::clone(&accepted);
            Serves::Task(tokio::spawn(async move {
                while let Ok((stream, _)) = listener.accept().await {
                    let mut counted = counted.lock().unwrap_or_else(PoisonError::into_inner);
                    counted.push(Instant::now());
                    drop(counted);
                    tokio::spawn(serve(stream, fault, door, tls.clone()));
                }
            }))
        };
        Self {
            port,
            accepted,
            serves,
        }
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// When it has accepted a connection.
    pub fn accepted(&self) -> Vec<Instant> {
        let accepted = self.accepted.lock();
        accepted.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until this number of connections was accepted, or for ten seconds. A client may have left before it is accepted.
    pub async fn accepts(&self, dials: u32) {
        let until = Instant::now() + Duration::from_secs(10);
        while self.accepted().len() < dials as usize && Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Serves::Task(task) = &self.serves {
            task.abort();
        }
    }
}

async fn serve(mut stream: TcpStream, fault: Fault, door: Door, tls: TlsAcceptor) {
    let is_of_tls = matches!(
        fault,
        Fault::Refuses(_) | Fault::Demands { .. } | Fault::Says(_) | Fault::Closed
    );
    if is_of_tls && door == Door::Postgres {
        let _ = stream.read_exact(&mut [0; 8]).await;
        let _ = stream.write_all(b"S").await;
    }
    match fault {
        Fault::Refuses(_) | Fault::Demands { .. } | Fault::NoHttp2 => {
            refused(stream, &tls).await;
        }
        Fault::Says(alert) => {
            greeting(&mut stream).await;
            let _ = stream.write_all(&[21, 3, 3, 0, 2, 2, alert as u8]).await;
            drain(stream).await;
        }
        Fault::Http => {
            let _ = stream.read(&mut [0; 4096]).await;
            let answer =
                b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            let _ = stream.write_all(answer).await;
            drain(stream).await;
        }
        Fault::Ssh => {
            let _ = stream.write_all(b"SSH-2.0-OpenSSH_9.2\r\n").await;
            drain(stream).await;
        }
        Fault::Reset => {
            let _ = stream.set_zero_linger();
        }
        Fault::Closed => greeting(&mut stream).await,
        Fault::Proxy {
            status,
            asks_for_wait,
        } => {
            request(&mut stream).await;
            let wait = if asks_for_wait {
                format!("retry-after: {}\r\n", RETRY_AFTER.as_secs())
            } else {
                String::new()
            };
            let answer = format!("HTTP/1.1 {status} No\r\ncontent-length: 0\r\n{wait}\r\n");
            let _ = stream.write_all(answer.as_bytes()).await;
            drain(stream).await;
        }
        Fault::NoHead => request(&mut stream).await,
        Fault::ExpiredBehindProxy => {
            request(&mut stream).await;
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
            refused(stream, &tls).await;
        }
        Fault::LongHead => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nlong: ").await;
            let _ = stream.write_all(&vec![b'a'; 32 * 1024]).await;
            drain(stream).await;
        }
        Fault::Socks(reply) => {
            let wants_login = reply == Reply::WantsLogin;
            let _ = stream.read_exact(&mut [0; 3]).await;
            let _ = stream
                .write_all(&[5, if wants_login { 255 } else { 0 }])
                .await;
            if !wants_login {
                let _ = stream.read_exact(&mut [0; 10]).await; // to an IPv4 address
                let refusal = [5, reply as u8, 0, 1, 0, 0, 0, 0, 0, 0];
                let _ = stream.write_all(&refusal).await;
            }
            drain(stream).await;
        }
        Fault::Silent | Fault::NoSuchName | Fault::Refused | Fault::Unreachable => {
            while let Ok(1..) = stream.read(&mut [0; 4096]).await {}
        }
    }
}

/// The head of a request, to its end.
async fn request(stream: &mut TcpStream) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
}

/// A handshake that the client ends.
async fn refused(stream: TcpStream, tls: &TlsAcceptor) {
    match tls.accept(stream).into_fallible().await {
        Ok(stream) => drain(stream).await,
        Err((_, stream)) => drain(stream).await,
    }
}

/// The record of the client's greeting, to its end: what is closed while something is unread is reset.
async fn greeting(stream: &mut TcpStream) {
    let mut head = [0; 5];
    if stream.read_exact(&mut head).await.is_ok() {
        let mut rest = vec![0; usize::from(u16::from_be_bytes([head[3], head[4]]))];
        let _ = stream.read_exact(&mut rest).await;
    }
}

/// Says no more, and reads to the end.
async fn drain<S: AsyncReadExt + AsyncWriteExt + Unpin>(mut stream: S) {
    let _ = stream.shutdown().await;
    let read = async { while let Ok(1..) = stream.read(&mut [0; 4096]).await {} };
    let _ = tokio::time::timeout(Duration::from_secs(60), read).await;
}
