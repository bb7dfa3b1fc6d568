//! Service of a request after the limits: places, a shared pipe, and the head of a spinning disk.

use crate::gate::{Gate, Rate};
use crate::limit::WaitTimes;
use crate::{Enforcement, Parallelism, Spinning};
use loadline_block::Operation;
use loadline_units::{Bytes, Duration, NS_PER_S};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// After so many passes for nearer requests, the head serves a request next, however far it is.
const PASSED_OVER_MAX: u32 = 128;

/// How many requests and bytes a disk has in service at once.
#[derive(Debug, Clone)]
pub(crate) struct Lanes {
    /// When each place becomes free.
    places: Option<BinaryHeap<Reverse<u64>>>,
    pipe: Option<Gate>,
    /// How long requests waited for a place, and for the others' bytes, in all, ns.
    waited: [u64; 2],
}

impl Lanes {
    pub(crate) fn new(parallelism: Parallelism) -> Self {
        let pipe = parallelism.throughput.map(|throughput| Rate { base: throughput.get(), burst: None });
        Self {
            places: parallelism.requests.map(|count| (0..count).map(|_| Reverse(0)).collect()),
            pipe: pipe.map(|rate| Gate::new(rate, Enforcement::Smooth, 0)),
            waited: [0; 2],
        }
    }

    /// Drops all requests in service or waiting.
    pub(crate) fn break_off(&mut self, now: u64) {
        if let Some(places) = &mut self.places {
            *places = places.drain().map(|Reverse(free_at)| Reverse(free_at.min(now))).collect();
        }
        if let Some(pipe) = &mut self.pipe {
            pipe.break_off(now);
        }
    }

    /// Whether requests may wait for one another.
    #[inline]
    pub(crate) const fn are_bounded(&self) -> bool {
        self.places.is_some() || self.pipe.is_some()
    }

    /// How long requests have waited so far: for a place, and for the bytes of others.
    pub(crate) fn waited(&self) -> WaitTimes {
        let [requests, bytes] = self.waited.map(Duration::from_ns);
        WaitTimes { iops: requests, throughput: bytes, credits: Duration::ZERO }
    }

    /// When a request that comes at `now` and needs `service` is done. Requests come in their order.
    pub(crate) fn serve(&mut self, now: u64, service: u64, length: u64) -> u64 {
        let mut begins = now;
        if let Some(places) = &self.places
            && let Some(Reverse(free_at)) = places.peek()
        {
            begins = begins.max(*free_at);
            self.waited[0] += begins - now;
        }
        let mut done = begins + service;
        if let Some(pipe) = &mut self.pipe {
            // A pipe is paid for behind: the next one's turn is when these bytes are through.
            pipe.pass(begins, length);
            let through = pipe.pass(begins, 0).at;
            self.waited[1] += through.saturating_sub(done);
            done = done.max(through);
        }
        if let Some(places) = &mut self.places
            && let Some(mut place) = places.peek_mut()
        {
            *place = Reverse(done);
        }
        done
    }
}

/// A request for the head.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Errand {
    /// The part that it belongs to.
    pub(crate) part: u32,
    pub(crate) operation: Operation,
    pub(crate) offset: u64,
    pub(crate) length: u64,
    passed_over: u32,
}

impl Errand {
    pub(crate) const fn new(part: u32, operation: Operation, offset: u64, length: u64) -> Self {
        Self { part, operation, offset, length, passed_over: 0 }
    }
}

/// A spinning disk's head and the requests that wait for it.
#[derive(Debug, Clone)]
pub(crate) struct Spindle {
    spec: Spinning,
    size: f64,
    /// Time of a revolution, ns.
    revolution: u64,
    /// Bytes of a track.
    track: u64,
    /// End of the last transfer, and its operation.
    head: u64,
    last: Operation,
    waiting: VecDeque<Errand>,
    busy: Option<Errand>,
}

impl Spindle {
    pub(crate) fn new(spec: Spinning, size: Bytes) -> Self {
        let revolution = 60 * NS_PER_S / u64::from(spec.revolutions_per_minute);
        let track = u128::from(spec.transfer.get()) * u128::from(revolution) / u128::from(NS_PER_S);
        Self {
            spec,
            size: size.get() as f64,
            revolution,
            track: u64::try_from(track).expect("a track is short").max(1),
            head: 0,
            last: Operation::Read,
            waiting: VecDeque::new(),
            busy: None,
        }
    }

    /// Adds a request; returns when the head is done with it, if it starts at once.
    pub(crate) fn arrive(&mut self, now: u64, errand: Errand) -> Option<u64> {
        self.waiting.push_back(errand);
        if self.busy.is_some() { None } else { self.take(now) }
    }

    /// Drops all requests in service or waiting.
    pub(crate) fn break_off(&mut self) {
        self.waiting.clear();
        self.busy = None;
    }

    /// The head is done: returns its request, and when it is done with the next one.
    pub(crate) fn done(&mut self, now: u64) -> (Errand, Option<u64>) {
        let errand = self.busy.take().expect("the head was busy");
        (errand, self.take(now))
    }

    /// Starts the nearest of the first requests, and returns when the head will be done with it.
    fn take(&mut self, now: u64) -> Option<u64> {
        let reach = (self.spec.queue_depth.max(1) as usize).min(self.waiting.len());
        let nearest = if self.waiting.front()?.passed_over >= PASSED_OVER_MAX {
            0
        } else {
            (0..reach).min_by_key(|index| self.positioning(now, &self.waiting[*index]))?
        };
        for errand in self.waiting.range_mut(..nearest) {
            errand.passed_over += 1;
        }
        let errand = self.waiting.remove(nearest)?;
        let transfer = self.spec.transfer.time_for(Bytes::new(errand.length)).as_ns();
        let done_at = now + self.positioning(now, &errand) + transfer;
        (self.head, self.last) = (errand.offset + errand.length, errand.operation);
        self.busy = Some(errand);
        Some(done_at)
    }

    /// Time until the head is over the first byte, ns.
    fn positioning(&self, now: u64, errand: &Errand) -> u64 {
        if errand.offset == self.head && errand.operation == self.last {
            return 0;
        }
        let seek = if errand.offset / self.track == self.head / self.track {
            Duration::ZERO
        } else {
            let distance = (errand.offset.abs_diff(self.head) as f64 / self.size).min(1.0);
            let longest = self.spec.seek_max.saturating_sub(self.spec.seek_min).as_ns() as f64;
            self.spec.seek_min + Duration::from_ns((longest * libm::sqrt(distance)) as u64)
        };
        let within = u128::from(errand.offset % self.track) * u128::from(self.revolution) / u128::from(self.track);
        let angle = u64::try_from(within).expect("less than a revolution");
        let arrived = (now + seek.as_ns()) % self.revolution;
        seek.as_ns() + (angle + self.revolution - arrived) % self.revolution
    }
}
