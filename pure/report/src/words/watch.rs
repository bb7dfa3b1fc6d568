//! Sentences about a device that others use.

use super::application::{self, at_work, few, waits_of};
use super::throttle::{amount, cpus, full_queue, memory as memory_limit, requests, throttle as held_by};
use loadline_analysis::{
    CauseShare, OtherProgram, WaitAbove, WatchBeside, WatchHeld, WatchHolder, WatchNext, WatchStep,
};
use loadline_record::{HiddenProcesses, Limit, Rate, WatchCause, WatchFact, WatchGain};
use loadline_units::words::{block, number, percent, seconds, span, throughput};

/// A share of the time from here on is all of it.
const ALL: f64 = 0.985;

/// What was seen, in a sentence.
pub(super) fn fact(fact: &WatchFact) -> String {
    let (claim, detail) = parts(fact);
    detail.map_or_else(|| format!("{claim}."), |detail| format!("{claim}: {detail}."))
}

/// What was seen, and what is to be said of it after a colon.
pub(super) fn parts(fact: &WatchFact) -> (String, Option<String>) {
    let claim = match fact {
        WatchFact::ThrottleAskedFor { throttle, share_of_time } => format!(
            "{} is read from {}, and control group {} asks for all of it, {}",
            amount(throttle),
            throttle.file,
            throttle.group,
            of_the_time(*share_of_time)
        ),
        WatchFact::ExcessCounted { limit, share_of_time } => format!(
            "The volume itself counts that more was asked of it than its {} allows, {}",
            limit.name(),
            of_the_time(*share_of_time)
        ),
        WatchFact::CeilingReached { ceiling_iops, with_others, share_of_time } => {
            let value = ceiling_iops.map(|iops| format!(", {} IOPS for this load,", number(iops))).unwrap_or_default();
            let what = if *with_others { "this volume and the others reach it together" } else { "the rate is at it" };
            format!("The environment declares this limit{value} and {what} {}", of_the_time(*share_of_time))
        }
        WatchFact::RateLevel { rate, in_flight_min, in_flight_max, share_of_time } => {
            let claim = format!(
                "The rate stays at {} {}, whether {} wait or {}",
                rate_words(*rate),
                of_the_time(*share_of_time),
                waiting(*in_flight_min),
                waiting(*in_flight_max)
            );
            return (claim, Some("what waits grows, and the rate does not".to_owned()));
        }
        WatchFact::RateEven { rate, in_flight, is_round, of_all_volumes, share_of_time } => format!(
            "{} stays at {} {}, {}, while {} wait at any moment",
            if *of_all_volumes { "The rate of all watched volumes together" } else { "The rate" },
            rate_words(*rate),
            of_the_time(*share_of_time),
            if *is_round { "a figure that limits have" } else { "as even as a limit keeps it" },
            waiting(*in_flight)
        ),
        WatchFact::BurstBefore { rate } => {
            let claim = format!("Before that it was {}", rate_words(*rate));
            return (claim, Some("a burst was used up".to_owned()));
        }
        WatchFact::AnswersInClusters { answers, every_us, share } => {
            let claim = clusters(*answers, *every_us, *share);
            return (claim, Some("a rate limiter lets them through".to_owned()));
        }
        WatchFact::QueueFull { queue, share_of_time } => format!(
            "{} is read from {}, and so many were in flight {}",
            requests(queue),
            queue.file,
            of_the_time(*share_of_time)
        ),
        WatchFact::FlushesAwaited { each_ns, per_s, in_flight, share_of_time } => {
            let claim = format!("Flushes take {} each, {} a second", span(*each_ns), number(*per_s));
            let detail = format!(
                "{} goes into making writes durable, with {} outstanding",
                of_the_time(*share_of_time),
                waiting(*in_flight)
            );
            return (claim, Some(detail));
        }
        WatchFact::AnswersAwaited { each_ns, in_flight, threads_behind, share_of_time } => {
            let claim = format!(
                "For {} the device has requests, {} at a time, and each takes {}",
                of_the_time(*share_of_time),
                waiting(*in_flight),
                span(*each_ns)
            );
            let detail = match threads_behind {
                Some(behind) => format!(
                    "the application asks for one thing after the other, while {} of its threads wait for a lock or for one another",
                    few(*behind)
                ),
                None => "the rate is what that gives, and no level shows".to_owned(),
            };
            return (claim, Some(detail));
        }
        WatchFact::Swapped { bytes_per_s, here, share_of_time } => {
            let place = if *here { "the swap on this device" } else { "its swap" };
            let claim = format!(
                "The machine moves {} to {place} and back, {}",
                throughput(*bytes_per_s),
                of_the_time(*share_of_time)
            );
            return (claim, Some("its programs need more memory than there is".to_owned()));
        }
        WatchFact::ApplicationAt { program, at, cpus, threads, share_of_time, busy_share } => {
            let claim = format!(
                "{} {}, and the device had requests for {} of the time",
                at_work(program, *at),
                of_the_time(*share_of_time),
                percent(*busy_share)
            );
            return (claim, Some(waits_of(*cpus, threads)));
        }
        WatchFact::QuotaUsedUp { program, quota, periods_share, busy_share } => format!(
            "The CPU quota of {program}{} ran out in {} of its periods, and the device had requests for {} of the time",
            quota.as_ref().map_or_else(String::new, |quota| format!(" ({}, read from {})", cpus(quota), quota.file)),
            percent(*periods_share),
            percent(*busy_share)
        ),
        WatchFact::CpuAwaited { program, share_of_time, busy_share } => format!(
            "{} waits for a CPU, {}; the device had requests for {} of the time",
            program.as_deref().unwrap_or("The application"),
            of_the_time(*share_of_time),
            percent(*busy_share)
        ),
        WatchFact::MemoryShort { program, limit, reread_share, stalled_share, share_of_time } => {
            let claim = format!(
                "{} of what {program} reads from storage was in memory before, and the device works for it {}",
                percent(*reread_share),
                of_the_time(*share_of_time)
            );
            let stalled = stalled_share
                .map_or_else(String::new, |share| format!("; some task waited for memory {}", of_the_time(share)));
            let place = match limit {
                Some(limit) => format!(
                    "control group {} is at its limit of {}, read from {}",
                    limit.group,
                    block(limit.bytes),
                    limit.file
                ),
                None => "the machine has no more memory for files".to_owned(),
            };
            return (claim, Some(format!("{place}{stalled}")));
        }
        WatchFact::CacheAnswers { program, asked_bytes_per_s, storage_bytes_per_s } => {
            let claim = format!(
                "{program} reads {} by system calls and {} of that from storage",
                throughput(*asked_bytes_per_s),
                throughput(*storage_bytes_per_s)
            );
            return (claim, Some("the page cache answers the rest".to_owned()));
        }
        WatchFact::NothingAsked { duration_ns } => {
            format!("Nothing was asked of the device in {}", seconds(*duration_ns))
        }
        WatchFact::ProgramAskedNothing { program, duration_ns, busy_share } => format!(
            "{program} read and wrote nothing in {}. The device had requests of others for {} of the time",
            seconds(*duration_ns),
            percent(*busy_share)
        ),
        WatchFact::WorkAwaited { program, busy_share } => {
            let who = program.as_deref().unwrap_or("the application");
            let claim = format!(
                "The device had requests for {} of the time, and no known limit was reached",
                percent(*busy_share)
            );
            return (claim, Some(format!("it waits for {who}, not {who} for it")));
        }
    };
    (claim, None)
}

/// "3,000 requests/s", "125 MB/s".
fn rate_words(rate: Rate) -> String {
    match rate {
        Rate::Iops(iops) => format!("{} requests/s", number(iops)),
        Rate::BytesPerS(bytes) => throughput(bytes),
    }
}

/// That answers come in clusters.
pub(super) fn clusters(answers: f64, every_us: u64, share: f64) -> String {
    format!(
        "Answers come in clusters of {} on average, one every {} ({} of them)",
        number(answers),
        span(every_us as f64 * 1e3),
        percent(share)
    )
}

/// "3.2 requests", "12 requests".
pub(super) fn waiting(in_flight: f64) -> String {
    format!("{} requests", few(in_flight))
}

/// "all of the time", "83 % of the time".
fn of_the_time(share: f64) -> String {
    if share > ALL { "all of the time".to_owned() } else { format!("{} of the time", percent(share)) }
}

/// What a share of the time went to.
#[must_use]
pub fn cause(cause: &WatchCause) -> String {
    match cause {
        WatchCause::Throttle { throttle } => {
            format!("a kernel throttle in control group {} ({})", throttle.group, amount(throttle))
        }
        WatchCause::CountedExcess { limit } => format!("a limit that the volume counts itself ({})", limit.name()),
        WatchCause::DeclaredLimit { limit } => format!("a declared limit ({})", limit.name()),
        WatchCause::Queue { queue } => format!("a full queue of the kernel ({})", requests(queue)),
        WatchCause::Level => "a level that the rate does not pass".to_owned(),
        WatchCause::LevelAfterBurst => "a level after a burst".to_owned(),
        WatchCause::Flushes => "making writes durable".to_owned(),
        WatchCause::Answers => "waiting for the device's answers".to_owned(),
        WatchCause::Quota { program } => format!("the CPU quota of {program}"),
        WatchCause::Processors => "the machine's CPUs".to_owned(),
        WatchCause::Memory { program } => format!("the page cache of {program}, which is too small"),
        WatchCause::PageCache { program } => format!("{program}, which reads from the page cache"),
        WatchCause::Swap => "memory that is short: the machine swaps".to_owned(),
        WatchCause::Application { program, at } => at_work(program, *at),
        WatchCause::NoWork => "the device waits for work".to_owned(),
    }
}

/// What faster storage would bring.
pub(crate) fn gain(gain: WatchGain) -> String {
    match gain {
        WatchGain::Nothing { asked } => {
            let why = if asked { "it is hardly ever waited for" } else { "nothing asked it for anything" };
            format!("faster storage gains nothing here: {why}")
        }
        WatchGain::AtMost { share_of_time, times } => format!(
            "storage is waited for {}: without any waiting the same work would be done at most {times:.1} times as fast",
            of_the_time(share_of_time)
        ),
        WatchGain::NotShown { share_of_time, limit } => {
            let settles = match limit {
                Some(Limit::Latency) => {
                    "a disk that answers twice as fast would do at most twice as much, or more requests at once"
                }
                Some(Limit::Flush) => {
                    "a disk that flushes twice as fast would do at most twice as much, or more commits with one flush"
                }
                _ => "how much more it would do without this limit does not show while it holds all the time",
            };
            format!("storage is waited for {}: {settles}", of_the_time(share_of_time))
        }
    }
}

/// What holds a device.
pub(crate) fn holder(holder: &WatchHolder) -> String {
    let (by, beside, crowd) = match holder {
        WatchHolder::Unknown => return "not known".to_owned(),
        WatchHolder::NoRequest { device } => return format!("nothing: no request reached {device}"),
        WatchHolder::Held { by, beside, crowd } => (by.as_ref(), beside.as_ref(), crowd),
    };
    let own = held(by);
    let text = match (by, beside) {
        (_, WatchBeside::Nothing) => own,
        (WatchHeld::Storage { .. }, WatchBeside::AsMuch { other }) => format!("both {own}, and {}", with_time(other)),
        (WatchHeld::Other { .. }, WatchBeside::AsMuch { other }) => format!("both {}, and {own}", with_time(other)),
        (_, WatchBeside::Otherwise { other }) => format!("{own}; otherwise {}", with_time(other)),
        (_, WatchBeside::NearlyAsMuch { other }) => format!("{own}; nearly as long {}", with_time(other)),
        (_, WatchBeside::SomeStorage { storage }) => {
            format!("mostly not the storage: {own}; {}", with_time(storage))
        }
        (
            WatchHeld::Other { cause: Some(CauseShare { cause: WatchCause::Application { .. }, .. }), .. },
            WatchBeside::NoStorage { busy_share },
        ) => format!("not the storage, busy {}: {own}", of_the_time(*busy_share)),
        (WatchHeld::Other { limit: Limit::Arrival, .. }, WatchBeside::NoStorage { busy_share }) => {
            format!("not the storage: it was busy {}", of_the_time(*busy_share))
        }
        (WatchHeld::Other { limit: Limit::Cache, .. }, WatchBeside::NoStorage { .. }) => {
            "not the storage: the page cache answers".to_owned()
        }
        (_, WatchBeside::NoStorage { .. }) => format!("not the storage but {own}"),
    };
    crowd.as_ref().map_or_else(|| text.clone(), |crowd| format!("{text}; {}", crowded(crowd)))
}

/// "backup (9) has 88 % of the bytes of sda".
fn crowded(OtherProgram { program, pid, share_of_bytes, device }: &OtherProgram) -> String {
    format!("{program} ({pid}) has {} of the bytes of {device}", percent(*share_of_bytes))
}

/// "waiting for the device's answers, 30 % of the time".
fn with_time(of: &CauseShare) -> String {
    format!("{}, {}", cause(&of.cause), of_the_time(of.share))
}

/// What has most of the time, with its share.
fn held(by: &WatchHeld) -> String {
    let (limit, ceiling_iops, presumed, share_of_time) = match by {
        WatchHeld::Storage { throttle: Some(throttle), share_of_time, .. } => {
            return format!("{}, {}", held_by(throttle), of_the_time(*share_of_time));
        }
        WatchHeld::Storage { queue: Some(queue), share_of_time, .. } => {
            return format!("{}, {}", full_queue(queue), of_the_time(*share_of_time));
        }
        WatchHeld::Storage { swap: true, memory, share_of_time, .. } => {
            let of = memory.as_ref().map_or_else(String::new, |limit| {
                format!(" at the limit of {} of control group {}", block(limit.bytes), limit.group)
            });
            return format!("memory that is short{of}: the machine swaps, {}", of_the_time(*share_of_time));
        }
        WatchHeld::Storage { memory: Some(limit), share_of_time, .. } => {
            return format!("{}, {}", memory_limit(limit), of_the_time(*share_of_time));
        }
        WatchHeld::Storage { limit, ceiling_iops, presumed, share_of_time, .. } => {
            (*limit, *ceiling_iops, *presumed, *share_of_time)
        }
        WatchHeld::Other { limit, cause } => {
            return cause.as_ref().map_or_else(|| limit.name().to_owned(), with_time);
        }
    };
    let time = of_the_time(share_of_time);
    let value = ceiling_iops.map(|iops| format!(", {} IOPS for this load", number(iops))).unwrap_or_default();
    let value = if presumed { format!("{value} (presumed)") } else { value };
    match limit {
        Limit::DiskIops => format!("the disk's limit on requests per second{value}, {time}"),
        Limit::DiskThroughput => format!("the disk's limit on bytes per second{value}, {time}"),
        Limit::VmUncachedIops | Limit::VmCachedIops => {
            format!("the VM's limit on requests per second ({}){value}, {time}", limit.name())
        }
        Limit::VmUncachedThroughput | Limit::VmCachedThroughput => {
            format!("the VM's limit on bytes per second ({}){value}, {time}", limit.name())
        }
        Limit::BurstExhausted => format!("the baseline, after the burst was used up{value}, {time}"),
        Limit::Latency => format!("the time that each answer of the disk takes, {time}"),
        Limit::Flush => format!("the time until writes are durable, {time}"),
        Limit::Memory => format!("a page cache that is too small for what is read, {time}"),
        limit => format!("{}{value}, {time}", limit.name()),
    }
}

/// What to do about it.
pub(crate) fn next(next: &WatchNext) -> String {
    let (step, storage_saves) = match next {
        WatchNext::LiftThrottle | WatchNext::LiftSetting => {
            return "if this limit is not meant, lift it: that costs nothing".to_owned();
        }
        WatchNext::WatchAtWork { device } => {
            return format!("watch while the application works; without a name, every disk but {device}");
        }
        WatchNext::SeeProgram { other } => {
            let OtherProgram { program, pid, share_of_bytes, device } = other;
            return format!(
                "see first whether {program} ({pid}) must run now: it has {} of the bytes of {device}. Watch again without it",
                percent(*share_of_bytes)
            );
        }
        WatchNext::Application { at, storage_saves } => {
            return saving(application::step(*at), Some(*storage_saves));
        }
        WatchNext::LookElsewhere => return "look elsewhere: other storage changes nothing here".to_owned(),
        WatchNext::Step { step, storage_saves } => (*step, *storage_saves),
    };
    let text = match step {
        WatchStep::MoreIops => "compare with what the disk is sold with; more needs another disk or a stripe",
        WatchStep::MoreThroughput => {
            "compare with what the disk is sold with; more needs a disk with more MB/s, or a stripe"
        }
        WatchStep::LargerMachine => "more needs a larger VM; faster disks change nothing",
        WatchStep::HigherBaseline => "plan with this rate, or take a disk with a higher baseline",
        WatchStep::FasterAnswers => {
            "have more requests in flight (more connections, deeper read-ahead), or take a disk that answers faster"
        }
        WatchStep::FasterOnly => "take a disk that answers faster: many requests are in flight already",
        WatchStep::FasterFlushes => "make several writes durable with one flush, or take a disk that flushes faster",
        WatchStep::MoreMemory => "give it more memory: what it reads again then needs no storage",
        WatchStep::MoreCpu => "give the application more CPU",
        WatchStep::KeepStorage => "leave the storage as it is, as long as the memory stays",
        WatchStep::SeeApplication => "see what the application does while it asks for nothing",
    };
    saving(text, storage_saves)
}

/// A step with what faster storage saves, where that is worth a word.
fn saving(text: &str, storage_saves: Option<f64>) -> String {
    match storage_saves {
        Some(saved) if saved > 0.0 => format!("{text}; faster storage saves at most {}", of_the_time(saved)),
        Some(_) => format!("{text}; other storage changes nothing"),
        None => text.to_owned(),
    }
}

/// What the application waits, beside what the device takes.
pub(crate) fn latency(wait: &WaitAbove) -> String {
    let device = span(wait.device_ns);
    match wait.application_ns {
        Some(ns) => {
            format!("the application waits about {} for a request, the device takes {device} of it", span(ns))
        }
        None => format!("the device takes {device}; what the application waits for the throttle comes on top"),
    }
}

/// "12 processes of other users cannot be seen: run as root to see them".
pub(crate) fn hidden(hidden: HiddenProcesses) -> String {
    let processes = match hidden.processes {
        1 => "1 process".to_owned(),
        several => format!("{} processes", number(f64::from(several))),
    };
    if hidden.by_root {
        return format!(
            "{processes} cannot be seen from here: run this with CAP_SYS_PTRACE, or outside of the container"
        );
    }
    format!("{processes} of other users cannot be seen: run as root to see them")
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_record::{ApplicationAt, ThreadsWaiting};
    use loadline_record::{CpuQuota, KernelThrottle, MemoryLimit, ShortQueue, ThrottledQuantity, ThrottledRequests};

    fn memory() -> MemoryLimit {
        let file = "/sys/fs/cgroup/db/memory.max".to_owned();
        MemoryLimit { bytes: 64 << 20, group: "/db".into(), file, lifted_by: "max".into() }
    }

    fn queue() -> ShortQueue {
        ShortQueue {
            device: "vda".into(),
            requests: 4,
            queues: 1,
            file: "/sys/block/vda/queue/nr_requests".into(),
            lifted_by: "128".into(),
        }
    }

    #[test]
    fn each_fact_is_one_sentence_with_its_figures() {
        let throttle = KernelThrottle {
            requests: ThrottledRequests::Reads,
            counts: ThrottledQuantity::Requests,
            per_s: 1_000,
            group: "/db".into(),
            file: "/sys/fs/cgroup/db/io.max".into(),
            lifted_by: "7:0 riops=max".into(),
        };
        let db = || "db".to_owned();
        let quota = CpuQuota {
            quota_us: 5_000,
            period_us: 100_000,
            group: "/db".into(),
            file: "/sys/fs/cgroup/db/cpu.max".into(),
            lifted_by: "max".into(),
        };
        for (seen, said) in [
            (
                WatchFact::ThrottleAskedFor { throttle, share_of_time: 0.7 },
                "1,000 reads/s is read from /sys/fs/cgroup/db/io.max, and control group /db asks for all of it, 70 % of the time.",
            ),
            (
                WatchFact::CeilingReached { ceiling_iops: Some(600.0), with_others: true, share_of_time: 1.0 },
                "The environment declares this limit, 600 IOPS for this load, and this volume and the others reach it together all of the \
                 time.",
            ),
            (
                WatchFact::RateLevel {
                    rate: Rate::BytesPerS(125e6),
                    in_flight_min: 4.0,
                    in_flight_max: 32.0,
                    share_of_time: 0.99,
                },
                "The rate stays at 125 MB/s all of the time, whether 4.0 requests wait or 32 requests: what waits grows, and the rate does \
                 not.",
            ),
            (
                WatchFact::BurstBefore { rate: Rate::Iops(3_500.0) },
                "Before that it was 3,500 requests/s: a burst was used up.",
            ),
            (
                WatchFact::AnswersInClusters { answers: 100.0, every_us: 100_000, share: 0.97 },
                "Answers come in clusters of 100 on average, one every 100 ms (97 % of them): a rate limiter lets them through.",
            ),
            (
                WatchFact::QueueFull { queue: queue(), share_of_time: 0.97 },
                "4 requests is read from /sys/block/vda/queue/nr_requests, and so many were in flight 97 % of the time.",
            ),
            (
                WatchFact::QuotaUsedUp { program: db(), quota: Some(quota), periods_share: 0.9, busy_share: 0.2 },
                "The CPU quota of db (0.05 CPUs, read from /sys/fs/cgroup/db/cpu.max) ran out in 90 % of its periods, and the device had \
                 requests for 20 % of the time.",
            ),
            (
                WatchFact::MemoryShort {
                    program: db(),
                    limit: Some(memory()),
                    reread_share: 0.8,
                    stalled_share: Some(0.3),
                    share_of_time: 0.9,
                },
                "80 % of what db reads from storage was in memory before, and the device works for it 90 % of the time: control group /db is \
                 at its limit of 64 MiB, read from /sys/fs/cgroup/db/memory.max; some task waited for memory 30 % of the time.",
            ),
            (
                WatchFact::MemoryShort {
                    program: db(),
                    limit: None,
                    reread_share: 0.8,
                    stalled_share: None,
                    share_of_time: 0.9,
                },
                "80 % of what db reads from storage was in memory before, and the device works for it 90 % of the time: the machine has no \
                 more memory for files.",
            ),
            (
                WatchFact::AnswersAwaited {
                    each_ns: 2e6,
                    in_flight: 1.0,
                    threads_behind: Some(7.0),
                    share_of_time: 0.9,
                },
                "For 90 % of the time the device has requests, 1.0 requests at a time, and each takes 2.00 ms: the application asks for one \
                 thing after the other, while 7.0 of its threads wait for a lock or for one another.",
            ),
            (
                WatchFact::Swapped { bytes_per_s: 20e6, here: true, share_of_time: 0.9 },
                "The machine moves 20.0 MB/s to the swap on this device and back, 90 % of the time: its programs need more memory than \
                 there is.",
            ),
            (
                WatchFact::ApplicationAt {
                    program: db(),
                    at: ApplicationAt::Locks,
                    cpus: 0.05,
                    threads: ThreadsWaiting { locks: 3.0, pauses: 1.0, ..ThreadsWaiting::default() },
                    share_of_time: 0.9,
                    busy_share: 0.1,
                },
                "db waits for a lock 90 % of the time, and the device had requests for 10 % of the time: it uses 0.05 CPUs; threads that \
                 wait: 3.0 for locks, 1.0 for the end of a pause.",
            ),
            (
                WatchFact::ProgramAskedNothing { program: db(), duration_ns: 8_000_000_000, busy_share: 0.2 },
                "db read and wrote nothing in 8 s. The device had requests of others for 20 % of the time.",
            ),
            (
                WatchFact::WorkAwaited { program: None, busy_share: 0.2 },
                "The device had requests for 20 % of the time, and no known limit was reached: it waits for the application, not the \
                 application for it.",
            ),
        ] {
            assert_eq!(fact(&seen), said);
        }
    }
    #[test]
    fn what_holds_a_device_is_said_with_what_else_has_its_time() {
        let of = |cause, share| CauseShare { cause, limit: None, share };
        let storage = |limit, presumed, share_of_time| WatchHeld::Storage {
            limit,
            ceiling_iops: Some(500.0),
            presumed,
            throttle: None,
            queue: None,
            memory: None,
            swap: false,
            share_of_time,
        };
        let quota = of(WatchCause::Quota { program: "db".into() }, 0.5);
        let other = WatchHeld::Other { limit: Limit::Cpu, cause: Some(quota.clone()) };
        let idle = WatchHeld::Other { limit: Limit::Arrival, cause: Some(of(WatchCause::NoWork, 0.95)) };
        let answers = of(WatchCause::Answers, 0.45);
        let backup = OtherProgram { program: "backup".into(), pid: 9, share_of_bytes: 0.88, device: "sda".into() };
        for (by, beside, crowd, said) in [
            (
                storage(Limit::DiskIops, true, 0.2),
                WatchBeside::Otherwise { other: of(WatchCause::NoWork, 0.8) },
                None,
                "the disk's limit on requests per second, 500 IOPS for this load (presumed), 20 % of the time; otherwise the device waits \
                 for work, 80 % of the time",
            ),
            (
                storage(Limit::Latency, false, 0.55),
                WatchBeside::AsMuch { other: quota },
                Some(backup),
                "both the time that each answer of the disk takes, 55 % of the time, and the CPU quota of db, 50 % of the time; backup (9) \
                 has 88 % of the bytes of sda",
            ),
            (
                other,
                WatchBeside::AsMuch { other: answers },
                None,
                "both waiting for the device's answers, 45 % of the time, and the CPU quota of db, 50 % of the time",
            ),
            (
                WatchHeld::Storage {
                    limit: Limit::Parallelism,
                    ceiling_iops: None,
                    presumed: false,
                    throttle: None,
                    queue: Some(queue()),
                    memory: None,
                    swap: false,
                    share_of_time: 0.97,
                },
                WatchBeside::Nothing,
                None,
                "the kernel's queue of vda holds 4 requests (nr_requests), and is full, 97 % of the time",
            ),
            (
                WatchHeld::Storage {
                    limit: Limit::Memory,
                    ceiling_iops: None,
                    presumed: false,
                    throttle: None,
                    queue: None,
                    memory: Some(Box::new(memory())),
                    swap: false,
                    share_of_time: 0.97,
                },
                WatchBeside::Nothing,
                None,
                "a memory limit of 64 MiB on control group /db leaves too little for the page cache, 97 % of the time",
            ),
            (
                WatchHeld::Other {
                    limit: Limit::Arrival,
                    cause: Some(of(WatchCause::Application { program: "db".into(), at: ApplicationAt::Sockets }, 0.95)),
                },
                WatchBeside::NoStorage { busy_share: 0.05 },
                None,
                "not the storage, busy 5.0 % of the time: db waits at its sockets, for its clients or for what it asked of others, 95 % of \
                 the time",
            ),
            (
                WatchHeld::Storage {
                    limit: Limit::Memory,
                    ceiling_iops: None,
                    presumed: false,
                    throttle: None,
                    queue: None,
                    memory: Some(Box::new(memory())),
                    swap: true,
                    share_of_time: 0.97,
                },
                WatchBeside::Nothing,
                None,
                "memory that is short at the limit of 64 MiB of control group /db: the machine swaps, 97 % of the time",
            ),
            (idle, WatchBeside::NoStorage { busy_share: 0.05 }, None, "not the storage: it was busy 5.0 % of the time"),
        ] {
            assert_eq!(holder(&WatchHolder::Held { by: Box::new(by), beside: Box::new(beside), crowd }), said);
        }
    }

    #[test]
    fn a_step_is_said_with_what_faster_storage_saves() {
        let of = |step, storage_saves| next(&WatchNext::Step { step, storage_saves });
        assert_eq!(
            of(WatchStep::MoreCpu, Some(0.45)),
            "give the application more CPU; faster storage saves at most 45 % of the time"
        );
        assert_eq!(of(WatchStep::MoreCpu, Some(0.0)), "give the application more CPU; other storage changes nothing");
        assert_eq!(of(WatchStep::LargerMachine, None), "more needs a larger VM; faster disks change nothing");
    }
}
