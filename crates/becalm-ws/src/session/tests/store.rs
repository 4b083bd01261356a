//! Is a session kept for whom, for how long and at whose cost as promised?

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use becalm::rng::Seed;
use becalm::time::FakeSleeper;
use futures_sink::Sink;
use tokio_tungstenite::tungstenite::Message;

use super::network::{Pipe, Task};
use crate::Refused;
use crate::session::envelope::{Envelope, Hello};
use crate::session::{Began, Cold, Lost, SessionHandle, SessionId, SessionSettings, Sessions};

/// A client by hand, and the server's task for its connection.
struct Line {
    pipe: Pipe,
    task: Task,
}

/// What a client knows of its session.
#[derive(Clone, Copy)]
struct Known {
    id: SessionId,
    epoch: u64,
}

impl Line {
    fn new(sessions: &Sessions, user: &'static str, hello: Hello) -> Self {
        let pipe = Pipe::default();
        let task = Task::new(sessions, &pipe, user);
        let mut line = Self { pipe, task };
        assert!(line.say(&Envelope::Hello(hello)).is_none());
        line
    }

    /// A new session, confirmed.
    fn fresh(sessions: &Sessions, user: &'static str) -> (Self, Known) {
        let mut line = Self::new(sessions, user, Hello::new(10_000, 10_000));
        let Some(Envelope::Cold {
            why: Cold::New,
            id,
            epoch,
            ..
        }) = line.hear()
        else {
            panic!("no answer");
        };
        assert!(line.say(&Envelope::Ack(0)).is_none());
        (line, Known { id, epoch })
    }

    /// Says it, and gives what the server's application is given.
    fn say(
        &mut self,
        said: &Envelope,
    ) -> Option<Result<Message, Option<Lost<super::network::Cut>>>> {
        self.pipe.lock().at_server.push_back(said.write());
        self.task.poll()
    }

    fn sends(&mut self, number: u64) -> Option<Message> {
        let message = number.to_string().into();
        self.say(&Envelope::Data {
            number,
            received: 0,
            message,
        })?
        .ok()
    }

    /// What the server has said.
    fn hear(&mut self) -> Option<Envelope> {
        let said = self.pipe.lock().down.pop_front()?;
        Envelope::read(&said).ok()
    }

    fn closed_with(&self) -> Option<u16> {
        match self.pipe.lock().down.pop_front()? {
            Message::Close(frame) => frame.map(|frame| frame.code.into()),
            _ => None,
        }
    }

    fn began(&self) -> Began {
        self.task.socket().expect("an answer").began()
    }

    fn handle(&self) -> SessionHandle {
        self.task.socket().expect("an answer").handle()
    }

    /// The wire is over, and the server's application leaves.
    fn ends(mut self) {
        self.pipe.lock().is_over = true;
        assert!(self.task.poll().is_some_and(|ended| ended.is_err()));
    }
}

impl Known {
    fn again(self, dial: u32) -> Hello {
        Hello {
            id: Some(self.id),
            epoch: self.epoch,
            dial,
            ..Hello::new(10_000, 10_000)
        }
    }
}

fn settings(clock: &FakeSleeper) -> SessionSettings {
    SessionSettings::default()
        .sleeper(Arc::new(clock.clone()))
        .seed(Seed::fixed(7))
}

#[derive(Default)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[test]
fn a_session_is_over_when_it_has_waited_too_long_and_not_before() {
    let clock = FakeSleeper::new();
    let sessions = settings(&clock).age(Duration::from_secs(60)).open();
    let (line, known) = Line::fresh(&sessions, "ada");
    // As long as it has a connection it does not age.
    clock.advance(Duration::from_secs(600));
    line.ends();
    clock.advance(Duration::from_secs(59));
    let line = Line::new(&sessions, "ada", known.again(2));
    assert_eq!(line.began(), Began::Resumed);
    line.ends();
    clock.advance(Duration::from_secs(60));
    sessions.sweep();
    assert_eq!(
        (sessions.counts().detached, sessions.counts().bytes),
        (0, 0)
    );
    let line = Line::new(&sessions, "ada", known.again(3));
    assert_eq!(line.began(), Began::Cold(Cold::Expired));
    assert_eq!(
        (
            sessions.counts().resumed,
            sessions.counts().cold(Cold::Expired)
        ),
        (1, 1)
    );
}

#[test]
fn who_has_waited_longest_makes_room() {
    let gone = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&gone);
    let sessions = settings(&FakeSleeper::new())
        .bytes(4 * 1024)
        .per_user(2)
        .observer(move |gone| {
            told.lock()
                .unwrap()
                .push((gone.user.to_string(), gone.why, gone.unsent.len()));
        })
        .open();
    let waits = |user| {
        let (line, known) = Line::fresh(&sessions, user);
        let handle = line.handle();
        line.ends();
        (known, handle)
    };
    let (first, handle) = waits("ada");
    handle.try_send("kept").unwrap();
    let (second, _) = waits("ada");
    let (of_bob, _) = waits("bob");
    // Ada has two already.
    waits("ada");
    assert_eq!(gone.lock().unwrap()[..], [("ada".into(), Cold::Evicted, 1)]);
    assert_eq!(handle.try_send("more"), Err(Refused::Closed("more".into())));
    assert_eq!(handle.over(), Some(Cold::Evicted));
    // Three wait. For so many bytes two of them have to go.
    let (line, _) = Line::fresh(&sessions, "eve");
    line.handle().try_send("x".repeat(2_000)).unwrap();
    assert_eq!(gone.lock().unwrap().len(), 3);
    line.handle().try_send("x".repeat(1_000)).unwrap();
    assert_eq!(gone.lock().unwrap().len(), 4);
    let answer = |user, known: Known| Line::new(&sessions, user, known.again(2)).began();
    assert_eq!(answer("ada", first), Began::Cold(Cold::Evicted));
    assert_eq!(answer("ada", second), Began::Cold(Cold::Evicted));
    assert_eq!(answer("bob", of_bob), Began::Cold(Cold::Evicted));
    assert!(sessions.counts().bytes <= 4 * 1024);
}

#[test]
fn a_session_is_nobody_elses_and_goes_on_without_them() {
    let sessions = settings(&FakeSleeper::new()).open();
    let (mut line, known) = Line::fresh(&sessions, "ada");
    let eve = Line::new(&sessions, "eve", known.again(9));
    assert_eq!(eve.began(), Began::Cold(Cold::WrongUser));
    assert_ne!(eve.handle().id(), known.id);
    // A copied tab, and a connection that was long on its way: they get a session of their own.
    let copy = Line::new(&sessions, "ada", known.again(1));
    assert_eq!(copy.began(), Began::Cold(Cold::Superseded));
    assert_eq!(line.sends(1), Some("1".into()));
    assert_eq!(line.handle().over(), None);
}

#[test]
fn a_later_connection_takes_over_and_the_first_gives_nothing_more() {
    let sessions = settings(&FakeSleeper::new()).open();
    let (mut first, known) = Line::fresh(&sessions, "ada");
    assert_eq!(first.sends(1), Some("1".into()));
    let flag = Arc::<Flag>::default();
    let waker = Waker::from(Arc::clone(&flag));
    assert!(first.task.poll_with(&waker).is_none());
    // Read by nobody yet.
    let late = Envelope::Data {
        number: 2,
        received: 0,
        message: "2".into(),
    };
    first.pipe.lock().at_server.push_back(late.write());
    let hello = Hello {
        sent: 2,
        ..known.again(2)
    };
    let mut second = Line::new(&sessions, "ada", hello);
    assert_eq!(second.began(), Began::Resumed);
    assert!(flag.0.load(Ordering::SeqCst), "the first was woken");
    assert!(matches!(
        second.hear(),
        Some(Envelope::Resumed { received: 1, .. })
    ));
    assert!(matches!(
        first.task.poll(),
        Some(Err(Some(Lost::TakenOver)))
    ));
    assert!(matches!(
        first.pipe.lock().down.back(),
        Some(Message::Close(Some(_)))
    ));
    drop(first);
    assert_eq!(second.sends(2), Some("2".into()));
    assert!(second.handle().is_attached());
}

#[test]
fn what_does_not_meet_begins_cold_and_never_in_part() {
    let sessions = settings(&FakeSleeper::new()).open();
    let (mut line, known) = Line::fresh(&sessions, "ada");
    for number in 1..4 {
        assert!(line.sends(number).is_some());
    }
    // A client that was set back, one that has received what nobody has sent, and a server that was set back.
    for hello in [
        Hello {
            sent: 2,
            ..known.again(2)
        },
        Hello {
            sent: 3,
            received: 1,
            ..known.again(2)
        },
        Hello {
            sent: 9,
            confirmed: 4,
            ..known.again(2)
        },
        Hello {
            sent: u64::MAX,
            confirmed: u64::MAX,
            received: u64::MAX,
            ..known.again(u32::MAX)
        },
    ] {
        let sessions = settings(&FakeSleeper::new()).open();
        let (mut line, known) = Line::fresh(&sessions, "ada");
        for number in 1..4 {
            assert!(line.sends(number).is_some());
        }
        let second = Line::new(
            &sessions,
            "ada",
            Hello {
                id: Some(known.id),
                epoch: known.epoch,
                ..hello
            },
        );
        assert_eq!(second.began(), Began::Cold(Cold::Gap), "{hello:?}");
        assert_ne!(second.handle().id(), known.id);
        let third = Line::new(
            &sessions,
            "ada",
            Hello {
                sent: 3,
                ..known.again(3)
            },
        );
        assert_eq!(third.began(), Began::Cold(Cold::Gap));
    }
}

#[test]
fn a_message_that_never_comes_through_is_not_sent_for_ever() {
    let sessions = settings(&FakeSleeper::new()).open();
    let (line, known) = Line::fresh(&sessions, "ada");
    let handle = line.handle();
    handle
        .try_send("too long for something on the way")
        .unwrap();
    let mut line = Some(line);
    let mut dial = 1;
    let mut again = |is_confirmed: bool| {
        // The server has sent it, and it has not come.
        let mut old = line.take().unwrap();
        let _ = old.task.poll();
        old.ends();
        dial += 1;
        let mut new = Line::new(&sessions, "ada", known.again(dial));
        let began = new.began();
        if is_confirmed {
            let _ = new.say(&Envelope::Ack(0));
        }
        line = Some(new);
        began
    };
    // Connections that break before they are of use prove nothing.
    for _ in 0..30 {
        assert_eq!(again(false), Began::Resumed);
    }
    for _ in 0..7 {
        assert_eq!(again(true), Began::Resumed);
    }
    assert_eq!(again(true), Began::Cold(Cold::Stuck));
    assert_eq!(handle.over(), Some(Cold::Stuck));
}

#[test]
fn who_sends_too_much_waits_and_is_woken() {
    let sessions = settings(&FakeSleeper::new())
        .window(1_000)
        .bytes(1_200)
        .open();
    let (mut line, _) = Line::fresh(&sessions, "ada");
    let _ = (line.task.poll(), line.pipe.lock().down.clear());
    let handle = line.handle();
    handle.try_send("x".repeat(800)).unwrap();
    assert_eq!(handle.try_send("more"), Ok(()));
    let full = "x".repeat(200);
    assert!(matches!(
        handle.try_send(full.clone()),
        Err(Refused::Full(_))
    ));
    assert!(matches!(
        handle.try_send("x".repeat(1_000)),
        Err(Refused::TooLong(_))
    ));

    // There is no room in the window, and the client makes some.
    let flag = Arc::<Flag>::default();
    let waker = Waker::from(Arc::clone(&flag));
    let context = &mut Context::from_waker(&waker);
    let mut sends = Box::pin(handle.send(full.clone()));
    assert!(sends.as_mut().poll(context).is_pending());
    let _ = line.task.poll();
    assert!(!flag.0.load(Ordering::SeqCst));
    assert!(line.say(&Envelope::Ack(1)).is_none());
    assert!(flag.0.swap(false, Ordering::SeqCst));
    assert_eq!(sends.as_mut().poll(context), Poll::Ready(Ok(())));

    // There is none among all, and another client makes some.
    let (other, _) = Line::fresh(&sessions, "bob");
    other.handle().try_send("x".repeat(700)).unwrap();
    let other = other.handle();
    let mut sends = Box::pin(other.send("x".repeat(100)));
    assert!(sends.as_mut().poll(context).is_pending());
    let _ = line.task.poll();
    assert!(line.say(&Envelope::Ack(3)).is_none());
    assert!(flag.0.swap(false, Ordering::SeqCst));
    assert_eq!(sends.as_mut().poll(context), Poll::Ready(Ok(())));
    assert_eq!(sessions.counts().bytes, 764 + 164);
}

#[test]
fn who_waits_for_room_hears_what_lies_behind_messages() {
    let sessions = settings(&FakeSleeper::new()).window(1_000).open();
    let (mut line, _) = Line::fresh(&sessions, "ada");
    let handle = line.handle();
    handle.try_send("x".repeat(900)).unwrap();
    let _ = line.task.poll();
    for number in 1..4 {
        let message = number.to_string().into();
        let data = Envelope::Data {
            number,
            received: 0,
            message,
        };
        line.pipe.lock().at_server.push_back(data.write());
    }
    line.pipe
        .lock()
        .at_server
        .push_back(Envelope::Ack(1).write());
    let Task::Serves(socket) = &mut line.task else {
        panic!("it serves");
    };
    let context = &mut Context::from_waker(Waker::noop());
    let mut socket = Pin::new(&mut **socket);
    assert!(socket.as_mut().poll_ready(context).is_ready());
    socket.as_mut().start_send("x".repeat(900).into()).unwrap();
    assert!(socket.as_mut().poll_ready(context).is_ready());
    for number in 1..4 {
        let given = line.task.poll().and_then(Result::ok);
        assert_eq!(given, Some(number.to_string().into()));
    }
}

#[test]
fn a_new_epoch_ends_them_all() {
    let sessions = settings(&FakeSleeper::new()).open();
    let (mut line, known) = Line::fresh(&sessions, "ada");
    let (waits, waiting) = Line::fresh(&sessions, "bob");
    waits.ends();
    sessions.begin_epoch();
    assert!(matches!(
        line.task.poll(),
        Some(Err(Some(Lost::Over(Cold::Epoch))))
    ));
    assert_eq!(line.hear(), Some(Envelope::End));
    assert_eq!(line.closed_with(), Some(1001));
    for (user, known) in [("ada", known), ("bob", waiting)] {
        assert_eq!(
            Line::new(&sessions, user, known.again(2)).began(),
            Began::Cold(Cold::Epoch)
        );
        assert!(!sessions.holds(known.id));
    }
}

#[test]
fn an_end_by_either_side_is_the_end() {
    let sessions = settings(&FakeSleeper::new()).open();
    let (mut line, known) = Line::fresh(&sessions, "ada");
    assert!(line.sends(1).is_some());
    assert!(matches!(line.say(&Envelope::End), Some(Err(None))));
    assert_eq!(line.hear(), Some(Envelope::Ack(1)));
    assert!(!sessions.holds(known.id));

    let (mut line, known) = Line::fresh(&sessions, "ada");
    line.handle().end();
    assert!(matches!(
        line.task.poll(),
        Some(Err(Some(Lost::Over(Cold::Ended))))
    ));
    assert_eq!(line.hear(), Some(Envelope::End));
    assert_eq!(line.closed_with(), Some(1000));
    let again = Line::new(&sessions, "ada", known.again(2));
    assert_eq!(again.began(), Began::Cold(Cold::Ended));
}

#[test]
fn a_session_that_its_client_never_heard_of_is_not_kept() {
    let sessions = settings(&FakeSleeper::new()).open();
    for _ in 0..10_000 {
        Line::new(&sessions, "ada", Hello::new(1_000, 1_000)).ends();
    }
    let counts = sessions.counts();
    assert_eq!((counts.attached, counts.detached, counts.bytes), (0, 0, 0));
}

#[test]
fn who_says_nothing_is_not_waited_for() {
    let clock = FakeSleeper::new();
    let sessions = settings(&clock).open();
    let pipe = Pipe::default();
    let mut task = Task::new(&sessions, &pipe, "ada");
    assert!(task.poll().is_none());
    clock.advance(Duration::from_secs(10));
    assert!(matches!(task.poll(), Some(Err(Some(Lost::NoHello)))));
}

#[test]
fn a_connection_that_is_being_closed_is_read_to_its_end() {
    let sessions = settings(&FakeSleeper::new()).open();
    let (mut line, known) = Line::fresh(&sessions, "ada");
    line.pipe.lock().is_deaf = true;
    line.handle().try_send("for the next connection").unwrap();
    for number in 1..3 {
        assert_eq!(line.sends(number), Some(number.to_string().into()));
    }
    line.ends();
    let hello = Hello {
        sent: 2,
        ..known.again(2)
    };
    let mut line = Line::new(&sessions, "ada", hello);
    let resumed = line.hear();
    assert!(
        matches!(resumed, Some(Envelope::Resumed { received: 2, .. })),
        "{resumed:?}"
    );
    assert!(line.task.poll().is_none());
    assert!(matches!(
        line.hear(),
        Some(Envelope::Data { number: 1, .. })
    ));
}
