//! What is asked of each server, and what must its log say?

use std::io::{Cursor, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use becalm_fit::log::{Log, Reader, Said, Tally};
use becalm_fit::{Ended, Request};

/// A server that answers `/ok` with 200 and `/busy` with 503, and tells of requests for `/never`, which it does not answer.
pub struct Upstream {
    pub port: u16,
    never: Receiver<()>,
}

/// How long nothing may come over a connection before the test has failed.
const PATIENCE: Duration = Duration::from_secs(30);

/// Each answer.
const ANSWERED: usize = 5;
/// Each kind of the others.
const OTHERS: usize = 3;
/// All requests of [`Upstream::visit`].
pub const VISITS: usize = ANSWERED + 2 * OTHERS;

impl Upstream {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("it has one").port();
        let (tell, never) = mpsc::channel();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let tell = tell.clone();
                thread::spawn(move || serve(stream, || tell.send(())));
            }
        });
        Self { port, never }
    }

    /// Asks the proxy on this port; some clients leave.
    pub fn visit(&self, proxy: u16) {
        for number in 0..ANSWERED {
            assert!(ask(proxy, "/ok", &number.to_string()).starts_with("HTTP/1.1 200"));
        }
        for _ in 0..OTHERS {
            assert!(ask(proxy, "/busy", "same").starts_with("HTTP/1.1 503"));
        }
        for _ in 0..OTHERS {
            let stream = send(proxy, "/never", "left");
            let came = self.never.recv_timeout(PATIENCE);
            came.expect("it comes to the server");
            drop(stream);
        }
    }
}

fn serve(mut stream: TcpStream, tell: impl Fn() -> Result<(), mpsc::SendError<()>>) {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(length @ 1..) = stream.read(&mut buffer) {
        request.extend_from_slice(&buffer[..length]);
        if !request.ends_with(b"\r\n\r\n") {
            continue;
        }
        let text = String::from_utf8_lossy(&request).into_owned();
        request.clear();
        let status = if text.contains(" /ok ") {
            "200 OK"
        } else if text.contains(" /busy ") {
            "503 Service Unavailable"
        } else if text.contains(" /never ") {
            let _ = tell();
            continue;
        } else {
            "404 Not Found"
        };
        let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 2\r\n\r\nhi");
        let _ = stream.write_all(answer.as_bytes());
    }
}

/// The answer of the server on this port.
pub fn ask(port: u16, path: &str, id: &str) -> String {
    let mut answer = String::new();
    let read = send(port, path, id).read_to_string(&mut answer);
    read.expect("an answer");
    answer
}

fn send(port: u16, path: &str, id: &str) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: shop\r\nX-Request-Id: {id}\r\nUser-Agent: \"test\"\r\n\
         Connection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).expect("it reads");
    stream
}

/// Microseconds since the epoch.
pub fn now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    i64::try_from(now.expect("it is after 1970").as_micros())
        .expect("it is before the year 200,000")
}

/// The requests of a log.
pub fn read(text: &str, said: &Said) -> (Vec<Request>, Tally) {
    let reader = Reader::open("the.log", Cursor::new(text), said);
    let mut log = Log::new([reader.unwrap_or_else(|refusal| panic!("{refusal}: {text}"))]);
    let mut requests = Vec::new();
    while let Some(request) = log.read().unwrap_or_else(|it| panic!("{it}: {text}")) {
        requests.push(request);
    }
    let tally = log.tallies().next().expect("of one file").clone();
    (requests, tally)
}

/// Compares what a log says with what [`Upstream::visit`] did since then. Moments are as exact as their `step`.
pub fn compare(requests: &[Request], since: i64, step: i64) {
    let count = |ended| requests.iter().filter(|it| it.ended == ended).count();
    let counts = (
        count(Ended::Answered(200)),
        count(Ended::Answered(503)),
        count(Ended::Abandoned),
    );
    assert_eq!(counts, (ANSWERED, OTHERS, OTHERS), "{requests:?}");
    let until = now();
    for request in requests {
        let end = request.start + i64::try_from(request.duration).unwrap();
        assert!(
            since - step <= request.start && end <= until + step,
            "{request:?}"
        );
    }
}

/// How many different numbers there are.
pub fn different<T: Ord>(requests: &[Request], of: impl Fn(&Request) -> T) -> usize {
    let mut all: Vec<T> = requests.iter().map(of).collect();
    all.sort();
    all.dedup();
    all.len()
}
