//! How is one client tried? Its processes increment, while the server is cut off, told to throw its clients out, and killed.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use crate::proxy::Proxies;
use crate::server::Server;
use crate::setup::{BETWEEN_CUTS, CALM, Setup};
use crate::told::{Line, Report, Told};
use crate::variant::Variant;
use crate::worker::{self, Brief};
use becalm_drill::Broken;
use becalm_drill::ws::child::{Child, Heard};
use becalm_drill::ws::clock::{BUCKET, Clock};

/// How long the machine may take for what takes no time on a quiet one.
const PATIENCE: Duration = Duration::from_secs(60);

/// What was measured.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Held {
    /// When each process has dialled.
    pub dials: Vec<Vec<Duration>>,
    /// What each process has told.
    pub lines: Vec<Vec<Line>>,
    /// When CLIENT KILL began and ended.
    pub thrown_out: (Duration, Duration),
    /// The long outage, and the shorter ones after it.
    pub outages: Vec<Outage>,
    pub report: Report,
    /// From the first increment on.
    pub start: Duration,
    pub end: Duration,
}

/// One time that the server was killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outage {
    pub killed: Duration,
    /// It was started again, and answers.
    pub begun: Duration,
    pub up: Duration,
}

/// Holds one variant, and tells what it is doing.
pub fn hold(
    setup: &Setup,
    variant: &Variant,
    signal: &AtomicUsize,
    tell: &mut dyn FnMut(&str),
) -> Result<Held, Broken> {
    let clock = Clock::start();
    let server = Server::start()?;
    let proxies = Proxies::new(clock, server.port, setup.processes)?;
    let mut course = Course {
        clock,
        signal,
        inbox: channel(),
        lines: vec![Vec::new(); proxies.ports.len()],
        reports: vec![None; proxies.ports.len()],
        server,
    };
    let mut children = Vec::new();
    for (number, port) in proxies.ports.iter().enumerate() {
        let brief = Brief {
            clock,
            number,
            port: *port,
            client: variant.client,
            tasks: setup.tasks,
            every: setup.every(),
        };
        let inbox = course.inbox.0.clone();
        children.push(Child::start(worker::NAME, &brief, None, number, inbox)?);
    }
    course.wait("the clients did not begin", |it| {
        it.have_been_answered_since(Duration::ZERO)
    })?;
    let start = clock.now();
    course.pass(CALM)?;

    tell("a proxy swallows answers and cuts");
    for _ in 0..setup.cuts {
        proxies.swallow();
        course.pass(setup.swallow)?;
        proxies.cut();
        course.pass(BETWEEN_CUTS.saturating_sub(setup.swallow))?;
    }
    course.pass(CALM)?;

    tell("CLIENT KILL");
    let thrown_out = clock.now();
    for _ in 0..setup.cuts {
        course.server.kill_clients()?;
        course.pass(BETWEEN_CUTS)?;
    }
    let thrown_out = (thrown_out, clock.now());
    course.pass(CALM)?;

    let mut outages = Vec::new();
    let downs = std::iter::once(setup.outage);
    for down in downs.chain((0..setup.restarts).map(|_| setup.down)) {
        tell(&format!("killed for {}", becalm::support::Human(down)));
        outages.push(course.kill_for(down)?);
        course.pass(CALM)?;
    }

    tell("what the server has counted");
    let end = clock.now();
    for child in &mut children {
        child.say(&"end");
    }
    course.wait("the clients did not report", |it| {
        it.reports.iter().all(Option::is_some)
    })?;
    drop(children);
    let dials = proxies.dials();
    proxies.end();
    let reports = course.reports.iter().copied().flatten();
    Ok(Held {
        dials,
        report: reports.reduce(Report::and).unwrap_or_default(),
        lines: course.lines,
        thrown_out,
        outages,
        start,
        end,
    })
}

/// What a process of clients tells, by its number.
type Words = Heard<usize, Told>;

/// One variant while it is held.
struct Course<'a> {
    clock: Clock,
    signal: &'a AtomicUsize,
    inbox: (Sender<Words>, Receiver<Words>),
    lines: Vec<Vec<Line>>,
    reports: Vec<Option<Report>>,
    server: Server,
}

impl Course<'_> {
    /// Kills the server for so long, and waits until every process has an answer of the next.
    fn kill_for(&mut self, down: Duration) -> Result<Outage, Broken> {
        let killed = self.clock.now();
        self.server.kill();
        self.pass(down)?;
        let begun = self.clock.now();
        self.server.begin()?;
        self.server.wait()?;
        let up = self.clock.now();
        self.wait("not all clients came back", |it| {
            it.have_been_answered_since(begun)
        })?;
        Ok(Outage { killed, begun, up })
    }

    fn have_been_answered_since(&self, moment: Duration) -> bool {
        let is_back = |lines: &Vec<Line>| first_since(lines, moment).is_some();
        self.lines.iter().all(is_back)
    }

    /// Lets time pass.
    fn pass(&mut self, time: Duration) -> Result<(), Broken> {
        let until = self.clock.now() + time;
        loop {
            let left = until.saturating_sub(self.clock.now());
            self.hear(left.min(BUCKET / 10))?;
            if left.is_zero() {
                return Ok(());
            }
        }
    }

    fn wait(&mut self, otherwise: &str, is_so: impl Fn(&Self) -> bool) -> Result<(), Broken> {
        let until = self.clock.now() + PATIENCE;
        while !is_so(self) {
            if self.clock.now() > until {
                let words = format!("{otherwise} within {}", becalm::support::Human(PATIENCE));
                return Err(words.into());
            }
            self.hear(BUCKET / 10)?;
        }
        Ok(())
    }

    /// Waits a moment for something to be told, and looks for a signal.
    fn hear(&mut self, most: Duration) -> Result<(), Broken> {
        if self.signal.load(Ordering::Relaxed) != 0 {
            return Err(Broken::Signal);
        }
        let Heard { from, told } = match self.inbox.1.recv_timeout(most) {
            Ok(heard) => heard,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return Ok(()),
        };
        match told {
            Some(Told::Line(line)) => self.lines[from].push(line),
            Some(Told::Report(report)) => self.reports[from] = Some(report),
            None if self.reports[from].is_some() => (),
            None => {
                let words = "the drill's clients have ended before their time";
                return Err(String::from(words).into());
            }
        }
        Ok(())
    }
}

/// The first answer from this moment on.
pub fn first_since(lines: &[Line], moment: Duration) -> Option<Duration> {
    let answers = lines.iter().filter_map(|line| line.first);
    answers.filter(|first| *first >= moment).min()
}
