//! What runs in a process of its own, so that what it costs is its own?

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;

use tokio::net::TcpSocket;
use tokio::sync::mpsc;

use crate::clients::{At, Becalm, Client, Default, Fast, Tuned};
use crate::servers::Kind;

/// This program again. It ends with its input.
pub struct Process {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Process {
    /// A server, with its port.
    pub fn server(kind: Kind, threads: usize) -> (Self, SocketAddr) {
        let mut process = Self::start(&["server", kind.name(), &threads.to_string()]);
        let port = process.line().parse().expect("a port");
        (process, SocketAddr::from(([127, 0, 0, 1], port)))
    }

    pub fn clients<C: Client>(server: SocketAddr) -> Self {
        Self::start(&["clients", C::NAME, &server.port().to_string()])
    }

    fn start(arguments: &[&str]) -> Self {
        let program = std::env::current_exe().expect("this program");
        let mut command = Command::new(program);
        command.args(arguments);
        // Allocations from one place, whatever the number of threads.
        command.env("MALLOC_ARENA_MAX", "1");
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = piped.spawn().expect("it runs");
        let output = BufReader::new(child.stdout.take().expect("it is piped"));
        Self {
            input: child.stdin.take(),
            child,
            output,
        }
    }

    /// Opens so many more, and comes back when each has sent a message and got it back.
    pub fn more(&mut self, count: u32) {
        let input = self.input.as_mut().expect("it is piped");
        writeln!(input, "{count}").expect("it reads");
        self.line();
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("it writes");
        line.trim().to_owned()
    }

    /// The bytes that it has in memory.
    pub fn resident(&self) -> f64 {
        let status = self.proc("status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
        kilobytes.expect("a size").parse::<f64>().expect("a number") * 1024.0
    }

    /// The seconds that it has had a core for, in steps of 10 ms.
    pub fn busy(&self) -> f64 {
        let stat = self.proc("stat");
        let fields = stat.rsplit(')').next().expect("fields").split_whitespace();
        let ticks = fields.skip(11).take(2);
        ticks
            .map(|ticks| ticks.parse::<f64>().expect("a number"))
            .sum::<f64>()
            / 100.0
    }

    fn proc(&self, file: &str) -> String {
        let path = format!("/proc/{}/{file}", self.child.id());
        std::fs::read_to_string(path).expect("Linux tells of processes")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

/// The process of a server.
pub fn serve(kind: &str, threads: &str) {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    if threads == "1" {
        builder = tokio::runtime::Builder::new_current_thread();
    }
    let threads = threads.parse().expect("a number");
    let runtime = builder.worker_threads(threads).enable_all().build();
    std::thread::spawn(|| {
        // Its parent has ended, or wants it to.
        let _ = std::io::stdin().lines().count();
        std::process::exit(0);
    });
    runtime.expect("a runtime").block_on(async {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket
            .bind(SocketAddr::from(([127, 0, 0, 1], 0)))
            .expect("a port");
        let listener = socket.listen(4096).expect("a listener");
        println!("{}", listener.local_addr().expect("an address").port());
        Kind::named(kind).serve(listener).await;
    });
}

/// The process of clients.
pub fn open(kind: &str, port: &str) {
    let server = SocketAddr::from(([127, 0, 0, 1], port.parse().expect("a port")));
    match kind {
        Default::NAME => open_of::<Default>(server),
        Tuned::NAME => open_of::<Tuned>(server),
        Becalm::NAME => open_of::<Becalm>(server),
        Fast::NAME => open_of::<Fast>(server),
        other => panic!("no client: {other}"),
    }
}

fn open_of<C: Client>(server: SocketAddr) {
    // At once, so that no queue of the kernel overflows.
    const BATCH: usize = 50;
    let at = Arc::new(At::new(server));
    let (orders, mut ordered) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lines().map_while(Result::ok) {
            let _ = orders.send(line.parse::<usize>().expect("a number"));
        }
        std::process::exit(0);
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(async {
        while let Some(count) = ordered.recv().await {
            let mut left = count;
            while left > 0 {
                let batch = left.min(BATCH);
                let (ready, mut are_ready) = mpsc::channel(batch);
                for _ in 0..batch {
                    let (ready, at) = (ready.clone(), Arc::clone(&at));
                    tokio::spawn(async move {
                        let mut socket = C::open(&at).await;
                        socket.echo().await;
                        let _ = ready.send(()).await;
                        drop(ready);
                        socket.idle().await;
                    });
                }
                drop(ready);
                while are_ready.recv().await.is_some() {}
                left -= batch;
            }
            println!("open");
        }
    });
}
