//! A watch second by second, and what each second is put down to.

use super::level::Level;
use loadline_record::{
    ApplicationAt, Ceiling, CellRecord, Limit, ProgramSecond, SecondLimit, WatchRecord, WatchTick, WatchedSecond,
};

/// A declared ceiling is reached from here on.
const DECLARED_REACHED: f64 = 0.97;
/// A declared ceiling that is passed by more than this does not limit.
const DECLARED_SURPASSED: f64 = 1.15;
/// A program that waits for this share of the time in which it wants a CPU has too few of them,
const CPU_WAITED: f64 = 0.4;
/// if it wants one for so much of the time.
const CPU_WANTED: f64 = 0.5;
/// Steal from here on takes CPUs away.
const CPU_STEAL: f64 = 0.2;
/// A device that is busy for less than this is not waited for all the time.
const DEVICE_BUSY: f64 = 0.9;
/// Flushes that take this share of the time that requests take are what is waited for.
const FLUSH_SHARE: f64 = 0.3;
/// And at least one flush for so many writes.
const WRITES_PER_FLUSH: f64 = 32.0;
/// Writes that wait for one flush after the other: hardly more are outstanding than this,
const DURABLE_OUTSTANDING: f64 = 4.0;
/// a flush follows so many writes at most,
const DURABLE_WRITES_PER_FLUSH: f64 = 4.0;
/// reads take less than this share of the time that requests take,
const DURABLE_READS: f64 = 0.3;
/// and flushes this share of the time in which the device is busy: the writes take the rest.
const DURABLE_FLUSHES: f64 = 0.15;
/// A part of which this much is busy is cut out of one with a pause.
const CUT_MIN_TICKS: usize = 5;
/// A program that reads so much more than storage gives reads from a cache.
const CACHE_FACTOR: f64 = 5.0;
/// And at least so many bytes a second.
const CACHE_BYTES_PER_S: f64 = 1e6;

/// Swapping that moves less than this in a second holds nobody.
const SWAPPED_BYTES_PER_S: f64 = 1e6;
/// Swapping that is this much of a device's bytes is what the device is busy with.
const SWAPPED_MIN: f64 = 0.5;
/// Tasks that wait for memory for this share of the time are held by that.
const MEMORY_STALLED: f64 = 0.3;
/// A program that computes for this share of the time in which its device has nothing to do is not waited for by anything else.
const COMPUTED: f64 = 0.7;
/// What threads of a program wait for is what the program is at, if one of them does for this share of that time.
const WAITED_AT: f64 = 0.5;

/// What a second is put down to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cause {
    /// A throttle of the kernel, by its place among those of the watch.
    Throttle(usize),
    /// A limit of which the device itself counts that it is exceeded.
    Exceeded(Limit),
    /// A limit that the environment declares.
    Declared(Limit),
    /// The kernel's queue of the device is full.
    Queue,
    /// The page cache of a program is too small, by its place.
    Memory(usize),
    /// The machine's swap.
    Swap,
    /// A rate at which it stops though more waits.
    Level,
    /// The same after a higher one.
    Burst,
    /// Flushes.
    Flush,
    /// The device's answers.
    Answers,
    /// A CPU quota of a program, by its place.
    Quota(usize),
    /// The machine's CPUs.
    Processors,
    /// A program that reads from the page cache, by its place.
    Cache(usize),
    /// A program that does something else while the storage waits for it, by its place.
    Application(usize, ApplicationAt),
    /// Nothing: the storage waits for the application.
    Nothing,
}

/// About a second.
#[derive(Debug, Clone)]
pub(super) struct Moment {
    /// Its length.
    pub(super) seconds: f64,
    /// Of the device.
    pub(super) tick: WatchTick,
    /// Share of it in which the device had requests.
    pub(super) busy: f64,
    /// Mean of the requests outstanding.
    pub(super) outstanding: f64,
    /// Share of it in which nothing at all was asked.
    pub(super) paused: f64,
    /// What it is put down to, with shares of it that add up to 1.
    pub(super) causes: Vec<(Cause, f64)>,
}

impl Cause {
    /// A limit that is known and reached in a second.
    fn of_known(limit: SecondLimit, seen: WatchedSecond<'_>) -> Option<Self> {
        Some(match limit {
            SecondLimit::Throttle(place) => Self::Throttle(place),
            SecondLimit::Exceeded => Self::Exceeded(seen.exceeded()?.0),
            SecondLimit::Queue => Self::Queue,
            SecondLimit::Quota(place) => Self::Quota(place),
            SecondLimit::Memory(place) => Self::Memory(place),
        })
    }
}

impl Moment {
    fn of(tick: WatchTick) -> Self {
        Self {
            seconds: tick.elapsed_us.max(1) as f64 / 1e6,
            tick,
            busy: tick.busy(),
            outstanding: tick.outstanding(),
            paused: 0.0,
            causes: Vec::new(),
        }
    }
    /// Of ticks that follow one another.
    fn of_ticks(ticks: &[WatchTick]) -> Option<Self> {
        let whole = Self::of(ticks.iter().copied().reduce(WatchTick::joined)?);
        let idle_us: u64 = ticks.iter().filter(|tick| is_idle(**tick)).map(|tick| tick.elapsed_us).sum();
        Some(Self { paused: idle_us as f64 / 1e6 / whole.seconds, ..whole })
    }
    /// Reads and writes per second.
    pub(super) fn iops(&self) -> f64 {
        self.tick.requests() as f64 / self.seconds
    }
    /// Bytes per second.
    pub(super) fn bytes_per_s(&self) -> f64 {
        self.tick.bytes() as f64 / self.seconds
    }
}

/// Whether nothing was in flight for all of a tick.
fn is_idle(tick: WatchTick) -> bool {
    tick.busy_ms == 0 && tick.in_flight == 0 && tick.requests() == 0
}

/// The seconds of a watch, put down to nothing yet.
pub(super) fn moments(watch: &WatchRecord) -> Vec<Moment> {
    by_second(watch).into_iter().filter_map(Moment::of_ticks).collect()
}

/// The ticks of each second.
fn by_second(watch: &WatchRecord) -> Vec<&[WatchTick]> {
    let mut rest = watch.ticks.as_slice();
    let take = |second: &loadline_record::WatchSecond| {
        let (own, later) = rest.split_at((second.ticks as usize).min(rest.len()));
        rest = later;
        own
    };
    watch.seconds.iter().map(take).collect()
}

/// The ticks in which a device was busy from begin to end, of ticks with a pause among them; all of them where there is none, or where too
/// few are left.
fn without_pause(ticks: &[WatchTick]) -> &[WatchTick] {
    if !ticks.iter().any(|tick| is_idle(*tick)) {
        return ticks;
    }
    let is_busy = |tick: &WatchTick| tick.busy() >= DEVICE_BUSY;
    let runs = ticks.chunk_by(|a, b| is_busy(a) == is_busy(b)).filter(|run| is_busy(&run[0]));
    runs.max_by_key(|run| run.len()).filter(|run| run.len() >= CUT_MIN_TICKS).unwrap_or(ticks)
}

/// Ticks of a part in which a level is looked for.
const PART_TICKS: usize = 10;

/// The same in parts of about a second, each with the place of the moment that it is of: where looks at processes are rare, moments are
/// longer than that. Of a part with a pause, what comes before or after it.
pub(super) fn parts(watch: &WatchRecord) -> (Vec<Moment>, Vec<usize>) {
    let (mut all, mut places) = (Vec::new(), Vec::new());
    for (place, own) in by_second(watch).into_iter().enumerate() {
        let count = (own.len() / PART_TICKS).max(1);
        for part in own.chunks(own.len().div_ceil(count).max(1)) {
            all.extend(Moment::of_ticks(without_pause(part)));
            places.push(place);
        }
    }
    (all, places)
}

/// Puts every second down to its causes. `beside` is what other volumes were doing.
pub(super) fn attribute(
    all: &mut [Moment],
    watch: &WatchRecord,
    ceilings: &[Ceiling],
    beside: &[Beside<'_>],
    level: Option<&Level>,
) {
    let own = watch.principal();
    for ((place, moment), seen) in all.iter_mut().enumerate().zip(watch.looked_at()) {
        moment.causes = causes(&Second { watch, place, moment, seen, ceilings, beside, level, own });
    }
}

/// Another volume that was watched at the same time. Limits of the machine are for all of them together.
pub(super) struct Beside<'a> {
    pub(super) all: Vec<Moment>,
    pub(super) parts: Vec<Moment>,
    pub(super) ceilings: &'a [Ceiling],
}

impl<'a> Beside<'a> {
    /// Another cell of the run, if it was watched.
    pub(super) fn of(cell: &'a CellRecord) -> Option<Self> {
        let watch = cell.trials.last()?.watched.as_deref()?;
        Some(Self { all: moments(watch), parts: parts(watch).0, ceilings: &cell.ceilings })
    }
    /// The share of a limit that it asks for in a second.
    fn share(&self, limit: Limit, second: usize) -> f64 {
        let ceiling = self.ceilings.iter().find(|ceiling| ceiling.limit == limit);
        ceiling.zip(self.all.get(second)).map_or(0.0, |(ceiling, moment)| moment.iops() / ceiling.iops)
    }
}

/// Whether all volumes of a machine share a limit.
pub(super) const fn is_of_machine(limit: Limit) -> bool {
    matches!(
        limit,
        Limit::VmUncachedIops | Limit::VmUncachedThroughput | Limit::VmCachedIops | Limit::VmCachedThroughput
    )
}

struct Second<'a> {
    watch: &'a WatchRecord,
    place: usize,
    moment: &'a Moment,
    seen: WatchedSecond<'a>,
    ceilings: &'a [Ceiling],
    beside: &'a [Beside<'a>],
    level: Option<&'a Level>,
    own: Option<usize>,
}

fn causes(of: &Second<'_>) -> Vec<(Cause, f64)> {
    let whole = |cause| vec![(cause, 1.0)];
    // Every verb that watches has the same share of a second at a limit that is known.
    let known = of.seen.reached(of.own).and_then(|(limit, share)| Some((Cause::of_known(limit, of.seen)?, share)));
    let of_device = matches!(known, Some((Cause::Throttle(_) | Cause::Exceeded(_), _)));
    if let Some(limit) = of.declared().filter(|_| !of_device) {
        return whole(Cause::Declared(limit));
    }
    if let Some((cause, share)) = known {
        // A page cache that is too small holds only while the device is busy: the program may have its reasons for the rest.
        let left = if matches!(cause, Cause::Memory(_)) { of.idle(1.0 - share) } else { Cause::Nothing };
        return if share < 1.0 { vec![(cause, share), (left, 1.0 - share)] } else { whole(cause) };
    }
    if let Some(level) = of.level.filter(|level| level.members[of.place]) {
        let cause = if level.before.is_some() { Cause::Burst } else { Cause::Level };
        let (paused, idle) = (of.moment.paused, of.idle(of.moment.paused));
        return if paused > 0.0 { vec![(cause, 1.0 - paused), (idle, paused)] } else { whole(cause) };
    }
    if of.processors() {
        return whole(Cause::Processors);
    }
    let busy = of.moment.busy.max(of.moment.outstanding.min(1.0) * f64::from(u8::from(of.flushes())));
    if busy < DEVICE_BUSY
        && let Some(place) = of.cache()
    {
        return if busy > 0.0 {
            vec![(Cause::Cache(place), 1.0 - busy), (of.waiting(), busy)]
        } else {
            whole(Cause::Cache(place))
        };
    }
    let idle = of.idle(1.0 - busy);
    match busy {
        busy if busy <= 0.0 => whole(idle),
        busy if busy >= 1.0 => whole(of.waiting()),
        busy => vec![(of.waiting(), busy), (idle, 1.0 - busy)],
    }
}

impl Second<'_> {
    /// The declared limit of which most is used, if it is reached.
    fn declared(&self) -> Option<Limit> {
        let is_of_storage = |ceiling: &&Ceiling| !matches!(ceiling.limit, Limit::Latency | Limit::Parallelism);
        let used = |ceiling: &Ceiling| {
            let others = self.beside.iter().filter(|_| is_of_machine(ceiling.limit));
            let others: f64 = others.map(|beside| beside.share(ceiling.limit, self.place)).sum();
            (ceiling.limit, self.moment.iops() / ceiling.iops + others)
        };
        // What is far surpassed does not limit: a baseline while there are credits for a burst.
        let holds = |(_, share): &(Limit, f64)| *share <= DECLARED_SURPASSED;
        let all = self.ceilings.iter().filter(is_of_storage).map(used).filter(holds);
        let (limit, share) = all.max_by(|(_, a), (_, b)| a.total_cmp(b))?;
        // Where this volume asks for nothing, the others reach a limit of their own.
        (share >= DECLARED_REACHED && self.moment.tick.requests() > 0).then_some(limit)
    }

    fn program(&self) -> Option<(usize, ProgramSecond)> {
        let place = self.own?;
        Some((place, *self.watch.programs[place].seconds.get(self.place)?))
    }

    fn processors(&self) -> bool {
        let steal = self.watch.seconds[self.place].cpu.map_or(0.0, |cpu| f64::from(cpu.steal_ppm) / 1e6);
        let waits = self.program().is_some_and(|(_, did)| {
            let wanted = (did.cpu_us + did.cpu_wait_us) as f64;
            // As many wait for a CPU as for storage, or more: of several processes the times are added up.
            wanted >= self.moment.seconds * 1e6 * CPU_WANTED
                && did.cpu_wait_us as f64 >= wanted * CPU_WAITED
                && did.cpu_wait_us as f64 >= self.moment.outstanding * self.moment.seconds * 1e6
        });
        (waits || (steal >= CPU_STEAL && self.program().is_some())) && self.moment.busy < DEVICE_BUSY
    }

    /// Why the device waits for work, for this share of the second: its program waits for a CPU, or it has none.
    fn idle(&self, share: f64) -> Cause {
        let Some((place, did)) = self.program() else { return Cause::Nothing };
        let ran_out = self.seen.quota_in_part(place);
        let wanted = (did.cpu_us + did.cpu_wait_us) as f64;
        let waits = did.cpu_wait_us as f64 >= (self.moment.seconds * 1e6 * share).max(wanted) * CPU_WAITED
            && share >= 1.0 - DEVICE_BUSY;
        match (ran_out, waits) {
            (true, _) => Cause::Quota(place),
            (_, true) => Cause::Processors,
            _ if self.waits_for_memory(did) => Cause::Swap,
            _ => self.application(did, share).map_or(Cause::Nothing, |at| Cause::Application(place, at)),
        }
    }

    /// Whether the machine moves pages to its swap and back, and tasks wait for that.
    fn waits_for_memory(&self, did: ProgramSecond) -> bool {
        let stalled = did.memory_stalled_us as f64 >= self.moment.seconds * 1e6 * MEMORY_STALLED;
        stalled && self.swapped().is_some()
    }

    /// Bytes a second that the machine moves to its swap and back, where that is much.
    fn swapped(&self) -> Option<f64> {
        let bytes = self.watch.seconds[self.place].swapped_bytes? as f64;
        Some(bytes / self.moment.seconds).filter(|rate| *rate >= SWAPPED_BYTES_PER_S)
    }

    /// What a program is at for most of the time in which its device has nothing to do, this share of the second. A lock comes first: who
    /// waits for it can do nothing else. Threads that wait for one another say something only if none of them waits for what is outside.
    fn application(&self, did: ProgramSecond, share: f64) -> Option<ApplicationAt> {
        let needed = self.moment.seconds * 1e6 * share;
        let is_at = |us: u64| us as f64 >= needed * WAITED_AT && us > 0;
        if is_at(did.locked_us) {
            return Some(ApplicationAt::Locks);
        }
        if did.cpu_us as f64 >= needed * COMPUTED && did.cpu_us > 0 {
            return Some(ApplicationAt::Computing);
        }
        let outside = [
            (did.sockets_us, ApplicationAt::Sockets),
            (did.processes_us, ApplicationAt::Processes),
            (did.paused_us, ApplicationAt::Pauses),
        ];
        let most = outside.into_iter().max_by_key(|(us, _)| *us).filter(|(us, _)| is_at(*us));
        most.map(|(_, at)| at).or_else(|| is_at(did.threads_us).then_some(ApplicationAt::Threads))
    }

    /// Whether making writes durable is what is waited for: flushes take much of the time, or writes and flushes follow one another.
    fn flushes(&self) -> bool {
        let WatchTick { read_ms, write_ms, flush_ms, flushes, writes, .. } = self.moment.tick;
        let all = (read_ms + write_ms + flush_ms) as f64;
        let (writes, flushes) = (writes as f64, flushes as f64);
        let long = flush_ms as f64 >= all * FLUSH_SHARE && writes <= flushes * WRITES_PER_FLUSH;
        let in_turn = self.moment.outstanding < DURABLE_OUTSTANDING
            && flush_ms as f64 >= self.moment.busy * self.moment.seconds * 1e3 * DURABLE_FLUSHES
            && writes <= flushes * DURABLE_WRITES_PER_FLUSH
            && (read_ms as f64) < all * DURABLE_READS;
        flushes > 0.0 && (long || in_turn)
    }

    fn waiting(&self) -> Cause {
        let is_swapping =
            self.watch.swap_here && self.swapped().is_some_and(|rate| rate >= self.moment.bytes_per_s() * SWAPPED_MIN);
        match self.own {
            _ if is_swapping => Cause::Swap,
            _ if self.flushes() => Cause::Flush,
            Some(place) if self.seen.reread(place).is_some() => Cause::Memory(place),
            _ => Cause::Answers,
        }
    }

    fn cache(&self) -> Option<usize> {
        let (place, did) = self.program()?;
        let asked = did.asked_read_bytes as f64 / self.moment.seconds;
        let from_storage = did.read_bytes as f64 / self.moment.seconds;
        (asked >= CACHE_BYTES_PER_S && asked >= from_storage * CACHE_FACTOR).then_some(place)
    }
}
