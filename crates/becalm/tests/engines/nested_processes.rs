//! Are layers in different processes seen as those of one are? Each process has a clock and
//! retriers of its own; nothing but two header fields goes from one to another.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use becalm::time::FakeSleeper;
use becalm::{
    Classify, Failure, GaveUp, Hint, Policy, Retrier, Scope, Sleeper, StopReason,
    scope::{Nested, Told},
};

use crate::probe::{Fault, Ledger, MS, SECOND, fixed, ready, yield_now};

/// A failed answer, with its header field `becalm-retry` if it has one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Answer(Option<String>);

impl std::fmt::Display for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.as_deref().unwrap_or("a failed answer"))
    }
}

impl Classify for Answer {
    fn classify(&self) -> Failure {
        match self.0.as_ref().and_then(Told::decode) {
            Some(answer) => Failure::transient().hint(answer.hint()),
            None => Failure::transient(),
        }
    }
}

struct Process {
    clock: FakeSleeper,
    retrier: Retrier,
    ledger: Arc<Ledger>,
    /// The header fields that came, in order.
    requests: RefCell<Vec<String>>,
}

impl Process {
    fn new(policy: Policy, tokens: u32) -> Self {
        let (clock, ledger) = (FakeSleeper::auto(), Ledger::of(tokens));
        let retrier = policy
            .builder()
            .sleeper(clock.clone())
            .retry_budget(ledger.clone())
            .build()
            .unwrap();
        Self {
            clock,
            retrier,
            ledger,
            requests: RefCell::default(),
        }
    }

    fn of_four() -> Self {
        Self::new(fixed(MS).attempts(4), 100)
    }

    /// What the attempt under way sends along.
    fn header(&self) -> String {
        Scope::current()
            .encode(self.clock.now(), self.clock.clock())
            .map_or_else(String::new, |header| header.to_string())
    }

    /// Serves a request that came with this header field. The work's own error says nothing of
    /// retries; what the layers in it say is in the answer all the same.
    fn serve(&self, header: &str, work: impl FnOnce() -> Result<(), Fault>) -> Result<(), Answer> {
        self.requests.borrow_mut().push(header.to_owned());
        let scope = Scope::decode(header, self.clock.now(), self.clock.clock());
        let (result, scope) = scope.enter_with_scope(work);
        result.map_err(|_| answer(scope))
    }

    /// Serves a request by work that awaits.
    async fn serve_async(
        &self,
        header: &str,
        work: impl Future<Output = Result<(), Fault>>,
    ) -> Result<(), Answer> {
        let scope = Scope::decode(header, self.clock.now(), self.clock.clock());
        let (result, scope) = scope.wrap(work).with_scope().await;
        result.map_err(|_| answer(scope))
    }

    /// Calls what is below, with retries, and maps the error into the user's own.
    fn call(&self, mut below: impl FnMut(&str) -> Result<(), Answer>) -> Result<(), Fault> {
        self.retrier
            .retry_blocking(|_| below(&self.header()))
            .map_err(|_| Fault::DOWN)
    }
}

fn answer(scope: Scope) -> Answer {
    let said = scope.told_below().and_then(Told::because);
    Answer(said.map(|answer| answer.to_string()))
}

type Ended = Result<(), GaveUp<Answer>>;

/// A client, a service, and a service below it; how often the work at the bottom ran.
struct Chain {
    client: Process,
    service: Process,
    store: Process,
    ran: Cell<u32>,
}

impl Chain {
    fn new(client: Process, service: Process, store: Process) -> Self {
        Self {
            client,
            service,
            store,
            ran: Cell::new(0),
        }
    }

    fn of_four() -> Self {
        Self::new(Process::of_four(), Process::of_four(), Process::of_four())
    }

    fn work(&self) -> Result<(), Fault> {
        self.ran.set(self.ran.get() + 1);
        Err(Fault::DOWN)
    }

    /// The store retries its own work as well: three layers of retries.
    fn run(&self, carried: bool) -> Ended {
        let pass = |header: &str| {
            if carried {
                header.to_owned()
            } else {
                String::new()
            }
        };
        let in_store = || {
            let call = self.store.retrier.retry_blocking(|_| self.work());
            call.map_err(|_| Fault::DOWN)
        };
        let in_service = || {
            self.service
                .call(|header| self.store.serve(&pass(header), in_store))
        };
        self.client
            .retrier
            .retry_blocking(|_| self.service.serve(&pass(&self.client.header()), in_service))
    }
}

#[test]
fn three_processes_of_four_attempts_make_ten() {
    let chain = Chain::of_four();
    let gave_up = chain.run(true).unwrap_err();
    assert_eq!(
        (gave_up.reason(), gave_up.attempts()),
        (StopReason::AttemptsExhausted, 4)
    );
    assert_eq!(chain.ran.get(), 10);
    assert_eq!(
        *chain.service.requests.borrow(),
        [
            "attempt=1, repeated",
            "attempt=2, repeated",
            "attempt=3, repeated",
            "attempt=4, repeated",
        ]
    );
    assert_eq!(
        *chain.store.requests.borrow(),
        [
            "attempt=1, repeated",
            "attempt=2, repeated",
            "attempt=3, repeated",
            "attempt=4, repeated",
            "attempt=1, retry, repeated",
            "attempt=1, retry, repeated",
            "attempt=1, retry, repeated",
        ]
    );
    assert_eq!(Scope::current(), Scope::NONE);

    let blind = Chain::of_four();
    blind.run(false).unwrap_err();
    assert_eq!(blind.ran.get(), 64, "what the header is for");
}

#[test]
fn three_processes_that_await_make_ten_as_well() {
    let chain = &Chain::of_four();
    let (client, service) = (&chain.client, &chain.service);
    let in_store = || async {
        yield_now().await;
        let call = chain.store.retrier.retry(|_| async {
            yield_now().await;
            chain.work()
        });
        call.await.map_err(|_| Fault::DOWN)
    };
    let in_service = || async {
        let call = service.retrier.retry(|_| async {
            yield_now().await;
            chain.store.serve_async(&service.header(), in_store()).await
        });
        call.await.map_err(|_| Fault::DOWN)
    };
    let call = client.retrier.retry(|_| async {
        yield_now().await;
        service.serve_async(&client.header(), in_service()).await
    });
    let gave_up = ready(call).unwrap_err();
    assert_eq!((gave_up.attempts(), chain.ran.get()), (4, 10));
}

/// Each process counts the calls that it makes.
#[test]
fn c18_a_request_is_a_first_try_in_each_process_whatever_is_repeated_above() {
    for (nested, first_tries) in [
        (Nested::Nearest, [1, 4, 5]),
        (Nested::Outermost, [1, 4, 4]),
        (Nested::Allow, [1, 4, 8]),
        (Nested::ShareBudget, [1, 4, 8]),
    ] {
        let below = || Process::new(fixed(MS).attempts(2).nested(nested), 100);
        let chain = Chain::new(Process::of_four(), below(), below());
        chain.run(true).unwrap_err();
        let processes = [&chain.client, &chain.service, &chain.store];
        let made = processes.map(|it| it.ledger.book().first_tries);
        assert_eq!(made, first_tries, "{nested}");
    }
}

/// There is no retrier of this process above.
#[test]
fn a_shared_budget_is_ones_own_where_the_layer_above_is_elsewhere() {
    let below = || Process::new(fixed(MS).attempts(2).nested(Nested::ShareBudget), 100);
    let chain = Chain::new(Process::of_four(), below(), below());
    chain.run(true).unwrap_err();
    let spent = |process: &Process| process.ledger.book().spent();
    assert_eq!(chain.ran.get(), 4 * 2 * 2);
    assert_eq!(
        (
            spent(&chain.client),
            spent(&chain.service),
            spent(&chain.store)
        ),
        (3, 4, 8)
    );
}

/// The first of them in this process pays for all.
#[test]
fn layers_below_a_request_share_the_budget_of_the_first_of_their_process() {
    let policy = || fixed(MS).attempts(2).nested(Nested::ShareBudget);
    let first = Process::new(policy(), 100);
    let ledger = Ledger::of(100);
    let builder = policy().builder().sleeper(first.clock.clone());
    let second = builder.retry_budget(ledger.clone()).build().unwrap();
    let served = first.serve("attempt=1, repeated", || {
        let call = first
            .retrier
            .retry_blocking(|_| second.retry_blocking(|_| Err::<(), _>(Fault::DOWN)));
        call.map_err(|_| Fault::DOWN)
    });
    assert_eq!(served, Err(Answer(None)));
    assert_eq!(
        (first.ledger.book().spent(), ledger.book().spent()),
        (1 + 2, 0)
    );
}

/// One spent budget forbids nothing: the next attempt may come to another instance.
#[test]
fn a_spent_budget_far_below_is_no_reason_at_the_top() {
    let service = Process::new(fixed(MS).attempts(4).nested(Nested::Allow), 100);
    let broke = Process::new(fixed(MS).attempts(4).nested(Nested::Allow), 0);
    let chain = Chain::new(Process::of_four(), service, broke);
    let gave_up = chain.run(true).unwrap_err();
    assert_eq!(
        (gave_up.reason(), gave_up.attempts()),
        (StopReason::AttemptsExhausted, 4)
    );
    assert_eq!(
        chain.ran.get(),
        4 * 4 - 1,
        "the service heeds the fifteenth word in a row, and passes it on"
    );
    let said = Answer(Some("gave-up=budget_exhausted".to_owned()));
    assert_eq!(gave_up.error(), Some(&said));
}

#[test]
fn the_reason_is_told_to_the_layer_right_above() {
    let broke = Process::new(fixed(MS).attempts(4), 0);
    let work = || {
        let call = broke.retrier.retry_blocking(|_| Err::<(), _>(Fault::DOWN));
        call.map_err(|_| Fault::DOWN)
    };
    // Even to a sender that says nothing of itself.
    for header in ["", "attempt=1", "nonsense, ", "attempt=1, remaining=1000"] {
        let said = Answer(Some("gave-up=budget_exhausted".to_owned()));
        assert_eq!(broke.serve(header, work), Err(said), "{header:?}");
    }
    assert_eq!(
        broke.serve("attempt=2, repeated", work),
        Err(Answer(None)),
        "a suppressed layer asks no budget"
    );
}

#[test]
fn the_server_at_the_bottom_is_heard_at_the_top() {
    let chain = Chain::of_four();
    let stop = Fault(Failure::throttled().hint(Hint::Stop));
    let in_service = || {
        let call = chain.service.retrier.retry_blocking(|_| {
            chain.ran.set(chain.ran.get() + 1);
            Err::<(), _>(stop)
        });
        call.map_err(|_| Fault::DOWN)
    };
    let call = chain
        .client
        .retrier
        .retry_blocking(|_| chain.service.serve(&chain.client.header(), in_service));
    assert_eq!(call.unwrap_err().reason(), StopReason::DoNotRetry);
    assert_eq!(chain.ran.get(), 1);
}

#[test]
fn a_request_knows_nothing_of_the_one_before() {
    let broke = Process::new(fixed(MS).attempts(4), 0);
    let served = broke.serve("attempt=1", || {
        let _ = broke.retrier.retry_blocking(|_| Err::<(), _>(Fault::DOWN));
        Ok(())
    });
    assert_eq!(served, Ok(()), "a fallback is a good answer");
    let served = broke.serve("attempt=1", || Err(Fault::DOWN));
    assert_eq!(served, Err(Answer(None)));
}

/// What a call in a service is told of its remaining time, whatever the service's own clock says.
fn told(own: Option<Duration>, header: &str) -> Option<Duration> {
    let mut policy = fixed(MS);
    policy.deadline = own;
    let service = Process::new(policy, 10);
    service.clock.advance(3600 * SECOND);
    let told = Cell::new(None);
    let _ = service.serve(header, || {
        let call = service.retrier.retry_blocking(|attempt| {
            told.set(attempt.remaining());
            Ok::<_, Fault>(())
        });
        call.map_err(|_| Fault::DOWN)
    });
    told.into_inner()
}

#[test]
fn the_deadline_is_the_earlier_of_its_own_and_the_one_handed_over() {
    let two = Some(2 * SECOND);
    for (own, header, expected) in [
        (None, "attempt=1", None),
        (None, "remaining=1200", Some(1200 * MS)),
        (two, "attempt=1", two),
        (two, "remaining=1200", Some(1200 * MS)),
        (two, "remaining=2001", two),
        (two, "remaining=999999999999999", two),
        (two, "remaining=-1", two),
    ] {
        assert_eq!(told(own, header), expected, "{own:?}, {header:?}");
    }
}

#[test]
fn what_is_left_of_the_deadline_goes_from_process_to_process() {
    let [client, service, store] = [Some(10 * SECOND), None, None].map(|limit| {
        let mut policy = fixed(MS).attempts(1);
        policy.deadline = limit;
        Process::new(policy, 10)
    });
    service.clock.advance(77 * SECOND);
    let _ = client.retrier.retry_blocking(|_| {
        client.clock.advance(3 * SECOND); // spent before the request is sent
        service.serve(&client.header(), || {
            service.call(|_| {
                service.clock.advance(2 * SECOND + MS / 2);
                store.serve(&service.header(), || Err(Fault::DOWN))
            })
        })
    });
    assert_eq!(*service.requests.borrow(), ["attempt=1, remaining=7000"]);
    assert_eq!(
        *store.requests.borrow(),
        ["attempt=1, remaining=4999"],
        "rounded down"
    );
}

#[test]
fn a_request_without_time_is_refused_before_its_first_attempt() {
    let service = Process::of_four();
    let work = || {
        let call = service
            .retrier
            .retry_blocking(|_| -> Result<(), Fault> { panic!("an attempt") });
        assert_eq!(call.unwrap_err().reason(), StopReason::DeadlineExceeded);
        Err(Fault::DOWN)
    };
    assert_eq!(
        service.serve("attempt=1, remaining=0", work),
        Err(Answer(None))
    );
    assert_eq!(service.ledger.book().deposits, 0);
}
