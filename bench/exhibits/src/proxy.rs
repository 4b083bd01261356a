//! What stands between a process and the server, counts its dials, swallows answers and cuts?

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::Notify;

use becalm_drill::ws::clock::Clock;

/// One for each process. It listens as long as it is there: while the server is down, who connects is let go at once, as by a load
/// balancer, so that every dial is counted.
pub struct Proxies {
    runtime: Runtime,
    state: Arc<State>,
    pub ports: Vec<u16>,
}

struct State {
    clock: Clock,
    server: u16,
    swallows: AtomicBool,
    cut: Notify,
    dials: Vec<Mutex<Vec<Duration>>>,
}

impl Proxies {
    /// For so many processes.
    ///
    /// # Errors
    ///
    /// A sentence.
    pub fn new(clock: Clock, server: u16, processes: u32) -> Result<Self, String> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build();
        let refused = |error: io::Error| format!("cannot listen on 127.0.0.1: {error}");
        let runtime = runtime.map_err(refused)?;
        let state = Arc::new(State {
            clock,
            server,
            swallows: AtomicBool::new(false),
            cut: Notify::new(),
            dials: (0..processes).map(|_| Mutex::default()).collect(),
        });
        let mut ports = Vec::new();
        for process in 0..state.dials.len() {
            let listener = runtime
                .block_on(TcpListener::bind("127.0.0.1:0"))
                .map_err(refused)?;
            ports.push(listener.local_addr().map_err(refused)?.port());
            runtime.spawn(accept(listener, process, Arc::clone(&state)));
        }
        Ok(Self {
            runtime,
            state,
            ports,
        })
    }

    /// From here on no answer comes through.
    pub fn swallow(&self) {
        self.state.swallows.store(true, Ordering::SeqCst);
    }

    /// Closes all connections; the next work again.
    pub fn cut(&self) {
        self.state.cut.notify_waiters();
        self.state.swallows.store(false, Ordering::SeqCst);
    }

    /// When each process has dialled.
    pub fn dials(&self) -> Vec<Vec<Duration>> {
        let dials = self.state.dials.iter();
        dials
            .map(|it| it.lock().unwrap_or_else(PoisonError::into_inner).clone())
            .collect()
    }

    pub fn end(self) {
        self.runtime.shutdown_background();
    }
}

async fn accept(listener: TcpListener, process: usize, state: Arc<State>) {
    loop {
        if let Ok((client, _)) = listener.accept().await {
            let mut dials = state.dials[process]
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            dials.push(state.clock.now());
            drop(dials);
            tokio::spawn(pass(client, Arc::clone(&state)));
        }
    }
}

async fn pass(client: TcpStream, state: Arc<State>) {
    let cut = state.cut.notified();
    let Ok(server) = TcpStream::connect(("127.0.0.1", state.server)).await else {
        return;
    };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let answers = async {
        let (mut piece, mut is_mute) = (vec![0; 1 << 16], false);
        while let Ok(read @ 1..) = from_server.read(&mut piece).await {
            // What follows would be taken for what was swallowed.
            is_mute |= state.swallows.load(Ordering::SeqCst);
            if !is_mute && to_client.write_all(&piece[..read]).await.is_err() {
                break;
            }
        }
    };
    tokio::select! {
        () = cut => (),
        () = answers => (),
        _ = copy(&mut from_client, &mut to_server) => (),
    }
}
