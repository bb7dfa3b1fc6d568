//! Waiting by target: the waiting of each target's own requests at limits that several share.

use super::{KnownTimes, Machine, Path, Target, Waits};
use crate::limit::{Limiter, WaitTimes};

/// The account of each target.
#[derive(Debug, Clone)]
pub(super) struct Accounts {
    /// By target.
    held: Vec<Waits>,
    /// By a request's number: its target.
    whose: Vec<u32>,
    /// For the request whose parts begin: the part that ends last, and its end.
    last: (u64, Waits),
    /// The part of each limit's waiting that has an owner already, or needs none.
    vm_cached: WaitTimes,
    vm_uncached: WaitTimes,
    pools: Vec<WaitTimes>,
    disks: Vec<[WaitTimes; 2]>,
    /// Parts that each cache answered, and did not.
    caches: Vec<[u64; 2]>,
}

/// The waiting beyond `seen`, which becomes `now`.
fn beyond(seen: &mut WaitTimes, now: WaitTimes) -> WaitTimes {
    let beyond = now.since(*seen);
    *seen = now;
    beyond
}

impl Machine {
    /// From here on, counts for each target the waiting of its own requests: [`Machine::held`]. It changes no answer.
    ///
    /// # Panics
    /// When requests are outstanding: theirs is not known.
    pub fn keep_accounts(&mut self) {
        assert_eq!(self.outstanding(), 0, "accounts begin before requests");
        self.accounts = Some(Box::new(Accounts {
            held: vec![Waits::default(); self.targets.len()],
            whose: Vec::new(),
            last: (0, Waits::default()),
            vm_cached: self.vm_cached.as_ref().map(Limiter::waited).unwrap_or_default(),
            vm_uncached: self.vm_uncached.as_ref().map(Limiter::waited).unwrap_or_default(),
            pools: self.pools.iter().map(Limiter::waited).collect(),
            disks: self.disks.iter().map(|disk| [disk.limiter.waited(), disk.lanes.waited()]).collect(),
            caches: self.caches.iter().map(|cache| [cache.hits, cache.misses]).collect(),
        }));
    }

    /// The waiting of the requests to `target` so far, also at shared limits; `None`: no accounts are kept.
    ///
    /// Of a request in several parts the part that ended last counts: the others delayed nothing. Some disks do not
    /// know a part's end in advance, because they spin or have limited places. There the part that passed the limits
    /// last counts. Flushes that wait for a cache's write-back count as waiting for the cache.
    #[must_use]
    pub fn held(&self, target: Target) -> Option<Waits> {
        Some(self.accounts.as_ref()?.held[target.0])
    }

    /// A part has begun its way to `disk`.
    #[inline(never)]
    pub(super) fn account_part(&mut self, now: u64, disk: usize, known: KnownTimes) {
        let of_disk = &self.disks[disk];
        let accounts = self.accounts.as_mut().expect("accounts are kept");
        // On the fast path most requests wait nowhere.
        let waited = known.admitted > now || accounts.disks[disk][1] != of_disk.lanes.waited();
        let mut waits = if waited {
            accounts.take(of_disk, self.vm_uncached.as_ref(), &self.pools, disk)
        } else {
            Waits::default()
        };
        if waited && let Some(limiter) = &self.vm_cached {
            waits.vm_cached = beyond(&mut accounts.vm_cached, limiter.waited());
        }
        if let Path::Cached { cache, .. } = of_disk.path {
            let [hits, misses] = &mut accounts.caches[cache];
            let state = &self.caches[cache];
            waits.cache_hits = state.hits - std::mem::replace(hits, state.hits);
            waits.cache_misses = state.misses - std::mem::replace(misses, state.misses);
        }
        let (ends, last) = &mut accounts.last;
        // Each part has its hits and misses; the waiting is that of the last.
        let (hits, misses) = (last.cache_hits + waits.cache_hits, last.cache_misses + waits.cache_misses);
        if known.completed >= *ends {
            (*ends, *last) = (known.completed, waits);
        }
        (last.cache_hits, last.cache_misses) = (hits, misses);
    }

    /// Every part of a request has begun its way.
    pub(super) fn account_request(&mut self, id: u32, target: Target) {
        let accounts = self.accounts.as_mut().expect("accounts are kept");
        if accounts.whose.len() <= id as usize {
            accounts.whose.resize(id as usize + 1, 0);
        }
        accounts.whose[id as usize] = target.0 as u32;
        let (_, last) = std::mem::take(&mut accounts.last);
        if last != Waits::default() {
            accounts.held[target.0] = accounts.held[target.0].and(&last);
        }
    }

    /// The cache accepted, at `now`, a write that had waited for room since `since`.
    pub(super) fn account_resumed(&mut self, now: u64, id: u32, disk: usize, since: u64) {
        // Of several parts the last one counts.
        let counts = self.outstanding[id as usize].parts == 1;
        let Some(accounts) = self.accounts.as_mut() else { return };
        let vm_cached = self.vm_cached.as_ref().map(|limiter| beyond(&mut accounts.vm_cached, limiter.waited()));
        let behind = accounts.take(&self.disks[disk], self.vm_uncached.as_ref(), &self.pools, disk);
        if counts {
            let cache = loadline_units::Duration::from_ns(now - since);
            let waits = Waits { vm_cached: vm_cached.unwrap_or_default(), cache, ..behind };
            let held = &mut accounts.held[accounts.whose[id as usize] as usize];
            *held = held.and(&waits);
        }
    }

    /// A flush has waited for a cache's write-back.
    pub(super) fn account_flushed(&mut self, now: u64, id: u32) {
        let state = &self.outstanding[id as usize];
        let Some(accounts) = self.accounts.as_mut() else { return };
        if state.parts == 1 {
            let held = &mut accounts.held[accounts.whose[id as usize] as usize];
            held.cache = held.cache + loadline_units::Duration::from_ns(now - state.submitted);
        }
    }

    /// A part that a limit had delayed has found its place at `disk`.
    pub(super) fn account_served(&mut self, id: u32, disk: usize) {
        // Of several parts the last one counts.
        let counts = self.outstanding[id as usize].parts == 1;
        let Some(accounts) = self.accounts.as_mut() else { return };
        let service = beyond(&mut accounts.disks[disk][1], self.disks[disk].lanes.waited());
        if counts {
            let held = &mut accounts.held[accounts.whose[id as usize] as usize];
            held.service = held.service + service;
        }
    }

    /// The last waiting behind a cache is nobody's.
    pub(super) fn account_nobody(&mut self, disk: usize) {
        if let Some(accounts) = self.accounts.as_mut() {
            accounts.take(&self.disks[disk], self.vm_uncached.as_ref(), &self.pools, disk);
        }
    }
}

impl Accounts {
    /// The waiting without an owner so far, on the way to a disk behind any cache.
    fn take(
        &mut self,
        of_disk: &super::DiskState,
        vm_uncached: Option<&Limiter>,
        pools: &[Limiter],
        disk: usize,
    ) -> Waits {
        let mut waits = Waits::default();
        if let Some(limiter) = vm_uncached {
            waits.vm_uncached = beyond(&mut self.vm_uncached, limiter.waited());
        }
        if let Some(pool) = of_disk.allowance {
            waits.allowances = beyond(&mut self.pools[pool], pools[pool].waited());
        }
        if let Some(pool) = of_disk.pool {
            waits.pools = beyond(&mut self.pools[pool], pools[pool].waited());
        }
        let [limits, lanes] = &mut self.disks[disk];
        waits.disks = beyond(limits, of_disk.limiter.waited());
        waits.service = beyond(lanes, of_disk.lanes.waited());
        waits
    }
}
