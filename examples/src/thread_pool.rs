//! How do the threads of a pool retry? They share one retrier, hence one budget, and one handle that
//! ends their waits when the pool shuts down.

use std::io::{BufRead, BufReader, Error, ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use becalm::classify::connect;
use becalm::{Attempt, Cancel, Classify, Failure, GaveUp, Retrier};

/// What a question came to.
pub type Answer = Result<String, GaveUp<Error>>;

/// Threads that ask a server one line each, and wait for a line.
#[derive(Debug)]
pub struct Pool {
    questions: Option<Sender<(String, Sender<Answer>)>>,
    threads: Vec<JoinHandle<()>>,
    cancel: Cancel,
}

impl Pool {
    /// As many threads, for the server at this address.
    pub fn new(size: usize, server: SocketAddr, retrier: &Retrier) -> Self {
        let (questions, queue) = channel();
        let (queue, cancel) = (Arc::new(Mutex::new(queue)), Cancel::new());
        let thread = |_| {
            let (queue, retrier, cancel) = (Arc::clone(&queue), retrier.clone(), cancel.clone());
            std::thread::spawn(move || work(&queue, server, &retrier, &cancel))
        };
        Self {
            threads: (0..size).map(thread).collect(),
            questions: Some(questions),
            cancel,
        }
    }

    /// Has a thread ask this, as soon as one is free.
    pub fn ask(&self, question: &str) -> Receiver<Answer> {
        let (answer, answers) = channel();
        if let Some(questions) = &self.questions {
            // All threads are gone only where each has panicked: then nobody answers.
            let _ = questions.send((question.to_owned(), answer));
        }
        answers
    }

    /// Ends all waits, lets the attempts that run come to their end, and waits for the threads.
    pub fn shut_down(mut self) {
        self.cancel.cancel();
        self.questions = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn work(
    queue: &Mutex<Receiver<(String, Sender<Answer>)>>,
    server: SocketAddr,
    retrier: &Retrier,
    cancel: &Cancel,
) {
    loop {
        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((question, answers)) = next else {
            return;
        };
        let call = retrier.blocking(|attempt| ask(server, &question, attempt));
        // Nobody listens any more where the send fails.
        let _ = answers.send(call.cancel(cancel).call());
    }
}

/// One attempt. Only where it fails tells whether the question was sent.
fn ask(server: SocketAddr, question: &str, attempt: Attempt) -> Result<String, (Failure, Error)> {
    let timeout = attempt.timeout().unwrap_or(Duration::from_secs(10));
    let stream = TcpStream::connect_timeout(&server, timeout)
        .map_err(|error| (connect::classify(&error), error))?;
    talk(&stream, question, timeout).map_err(|error| (error.classify(), error))
}

fn talk(mut stream: &TcpStream, question: &str, timeout: Duration) -> Result<String, Error> {
    stream.set_read_timeout(Some(timeout))?;
    stream.set_write_timeout(Some(timeout))?;
    stream.write_all(format!("{question}\n").as_bytes())?;
    let mut line = String::new();
    match BufReader::new(stream).read_line(&mut line)? {
        0 => Err(ErrorKind::UnexpectedEof.into()),
        _ => Ok(line.trim_end().to_owned()),
    }
}
