//! At which limit each second of a watch was: a throttle, a volume's own counter, a CPU quota. Every verb that watched asks it.

use crate::{EXCEEDED_MIN, THROTTLE_REACHED};
use crate::{
    Limit, ProgramSecond, ShortQueue, SourceLimit, ThrottledQuantity, ThrottledRequests, WatchRecord, WatchTick,
};

/// A throttle is reached from this share on over a fifth of a second, in which the kernel's turns do not even out.
const THROTTLE_REACHED_SHORT: f64 = 0.85;
/// Ticks of such a part.
const SHORT_TICKS: usize = 2;
/// A group asks for nearly all that the device does, if it asks for this share of it.
const NEARLY_ALL: f64 = 0.9;
/// A quota that runs out in more of its periods than this stops the program,
const QUOTA_USED_UP: f64 = 0.3;
/// and one that does in more than this is why its device waits for work.
const QUOTA_USED_UP_PART: f64 = 0.1;
/// A queue is full for a tick if its device has this share of its room in flight on average over it,
const QUEUE_FULL: f64 = 0.9;
/// and for a second only if the device has this share of it in flight on average while it has any.
const QUEUE_HELD: f64 = 0.5;
/// Half of what a full queue has in flight, with this share of its rate, shows that the rate is not the queue's.
const LEVEL_BEFORE: f64 = 0.85;
/// In fewer periods than this a quota says nothing.
const QUOTA_PERIODS_MIN: u64 = 3;
/// A queue holds a second from this share of its device's busy time on.
const AT_LIMIT_MIN: f64 = 0.5;
/// A page cache is too small if so much of what its program reads from storage was in memory before,
const REREAD_MIN: f64 = 0.5;
/// and no more than this: what its control group reads again beyond that is read by other programs.
const REREAD_MAX: f64 = 1.5;
/// A program that reads less in a second, in bytes, shows nothing of its page cache.
const READ_MIN: f64 = 128.0 * 1024.0;
/// The device works for the program's reads if they take this share of the time that requests take.
const READS_MIN: f64 = 0.5;

/// A second of a watch.
#[derive(Debug, Clone, Copy)]
pub struct WatchedSecond<'a> {
    watch: &'a WatchRecord,
    place: usize,
    ticks: &'a [WatchTick],
    /// The queue that limits the device while it is full.
    queue: Option<&'a ShortQueue>,
    /// Its ticks as one.
    pub tick: WatchTick,
}

/// What a second was at, by the place of it in the watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecondLimit {
    /// A throttle of the kernel.
    Throttle(usize),
    /// The volume or the machine counts that more was asked for than it allows.
    Exceeded,
    /// The kernel's queue of the device.
    Queue,
    /// The CPU quota of a program.
    Quota(usize),
    /// The memory limit of a program's control group.
    Memory(usize),
}

/// Whether a queue was full for most of the time in which the device had requests.
fn is_most(share: f64, all: WatchTick) -> bool {
    share >= AT_LIMIT_MIN * all.busy()
}

/// The share of these ticks in which a queue had no room left; `None` where it had.
fn full(queue: &ShortQueue, ticks: &[WatchTick], all: WatchTick) -> Option<f64> {
    let room = queue.room() as f64;
    let is_full = |tick: &&WatchTick| tick.in_flight as f64 >= room || tick.outstanding() >= room * QUEUE_FULL;
    let seen = ticks.iter().filter(is_full).count() as f64 / ticks.len().max(1) as f64;
    let while_busy = all.outstanding() / all.busy().max(1e-3);
    // Looks are few where the device is busy for short times.
    let share = if while_busy >= room * QUEUE_FULL { seen.max(all.busy()) } else { seen };
    (share > 0.0 && while_busy >= room * QUEUE_HELD).then_some(share)
}

impl ProgramSecond {
    /// Whether its CPU quota ran out in more than this share of the periods.
    #[must_use]
    pub fn quota_ran_out(self, share: f64) -> bool {
        self.quota_periods >= QUOTA_PERIODS_MIN && self.quota_used_up as f64 >= self.quota_periods as f64 * share
    }
}

impl WatchedSecond<'_> {
    fn seconds(&self) -> f64 {
        self.tick.elapsed_us.max(1) as f64 / 1e6
    }

    /// The throttle that is reached, by its place, with the share of the second for which it is.
    #[must_use]
    pub fn throttle(&self) -> Option<(usize, f64)> {
        let all = self.watch.throttles.iter().enumerate().filter_map(|(place, throttle)| {
            let allowed = throttle.limit.per_s.max(1) as f64;
            let count = |tick: WatchTick| match (throttle.limit.requests, throttle.limit.counts) {
                (ThrottledRequests::Reads, ThrottledQuantity::Requests) => tick.reads,
                (ThrottledRequests::Reads, ThrottledQuantity::Bytes) => tick.read_bytes,
                (ThrottledRequests::Writes, ThrottledQuantity::Requests) => tick.writes,
                (ThrottledRequests::Writes, ThrottledQuantity::Bytes) => tick.write_bytes,
            };
            let device = count(self.tick) as f64 / self.seconds();
            let asked = match &throttle.asked {
                Some(asked) => *asked.get(self.place)? as f64 / self.seconds(),
                None => device,
            };
            if asked >= allowed * THROTTLE_REACHED {
                return Some((place, 1.0));
            }
            // The device's own counter is finer, where nobody else asks.
            if asked < device * NEARLY_ALL {
                return None;
            }
            let parts = self.ticks.chunks(SHORT_TICKS).map(|part| part.iter().copied().reduce(WatchTick::joined));
            let full = |part: &WatchTick| {
                let rate = count(*part) as f64 * 1e6 / part.elapsed_us.max(1) as f64;
                rate >= allowed * THROTTLE_REACHED_SHORT
            };
            let parts: Vec<WatchTick> = parts.flatten().collect();
            let share = parts.iter().filter(|part| full(part)).count() as f64 / parts.len().max(1) as f64;
            (share > 0.0).then_some((place, share))
        });
        all.max_by(|(_, a), (_, b)| a.total_cmp(b))
    }

    /// The limit of which a device counts that more was asked for, with the share of the second for which it was.
    #[must_use]
    pub fn exceeded(&self) -> Option<(Limit, f64)> {
        let all = self.watch.seconds.get(self.place)?.exceeded.iter().flat_map(|of| {
            [
                (Limit::DiskIops, of.volume_iops_us),
                (Limit::DiskThroughput, of.volume_throughput_us),
                (Limit::VmUncachedIops, of.instance_iops_us),
                (Limit::VmUncachedThroughput, of.instance_throughput_us),
            ]
        });
        let (limit, us) = all.max_by_key(|(_, us)| *us)?;
        let share = us as f64 / 1e6 / self.seconds();
        (share >= EXCEEDED_MIN).then_some((limit, share.min(1.0)))
    }

    /// Whether the CPU quota of a program ran out and stopped it.
    #[must_use]
    pub fn quota(&self, program: usize) -> bool {
        let did = self.watch.programs.get(program).and_then(|program| program.seconds.get(self.place));
        did.is_some_and(|did| did.quota_ran_out(QUOTA_USED_UP))
    }

    /// The kernel's queue of the device, with the share of the second for which it was full.
    #[must_use]
    pub fn queue(&self) -> Option<(&ShortQueue, f64)> {
        let queue = self.queue?;
        Some((queue, full(queue, self.ticks, self.tick)?))
    }

    /// The share of what a program reads from storage that was in memory before, if its page cache is too small and the device works for
    /// that.
    #[must_use]
    pub fn reread(&self, program: usize) -> Option<f64> {
        let did = self.watch.programs.get(program)?.seconds.get(self.place)?;
        let WatchTick { read_ms, write_ms, flush_ms, .. } = self.tick;
        let share = did.reread_bytes as f64 / did.read_bytes.max(1) as f64;
        let is_read = did.read_bytes as f64 >= READ_MIN * self.seconds()
            && read_ms as f64 >= (read_ms + write_ms + flush_ms) as f64 * READS_MIN;
        (is_read && (REREAD_MIN..=REREAD_MAX).contains(&share)).then_some(share.min(1.0))
    }

    /// Whether the CPU quota of a program ran out so often that its device waits for that.
    #[must_use]
    pub fn quota_in_part(&self, program: usize) -> bool {
        let did = self.watch.programs.get(program).and_then(|program| program.seconds.get(self.place));
        did.is_some_and(|did| did.quota_ran_out(QUOTA_USED_UP_PART))
    }

    /// The limit without which more would have been asked for, or done, with the share of the second for which it held: one that was read
    /// and reached, or a quota while the device waits for work.
    #[must_use]
    pub fn limit(&self, principal: Option<usize>) -> Option<(SecondLimit, f64)> {
        let in_part = || {
            let place = principal.filter(|program| self.quota_in_part(*program))?;
            Some((SecondLimit::Quota(place), 1.0 - self.tick.busy())).filter(|(_, share)| *share > 0.0)
        };
        self.reached(principal).or_else(in_part)
    }

    /// The limit that was read and reached, with the share of the second for which it held. A small page cache holds for as long as the
    /// device is busy.
    #[must_use]
    pub fn reached(&self, principal: Option<usize>) -> Option<(SecondLimit, f64)> {
        let quota = || principal.filter(|program| self.quota(*program)).map(|place| (SecondLimit::Quota(place), 1.0));
        let memory = || {
            let is_limited = |place: &usize| self.watch.programs[*place].memory.is_some();
            let place = principal.filter(is_limited).filter(|place| self.reread(*place).is_some())?;
            Some((SecondLimit::Memory(place), self.tick.busy()))
        };
        self.throttle()
            .map(|(place, share)| (SecondLimit::Throttle(place), share))
            .or_else(|| self.exceeded().map(|(_, share)| (SecondLimit::Exceeded, share)))
            .or_else(quota)
            .or_else(|| self.queue().map(|(_, share)| (SecondLimit::Queue, share)))
            .or_else(memory)
    }
}

impl WatchRecord {
    /// Its seconds in their order; what is left over at the end is left out.
    pub fn looked_at(&self) -> impl Iterator<Item = WatchedSecond<'_>> {
        let queue = self.limiting_queue();
        self.in_seconds().enumerate().map(move |(place, (ticks, tick))| WatchedSecond {
            watch: self,
            place,
            ticks,
            queue,
            tick,
        })
    }

    /// The ticks of each second, with all of them as one.
    fn in_seconds(&self) -> impl Iterator<Item = (&[WatchTick], WatchTick)> {
        let mut rest = self.ticks.as_slice();
        self.seconds.iter().map_while(move |second| {
            let (ticks, later) = rest.split_at_checked(second.ticks as usize)?;
            rest = later;
            Some((ticks, ticks.iter().copied().reduce(WatchTick::joined)?))
        })
    }

    /// The device's queue, if it was full and the rate was not there with half as many in flight.
    fn limiting_queue(&self) -> Option<&ShortQueue> {
        let queue = self.queue.as_ref()?;
        let figures =
            |tick: WatchTick| (tick.outstanding(), tick.requests() as f64 * 1e6 / tick.elapsed_us.max(1) as f64);
        let is_full = |(ticks, all): &(&[WatchTick], WatchTick)| {
            full(queue, ticks, *all).is_some_and(|share| is_most(share, *all))
        };
        let mut full: Vec<(f64, f64)> = self.in_seconds().filter(is_full).map(|(_, all)| figures(all)).collect();
        full.sort_by(|(_, a), (_, b)| a.total_cmp(b));
        let (outstanding, rate) = *full.get(full.len() / 2)?;
        let is_level = |(_, all)| {
            let (fewer, as_much) = figures(all);
            fewer <= outstanding / 2.0 && as_much >= rate * LEVEL_BEFORE
        };
        (!self.in_seconds().any(is_level)).then_some(queue)
    }

    /// The program that the watch is about: the one that was named, or the one whose bytes are most like those of the device. A program's
    /// bytes are those of all devices, so one with many more than the device has its work elsewhere.
    #[must_use]
    pub fn principal(&self) -> Option<usize> {
        let device = self.ticks.iter().map(|tick| tick.bytes()).sum::<u64>();
        let asked = |place: &usize| {
            let all = self.programs[*place].seconds.iter();
            let sum = all.copied().fold(ProgramSecond::default(), ProgramSecond::joined);
            let own = sum.storage_bytes();
            // In parts per thousand, so that it can be ordered.
            let like = own.min(device) * 1_000 / own.max(device).max(1);
            (like, sum.asked_read_bytes + sum.asked_write_bytes)
        };
        self.subject.or_else(|| (0..self.programs.len()).max_by_key(asked))
    }

    /// The limits at which the application was, each with the share of the time.
    #[must_use]
    pub fn limit_shares(&self) -> Vec<(SecondLimit, f64)> {
        let principal = self.principal();
        let all_us: u64 = self.looked_at().map(|second| second.tick.elapsed_us).sum();
        let mut found: Vec<(SecondLimit, f64)> = Vec::new();
        for second in self.looked_at() {
            let Some((limit, share)) = second.limit(principal) else { continue };
            let share = share * second.tick.elapsed_us as f64 / all_us.max(1) as f64;
            match found.iter_mut().find(|(known, _)| *known == limit) {
                Some((_, sum)) => *sum += share,
                None => found.push((limit, share)),
            }
        }
        found
    }

    /// The limit at which the application was for most of the time that it was at one, with the share of all the time for which it was at any.
    #[must_use]
    pub fn source_limit(&self, device: &str) -> Option<(SourceLimit, f64)> {
        let found = self.limit_shares();
        let (most, _) = found.iter().copied().max_by(|(_, a), (_, b)| a.total_cmp(b))?;
        Some((self.limit_of(most, device)?, found.iter().map(|(_, share)| share).sum()))
    }

    /// A limit of its seconds with its figures; `None` where the record has none of that kind.
    #[must_use]
    pub fn limit_of(&self, limit: SecondLimit, device: &str) -> Option<SourceLimit> {
        let device = device.to_owned();
        Some(match limit {
            SecondLimit::Throttle(place) => {
                SourceLimit::Throttle { device, limit: self.throttles.get(place)?.limit.clone() }
            }
            SecondLimit::Exceeded => SourceLimit::Exceeded { device },
            SecondLimit::Queue => SourceLimit::Queue { queue: self.queue.clone()? },
            SecondLimit::Quota(place) => {
                let program = self.programs.get(place)?;
                SourceLimit::Quota { program: program.name.clone(), quota: program.quota.clone() }
            }
            SecondLimit::Memory(place) => {
                let program = self.programs.get(place)?;
                SourceLimit::Memory { program: program.name.clone(), limit: program.memory.clone()? }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{KernelThrottle, MemoryLimit, WatchSecond, WatchedProgram, WatchedThrottle};

    fn watch(asked: &[u64]) -> WatchRecord {
        let limit = KernelThrottle {
            requests: ThrottledRequests::Writes,
            counts: ThrottledQuantity::Requests,
            per_s: 500,
            group: "/pg".into(),
            file: String::new(),
            lifted_by: "7:0 0".into(),
        };
        let tick = |writes: &u64| WatchTick { elapsed_us: 1_000_000, writes: *writes, ..WatchTick::default() };
        WatchRecord {
            ticks: asked.iter().map(tick).collect(),
            seconds: vec![WatchSecond { ticks: 1, ..WatchSecond::default() }; asked.len()],
            throttles: vec![WatchedThrottle { limit, asked: Some(asked.to_vec()) }],
            ..WatchRecord::default()
        }
    }

    #[test]
    fn seconds_in_which_a_group_asks_for_all_that_it_may_are_at_the_throttle() {
        let (limit, share) = watch(&[500, 100, 499, 501]).source_limit("loop2").unwrap();
        assert!(matches!(limit, SourceLimit::Throttle { device, limit } if device == "loop2" && limit.group == "/pg"));
        assert!((share - 0.75).abs() < 1e-9);
        assert_eq!(watch(&[100, 200]).source_limit("loop2"), None);
    }

    #[test]
    fn a_quota_that_runs_out_is_a_limit_of_the_source_too() {
        let did = ProgramSecond { quota_periods: 10, quota_used_up: 9, write_bytes: 9, ..ProgramSecond::default() };
        let mut seen = watch(&[100, 100]);
        seen.programs = vec![WatchedProgram { name: "db".into(), seconds: vec![did; 2], ..WatchedProgram::default() }];
        assert_eq!(seen.source_limit("vda"), Some((SourceLimit::Quota { program: "db".into(), quota: None }, 1.0)));
    }

    #[test]
    fn a_page_cache_within_a_memory_limit_is_a_limit_if_most_of_what_is_read_was_in_memory_before() {
        let limit = MemoryLimit {
            bytes: 64 << 20,
            group: "/db".into(),
            file: "/sys/fs/cgroup/db/memory.max".into(),
            lifted_by: "max".into(),
        };
        let of = |reread_bytes, write_ms, memory: Option<&MemoryLimit>| {
            let did = ProgramSecond { read_bytes: 4 << 20, reread_bytes, ..ProgramSecond::default() };
            let memory = memory.cloned();
            let program = WatchedProgram { name: "db".into(), memory, seconds: vec![did], ..WatchedProgram::default() };
            let tick = WatchTick {
                elapsed_us: 1_000_000,
                reads: 1_024,
                read_bytes: 4 << 20,
                read_ms: 900,
                write_ms,
                busy_ms: 900,
                ..WatchTick::default()
            };
            let seconds = vec![WatchSecond { ticks: 1, ..WatchSecond::default() }];
            WatchRecord { ticks: vec![tick], seconds, programs: vec![program], ..WatchRecord::default() }
        };
        let found = of(3 << 20, 0, Some(&limit)).source_limit("vda");
        let expected = SourceLimit::Memory { program: "db".into(), limit: limit.clone() };
        assert_eq!(found, Some((expected, 0.9)));
        assert_eq!(of(1 << 20, 0, Some(&limit)).source_limit("vda"), None, "most is read for the first time");
        assert_eq!(of(9 << 20, 0, Some(&limit)).source_limit("vda"), None, "others of its group read again");
        assert_eq!(of(3 << 20, 2_000, Some(&limit)).source_limit("vda"), None, "writes take the time");
        // The machine's own memory is no limit that somebody set.
        let machine = of(3 << 20, 0, None);
        assert_eq!(machine.source_limit("vda"), None);
        assert_eq!(machine.looked_at().next().and_then(|second| second.reread(0)), Some(0.75));
    }

    #[test]
    fn a_second_counts_for_as_long_as_it_is_at_a_limit() {
        // Two of its ten ticks write all that the throttle allows.
        let tick = |writes| WatchTick { elapsed_us: 100_000, writes, ..WatchTick::default() };
        let mut seen = watch(&[100]);
        seen.ticks = [[tick(50); 2].as_slice(), &[tick(0); 8]].concat();
        seen.seconds[0].ticks = 10;
        assert_eq!(seen.source_limit("loop2").map(|(_, share)| share), Some(0.2));
    }

    #[test]
    fn a_queue_that_is_full_is_a_limit_unless_the_rate_is_there_with_half_of_it() {
        let queue = ShortQueue {
            device: "vda".into(),
            requests: 4,
            queues: 1,
            file: "/sys/block/vda/queue/nr_requests".into(),
            lifted_by: "128".into(),
        };
        let second = |reads, in_flight| WatchTick {
            elapsed_us: 1_000_000,
            reads,
            read_ms: 1_000 * in_flight,
            busy_ms: 1_000,
            in_flight,
            ..WatchTick::default()
        };
        let of = |ticks: &[WatchTick]| {
            let seconds = vec![WatchSecond { ticks: 1, ..WatchSecond::default() }; ticks.len()];
            let watch = WatchRecord { ticks: ticks.to_vec(), seconds, queue: Some(queue.clone()), ..watch(&[]) };
            WatchRecord { throttles: Vec::new(), ..watch }.source_limit("vda")
        };
        let full = Some((SourceLimit::Queue { queue: queue.clone() }, 0.5));
        assert_eq!(of(&[second(4_000, 4), second(1_000, 1)]), full);
        assert_eq!(of(&[second(4_000, 4), second(3_900, 2)]), None, "the disk's own limit");
        assert_eq!(of(&[second(3_000, 3), second(3_000, 3)]), None, "there is room");
        let short = WatchTick { read_ms: 800, busy_ms: 200, in_flight: 0, ..second(800, 4) };
        let found = of(&[short, WatchTick { elapsed_us: 1_000_000, ..WatchTick::default() }]);
        assert_eq!(found, Some((SourceLimit::Queue { queue }, 0.1)), "for as long as the device was busy");
    }
}
