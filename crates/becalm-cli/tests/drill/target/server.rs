//! A small service that answers as a test wants, and remembers what it was asked.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// What came, with its headers in small letters.
#[derive(Debug, Clone)]
pub struct Asked {
    pub line: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Asked {
    pub fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(it, _)| it == name);
        found.map_or("", |(_, value)| value)
    }
}

/// A service on a port of this machine, for as long as the test runs.
pub struct Server {
    pub url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Server {
    /// Answers the request with this number, from 0, with what stands between `HTTP/1.1` and the body.
    pub fn start(answer: impl Fn(usize) -> String + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let (seen, answer) = (asked.clone(), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (seen, answer) = (seen.clone(), answer.clone());
                std::thread::spawn(move || converse(&stream, &seen, &*answer));
            }
        });
        Self { url, asked }
    }

    /// What it was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

fn converse(
    stream: &TcpStream,
    seen: &Mutex<Vec<Asked>>,
    answer: &dyn Fn(usize) -> String,
) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let (mut reader, mut writer) = (BufReader::new(stream), stream);
    loop {
        let mut lines = reader.by_ref().lines().map_while(Result::ok);
        let line = lines.next()?;
        let headers = lines.take_while(|line| !line.is_empty());
        let headers: Vec<_> = headers
            .filter_map(|line| {
                let (name, value) = line.split_once(": ")?;
                Some((name.to_lowercase(), value.to_owned()))
            })
            .collect();
        let mut asked = Asked {
            line,
            headers,
            body: String::new(),
        };
        let length = asked.header("content-length").parse().unwrap_or(0);
        reader
            .by_ref()
            .take(length)
            .read_to_string(&mut asked.body)
            .ok()?;
        let number = {
            let mut seen = seen.lock().unwrap();
            seen.push(asked);
            seen.len() - 1
        };
        let text = format!("HTTP/1.1 {}\r\nContent-Length: 2\r\n\r\nok", answer(number));
        writer.write_all(text.as_bytes()).ok()?;
    }
}
