//! What bound a watched device, and what was seen of that.

use super::course::{Cause, Moment, is_of_machine};
use super::level::Level;
use loadline_record::{
    AnswersInClusters, ApplicationAt, Binding, CellRecord, Evidence, Limit, ProgramSecond, Rate, ThreadsWaiting,
    ThrottledQuantity, WatchFact, WatchRecord, WatchTick, WatchedProgram,
};

/// A volume that asks for less than this of a machine's limit reaches it with others.
const SHARED_BELOW: f64 = 0.9;

/// Where so many requests are in flight, one comes after the other.
const ONE_AT_A_TIME: f64 = 1.25;
/// Fewer threads that wait behind another one are not worth a word.
const BEHIND_MIN: f64 = 0.9;

/// All that was seen of a cell.
pub(super) struct Seen<'a> {
    pub(super) cell: &'a CellRecord,
    pub(super) watch: &'a WatchRecord,
    pub(super) all: &'a [Moment],
    pub(super) cause: Cause,
    pub(super) share: f64,
    pub(super) level: Option<&'a Level>,
}

impl Seen<'_> {
    /// What bound it.
    pub(super) fn binding(&self) -> Binding {
        let ceiling_iops = self.ceiling_iops();
        let rate = self.total().requests() as f64 / self.length_s();
        let is_known =
            matches!(self.cause, Cause::Throttle(_) | Cause::Exceeded(_) | Cause::Declared(_) | Cause::Quota(_));
        Binding {
            limit: self.cause.limit(self.watch, self.level).unwrap_or(Limit::Unexplained),
            ceiling_iops,
            utilization: ceiling_iops.map(|ceiling| rate / ceiling.max(1e-9)),
            seen: self.evidence(rate, ceiling_iops),
            inferred: !is_known,
            presumed: self.level().is_some_and(|level| level.presumed) && self.clusters().is_none(),
            amplification: None,
        }
    }

    fn total(&self) -> WatchTick {
        self.all.iter().map(|moment| moment.tick).reduce(WatchTick::joined).unwrap_or_default()
    }

    fn length_s(&self) -> f64 {
        length_s(self.all)
    }

    /// The level that the seconds are put down to.
    fn level(&self) -> Option<&Level> {
        self.level.filter(|_| matches!(self.cause, Cause::Level | Cause::Burst))
    }

    fn clusters(&self) -> Option<AnswersInClusters> {
        self.watch.events.as_ref().and_then(|events| events.clusters)
    }

    /// The limit as requests per second of this load, where it has a value.
    fn ceiling_iops(&self) -> Option<f64> {
        let total = self.total();
        let block_mean = (total.bytes() as f64 / total.requests().max(1) as f64).max(1.0);
        match self.cause {
            Cause::Throttle(place) => {
                let limit = &self.watch.throttles[place].limit;
                Some(match limit.counts {
                    ThrottledQuantity::Requests => limit.per_s as f64,
                    ThrottledQuantity::Bytes => limit.per_s as f64 / block_mean,
                })
            }
            Cause::Declared(limit) => {
                self.cell.ceilings.iter().find(|ceiling| ceiling.limit == limit).map(|ceiling| ceiling.iops)
            }
            _ => self.level().map(|level| match level.counted(level.rate) {
                Rate::Iops(iops) => iops,
                Rate::BytesPerS(bytes) => bytes / block_mean,
            }),
        }
    }

    fn evidence(&self, rate: f64, ceiling_iops: Option<f64>) -> Evidence {
        let share_of_time = self.share;
        let (total, length_s) = (self.total(), self.length_s());
        let in_flight = outstanding(self.all).unwrap_or(0.0);
        let busy_share = self.all.iter().map(|moment| moment.busy * moment.seconds).sum::<f64>() / length_s;
        let name = |place: usize| self.watch.programs[place].name.clone();
        match self.cause {
            Cause::Throttle(place) => {
                let throttle = self.watch.throttles[place].limit.clone();
                WatchFact::ThrottleAskedFor { throttle, share_of_time }
            }
            Cause::Exceeded(limit) => WatchFact::ExcessCounted { limit, share_of_time },
            Cause::Declared(limit) => {
                let is_below = ceiling_iops.is_some_and(|ceiling| rate < ceiling * share_of_time * SHARED_BELOW);
                WatchFact::CeilingReached { ceiling_iops, with_others: is_of_machine(limit) && is_below, share_of_time }
            }
            Cause::Level | Cause::Burst => {
                return self.level().map_or_else(Evidence::default, |level| self.evidence_of(level));
            }
            Cause::Queue => match self.watch.queue.clone() {
                Some(queue) => WatchFact::QueueFull { queue, share_of_time },
                None => return Evidence::default(),
            },
            Cause::Memory(place) => self.memory_short(place, share_of_time),
            Cause::Flush => WatchFact::FlushesAwaited {
                each_ns: total.flush_ms as f64 * 1e6 / total.flushes.max(1) as f64,
                per_s: total.flushes as f64 / length_s,
                in_flight,
                share_of_time,
            },
            Cause::Answers => {
                let each_ns = (total.read_ms + total.write_ms) as f64 * 1e6 / total.requests().max(1) as f64;
                WatchFact::AnswersAwaited {
                    each_ns,
                    in_flight,
                    threads_behind: self.threads_behind(in_flight),
                    share_of_time,
                }
            }
            Cause::Quota(place) => {
                let sum = sum(&self.watch.programs[place]);
                let periods_share = sum.quota_used_up as f64 / sum.quota_periods.max(1) as f64;
                let quota = self.watch.programs[place].quota.clone();
                WatchFact::QuotaUsedUp { program: name(place), quota, periods_share, busy_share }
            }
            Cause::Processors => {
                WatchFact::CpuAwaited { program: self.watch.principal().map(name), share_of_time, busy_share }
            }
            Cause::Cache(place) => {
                let sum = sum(&self.watch.programs[place]);
                WatchFact::CacheAnswers {
                    program: name(place),
                    asked_bytes_per_s: sum.asked_read_bytes as f64 / length_s,
                    storage_bytes_per_s: sum.read_bytes as f64 / length_s,
                }
            }
            Cause::Swap => {
                let swapped: u64 = self.watch.seconds.iter().filter_map(|second| second.swapped_bytes).sum();
                WatchFact::Swapped { bytes_per_s: swapped as f64 / length_s, here: self.watch.swap_here, share_of_time }
            }
            Cause::Application(place, at) => self.application_at(place, at, busy_share),
            Cause::Nothing => {
                let duration_ns = (length_s * 1e9) as u64;
                let idle = self.watch.subject.filter(|place| asked_nothing(&self.watch.programs[*place]));
                match idle {
                    _ if total.requests() == 0 => WatchFact::NothingAsked { duration_ns },
                    Some(place) => WatchFact::ProgramAskedNothing { program: name(place), duration_ns, busy_share },
                    None => WatchFact::WorkAwaited { program: self.watch.principal().map(name), busy_share },
                }
            }
        }
        .into()
    }

    /// What a program does instead of asking for storage.
    fn application_at(&self, place: usize, at: ApplicationAt, busy_share: f64) -> WatchFact {
        let (sum, length_us) = (sum(&self.watch.programs[place]), self.length_s() * 1e6);
        let mean = |us: u64| us as f64 / length_us;
        WatchFact::ApplicationAt {
            program: self.watch.programs[place].name.clone(),
            at,
            cpus: mean(sum.cpu_us),
            threads: ThreadsWaiting {
                locks: mean(sum.locked_us),
                threads: mean(sum.threads_us),
                sockets: mean(sum.sockets_us),
                processes: mean(sum.processes_us),
                pauses: mean(sum.paused_us),
            },
            share_of_time: self.share,
            busy_share,
        }
    }

    /// Threads that wait for locks or for one another while their program asks for one thing after the other.
    fn threads_behind(&self, in_flight: f64) -> Option<f64> {
        let sum = sum(&self.watch.programs[self.watch.principal()?]);
        let behind = (sum.locked_us + sum.threads_us) as f64 / 1e6 / self.length_s();
        (in_flight <= ONE_AT_A_TIME && behind >= BEHIND_MIN).then_some(behind)
    }

    /// That a program reads again what was in memory before.
    fn memory_short(&self, place: usize, share_of_time: f64) -> WatchFact {
        let program = &self.watch.programs[place];
        let sum = sum(program);
        WatchFact::MemoryShort {
            program: program.name.clone(),
            limit: program.memory.clone(),
            reread_share: (sum.reread_bytes as f64 / sum.read_bytes.max(1) as f64).min(1.0),
            stalled_share: Some(sum.memory_stalled_us as f64 / 1e6 / self.length_s()).filter(|share| *share > 0.0),
            share_of_time,
        }
    }

    fn evidence_of(&self, level: &Level) -> Evidence {
        let (rate, share_of_time) = (level.counted(level.rate), self.share);
        let (in_flight_min, in_flight_max) = level.queues;
        let mut seen: Evidence = if level.presumed {
            let (is_round, of_all_volumes) = (level.is_round, level.is_joint);
            WatchFact::RateEven { rate, in_flight: in_flight_max, is_round, of_all_volumes, share_of_time }.into()
        } else {
            WatchFact::RateLevel { rate, in_flight_min, in_flight_max, share_of_time }.into()
        };
        if let Some(before) = level.before {
            seen.push(WatchFact::BurstBefore { rate: level.counted(before) });
        }
        if let Some(AnswersInClusters { answers, every_us, share }) = self.clusters() {
            seen.push(WatchFact::AnswersInClusters { answers, every_us, share });
        }
        seen
    }
}

/// Length of a watch, above 0.
pub(super) fn length_s(all: &[Moment]) -> f64 {
    all.iter().map(|moment| moment.seconds).sum::<f64>().max(1e-9)
}

/// Mean of the requests outstanding while the device was busy; `None` where it never was.
pub(super) fn outstanding(all: &[Moment]) -> Option<f64> {
    let weights: f64 = all.iter().map(|moment| moment.busy * moment.seconds).sum();
    let sum: f64 = all.iter().map(|moment| moment.outstanding * moment.seconds).sum();
    (weights > 1e-3).then(|| sum / weights)
}

/// All that a program did.
pub(super) fn sum(program: &WatchedProgram) -> ProgramSecond {
    program.seconds.iter().copied().fold(ProgramSecond::default(), ProgramSecond::joined)
}

/// Whether a program asked neither a file system nor storage for anything.
fn asked_nothing(program: &WatchedProgram) -> bool {
    let sum = sum(program);
    sum.storage_bytes() + sum.asked_read_bytes + sum.asked_write_bytes == 0
}
