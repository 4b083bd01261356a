//! Is a session kept for whom, for how long and at whose cost as promised?

use std::sync::{Arc, Mutex};
use std::time::Duration;

use becalm::time::FakeSleeper;

use super::line::{Known, Line, settings};
use crate::Refused;
use crate::session::envelope::{Envelope, Hello};
use crate::session::{Began, Cold, Lost};

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
fn a_session_that_its_client_never_heard_of_is_not_kept() {
    let sessions = settings(&FakeSleeper::new()).open();
    for _ in 0..10_000 {
        Line::new(&sessions, "ada", Hello::new(1_000, 1_000)).ends();
    }
    let counts = sessions.counts();
    assert_eq!((counts.attached, counts.detached, counts.bytes), (0, 0, 0));
}
