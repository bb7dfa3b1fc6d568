//! What was seen of a device that others use, and what its time went to.

use crate::{CpuQuota, Fact, KernelThrottle, Limit, MemoryLimit, Rate, ShortQueue};
use serde::{Deserialize, Serialize};

/// One thing that was seen of a device while others used it. Shares are from 0.0 to 1.0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum WatchFact {
    /// A control group asked for all that a throttle of the kernel lets through.
    ThrottleAskedFor {
        /// The throttle.
        throttle: KernelThrottle,
        /// For this share of the time.
        share_of_time: f64,
    },
    /// The volume itself counts that more was asked of it than a limit allows.
    ExcessCounted {
        /// The limit.
        limit: Limit,
        /// For this share of the time.
        share_of_time: f64,
    },
    /// The rate is at a limit that the environment declares.
    CeilingReached {
        /// The limit as requests per second of this load, where it has one.
        ceiling_iops: Option<f64>,
        /// Whether this volume and others reach it together.
        with_others: bool,
        /// For this share of the time.
        share_of_time: f64,
    },
    /// The rate stays, though what waits grows.
    RateLevel {
        /// The rate.
        rate: Rate,
        /// The fewest requests in flight.
        in_flight_min: f64,
        /// The most.
        in_flight_max: f64,
        /// For this share of the time.
        share_of_time: f64,
    },
    /// The rate is as even as a limit makes it; what waits did not grow.
    RateEven {
        /// The rate.
        rate: Rate,
        /// Requests in flight.
        in_flight: f64,
        /// Whether limits have such figures.
        is_round: bool,
        /// Whether it is the rate of all watched volumes together.
        of_all_volumes: bool,
        /// For this share of the time.
        share_of_time: f64,
    },
    /// The rate was higher before: a burst was used up.
    BurstBefore {
        /// The rate.
        rate: Rate,
    },
    /// Answers come in clusters, as a rate limiter lets them through.
    AnswersInClusters {
        /// Answers of a cluster on average.
        answers: f64,
        /// From the beginning of one to that of the next.
        every_us: u64,
        /// The share of the clusters with that distance.
        share: f64,
    },
    /// The kernel's queue of the device is full.
    QueueFull {
        /// The queue.
        queue: ShortQueue,
        /// For this share of the time.
        share_of_time: f64,
    },
    /// Writes are made durable.
    FlushesAwaited {
        /// What a flush takes.
        each_ns: f64,
        /// Flushes in a second.
        per_s: f64,
        /// Requests in flight.
        in_flight: f64,
        /// For this share of the time.
        share_of_time: f64,
    },
    /// The device has requests, and their number and latency give the rate.
    AnswersAwaited {
        /// What a request takes.
        each_ns: f64,
        /// Requests in flight.
        in_flight: f64,
        /// Threads of the program that wait for another one meanwhile, on average, where requests come one after the other.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        threads_behind: Option<f64>,
        /// For this share of the time.
        share_of_time: f64,
    },
    /// Memory is short, and the machine moves pages to its swap and back.
    Swapped {
        /// Bytes in a second, in both directions.
        bytes_per_s: f64,
        /// Whether the swap lies on this device.
        here: bool,
        /// For this share of the time.
        share_of_time: f64,
    },
    /// The device waits for work, and this is what its program does instead.
    ApplicationAt {
        /// The program.
        program: String,
        /// What it does.
        at: ApplicationAt,
        /// CPUs that it uses on average.
        cpus: f64,
        /// Threads that wait, on average: for locks of files and semaphores, for one another, at sockets, for other processes, for the
        /// end of a pause.
        threads: ThreadsWaiting,
        /// For this share of the time.
        share_of_time: f64,
        /// The share of the time in which the device had requests.
        busy_share: f64,
    },
    /// The CPU quota of a program ran out.
    QuotaUsedUp {
        /// The program.
        program: String,
        /// The quota, where it was read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        quota: Option<CpuQuota>,
        /// The share of its periods.
        periods_share: f64,
        /// The share of the time in which the device had requests.
        busy_share: f64,
    },
    /// The application waits for a CPU.
    CpuAwaited {
        /// The program, where one is known.
        program: Option<String>,
        /// For this share of the time.
        share_of_time: f64,
        /// The share of the time in which the device had requests.
        busy_share: f64,
    },
    /// The page cache of a program is too small: most of what it reads from storage was in memory before.
    MemoryShort {
        /// The program.
        program: String,
        /// The memory limit of its control group; `None`: the machine's memory is all that there is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<MemoryLimit>,
        /// The share of the bytes read that were in memory before.
        reread_share: f64,
        /// The share of the time in which some task waited for memory, where the kernel counts it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stalled_share: Option<f64>,
        /// For this share of the time.
        share_of_time: f64,
    },
    /// The page cache answers most of what a program reads.
    CacheAnswers {
        /// The program.
        program: String,
        /// What it reads by system calls.
        asked_bytes_per_s: f64,
        /// What of that comes from storage.
        storage_bytes_per_s: f64,
    },
    /// Nothing was asked of the device.
    NothingAsked {
        /// In this time.
        duration_ns: u64,
    },
    /// The program that was named asked for nothing; the requests are those of others.
    ProgramAskedNothing {
        /// The program.
        program: String,
        /// In this time.
        duration_ns: u64,
        /// The share of the time in which the device had requests.
        busy_share: f64,
    },
    /// The device waits for work, and no known limit was reached.
    WorkAwaited {
        /// The program that it waits for, where one is known.
        program: Option<String>,
        /// The share of the time in which the device had requests.
        busy_share: f64,
    },
}

/// What an application does while its device waits for work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApplicationAt {
    /// It computes.
    Computing,
    /// It waits for a lock of a file, for a semaphore, or says itself that it waits.
    Locks,
    /// Its threads wait for one another.
    Threads,
    /// It waits at a socket: for its clients, or for what it asked of others.
    Sockets,
    /// It waits for other processes: at a pipe, or for a child to end.
    Processes,
    /// It pauses.
    Pauses,
}

impl ApplicationAt {
    /// As it is stored.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Computing => "computing",
            Self::Locks => "locks",
            Self::Threads => "threads",
            Self::Sockets => "sockets",
            Self::Processes => "processes",
            Self::Pauses => "pauses",
        }
    }
}

/// Threads that wait, on average.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadsWaiting {
    /// For a lock of a file, or a semaphore.
    pub locks: f64,
    /// For one another.
    pub threads: f64,
    /// At a socket.
    pub sockets: f64,
    /// For other processes.
    pub processes: f64,
    /// For the end of a pause.
    pub pauses: f64,
}

impl From<WatchFact> for Fact {
    fn from(fact: WatchFact) -> Self {
        Self::Watch(fact)
    }
}

/// What a share of the time of a watch went to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum WatchCause {
    /// A throttle of the kernel.
    Throttle {
        /// The throttle.
        throttle: KernelThrottle,
    },
    /// A limit of which the volume itself counts that it is exceeded.
    CountedExcess {
        /// The limit.
        limit: Limit,
    },
    /// A limit that the environment declares.
    DeclaredLimit {
        /// The limit.
        limit: Limit,
    },
    /// The kernel's queue of the device is full.
    Queue {
        /// The queue.
        queue: ShortQueue,
    },
    /// A level that the rate does not pass.
    Level,
    /// The same after a burst.
    LevelAfterBurst,
    /// Writes are made durable.
    Flushes,
    /// The device's answers are waited for.
    Answers,
    /// The CPU quota of a program.
    Quota {
        /// The program.
        program: String,
    },
    /// The machine's CPUs.
    Processors,
    /// The page cache of a program is too small.
    Memory {
        /// The program.
        program: String,
    },
    /// A program reads from the page cache.
    PageCache {
        /// The program.
        program: String,
    },
    /// Memory is short, and the machine moves pages to its swap and back.
    Swap,
    /// The device waits for work, since its program does something else.
    Application {
        /// The program.
        program: String,
        /// What it does.
        at: ApplicationAt,
    },
    /// The device waits for work.
    NoWork,
}

impl WatchCause {
    /// Its kind in a word, as it is stored.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Throttle { .. } => "throttle",
            Self::CountedExcess { .. } => "counted-excess",
            Self::DeclaredLimit { .. } => "declared-limit",
            Self::Queue { .. } => "queue",
            Self::Level => "level",
            Self::LevelAfterBurst => "level-after-burst",
            Self::Flushes => "flushes",
            Self::Answers => "answers",
            Self::Quota { .. } => "quota",
            Self::Processors => "processors",
            Self::Memory { .. } => "memory",
            Self::PageCache { .. } => "page-cache",
            Self::Swap => "swap",
            Self::Application { at, .. } => at.name(),
            Self::NoWork => "no-work",
        }
    }
}

/// How requests come to a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WatchedLoop {
    /// As many are in flight at any time: answers decide when more come.
    Closed,
    /// They come whatever the answers.
    Open,
    /// It does not show.
    Unknown,
}

/// What faster storage would bring to an application.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum WatchGain {
    /// Nothing: storage is hardly ever waited for.
    Nothing {
        /// Whether any request was in flight.
        asked: bool,
    },
    /// The same work is done at most so many times as fast.
    AtMost {
        /// The share of the time in which storage is waited for.
        share_of_time: f64,
        /// How many times as fast.
        times: f64,
    },
    /// It does not show: storage is waited for all the time.
    NotShown {
        /// The share of the time in which storage is waited for.
        share_of_time: f64,
        /// What binds.
        limit: Option<Limit>,
    },
}
