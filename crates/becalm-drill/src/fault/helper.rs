//! How is a process of its own started, asked and ended, that is to outlive the drill by as much as it takes to mend?
//!
//! An order is a line of JSON on its standard input, and each is answered by one on its standard output. When the drill is gone,
//! however it went, standard input ends.

use std::ffi::OsString;
use std::io::{BufReader, stdin, stdout};
use std::process::{Child, ChildStdin, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::itself;
use crate::messages::{brief, heard, say};
use crate::system;

/// How long an answer may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a process that has been told to end may take.
const LAST: Duration = Duration::from_secs(5);

/// An answer, or why there is none.
#[derive(Debug, Serialize, Deserialize)]
enum Answer<T> {
    Told(T),
    Refused(String),
}

/// Such a process, seen from the drill. Dropped, it is told no more, and does what it does when the drill is gone.
#[derive(Debug)]
pub struct Helper<O, T> {
    name: &'static str,
    process: Child,
    orders: Option<ChildStdin>,
    answers: Receiver<Answer<T>>,
    order: std::marker::PhantomData<fn(O)>,
}

impl<O: Serialize, T: DeserializeOwned + Send + 'static> Helper<O, T> {
    /// Starts it, and waits for what it says first.
    ///
    /// # Errors
    ///
    /// A sentence: it cannot be started, or refuses the brief.
    pub fn start(name: &'static str, brief: &impl Serialize) -> Result<(Self, T), String> {
        let refused = |error: &dyn std::fmt::Display| format!("cannot start {name}: {error}");
        let brief = serde_json::to_string(brief).map_err(|error| refused(&error))?;
        let mut command = itself::under(name).map_err(|error| refused(&error))?;
        command
            .arg(brief)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Who reads what the drill says waits until all have closed it.
            .stderr(Stdio::null());
        let mut process = system::apart(&mut command)
            .spawn()
            .map_err(|error| refused(&error))?;
        let orders = process.stdin.take();
        let told = process.stdout.take().map(BufReader::new);
        let (sender, answers) = channel();
        thread::spawn(move || {
            for answer in told.into_iter().flat_map(heard) {
                if sender.send(answer).is_err() {
                    return;
                }
            }
        });
        let mut helper = Self {
            name,
            process,
            orders,
            answers,
            order: std::marker::PhantomData,
        };
        let first = helper.answer()?;
        Ok((helper, first))
    }

    /// Gives an order, and waits until it is done.
    ///
    /// # Errors
    ///
    /// A sentence: it is gone, or cannot do it.
    pub fn ask(&mut self, order: &O) -> Result<T, String> {
        let orders = self.orders.as_mut();
        if orders.is_some_and(|it| say(it, order).is_ok()) {
            return self.answer();
        }
        self.orders = None;
        Err(self.gone())
    }

    fn answer(&mut self) -> Result<T, String> {
        match self.answers.recv_timeout(PATIENCE) {
            Ok(Answer::Told(told)) => Ok(told),
            Ok(Answer::Refused(sentence)) => Err(sentence),
            Err(_) => {
                // One that is late would be taken for the answer to the next order.
                self.orders = None;
                Err(self.gone())
            }
        }
    }

    fn gone(&self) -> String {
        format!("{} has ended, or does not answer", self.name)
    }

    /// Whether it can be asked.
    pub fn is_there(&self) -> bool {
        self.orders.is_some()
    }

    /// Waits until one that was told to end has ended; later it is killed.
    pub fn end(&mut self) {
        self.orders = None;
        let until = Instant::now() + LAST;
        while matches!(self.process.try_wait(), Ok(None)) {
            if Instant::now() > until {
                let _ = self.process.kill();
                let _ = self.process.wait();
                return;
            }
            thread::sleep(Duration::from_millis(2));
        }
    }
}

/// Reads what such a process is to do, and does it.
pub fn execute<B: DeserializeOwned>(
    argument: Option<OsString>,
    act: impl FnOnce(B) -> Result<(), String>,
) -> ExitCode {
    match brief(argument).and_then(act) {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            let _ = say(stdout().lock(), &Answer::<()>::Refused(sentence));
            ExitCode::FAILURE
        }
    }
}

/// What answers orders, on a thread of its own: a drill that is stopped reads nothing, and must keep nobody from lifting.
pub struct Answers<T> {
    sender: Sender<Answer<T>>,
    writes: JoinHandle<()>,
}

impl<T: Serialize + Send + 'static> Answers<T> {
    pub fn start() -> Self {
        let (sender, answers) = channel();
        let writes = thread::spawn(move || {
            for answer in answers {
                let _ = say(stdout().lock(), &answer);
            }
        });
        Self { sender, writes }
    }

    /// Answers an order. Nobody hears it when the drill is gone, which is told by the end of the orders.
    pub fn tell(&self, told: T) {
        let _ = self.sender.send(Answer::Told(told));
    }

    /// Answers an order that cannot be done.
    #[cfg(unix)]
    pub fn refuse(&self, sentence: String) {
        let _ = self.sender.send(Answer::Refused(sentence));
    }

    /// Returns when all are written.
    pub fn end(self) {
        drop(self.sender);
        let _ = self.writes.join();
    }
}

/// The orders that come, each handed on; at the end, or at one that is none, `None`.
pub fn orders<O: DeserializeOwned>(mut hand_on: impl FnMut(Option<O>) + Send + 'static) {
    thread::spawn(move || {
        heard(stdin().lock()).for_each(|order| hand_on(Some(order)));
        hand_on(None);
    });
}
