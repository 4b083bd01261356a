//! Does a fault break what it says, and nothing once it is lifted or the drill is gone? The proxy and the watchdog are those that the
//! drill starts, under the names by which they know what they are; the test is the drill.

mod connections;
mod ends;
mod gone;
mod http2;
mod overhead;
mod requests;
pub mod service;
mod stopped;

use std::fmt::Display;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

pub use super::target::gunicorn::Gunicorn;

/// Longer than anything here takes on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A process of the drill, told what to do by the test.
pub struct Helper {
    pub child: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    pub first: Value,
}

impl Helper {
    pub fn start(name: &str, brief: &Value) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_becalm"));
        command.arg0(name).arg(brief.to_string());
        Self::of(command)
    }

    pub fn of(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let orders = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().unwrap());
        let mut helper = Self {
            child,
            orders,
            answers,
            first: Value::Null,
        };
        helper.first = helper.answer();
        helper
    }

    /// Says it, and does not wait for the answer.
    pub fn say(&mut self, order: &str) {
        let orders = self.orders.as_mut().expect("the drill is there");
        writeln!(orders, "\"{order}\"").expect("it reads");
    }

    pub fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("it answers");
        serde_json::from_str(&line).expect("JSON")
    }

    pub fn ask(&mut self, order: &str) -> Value {
        self.say(order);
        self.answer()
    }

    /// As when the drill was killed: its end of the pipe is closed by the system.
    pub fn drill_dies(&mut self) {
        self.orders = None;
    }

    pub fn ended(&mut self) -> bool {
        self.child.try_wait().expect("its state").is_some()
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A proxy in front of this service.
pub struct Proxy {
    pub helper: Helper,
    pub address: SocketAddr,
}

impl Proxy {
    pub fn start(fault: &str, service: SocketAddr, speaks: &str) -> Self {
        Self::with(fault, service, speaks, PATIENCE)
    }

    pub fn with(fault: &str, service: SocketAddr, speaks: &str, at_most: Duration) -> Self {
        let helper = Helper::start(
            "becalm-drill-proxy",
            &json!({
                "fault": fault,
                "listen": "127.0.0.1:0",
                "upstream": {"addresses": [service], "speaks": speaks},
                "at_most": duration(at_most),
                "seed": 7,
            }),
        );
        let address = helper.first["Told"]["Listening"].as_str();
        let address = address.unwrap_or_else(|| panic!("{}", helper.first));
        Self {
            address: address.parse().unwrap(),
            helper,
        }
    }

    pub fn begin(&mut self) {
        assert_eq!(self.helper.ask("Begin"), json!({"Told": "Done"}));
    }

    pub fn lift(&mut self) {
        assert_eq!(self.helper.ask("Lift"), json!({"Told": "Done"}));
    }

    /// What it has seen; of its buckets, those that have changed since it was asked last.
    pub fn seen(&mut self) -> Value {
        self.helper.ask("Tell")["Told"]["News"]["seen"].clone()
    }

    /// Waits until this many have been counted.
    pub fn await_count(&mut self, name: &str, count: u64) {
        until(format_args!("{count} {name}"), || {
            self.seen()["counts"][name] == count
        });
    }

    /// A connection of a client, on which nothing was said.
    pub fn connect(&self) -> Client {
        Client::to(self.address)
    }

    /// The status of an answer to a request on a connection of its own.
    pub fn status(&self, id: &str) -> u16 {
        let mut client = self.connect();
        client.get(id);
        client.answer().0
    }
}

/// As serde writes it.
pub fn duration(time: Duration) -> Value {
    json!({"secs": time.as_secs(), "nanos": time.subsec_nanos()})
}

/// Waits until it holds.
pub fn until(what: impl Display, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "not within {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A connection of a client, on which requests of HTTP/1.1 follow each other.
pub struct Client(pub BufReader<TcpStream>);

impl Client {
    pub fn to(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self(BufReader::new(stream))
    }

    pub fn write(&mut self, bytes: impl AsRef<[u8]>) {
        self.0
            .get_mut()
            .write_all(bytes.as_ref())
            .expect("it reads");
    }

    /// Asks, and does not wait for the answer.
    pub fn get(&mut self, id: &str) {
        self.write(format!(
            "GET /a HTTP/1.1\r\nHost: here\r\nX-Request-Id: {id}\r\n\r\n"
        ));
    }

    /// Status and body of an answer with a length.
    pub fn answer(&mut self) -> (u16, Vec<u8>) {
        let head = self.head();
        let status = head.split(' ').nth(1).expect("a status").parse().unwrap();
        let lower = head.to_ascii_lowercase();
        let length = lower.split("content-length: ").nth(1);
        let length = length.and_then(|it| it.split("\r\n").next()?.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        self.0.read_exact(&mut body).expect("a body");
        (status, body)
    }

    pub fn head(&mut self) -> String {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            let read = self.0.read_line(&mut head).expect("an answer");
            assert!(read > 0, "the connection ends within {head:?}");
        }
        head
    }

    /// How the connection ends, on which nothing more is said.
    pub fn end(&mut self) -> std::io::Result<usize> {
        self.0.read(&mut [0])
    }

    pub fn is_reset(&mut self) -> bool {
        self.end()
            .is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionReset)
    }
}
