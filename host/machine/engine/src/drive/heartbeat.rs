//! Heartbeat of a load thread: by it the conductor finds a thread that is stuck in the kernel, and the request it waits for.

use loadline_block::{Operation, Request};
use loadline_units::{Duration, Instant};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread::Thread;

/// Written by one thread, read by the conductor.
#[derive(Debug, Default)]
pub(super) struct Heartbeat {
    /// When the thread went into the kernel, in ns; 0 while it is outside.
    at: AtomicU64,
    /// What it waits for, where that is one request: its operation's index plus one, else 0.
    operation: AtomicU32,
    length: AtomicU32,
    offset: AtomicU64,
    /// Requests of the thread were left in flight.
    left: AtomicBool,
    /// The thread has done all it does.
    ended: AtomicBool,
}

/// Dropped when a load thread has done its work or has panicked: wakes the conductor.
pub(super) struct Ends {
    pub(super) beat: Arc<Heartbeat>,
    pub(super) conductor: Thread,
}

impl Drop for Ends {
    fn drop(&mut self) {
        self.beat.idles();
        self.beat.ended.store(true, Ordering::Release);
        self.conductor.unpark();
    }
}

/// A thread that has been in the kernel for too long.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stuck {
    /// Since when.
    pub(super) since: Instant,
    /// What it waits for, if it does one request at a time.
    pub(super) request: Option<Request>,
}

impl Heartbeat {
    /// The thread is alive at `now`; it may get stuck from now on.
    #[inline]
    pub(super) fn beat(&self, now: Instant) {
        self.at.store(now.as_ns(), Ordering::Relaxed);
    }
    /// The thread goes into the kernel for `request` alone.
    #[inline]
    pub(super) fn waits_for(&self, request: &Request, now: Instant) {
        self.operation.store(request.operation.index() as u32 + 1, Ordering::Relaxed);
        self.length.store(request.length, Ordering::Relaxed);
        self.offset.store(request.offset, Ordering::Relaxed);
        self.at.store(now.as_ns(), Ordering::Release);
    }
    /// The thread is outside the kernel.
    #[inline]
    pub(super) fn idles(&self) {
        self.at.store(0, Ordering::Relaxed);
    }
    /// The thread ends and leaves requests in flight: its end may take as long as they do (`io_uring` waits for them).
    pub(super) fn leaves(&self) {
        self.left.store(true, Ordering::Relaxed);
    }
    /// Whether the thread left requests in flight.
    pub(super) fn left(&self) -> bool {
        self.left.load(Ordering::Relaxed)
    }
    /// Whether the thread has done its work: joining it takes no time.
    pub(super) fn ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }
    /// Since when the thread has been in the kernel; `None` while it is not.
    pub(super) fn since(&self) -> Option<Instant> {
        Some(self.at.load(Ordering::Acquire)).filter(|at| *at > 0).map(Instant::from_ns)
    }
    /// What the thread has been stuck in for longer than `limit`, if anything.
    pub(super) fn stuck(&self, now: Instant, limit: Duration) -> Option<Stuck> {
        let since = self.since().filter(|since| now.since(*since) > limit)?;
        let operation = (self.operation.load(Ordering::Relaxed) as usize)
            .checked_sub(1)
            .and_then(|index| Operation::ALL.get(index).copied());
        let request = operation.map(|operation| Request {
            operation,
            durable: false,
            length: self.length.load(Ordering::Relaxed),
            offset: self.offset.load(Ordering::Relaxed),
            due_at: since,
        });
        Some(Stuck { since, request })
    }
}

impl Stuck {
    /// In words.
    pub(super) fn describe(&self, now: Instant) -> String {
        let span = now.since(self.since);
        match &self.request {
            Some(request) => unanswered(request, span),
            None => format!("handing over requests: the thread has been held in the kernel for {}", span.human()),
        }
    }
}

/// Says of which request there was no answer.
pub(super) fn unanswered(request: &Request, span: Duration) -> String {
    let Request { operation, offset, length, .. } = request;
    format!("{} of {length} B at offset {offset} was not answered for {}", operation.name(), span.human())
}
