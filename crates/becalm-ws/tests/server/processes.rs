//! What happens between processes? A listener is handed over and refuses nobody; one without descriptors waits in peace.
//!
//! The processes are this program again: its ignored test is a server.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use becalm::Policy;
use becalm::reconnect::Reconnect;
use becalm_admission::TicketKeys;
use becalm_ws::server::{Drain, Inherited};
use becalm_ws::tungstenite::http::Uri;
use becalm_ws::{Client, Event};
use futures_util::{SinkExt, StreamExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::servers::{open, request};
use crate::{until, within};

const ROLE: &str = "BECALM_TEST_ROLE";
const GENERATION: &str = "BECALM_TEST_GENERATION";
/// No process of a test lives longer.
const LIFE: Duration = Duration::from_secs(30);

/// A process that serves.
struct Process {
    child: Child,
    orders: ChildStdin,
    lines: std::sync::mpsc::Receiver<String>,
    port: u16,
}

/// This program as a server in this role.
fn program(mut command: Command, role: &str) -> Command {
    command.args(["--exact", "processes::a_server", "--ignored", "--nocapture"]);
    command.env(ROLE, role);
    command
}

impl Process {
    fn start(role: &str) -> Self {
        let this = std::env::current_exe().expect("a program");
        let mut command = program(Command::new(this), role);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let orders = child.stdin.take().expect("piped");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let (told, read) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let told_all = lines
                .map_while(Result::ok)
                .try_for_each(|line| told.send(line));
            drop(told_all);
        });
        let mut process = Self {
            child,
            orders,
            lines: read,
            port: 0,
        };
        process.port = process.told("port ").parse().expect("a port");
        process
    }

    /// The rest of the next line that begins so.
    fn told(&self, begin: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(Duration::from_secs(10));
            let line = line.expect("it says so within ten seconds");
            if let Some((_, rest)) = line.split_once(begin) {
                return rest.to_owned();
            }
        }
    }

    fn uri(&self) -> Uri {
        format!("ws://127.0.0.1:{}/", self.port)
            .parse()
            .expect("an address")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Kills a process that is not a child.
struct Successor(String);

impl Drop for Successor {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-9", &self.0]).status();
    }
}

async fn a_restart_refuses_nobody(role: &str) {
    let mut process = Process::start(role);
    assert_eq!(process.told("generation "), "1");
    let _first = process.told("pid ");
    let uri = process.uri();
    let policy = Policy::exponential(Duration::from_millis(1)).attempts(Policy::UNLIMITED);
    let (dials, failures) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let mut clients = JoinSet::new();
    let handed_over = Arc::<AtomicBool>::default();
    let ready = Arc::<AtomicUsize>::default();
    for _ in 0..40 {
        let (dials, failures) = (Arc::clone(&dials), Arc::clone(&failures));
        let client = Client::new(uri.clone()).reconnect(Reconnect::new(policy.clone()));
        let client = client.observer(move |event| match event {
            Event::Dials(_) => _ = dials.fetch_add(1, Ordering::SeqCst),
            Event::Ended(becalm_ws::Ended::Closed(_)) => (),
            Event::Ended(ended) => {
                eprintln!("{ended}");
                failures.fetch_add(1, Ordering::SeqCst);
            }
            _ => (),
        });
        let (ready, handed_over) = (Arc::clone(&ready), Arc::clone(&handed_over));
        clients.spawn(async move {
            let mut socket = client.open().expect("valid");
            // Asked again and again: what was asked of a connection that closed has no answer.
            let mut heard = String::new();
            while heard != "2" {
                socket.send("who are you?".into()).await.expect("room");
                let answer = tokio::time::timeout(Duration::from_millis(50), socket.next()).await;
                if let Ok(answer) = answer {
                    heard = answer.expect("it goes on").expect("it goes on").to_string();
                    if heard == "1" && !handed_over.load(Ordering::SeqCst) {
                        ready.fetch_add(1, Ordering::SeqCst);
                        while !handed_over.load(Ordering::SeqCst) {
                            let _ =
                                tokio::time::timeout(Duration::from_millis(5), socket.next()).await;
                        }
                    }
                }
            }
        });
    }
    until(|| ready.load(Ordering::SeqCst) == 40).await;
    // Others come all the time.
    let stop = Arc::<AtomicBool>::default();
    let others = tokio::spawn({
        let (stop, uri, port) = (Arc::clone(&stop), uri.clone(), process.port);
        async move {
            let mut came = 0;
            while !stop.load(Ordering::SeqCst) {
                let stream = TcpStream::connect(("127.0.0.1", port))
                    .await
                    .expect("not refused");
                let dialled = tokio_tungstenite::client_async(uri.clone(), stream).await;
                dialled.expect("not refused");
                came += 1;
            }
            came
        }
    });
    writeln!(process.orders, "hand over").expect("it listens");
    handed_over.store(true, Ordering::SeqCst);
    assert_eq!(process.told("generation "), "2");
    let _second = Successor(process.told("pid "));
    within(clients.join_all()).await;
    stop.store(true, Ordering::SeqCst);
    assert!(within(others).await.expect("nobody was refused") > 0);
    assert_eq!(failures.load(Ordering::SeqCst), 0);
    assert_eq!(dials.load(Ordering::SeqCst), 80, "one dial more for each");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_successor_that_is_spawned_takes_the_listener_over() {
    a_restart_refuses_nobody("spawn").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_becomes_its_successor_takes_its_listener_with_it() {
    a_restart_refuses_nobody("exec").await;
}

/// Ticks of the processor that a process has used.
fn ticks(process: &Process) -> u64 {
    let stat =
        std::fs::read_to_string(format!("/proc/{}/stat", process.child.id())).expect("a process");
    let (_, fields) = stat.rsplit_once(')').expect("its name");
    let field = |at: usize| {
        fields
            .split_whitespace()
            .nth(at)
            .and_then(|text| text.parse::<u64>().ok())
    };
    field(11).expect("its time") + field(12).expect("its time")
}

/// How many it uses of 30.
async fn ticks_of_a_while(process: &Process) -> u64 {
    let before = ticks(process);
    tokio::time::sleep(Duration::from_millis(300)).await;
    ticks(process) - before
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn without_descriptors_it_waits_in_peace_and_goes_on_when_there_are() {
    let process = Process::start("exhausted");
    // While nobody comes it does nothing.
    assert!(ticks_of_a_while(&process).await <= 10);
    let address = ("127.0.0.1", process.port);
    let mut streams = Vec::new();
    for _ in 0..60 {
        let mut stream = TcpStream::connect(address)
            .await
            .expect("the kernel has room");
        let request = request("/", "");
        tokio::io::AsyncWriteExt::write_all(&mut stream, request.as_bytes())
            .await
            .expect("room");
        streams.push(stream);
    }
    let is_answered = |stream: &TcpStream| {
        let mut byte = [0];
        matches!(stream.try_read(&mut byte), Ok(1))
    };
    let mut served = 0;
    within(async {
        while served < 10 {
            served += streams
                .iter()
                .filter(|stream| is_answered(stream))
                .count()
                .min(1);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    // It has 40 descriptors, and they are taken: a loop that asks on and on would use all of the time.
    assert!(ticks_of_a_while(&process).await <= 10);
    // Who is served leaves, and the others come in: soon, not after a second.
    let mut left = streams;
    within(async {
        while !left.is_empty() {
            let mut stays = Vec::new();
            for stream in left {
                let mut bytes = [0; 512];
                match stream.try_read(&mut bytes) {
                    Ok(read) => assert!(read > 0, "nobody is dropped"),
                    Err(_) => stays.push(stream),
                }
            }
            left = stays;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn descriptors_are_kept_in_reserve_for_the_application() {
    let process = Process::start("reserve");
    let mut sockets = JoinSet::new();
    for _ in 0..60 {
        let uri = process.uri();
        sockets.spawn(async move { tokio_tungstenite::connect_async(uri).await });
    }
    let mut served = Vec::new();
    // 100 descriptors, but for 64.
    while served.len() < 36 {
        let (socket, _) = within(sockets.join_next())
            .await
            .expect("one")
            .expect("no panic")
            .expect("served");
        served.push(socket);
    }
    let more = tokio::time::timeout(Duration::from_millis(100), sockets.join_next()).await;
    assert!(more.is_err(), "36 are open");
    served[0]
        .send("open ten files".into())
        .await
        .expect("it listens");
    let answer = within(served[0].next())
        .await
        .expect("an answer")
        .expect("an answer");
    assert_eq!(answer.to_string(), "10");
}

/// Not a test: a server in a process of its own, in the role that its environment says.
#[tokio::test]
#[ignore = "a process of the other tests"]
async fn a_server() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let limit = |most| {
        let limit = rustix::process::Rlimit {
            current: Some(most),
            maximum: Some(most),
        };
        rustix::process::setrlimit(rustix::process::Resource::Nofile, limit)
            .expect("a lower limit");
    };
    let mut settings = open().tickets(TicketKeys::new(1, &[7; 32]).expect("a key"));
    match role.as_str() {
        "exhausted" => {
            limit(40);
            settings = settings.connections(1000);
        }
        "reserve" => limit(100),
        _ => (),
    }
    let generation = std::env::var(GENERATION).unwrap_or("1".to_owned());
    let server = settings.server().expect("valid");
    let mut listener = match Inherited::sockets().take(0).expect("a socket") {
        Some(socket) => server.listen_on(socket).expect("a listener"),
        None => server.listen("127.0.0.1:0").await.expect("a port"),
    };
    let hand_over = listener.hand_over().expect("a descriptor");
    let address = listener.local_addr().expect("an address");
    println!("port {}", address.port());
    println!("generation {generation}");
    println!("pid {}", std::process::id());
    let serving = tokio::spawn({
        let (server, role) = (server.clone(), role.clone());
        async move {
            while let Some(connection) = listener.accept().await {
                tokio::spawn(serve(
                    server.clone(),
                    connection,
                    generation.clone(),
                    role.clone(),
                ));
            }
        }
    });
    let ordered = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).map(|_| line)
    });
    let is_ordered = tokio::time::timeout(LIFE, async {
        match ordered.await {
            Ok(Ok(line)) if line.trim() == "hand over" => (),
            // A successor has no orders: it lives until it is killed.
            _ => std::future::pending().await,
        }
    })
    .await;
    if is_ordered.is_err() {
        std::process::exit(1);
    }
    let this = std::env::current_exe().expect("a program");
    let mut command = program(hand_over.command(this).expect("a descriptor"), &role);
    command.env(GENERATION, "2");
    if role == "spawn" {
        let successor = command.spawn().expect("it starts");
        // It outlives this process.
        std::mem::forget(successor);
    }
    let drained = server.drain(Drain::per_second(1000)).await;
    assert_eq!(drained.left, 0);
    serving.await.expect("no panic");
    if role == "exec" {
        let error = command.exec();
        panic!("{error}");
    }
    std::process::exit(0);
}

async fn serve(
    server: becalm_ws::server::Server,
    connection: becalm_ws::server::Accepted,
    generation: String,
    role: String,
) {
    let peer = connection.peer().clone();
    let Ok(handshake) = server.handshake(connection, &peer).await else {
        return;
    };
    let Ok(mut socket) = handshake.accept().await else {
        return;
    };
    socket.ready();
    while let Some(Ok(message)) = socket.next().await {
        if !message.is_text() {
            continue;
        }
        let answer = if role == "reserve" {
            let files: Vec<_> = (0..10)
                .filter_map(|_| std::fs::File::open("/dev/null").ok())
                .collect();
            files.len().to_string()
        } else {
            generation.clone()
        };
        if socket.send(answer.into()).await.is_err() {
            return;
        }
    }
}
