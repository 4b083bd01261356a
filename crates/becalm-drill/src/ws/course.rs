//! How is one variant held? A server and its fleet are started, the server is killed, and the fleet is watched.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use nix::sys::signal::Signal;

use super::child::{Child, Heard};
use super::clock::Clock;
use super::fleet;
use super::ground::Ground;
use super::journal;
use super::live::View;
use super::recording::{Held, Marks, Recording};
use super::service;
use super::setup::{AFTER_ALL, BEFORE, Setup};
use super::tally::Count;
use super::told::{Report, Told};
use super::variant::{Fault, Variant};
use crate::drill::Broken;
use crate::live::Display;

/// How fast the fleet is put together, before the drill begins, in clients per second.
const GATHERED: u32 = 4_000;

/// How long the machine may take for what takes no time on a quiet one.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often the display is redrawn, and a signal is looked for.
const FRAME: Duration = Duration::from_millis(125);

/// Who tells something. A server has the number of its generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    Server(usize),
    Fleet(usize),
}

/// Holds one variant.
pub fn hold(
    setup: &Setup,
    variant: &Variant,
    seed: u64,
    signal: &AtomicUsize,
    display: &mut Display<'_>,
    over: &[String],
) -> Result<Held, Broken> {
    let refused = |error: &dyn std::fmt::Display| format!("cannot keep a file: {error}");
    let journal = tempfile::NamedTempFile::new().map_err(|error| refused(&error))?;
    let length = journal::length(setup.clients);
    journal
        .as_file()
        .set_len(length)
        .map_err(|error| refused(&error))?;
    let mut course = Course::new(setup, variant, signal, display, over);
    for _ in 0..setup.servers {
        let ground = Ground::take()?;
        let hands_over = matches!(variant.fault, Fault::Drain | Fault::KillBehindSocket);
        let ground = if hands_over { ground.listen()? } else { ground };
        course.grounds.push(ground);
    }
    let mut service = service::Brief {
        clock: course.clock,
        addresses: Vec::new(),
        clients: setup.clients,
        door: variant.door,
        // The fleet has come together over days: it costs nothing here, unless the server goes on.
        capacity: (variant.fault == Fault::Cut).then_some(setup.capacity),
        servers: setup.servers,
        drain_rate: setup.drain_rate(),
        patience: setup.patience,
        journal: journal.path().into(),
        seed,
    };
    let first = course.serve(&service)?;
    let mut fleets = course.gather(journal.path(), seed)?;
    let gathering = PATIENCE + setup.floor() * 2;
    course.wait("the clients were not connected", gathering, Course::is_full)?;
    course.marks.start = course.clock.now();
    course.pass_until(course.marks.start + BEFORE)?;

    service.capacity = Some(setup.capacity);
    let last = course.breaks(&service, first)?;
    let leaving = match variant.fault {
        Fault::Drain => setup.draining(),
        _ => Duration::ZERO,
    };
    course.watch(leaving + setup.watch())?;

    let end = course.clock.now();
    course.marks.end = Some(end);
    let since = course.marks.up.unwrap_or(end);
    for fleet in &mut fleets {
        fleet.say(&since);
    }
    course.wait("the clients did not report", PATIENCE, |it| {
        it.reports.iter().all(Option::is_some)
    })?;
    drop((fleets, last));
    let reports = course.reports.iter().copied().flatten();
    Ok(Held {
        report: reports.reduce(Report::and).unwrap_or_default(),
        recording: course.recording,
        marks: course.marks,
    })
}

/// One variant while it is held.
struct Course<'a, 's> {
    setup: &'a Setup,
    variant: &'a Variant,
    signal: &'a AtomicUsize,
    display: &'a mut Display<'s>,
    /// A line for each variant that is over.
    over: &'a [String],
    clock: Clock,
    inbox: (Sender<Heard<Who>>, Receiver<Heard<Who>>),
    shown: Duration,
    /// Where each server listens, and its successor.
    grounds: Vec<Ground>,
    /// How often servers were started, all at once.
    generation: usize,
    /// How many of the last generation listen.
    listening: usize,
    /// Servers that have ended.
    ended: usize,
    /// Those that end by themselves.
    leave: Vec<Child>,
    /// What each process of clients has told last.
    levels: Vec<u32>,
    recording: Recording,
    marks: Marks,
    /// Since when all servers of the last generation listen, as far as they have told.
    listens: Option<Duration>,
    reports: Vec<Option<Report>>,
}

impl<'a, 's> Course<'a, 's> {
    fn new(
        setup: &'a Setup,
        variant: &'a Variant,
        signal: &'a AtomicUsize,
        display: &'a mut Display<'s>,
        over: &'a [String],
    ) -> Self {
        Self {
            setup,
            variant,
            signal,
            display,
            over,
            clock: Clock::start(),
            inbox: channel(),
            shown: Duration::ZERO,
            grounds: Vec::new(),
            generation: 0,
            listening: 0,
            ended: 0,
            leave: Vec::new(),
            levels: Vec::new(),
            recording: Recording::default(),
            marks: Marks::default(),
            listens: None,
            reports: Vec::new(),
        }
    }

    /// Starts the servers, and waits until they listen.
    fn serve(&mut self, brief: &service::Brief) -> Result<Vec<Child>, Broken> {
        self.generation += 1;
        self.listening = 0;
        self.listens = None;
        let from = Who::Server(self.generation);
        let start = |ground: &Ground| {
            let brief = service::Brief {
                addresses: ground.addresses.clone(),
                ..brief.clone()
            };
            let (socket, inbox) = (ground.socket.as_ref(), self.inbox.0.clone());
            Child::start(service::NAME, &brief, socket, from, inbox)
        };
        let servers: Vec<_> = self.grounds.iter().map(start).collect::<Result<_, _>>()?;
        self.wait("the server did not listen", PATIENCE, |it| {
            it.listening == it.grounds.len()
        })?;
        Ok(servers)
    }

    /// Breaks the servers, and returns those that are there afterwards.
    fn breaks(
        &mut self,
        service: &service::Brief,
        first: Vec<Child>,
    ) -> Result<Vec<Child>, Broken> {
        match self.variant.fault {
            Fault::Kill | Fault::KillBehindSocket => {
                let fault = self.clock.now();
                self.marks.fault = Some(fault);
                signal_all(&first, Signal::SIGKILL);
                drop(first);
                self.pass_until(fault + self.setup.outage)?;
                let second = self.serve(service)?;
                self.marks.up = self.listens;
                Ok(second)
            }
            Fault::Drain => {
                let second = self.serve(service)?;
                self.marks.fault = Some(self.clock.now());
                self.marks.up = self.marks.fault;
                signal_all(&first, Signal::SIGTERM);
                // They end by themselves.
                self.leave = first;
                Ok(second)
            }
            Fault::Cut => {
                self.marks.fault = Some(self.clock.now());
                self.marks.up = self.marks.fault;
                signal_all(&first, Signal::SIGUSR1);
                self.wait("nobody has lost a connection", PATIENCE, |it| {
                    let since = it.marks.fault.unwrap_or_default();
                    it.recording.within(Count::Lost, since..it.clock.now()) > 0
                })?;
                Ok(first)
            }
        }
    }

    /// Starts the clients, those of each server in a process.
    fn gather(&mut self, journal: &Path, seed: u64) -> Result<Vec<Child>, Broken> {
        let all = self.setup.clients;
        // A server that goes on has its capacity from the first.
        let apart = match self.variant.fault {
            Fault::Cut => self.setup.floor(),
            _ => Duration::ZERO,
        };
        let mut fleets = Vec::new();
        for (number, ground) in (0..).zip(&self.grounds) {
            let part = |number: u32| {
                let share = u64::from(all) * u64::from(number) / u64::from(self.setup.servers);
                u32::try_from(share).unwrap_or(all)
            };
            let brief = fleet::Brief {
                clock: self.clock,
                addresses: ground.addresses.clone(),
                clients: part(number)..part(number + 1),
                schedule: self.variant.schedule,
                heeds: self.variant.heeds,
                resumes: self.variant.door == service::Door::Admission,
                start: apart.max(Duration::from_secs(1) * all / GATHERED),
                patience: self.setup.patience,
                every: self.setup.every,
                journal: journal.into(),
                seed,
            };
            let from = Who::Fleet(self.levels.len());
            self.levels.push(0);
            self.reports.push(None);
            fleets.push(Child::start(
                fleet::NAME,
                &brief,
                None,
                from,
                self.inbox.0.clone(),
            )?);
        }
        Ok(fleets)
    }

    /// Whether all clients have a connection.
    fn is_full(&self) -> bool {
        self.levels.iter().sum::<u32>() == self.setup.clients
    }

    /// Whether all have one to the last servers.
    fn is_back(&self) -> bool {
        self.is_full() && self.ended == self.grounds.len() * (self.generation - 1)
    }

    /// Waits until all clients are back and stay so, for this long at most.
    fn watch(&mut self, most: Duration) -> Result<(), Broken> {
        let until = self.marks.up.unwrap_or_default() + most;
        let mut full_since = None;
        loop {
            self.hear()?;
            let now = self.clock.now();
            if !self.is_back() {
                full_since = None;
            } else if now >= *full_since.get_or_insert(now) + AFTER_ALL {
                return Ok(());
            }
            if now >= until && full_since.is_none() {
                return Ok(());
            }
        }
    }

    /// Lets time pass.
    fn pass_until(&mut self, until: Duration) -> Result<(), Broken> {
        while self.clock.now() < until {
            self.hear()?;
        }
        Ok(())
    }

    fn wait(
        &mut self,
        otherwise: &str,
        most: Duration,
        is_so: impl Fn(&Self) -> bool,
    ) -> Result<(), Broken> {
        let until = self.clock.now() + most;
        while !is_so(self) {
            if self.clock.now() > until {
                let words = format!("{otherwise} within {}", becalm::support::Human(most));
                return Err(words.into());
            }
            self.hear()?;
        }
        Ok(())
    }

    /// Waits a moment for something to be told, shows how things stand, and looks for a signal.
    fn hear(&mut self) -> Result<(), Broken> {
        if self.signal.load(Ordering::Relaxed) != 0 {
            return Err(Broken::Signal);
        }
        match self.inbox.1.recv_timeout(Duration::from_millis(10)) {
            Ok(heard) => self.take(&heard)?,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => (),
        }
        let now = self.clock.now();
        if now >= self.shown + FRAME {
            self.shown = now;
            self.display.show(&View {
                setup: self.setup,
                variant: self.variant,
                recording: &self.recording,
                marks: self.marks,
                now,
                over: self.over,
            });
        }
        Ok(())
    }

    fn take(&mut self, heard: &Heard<Who>) -> Result<(), Broken> {
        match (heard.from, &heard.told) {
            (Who::Server(_), Some(Told::Listens(at))) => {
                self.listening += 1;
                self.listens = self.listens.max(Some(*at));
            }
            (Who::Server(_), Some(Told::Line(line))) => self.recording.add_server(line),
            (Who::Fleet(number), Some(Told::Line(line))) => {
                self.levels[number] = line.level;
                self.recording.add_clients(line);
            }
            (Who::Fleet(number), Some(Told::Report(report))) => {
                self.reports[number] = Some(*report);
            }
            (Who::Server(number), None) => {
                self.ended += 1;
                if number == self.generation && !self.is_down() {
                    let words = "the drill's server has ended before its time";
                    return Err(String::from(words).into());
                }
            }
            (Who::Fleet(number), None) if self.reports[number].is_none() => {
                return Err(
                    String::from("the drill's clients have ended before their time").into(),
                );
            }
            _ => (),
        }
        Ok(())
    }

    /// The servers were killed, and the next are to come.
    fn is_down(&self) -> bool {
        let is_kill = matches!(self.variant.fault, Fault::Kill | Fault::KillBehindSocket);
        is_kill && self.generation == 1 && self.marks.fault.is_some()
    }
}

fn signal_all(servers: &[Child], signal: Signal) {
    for server in servers {
        server.signal(signal);
    }
}
