//! What is broken in the drill? A real HTTP service with workers and a bounded queue.
//!
//! As in most services, work goes on when its client has left: nobody tells the worker, and the
//! answer goes nowhere. That is what feeds a storm.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::{Request, Response, StatusCode};
use http_body_util::Empty;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

use super::ledger::{Count, Ledger};
use super::slow::Slow;

/// What a service is and what is wrong with it: plain data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Service {
    /// Requests that are worked on at once.
    pub workers: u32,
    /// Time that a worker spends on one.
    pub time: Duration,
    /// Requests that wait for a worker; one more is refused.
    pub queue: u32,
    /// When the workers hang.
    pub hang: Option<Hang>,
    /// From when until when every request is refused.
    pub refuses: Option<(Instant, Instant)>,
    /// Which requests take longer.
    pub slow: Option<Slow>,
}

/// When the workers hang.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hang {
    pub from: Instant,
    pub to: Instant,
}

impl Hang {
    /// When work is done that begins at `start` and takes `service`: a hang stops it in place.
    fn finish(self, start: Instant, service: Duration) -> Instant {
        let start = if (self.from..self.to).contains(&start) {
            self.to
        } else {
            start
        };
        let finish = start + service;
        if start < self.from && finish > self.from {
            finish + (self.to - self.from)
        } else {
            finish
        }
    }
}

/// A request in the queue.
struct Job {
    queued: Instant,
    takes: Duration,
    done: oneshot::Sender<()>,
}

/// Starts a service on a free port of the loopback interface. It runs as long as the runtime.
pub async fn start(service: Service, ledger: Arc<Ledger>) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    let (queue, jobs) = mpsc::channel(service.queue as usize);
    let jobs = Arc::new(Mutex::new(jobs));
    for _ in 0..service.workers {
        let worker = work(jobs.clone(), service.hang, ledger.clone());
        tokio::spawn(worker);
    }
    let desk = Desk {
        queue,
        ledger,
        service,
        arrived: AtomicU64::new(0),
    };
    tokio::spawn(accept(listener, Arc::new(desk)));
    Ok(address)
}

/// Accepts for ever. Out of descriptors, it waits for one instead of spinning.
async fn accept(listener: TcpListener, desk: Arc<Desk>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                tokio::spawn(converse(stream, desk.clone()));
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    }
}

async fn converse(stream: TcpStream, desk: Arc<Desk>) {
    // Without it an answer may wait for the peer's delayed acknowledgement. It cannot fail on an
    // open socket, and costs only time if it does.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| desk.receive(request));
    // An error is a client that left in the middle: the drill's daily bread.
    let _ = http1::Builder::new()
        .auto_date_header(false)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

/// Where requests come in.
struct Desk {
    queue: mpsc::Sender<Job>,
    ledger: Arc<Ledger>,
    service: Service,
    arrived: AtomicU64,
}

impl Desk {
    /// Queues the request and waits for a worker, or refuses it.
    async fn receive(&self, _: Request<Incoming>) -> Result<Response<Empty<Bytes>>, Infallible> {
        self.ledger.add(Count::Arrived);
        let (done, answer) = oneshot::channel();
        let number = self.arrived.fetch_add(1, Ordering::Relaxed);
        let slow = self.service.slow.filter(|slow| slow.hits(number));
        let job = Job {
            queued: Instant::now(),
            takes: slow.map_or(self.service.time, |slow| slow.time),
            done,
        };
        let refuses = self.service.refuses;
        let is_away = refuses.is_some_and(|(from, to)| (from..to).contains(&Instant::now()));
        let status = if is_away || self.queue.try_send(job).is_err() {
            self.ledger.add(Count::Refused);
            StatusCode::SERVICE_UNAVAILABLE
        } else if answer.await.is_ok() {
            StatusCode::OK
        } else {
            StatusCode::INTERNAL_SERVER_ERROR
        };
        let mut response = Response::new(Empty::new());
        *response.status_mut() = status;
        Ok(response)
    }
}

/// One worker. It begins a job when the one before was due, not when the timer told so: a timer
/// that is late by a tick each time would cost a tenth of the capacity.
async fn work(jobs: Arc<Mutex<mpsc::Receiver<Job>>>, hang: Option<Hang>, ledger: Arc<Ledger>) {
    let mut free = Instant::now();
    loop {
        let job = jobs.lock().await.recv().await;
        let Some(Job {
            queued,
            takes,
            done,
        }) = job
        else {
            return;
        };
        let start = free.max(queued);
        free = hang.map_or(start + takes, |hang| hang.finish(start, takes));
        sleep_until(free).await;
        ledger.add(Count::Served);
        if done.send(()).is_err() {
            ledger.add(Count::ServedNobody);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ask::Ask;
    use super::super::client::Connections;
    use super::*;

    const fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[tokio::test]
    async fn a_hang_stops_work_in_place() {
        let zero = Instant::now();
        let hang = Hang {
            from: zero + ms(100),
            to: zero + ms(300),
        };
        for (start, finish) in [
            (0, 10),
            (90, 100),
            (95, 305),
            (100, 310),
            (250, 310),
            (300, 310),
        ] {
            assert_eq!(
                hang.finish(zero + ms(start), ms(10)),
                zero + ms(finish),
                "{start}"
            );
        }
    }

    /// Long enough for any machine, short enough to end a hanging test.
    const PATIENCE: Duration = Duration::from_secs(60);

    /// Four workers of 10 ms.
    const USUAL: Service = Service {
        workers: 4,
        time: ms(10),
        queue: 200,
        hang: None,
        refuses: None,
        slow: None,
    };

    fn hanging_for(length: Duration) -> Hang {
        let from = Instant::now();
        Hang {
            from,
            to: from + length,
        }
    }

    async fn service(service: Service) -> (Arc<Ledger>, Connections) {
        let ledger = Arc::new(Ledger::new(Instant::now(), ms(60_000)));
        let address = start(service, ledger.clone()).await.unwrap();
        (ledger, Connections::to(address, Ask::default()))
    }

    #[tokio::test]
    async fn a_request_is_served_and_a_full_queue_refuses() {
        let (ledger, connections) = service(USUAL).await;
        assert_eq!(connections.send(0).await.unwrap(), StatusCode::OK);
        assert_eq!(ledger.recording().total(Count::Served), 1);

        let (ledger, connections) = service(Service {
            workers: 1,
            queue: 1,
            hang: Some(hanging_for(ms(3_600_000))),
            ..USUAL
        })
        .await;
        let connections = Arc::new(connections);
        // One at the worker, one in the queue; both hang.
        for _ in 0..2 {
            let connections = connections.clone();
            tokio::spawn(async move { connections.send(0).await });
        }
        let refused = tokio::time::timeout(PATIENCE, async {
            loop {
                if let Ok(Ok(status)) = tokio::time::timeout(ms(500), connections.send(0)).await {
                    return status;
                }
            }
        });
        assert_eq!(refused.await.unwrap(), StatusCode::SERVICE_UNAVAILABLE);
        assert!(ledger.recording().total(Count::Refused) >= 1);
    }

    #[tokio::test]
    async fn work_is_done_for_a_client_that_has_left() {
        // The client must have come and gone before the hang is over, however slow the machine.
        for lead in [ms(300), ms(3_000), PATIENCE] {
            let hang = hanging_for(lead);
            let (ledger, connections) = service(Service {
                hang: Some(hang),
                ..USUAL
            })
            .await;
            let client = tokio::spawn(async move { connections.send(0).await });
            until_there_is(&ledger, Count::Arrived).await;
            client.abort();
            let left = client.await;
            if Instant::now() >= hang.to {
                continue;
            }
            assert!(left.is_err_and(|error| error.is_cancelled()), "it hangs");
            until_there_is(&ledger, Count::ServedNobody).await;
            return;
        }
        panic!("the machine is too slow to send a request in a minute");
    }

    /// Waits for the first of these.
    async fn until_there_is(ledger: &Ledger, count: Count) {
        let counted = tokio::time::timeout(2 * PATIENCE, async {
            while ledger.recording().total(count) == 0 {
                tokio::time::sleep(ms(5)).await;
            }
        });
        counted.await.expect("it is counted");
    }

    #[tokio::test]
    async fn one_request_of_so_many_takes_long() {
        let slow = Slow {
            every: 5,
            time: ms(100),
            seed: 7,
        };
        let (_, connections) = service(Service {
            time: ms(1),
            slow: Some(slow),
            ..USUAL
        })
        .await;
        let mut slow = 0;
        for _ in 0..10 {
            let began = Instant::now();
            connections.send(0).await.unwrap();
            slow += u32::from(began.elapsed() >= ms(100));
        }
        assert!(slow >= 2, "{slow} of 10 take 100 ms");
    }
}
