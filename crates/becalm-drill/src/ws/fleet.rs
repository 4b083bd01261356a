//! Who dials in the drill? A process with some thousand clients of becalm-ws, each with a socket of its own.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::Range;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use becalm::rng::Seed;
use becalm_ws::session::Resume;
use becalm_ws::{Client, ClientRequestBuilder};
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::clock::Clock;
use super::journal::Journal;
use super::member::Member;
use super::schedule::Schedule;
use super::tally::Tally;
use super::told::{Report, Told, tell, tell_all};
use crate::messages::heard;

/// Its name as a process.
pub const NAME: &str = "becalm-drill-ws-clients";

/// How long the last answers may take.
const SETTLE: Duration = Duration::from_secs(10);

/// What a process of clients is to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Brief {
    pub clock: Clock,
    /// Of their server.
    pub addresses: Vec<SocketAddr>,
    pub clients: Range<u32>,
    pub schedule: Schedule,
    /// Whether they come when the server says.
    pub heeds: bool,
    /// Whether they keep sessions.
    pub resumes: bool,
    /// The first dials are spread over this.
    pub start: Duration,
    pub patience: Duration,
    /// Between two numbers of one client.
    pub every: Duration,
    pub journal: PathBuf,
    pub seed: u64,
}

/// Dials until a line on standard input tells the moment from which dials are asked about. Then it lets the last answers come, and
/// reports. Without a line it ends at once: who started it is gone.
pub fn dial(brief: &Brief) -> Result<ExitCode, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| format!("cannot start a runtime: {error}"))?;
    let dialled = runtime.block_on(dial_all(brief));
    // The clients would close their sockets one by one.
    runtime.shutdown_background();
    dialled.map_err(|error| format!("the drill's clients: {error}"))?;
    Ok(ExitCode::SUCCESS)
}

async fn dial_all(brief: &Brief) -> io::Result<()> {
    let all = brief.clients.end - brief.clients.start;
    let tally = Arc::new(Tally::new(brief.clock, all));
    let (settle, settles) = watch::channel(false);
    let mut members = Vec::new();
    for client in brief.clients.clone() {
        let member = Arc::new(Member::new(client, brief.resumes, tally.clone()));
        members.push(member.clone());
        tokio::spawn(live(member, brief.clone(), client, settles.clone()));
    }
    let since = tokio::select! {
        since = asked() => since,
        _ = tell_all(tally.clone()) => None,
    };
    let Some(since) = since else {
        return Ok(());
    };
    settle.send_replace(true);
    let until = Instant::now() + SETTLE;
    while Instant::now() < until && !members.iter().all(|it| it.is_settled()) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let journal = Journal::open(&brief.journal)?;
    let mut all: Option<Report> = None;
    for (member, client) in members.iter().zip(brief.clients.clone()) {
        let report = member.report(journal.read(client)?, since);
        all = Some(all.map_or(report, |all| all.and(report)));
    }
    // The last of them, so that no bucket lacks what others have told of it.
    for line in tally.take() {
        tell(&Told::Line(line))?;
    }
    let report = Report {
        full_since: tally.full_since(),
        ..all.unwrap_or_default()
    };
    tell(&Told::Report(report))
}

/// One client, until the end of the drill.
async fn live(member: Arc<Member>, brief: Brief, client: u32, mut settles: watch::Receiver<bool>) {
    let Ok(mut socket) = client_of(&member, &brief, client).open() else {
        return;
    };
    let handle = socket.handle();
    let begin = Instant::now() + brief.every.mul_f64(share(client));
    let mut beats = interval_at(begin, brief.every);
    beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut is_settling = false;
    loop {
        tokio::select! {
            came = socket.next() => match came {
                Some(Ok(message)) => member.hears(&message, &handle),
                Some(Err(_)) | None => return,
            },
            _ = beats.tick(), if !is_settling => member.beat(&handle),
            _ = settles.changed(), if !is_settling => is_settling = true,
        }
    }
}

fn client_of(member: &Arc<Member>, brief: &Brief, client: u32) -> Client {
    let address = brief.addresses[client as usize % brief.addresses.len()];
    let guest = member.clone();
    let observed = member.clone();
    let seed = brief.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(client);
    let client = Client::with_request(move |_| {
        let guest = guest.guest();
        let address = format!("ws://{address}{guest}").parse()?;
        // As a load balancer would say of each.
        let own = Ipv4Addr::from_bits(u32::from(Ipv4Addr::new(10, 0, 0, 0)) | guest.client);
        Ok(ClientRequestBuilder::new(address).with_header("x-forwarded-for", own.to_string()))
    })
    .reconnect(
        brief
            .schedule
            .reconnect(brief.heeds)
            .start_spread(brief.start),
    )
    .patience(brief.patience, Duration::from_secs(1))
    .observer(move |event| observed.observes(&event))
    .seed(Seed::fixed(seed));
    if brief.resumes {
        // The numbers that the server lacks are sent again after its welcome.
        client.resume(Resume::default()).carries(|_, _| false)
    } else {
        client
    }
}

/// Where in the time between two numbers a client sends: in another place than its neighbours.
fn share(client: u32) -> f64 {
    (f64::from(client) * 0.618_033_988_749).fract()
}

/// The line on standard input.
async fn asked() -> Option<Duration> {
    let (line, asked) = oneshot::channel();
    std::thread::spawn(move || {
        let _ = line.send(heard(io::stdin().lock()).next());
    });
    asked.await.ok().flatten()
}
