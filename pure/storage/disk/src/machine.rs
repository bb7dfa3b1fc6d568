//! A whole environment as one state machine; time is an argument.

#![expect(
    clippy::inline_always,
    reason = "what is done for each simulated request is one piece of code: with calls between its steps it is a sixth slower"
)]

mod accounts;
mod changes;
mod outstanding;
mod serving;
mod starting;
mod write_back;

use crate::cache::{BLOCK, Cache, Member};
use crate::latency::Sampler;
use crate::layout::Placement;
use crate::limit::{Limiter, WaitTimes};
use crate::queue::{Entry, Queue};
use crate::service::{Errand, Lanes, Spindle};
use crate::waits::Waits;
use crate::{
    DeviceQueues, DiskSpec, EnvironmentError, EnvironmentSpec, Holds, HostCache, HostCacheSpec, InitialState,
    LatencySpec, Layout, Limit, Place,
};
use accounts::Accounts;
use loadline_block::{Completion, Operation, Request};
use loadline_units::{Bytes, Duration, Instant};
use outstanding::{Event, KnownTimes, NUMBER_BITS, Outstanding, Owner, PendingPart};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use write_back::WriteBack;

/// Requests outstanding in a machine at most.
pub const OUTSTANDING_MAX: usize = 1 << 24;

/// A volume of a machine, or one disk of a volume, as a place for requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target(usize);

/// An outstanding request. Numbers are small and used again once a request was answered: they serve as indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(u32);

impl RequestId {
    /// The number as an index.
    #[must_use]
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The number of the request that an answer is for.
#[inline(always)]
const fn number_of(answer: Entry) -> u32 {
    (answer.what & ((1 << NUMBER_BITS) - 1)) as u32
}

/// Storage under the caller's clock: requests go in at their time and come out at theirs.
///
/// Times never go back: `now` may not be earlier than in the call before, and no answer is earlier than the one before
/// it. A completion's time depends only on the environment, the seed, the initial state, and the requests with their
/// times. The rate of polling changes nothing.
#[derive(Debug, Clone)]
pub struct Machine {
    targets: Vec<TargetState>,
    disks: Vec<DiskState>,
    vm_cached: Option<Limiter>,
    /// Whether only answers of hosts' caches count against `vm_cached`, and not misses or disks in the host.
    only_answers_count: bool,
    vm_uncached: Option<Limiter>,
    pools: Vec<Limiter>,
    caches: Vec<CacheState>,
    samplers: Vec<Sampler>,
    random: Xoshiro256PlusPlus,
    /// `answers`: completions whose time is fixed. `events`: internal steps that other completion times depend on.
    answers: Queue,
    events: Queue,
    outstanding: Vec<Outstanding>,
    free: Vec<u32>,
    parts: Vec<PendingPart>,
    free_parts: Vec<u32>,
    sequence: u64,
    now: u64,
    /// Waiting by target, if the caller wants it.
    accounts: Option<Box<Accounts>>,
}

#[derive(Debug, Clone)]
struct TargetState {
    name: String,
    layout: Layout,
    placement: Placement,
    disks: Vec<usize>,
    /// The disk, if there is only one.
    only: Option<usize>,
    size: u64,
}

/// Which budgets of the virtual machine a disk's requests pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Path {
    Network,
    Local,
    Cached { cache: usize, member: usize, mode: HostCache, hit: usize },
}

#[derive(Debug, Clone)]
struct DiskState {
    path: Path,
    allowance: Option<usize>,
    pool: Option<usize>,
    limiter: Limiter,
    lanes: Lanes,
    /// Whether requests that have passed the limits may have to wait for one another.
    takes_turns: bool,
    spindle: Option<Box<Spindle>>,
    holds: Holds,
    device_queues: Option<DeviceQueues>,
    /// The sampler of each operation, by its index.
    latency: [usize; 4],
    write_back: WriteBack,
}

#[derive(Debug, Clone)]
struct CacheState {
    cache: Cache,
    resume_at: u64,
    stalled: std::collections::VecDeque<u32>,
    stalling: bool,
    waited: u64,
    hits: u64,
    misses: u64,
}

/// Disks that share a cache: their numbers, and how each is cached.
struct CacheGroup<'a> {
    capacity: Option<Bytes>,
    members: Vec<(usize, &'a DiskSpec, HostCacheSpec)>,
}

/// Many seeds out of one.
struct Seeds(Xoshiro256PlusPlus);

impl Seeds {
    fn next(&mut self) -> u64 {
        self.0.next_u64()
    }
}

/// The index of a latency among the samplers; equal ones share one.
fn sampler(samplers: &mut Vec<Sampler>, spec: LatencySpec) -> usize {
    samplers.iter().position(|sampler| sampler.spec() == spec).unwrap_or_else(|| {
        samplers.push(Sampler::new(spec));
        samplers.len() - 1
    })
}

impl Machine {
    /// Storage as specified. `seed` decides service times and the start of windows.
    ///
    /// # Errors
    /// When the environment contradicts itself: see [`EnvironmentSpec::check`].
    pub fn new(environment: &EnvironmentSpec, seed: u64, initial: InitialState) -> Result<Self, EnvironmentError> {
        environment.check()?;
        let mut seeds = Seeds(Xoshiro256PlusPlus::seed_from_u64(seed));
        let vm_bursts = initial.vm_bursts.unwrap_or(initial.bursts);
        let vm = environment.vm.as_ref();
        let mut of_vm = |limit: &Limit| Limiter::new(limit, vm_bursts, seeds.next());
        let vm_cached = vm.and_then(|vm| vm.cached.as_ref()).map(&mut of_vm);
        let vm_uncached = vm.and_then(|vm| vm.uncached.as_ref()).map(&mut of_vm);
        let mut limiter = |limit: &Limit| Limiter::new(limit, initial.bursts, seeds.next());
        let pools = environment.pools.iter().map(|pool| limiter(&pool.limit)).collect();
        let mut samplers = Vec::new();
        let (mut disks, mut targets, mut single) = (Vec::new(), Vec::new(), Vec::new());
        for volume in &environment.volumes {
            let first = disks.len();
            for (number, disk) in volume.disks.iter().enumerate() {
                let pool_of = |name: &String| environment.pools.iter().position(|pool| pool.name == *name);
                let (allowance, pool) =
                    (disk.allowance.as_ref().and_then(pool_of), disk.pool.as_ref().and_then(pool_of));
                single.push(TargetState {
                    name: format!("{}/{number}", volume.name),
                    layout: Layout::Single,
                    placement: Placement::new(Layout::Single),
                    disks: vec![disks.len()],
                    only: Some(disks.len()),
                    size: disk.size.map_or(u64::MAX, Bytes::get),
                });
                let lanes = Lanes::new(disk.parallelism);
                let path = if disk.place == Place::Local { Path::Local } else { Path::Network };
                disks.push(DiskState {
                    path,
                    allowance,
                    pool,
                    limiter: limiter(&disk.limit),
                    takes_turns: lanes.are_bounded() || disk.spinning.is_some(),
                    lanes,
                    spindle: spindle(disk),
                    holds: disk.holds,
                    device_queues: disk.device_queues,
                    latency: Operation::ALL.map(|operation| {
                        let spec = match operation {
                            Operation::Read => disk.latency.read,
                            Operation::Write | Operation::Trim => disk.latency.write,
                            Operation::Flush => disk.latency.flush.unwrap_or(disk.latency.write),
                        };
                        sampler(&mut samplers, spec)
                    }),
                    write_back: WriteBack::default(),
                });
            }
            targets.push(TargetState {
                name: volume.name.clone(),
                layout: volume.layout,
                placement: Placement::new(volume.layout),
                disks: (first..disks.len()).collect(),
                only: (disks.len() - first == 1).then_some(first),
                size: volume.size().map_or(u64::MAX, Bytes::get),
            });
        }
        targets.append(&mut single);
        let mut machine = Self {
            targets,
            disks,
            vm_cached,
            only_answers_count: vm.is_some_and(|vm| vm.cached_estimated),
            vm_uncached,
            pools,
            caches: Vec::new(),
            samplers,
            random: Xoshiro256PlusPlus::seed_from_u64(seeds.next()),
            answers: Queue::default(),
            events: Queue::default(),
            outstanding: Vec::new(),
            free: Vec::new(),
            parts: Vec::new(),
            free_parts: Vec::new(),
            sequence: 0,
            now: 0,
            accounts: None,
        };
        machine.add_caches(environment, initial);
        Ok(machine)
    }

    /// Adds the caches: one for each disk with its own capacity, one for all others.
    fn add_caches(&mut self, environment: &EnvironmentSpec, initial: InitialState) {
        let vm_size = environment.vm.as_ref().and_then(|vm| vm.cache_size);
        let mut groups: Vec<CacheGroup<'_>> = Vec::new();
        let mut shared: Option<usize> = None;
        let mut number = 0;
        for volume in &environment.volumes {
            for disk in &volume.disks {
                let member = (number, disk, volume.host_cache);
                number += 1;
                if volume.host_cache.mode == HostCache::None || disk.place == Place::Local {
                    continue;
                }
                match (volume.host_cache.capacity, shared) {
                    (None, Some(index)) => groups[index].members.push(member),
                    (capacity, _) => {
                        if capacity.is_none() {
                            shared = Some(groups.len());
                        }
                        groups.push(CacheGroup { capacity: capacity.or(vm_size), members: vec![member] });
                    }
                }
            }
        }
        for CacheGroup { capacity, members } in groups {
            let blocks = capacity.map(|size| size.get() / BLOCK);
            // The dirty share is that of the first write-back member.
            let spec = members.iter().map(|(_, _, spec)| *spec).find(|s| s.mode == HostCache::ReadWrite);
            let spec = spec.unwrap_or(members[0].2);
            let dirty_max = spec.dirty_max.of(blocks.unwrap_or(u64::MAX / 2));
            let sizes: Vec<Member> = members
                .iter()
                .map(|(_, disk, _)| Member { blocks: disk.size.map(|size| size.get() / BLOCK) })
                .collect();
            for (member, (disk, _, spec)) in members.iter().enumerate() {
                let hit = sampler(&mut self.samplers, spec.latency);
                self.disks[*disk].path = Path::Cached { cache: self.caches.len(), member, mode: spec.mode, hit };
            }
            self.caches.push(CacheState {
                cache: Cache::new(blocks, dirty_max, &sizes, initial.caches),
                resume_at: spec.resume_at.of(dirty_max),
                stalled: std::collections::VecDeque::new(),
                stalling: false,
                waited: 0,
                hits: 0,
                misses: 0,
            });
        }
    }

    /// The volume of this name, or with `name/0` its first disk, past the layout.
    #[must_use]
    pub fn target(&self, name: &str) -> Option<Target> {
        self.targets.iter().position(|target| target.name == name).map(Target)
    }

    /// One more target for the storage of `target`, so that two loads on it have accounts of their own.
    ///
    /// # Panics
    /// When accounts are kept already.
    pub fn another(&mut self, target: Target) -> Target {
        assert!(self.accounts.is_none(), "targets come before accounts");
        self.targets.push(self.targets[target.0].clone());
        Target(self.targets.len() - 1)
    }

    /// The name of a target: [`Machine::target`] finds it by this.
    #[must_use]
    pub fn name(&self, target: Target) -> &str {
        &self.targets[target.0].name
    }

    /// The end of a target; `None`: no end.
    #[must_use]
    pub fn size(&self, target: Target) -> Option<Bytes> {
        let size = self.targets[target.0].size;
        (size != u64::MAX).then(|| Bytes::new(size))
    }

    /// How the guest lays `target` over its disks.
    #[must_use]
    pub fn layout(&self, target: Target) -> Layout {
        self.targets[target.0].layout
    }

    /// The guest's device queues before each column of `target`. Places are those of all its copies together, queues
    /// those of the copy with the fewest. `None`: no bound. The machine accepts more requests; its load must respect
    /// the bound.
    #[must_use]
    pub fn device_queues(&self, target: Target) -> Option<Vec<DeviceQueues>> {
        let target = &self.targets[target.0];
        let of_column = |copies: &[usize]| {
            copies.iter().map(|disk| self.disks[*disk].device_queues).reduce(|one, other| {
                let (one, other) = (one?, other?);
                Some(DeviceQueues {
                    queues: one.queues.min(other.queues),
                    depth: one.depth.saturating_add(other.depth),
                })
            })?
        };
        target.disks.chunks(target.layout.copies()).map(of_column).collect()
    }

    /// How long requests to `target` have waited at each limit so far.
    #[must_use]
    pub fn waits(&self, target: Target) -> Waits {
        let of = |limiter: &Option<Limiter>| limiter.as_ref().map(Limiter::waited).unwrap_or_default();
        let mut waits =
            Waits { vm_cached: of(&self.vm_cached), vm_uncached: of(&self.vm_uncached), ..Waits::default() };
        let (mut allowances, mut pools, mut caches) = (Vec::new(), Vec::new(), Vec::new());
        for disk in self.targets[target.0].disks.iter().map(|disk| &self.disks[*disk]) {
            waits.disks = waits.disks + disk.limiter.waited();
            waits.service = waits.service + disk.lanes.waited();
            allowances.extend(disk.allowance);
            pools.extend(disk.pool);
            if let Path::Cached { cache, .. } = disk.path {
                caches.push(cache);
            }
        }
        allowances.sort_unstable();
        allowances.dedup();
        for allowance in &allowances {
            waits.allowances = waits.allowances + self.pools[*allowance].waited();
        }
        pools.sort_unstable();
        pools.dedup();
        for pool in &pools {
            waits.pools = waits.pools + self.pools[*pool].waited();
        }
        caches.sort_unstable();
        caches.dedup();
        for cache in caches.into_iter().map(|cache| &self.caches[cache]) {
            waits.cache = waits.cache + Duration::from_ns(cache.waited);
            waits.cache_hits += cache.hits;
            waits.cache_misses += cache.misses;
        }
        // Leave out what write-back waited: at the VM and in shared pools for all disks, at the disks' limits for this
        // target's own.
        let mut behind = Waits::default();
        for (number, disk) in self.disks.iter().enumerate() {
            let of_disk = disk.write_back.waited;
            let (none, own) = (WaitTimes::default(), self.targets[target.0].disks.contains(&number));
            let shares = disk.pool.is_some_and(|pool| pools.contains(&pool));
            let allowed = disk.allowance.is_some_and(|allowance| allowances.contains(&allowance));
            behind = behind.and(&Waits {
                vm_uncached: of_disk.vm_uncached,
                allowances: if allowed { of_disk.allowances } else { none },
                pools: if shares { of_disk.pools } else { none },
                disks: if own { of_disk.disks } else { none },
                service: if own { of_disk.service } else { none },
                ..Waits::default()
            });
        }
        waits.since(&behind)
    }

    /// The time of the last call.
    #[must_use]
    pub const fn now(&self) -> Instant {
        Instant::from_ns(self.now)
    }

    /// Requests not answered yet.
    #[must_use]
    pub fn outstanding(&self) -> usize {
        self.outstanding.len() - self.free.len()
    }

    /// Submits a request at `now`. A request outside the target is refused at once.
    ///
    /// # Panics
    /// When `now` is before an earlier call's, or [`OUTSTANDING_MAX`] requests are outstanding.
    #[inline(always)]
    pub fn submit(&mut self, now: Instant, target: Target, request: Request) -> RequestId {
        let now = now.as_ns();
        self.advance(now);
        let id = self.free.pop().unwrap_or_else(|| self.more_room());
        self.outstanding[id as usize] = Outstanding::new(now, &request);
        let length = u64::from(request.length);
        let TargetState { size, only, .. } = self.targets[target.0];
        let within = request.offset.checked_add(length).is_some_and(|end| end <= size);
        let known = if !within {
            self.outstanding[id as usize].refused = true;
            KnownTimes::nothing(now)
        } else if let Some(disk) = only {
            let known = self.start(now, id, disk, request.operation, request.offset, length);
            if self.accounts.is_some() {
                self.account_part(now, disk, known);
                self.account_request(id, target);
            }
            known
        } else {
            self.start_parts(now, id, target)
        };
        self.part_ends(id, known.admitted, known.completed);
        RequestId(id)
    }

    /// Makes room for one more outstanding request than ever before.
    #[cold]
    fn more_room(&mut self) -> u32 {
        assert!(self.outstanding.len() < OUTSTANDING_MAX, "{OUTSTANDING_MAX} requests are outstanding");
        let (operation, due_at) = (Operation::Flush, Instant::ZERO);
        let nothing = Request { operation, durable: false, length: 0, offset: 0, due_at };
        self.outstanding.push(Outstanding::new(0, &nothing));
        (self.outstanding.len() - 1) as u32
    }

    /// When something happens next: an answer, or something inside that comes before one. `None`: nothing is outstanding.
    #[inline(always)]
    #[must_use]
    pub const fn next_event_at(&self) -> Option<Instant> {
        let first = self.next_event();
        if first.as_ns() < u64::MAX { Some(first) } else { None }
    }

    /// As [`Machine::next_event_at`]; [`Instant::MAX`]: nothing is outstanding.
    #[must_use]
    #[inline(always)]
    pub const fn next_event(&self) -> Instant {
        let (answer, event) = (self.answers.first_at(), self.events.first_at());
        Instant::from_ns(if answer < event { answer } else { event })
    }

    /// The next certain answer and its time; later calls do not change it. Another answer may still come first, from a
    /// future request or an internal event.
    #[must_use]
    pub fn next_certain(&mut self) -> Option<(RequestId, Instant)> {
        let first = self.answers.first()?;
        Some((RequestId(number_of(first)), Instant::from_ns(first.at)))
    }

    /// The last internal event until `until`, in the sense of [`Machine::next_event_at`], among planned ones. This is a
    /// hint: it may miss events that were planned long after later ones. `None`: none is planned.
    #[must_use]
    pub fn last_planned_until(&self, until: Instant) -> Option<Instant> {
        let until = until.as_ns();
        self.answers.last_until(until).max(self.events.last_until(until)).map(Instant::from_ns)
    }

    /// Returns the next answer until `now`.
    #[inline]
    pub fn pop_completed(&mut self, now: Instant) -> Option<(RequestId, Completion)> {
        let id = self.take_completed(now)?;
        Some((id, self.completion(id)))
    }

    /// [`Machine::pop_completed`] without the answer itself: [`Machine::completion`] returns it until the next
    /// submission.
    #[inline(always)]
    pub fn take_completed(&mut self, now: Instant) -> Option<RequestId> {
        let now = now.as_ns();
        self.advance(now);
        if self.answers.first_at() > now {
            return None;
        }
        let first = self.answers.pop_first()?;
        let id = number_of(first);
        self.free.push(id);
        Some(RequestId(id))
    }

    /// The answer to the last popped request.
    ///
    /// # Panics
    /// For a number that was never given out.
    #[must_use]
    #[inline(always)]
    pub fn completion(&self, id: RequestId) -> Completion {
        self.outstanding[id.index()].answer()
    }

    /// Processes internal events until `now`.
    #[inline(always)]
    fn advance(&mut self, now: u64) {
        assert!(now >= self.now, "time went back from {} to {now} ns", self.now);
        self.now = now;
        while self.events.first_at() <= now
            && let Some(event) = self.events.pop_first()
        {
            self.happen(event.at, Event::decode(event.what));
        }
    }

    #[inline(never)]
    fn happen(&mut self, now: u64, event: Event) {
        match event {
            Event::Admitted(number) => self.admitted(now, number),
            Event::Arrives(number) => {
                let PendingPart { disk, operation, offset, length, .. } = self.parts[number as usize];
                let length = if operation == Operation::Trim { 0 } else { length };
                let spindle = self.disks[disk].spindle.as_mut().expect("only spinning disks have a head");
                if let Some(done) = spindle.arrive(now, Errand::new(number, operation, offset, length)) {
                    self.plan(done, Event::Turned(disk as u32));
                }
            }
            Event::Turned(disk) => {
                let spindle = self.disks[disk as usize].spindle.as_mut().expect("only spinning disks have a head");
                let (errand, next) = spindle.done(now);
                if let Some(done) = next {
                    self.plan(done, Event::Turned(disk));
                }
                let part = self.parts[errand.part as usize];
                let done = now + self.service(disk as usize, part.operation, part.length);
                match part.owner {
                    Owner::Request(id) => {
                        self.free_parts.push(errand.part);
                        // It was admitted when it came to the head, not later.
                        self.part_ends(id, 0, done);
                    }
                    Owner::WriteBack(_) => self.plan(done, Event::WroteBack(errand.part)),
                }
            }
            Event::WroteBack(number) => self.wrote_back(now, number),
        }
    }

    /// A part that was waited for has its end: with the last one the answer is certain.
    #[inline(always)]
    fn part_ends(&mut self, id: u32, admitted: u64, completed: u64) {
        let state = &mut self.outstanding[id as usize];
        state.admitted = state.admitted.max(admitted);
        state.completed = state.completed.max(completed);
        state.parts -= 1;
        if state.parts == 0 {
            let entry = Entry { at: state.completed, what: (self.sequence << NUMBER_BITS) | u64::from(id) };
            self.sequence += 1;
            self.answers.push(entry);
        }
    }

    fn plan(&mut self, at: u64, event: Event) {
        let what = event.encode(self.sequence);
        self.sequence += 1;
        self.events.push(Entry { at, what });
    }

    fn new_part(&mut self, part: PendingPart) -> u32 {
        if let Some(number) = self.free_parts.pop() {
            self.parts[number as usize] = part;
            return number;
        }
        assert!(self.parts.len() < OUTSTANDING_MAX, "{OUTSTANDING_MAX} parts are outstanding");
        self.parts.push(part);
        (self.parts.len() - 1) as u32
    }
}

#[inline]
fn pass(limiter: &mut Option<Limiter>, now: u64, operation: Operation, offset: u64, length: u64) -> u64 {
    limiter.as_mut().map_or(now, |limiter| limiter.pass(now, operation, offset, length))
}

fn spindle(disk: &DiskSpec) -> Option<Box<Spindle>> {
    disk.spinning.map(|spinning| Box::new(Spindle::new(spinning, disk.size.expect("checked: it has a size"))))
}
