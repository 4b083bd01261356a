//! Which scope is the thread's at present? The engines swap it while they run or poll an operation.

use core::cell::Cell;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

use super::Scope;
use crate::stop::StopReason;

thread_local! {
    static CURRENT: Cell<Scope> = const { Cell::new(Scope::NONE) };
    /// The task that is in it, where there is one: a task may block on a runtime or a set of tasks,
    /// which then polls others on its thread, and those are not inside it.
    static INSIDE: Cell<Task> = const { Cell::new(NO_TASK) };
}

/// Tokio's number of the task that is polled on this thread; none outside of any, and in what a
/// runtime blocks on.
#[cfg(feature = "tokio")]
type Task = Option<tokio::task::Id>;
#[cfg(feature = "tokio")]
const NO_TASK: Task = None;
#[cfg(feature = "tokio")]
#[inline]
fn running_task() -> Task {
    tokio::task::try_id()
}

/// Without tokio nobody tells one from another.
#[cfg(not(feature = "tokio"))]
#[derive(Clone, Copy, PartialEq)]
struct Task;
#[cfg(not(feature = "tokio"))]
const NO_TASK: Task = Task;
#[cfg(not(feature = "tokio"))]
fn running_task() -> Task {
    NO_TASK
}

impl Scope {
    /// The scope of the running attempt, [`Scope::NONE`] outside of any.
    ///
    /// It does not follow `spawn`: carry it over with [`Scope::wrap`]. Where an attempt blocks on a
    /// runtime or a `LocalSet` of tokio, other tasks that are polled meanwhile are outside of it
    /// (feature `tokio`). Other executors do not tell their tasks apart: where an attempt runs one of
    /// them on its own thread, wrap its tasks in [`Scope::NONE`].
    #[inline]
    pub fn current() -> Self {
        let current = CURRENT.get();
        // The task is asked for only where there is a scope.
        if current.is_none() || INSIDE.get() == running_task() {
            current
        } else {
            Self::NONE
        }
    }

    /// Runs the closure in this scope.
    ///
    /// What is said in it is forgotten: see [`enter_with_scope`](Self::enter_with_scope).
    pub fn enter<R>(self, inside: impl FnOnce() -> R) -> R {
        self.enter_with_scope(inside).0
    }

    /// Runs the closure in this scope, and tells what the scope has become: whether a layer in it
    /// [forbids](Self::is_retry_forbidden) more attempts.
    pub fn enter_with_scope<R>(self, inside: impl FnOnce() -> R) -> (R, Self) {
        let entered = Entered::new(self);
        let result = inside();
        (result, entered.leave())
    }

    /// Puts a future into this scope, wherever it is polled: for `spawn`.
    ///
    /// ```no_run
    /// # async fn run() {
    /// use becalm::Scope;
    /// let task = tokio::spawn(Scope::current().wrap(async { /* knows the retries above */ }));
    /// # }
    /// ```
    ///
    /// What is said in it stays with it: see [`Wrapped::with_scope`].
    pub fn wrap<F: Future>(self, future: F) -> Wrapped<F> {
        Wrapped {
            future,
            scope: self,
        }
    }

    /// Says that a failure inside the running attempt was dealt with, by a fallback for example: what
    /// layers below have told of it, that no layer above may retry, is forgotten.
    ///
    /// A later retried call in the attempt that succeeds says so by itself, and so does an attempt
    /// that ends well.
    pub fn handled() {
        let current = CURRENT.get();
        if current.told_below().is_some() {
            CURRENT.set(current.forgetting());
        }
    }

    /// Passes on to the running attempt that more attempts harm, if that was said in this scope:
    /// for what a task or thread has brought back.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// use becalm::Scope;
    /// # async fn work() {}
    /// let task = tokio::spawn(Scope::current().wrap(work()).with_scope());
    /// if let Ok((_done, scope)) = task.await {
    ///     scope.report();
    /// }
    /// # }
    /// ```
    pub fn report(self) {
        if let Some(reason) = self.told_below() {
            tell_current(reason);
        }
    }
}

/// Puts a future at the top, outside of all layers, wherever it is polled: for what outlives the call that began it, or is
/// shared by several, as a connection, a session or a background refresh.
///
/// Without it, dialling a shared connection runs in the scope of the call that came first: it has
/// that call's deadline, and one attempt only where that call repeats. On a thread,
/// `Scope::NONE.enter(dial)` does the same.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// use becalm::{Budget, Policy, Retrier};
/// # use std::{io, time::Duration};
/// # struct Connection;
/// # async fn connect() -> io::Result<Connection> { Ok(Connection) }
/// # async fn ask(_: &Connection) -> io::Result<u32> { Ok(17) }
/// # let dialler = Policy::exponential(Duration::from_millis(100))
/// #     .attempts(Policy::UNLIMITED).budget(Budget::None).retrier().expect("a valid policy");
/// # let commands = Policy::default().retrier().expect("a valid policy");
/// // A dialler that waits longer and longer, for as long as it takes.
/// let shared = tokio::sync::OnceCell::new();
/// let dial = || async { becalm::detached(dialler.retry(|_| connect())).await };
/// let answer = commands
///     .retry(|_| async { ask(shared.get_or_try_init(dial).await.map_err(io::Error::other)?).await })
///     .await;
/// # assert_eq!(answer.ok(), Some(17));
/// # }
/// ```
pub fn detached<F: Future>(future: F) -> Wrapped<F> {
    Scope::NONE.wrap(future)
}

/// Tells the layer above, if there is one, why this one stopped.
pub(crate) fn tell_current(reason: StopReason) {
    let above = Scope::current();
    if !above.is_none() {
        CURRENT.set(above.telling(reason));
    }
}

/// Says, inside an attempt, that the request's body is gone: if the attempt fails, the call stops with
/// [`BodyNotReplayable`](StopReason::BodyNotReplayable), and a retry inside it may repeat what it
/// can.
///
/// For a body that is read as it is sent. Outside of any attempt it does nothing.
pub fn body_is_consumed() {
    let mut scope = CURRENT.get();
    if scope.is_none() {
        return;
    }
    scope.meta |= super::CONSUMED;
    if scope.meta & super::REPEATED_FURTHER_UP == 0 {
        scope.meta &= !super::REPEATED;
    }
    CURRENT.set(scope);
}

/// While it lives, its scope is the thread's current one; dropping it, by a panic too, puts
/// back the one before.
pub(crate) struct Entered {
    before: Scope,
    task_before: Task,
}

impl Entered {
    #[inline]
    pub fn new(scope: Scope) -> Self {
        Self {
            before: CURRENT.replace(scope),
            task_before: INSIDE.replace(running_task()),
        }
    }

    /// Whether nothing at all is entered on this thread.
    #[inline]
    pub fn is_nothing() -> bool {
        CURRENT.get().is_none()
    }

    /// Enters what is inside a call where [nothing](Self::is_nothing) is entered: what is put back is then a
    /// constant, and one call does not wait for the one before to have left.
    #[inline]
    pub fn from_top(inside: Scope) -> Self {
        CURRENT.set(inside);
        INSIDE.set(running_task());
        Self {
            before: Scope::NONE,
            task_before: NO_TASK,
        }
    }

    /// Leaves, and tells what the scope has become inside.
    #[inline]
    pub fn leave(self) -> Scope {
        let inside = CURRENT.get();
        drop(self);
        inside
    }
}

impl Drop for Entered {
    #[inline]
    fn drop(&mut self) {
        CURRENT.set(self.before);
        // Where nothing is above, nobody asks whose it is.
        if !self.before.is_none() {
            INSIDE.set(self.task_before);
        }
    }
}

pin_project_lite::pin_project! {
    /// A future that carries a scope along: see [`Scope::wrap`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless polled"]
    pub struct Wrapped<F> {
        #[pin]
        future: F,
        scope: Scope,
    }
}

impl<F> Wrapped<F> {
    /// The scope as it is by now: whether a layer inside [forbids](Scope::is_retry_forbidden) more
    /// attempts.
    pub const fn scope(&self) -> Scope {
        self.scope
    }

    /// Lets the future resolve to its output and to the scope as it is at the end.
    pub const fn with_scope(self) -> WithScope<F> {
        WithScope { wrapped: self }
    }
}

impl<F: Future> Future for Wrapped<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let entered = Entered::new(*this.scope);
        let polled = this.future.poll(context);
        *this.scope = entered.leave();
        polled
    }
}

pin_project_lite::pin_project! {
    /// A future that brings its scope back: see [`Wrapped::with_scope`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless polled"]
    pub struct WithScope<F> {
        #[pin]
        wrapped: Wrapped<F>,
    }
}

impl<F: Future> Future for WithScope<F> {
    type Output = (F::Output, Scope);

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        this.wrapped
            .as_mut()
            .poll(context)
            .map(|output| (output, this.wrapped.scope))
    }
}
