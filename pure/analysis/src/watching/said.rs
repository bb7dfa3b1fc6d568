//! A watch in words: what bound, how that is known, what it would gain, and the verdict.

use super::course::{Cause, Moment, is_of_machine, principal};
use super::level::Level;
use super::of_the_time;
use crate::summary::{CellSummary, Finding, OperationFigures, ProgramFigures, WatchView};
use crate::verdict_block::HeldBy;
use crate::words::{block, listed, number, percent, seconds, sentence, span, throughput};
use loadline_record::{
    AnswersInClusters, Binding, CellRecord, EventAsker, HiddenProcesses, KernelThrottle, Limit, ProgramSecond,
    RunRecord, ThrottledQuantity, WatchRecord, WatchTick, WatchedProgram,
};

/// A cause with less of the time than this is not listed.
const LISTED_MIN: f64 = 0.01;
/// Storage that is waited for longer than this leaves nothing to compare with.
const WAITED_ALWAYS: f64 = 0.95;
/// Outstanding requests that stay within this factor are as many at any time.
const CLOSED_SPREAD: f64 = 1.35;
/// Those that vary by more come whatever the answers.
const OPEN_SPREAD: f64 = 2.0;
/// Rates that vary by less than this are given by a clock.
const STEADY_RATE: f64 = 1.15;
/// Ticks that tell.
const TICKS_MIN: usize = 10;
/// Seconds that tell.
const SECONDS_MIN: usize = 4;
/// A program that moves more than this many times the bytes of its device moves some of them elsewhere.
const PART_MAX: f64 = 1.02;

/// A volume that asks for less than this of a machine's limit reaches it with others.
const SHARED_BELOW: f64 = 0.9;

/// Codes of findings of a watch.
pub(crate) mod codes {
    /// What the time went to.
    pub(crate) const TIME: &str = "watched-time";
    /// Who asked.
    pub(crate) const PROGRAMS: &str = "watched-programs";
    /// Whose requests reach the device, by the kernel's events.
    pub(crate) const ASKERS: &str = "watched-requests";
    /// Answers in clusters.
    pub(crate) const CLUSTERS: &str = "watched-clusters";
    /// Closed or open loop.
    pub(crate) const ARRIVALS: &str = "watched-arrivals";
    /// What more would come to.
    pub(crate) const GAIN: &str = "watched-gain";
    /// What requests wait before the device.
    pub(crate) const ABOVE: &str = "watched-above-device";
    /// How full known limits are.
    pub(crate) const LIMITS: &str = "watched-limits";
    /// What the watching took.
    pub(crate) const COST: &str = "watched-cost";
}

/// All that was seen of a cell.
pub(super) struct Seen<'a> {
    pub(super) cell: &'a CellRecord,
    pub(super) watch: &'a WatchRecord,
    pub(super) all: &'a [Moment],
    pub(super) cause: Cause,
    pub(super) share: f64,
    pub(super) level: Option<&'a Level>,
}

/// What bound it.
pub(super) fn binding(seen: &Seen<'_>) -> Binding {
    let Seen { cell, watch, all, cause, share, level } = seen;
    let time = of_the_time(*share);
    let total = all.iter().map(|moment| moment.tick).reduce(WatchTick::joined).unwrap_or_default();
    let length: f64 = all.iter().map(|moment| moment.seconds).sum::<f64>().max(1e-9);
    let rate = total.requests() as f64 / length;
    let block_mean = total.bytes() as f64 / total.requests().max(1) as f64;
    let of_program = |place: usize| watch.programs.get(place).map_or("an application", |program| program.name.as_str());
    let (limit, ceiling, evidence, inferred, presumed) = match cause {
        Cause::Throttle(place) => {
            let limit = &watch.throttles[*place].limit;
            let iops = match limit.counts {
                ThrottledQuantity::Requests => limit.per_s as f64,
                ThrottledQuantity::Bytes => limit.per_s as f64 / block_mean.max(1.0),
            };
            let evidence = format!(
                "{} is read from {}, and control group {} asks for all of it, {time}.",
                throttle_amount(limit),
                limit.file,
                limit.group
            );
            (cause.limit(watch, None), Some(iops), evidence, false, false)
        }
        Cause::Exceeded(limit) => {
            let evidence =
                format!("The volume itself counts that more was asked of it than its {} allows, {time}.", limit.name());
            (Some(*limit), None, evidence, false, false)
        }
        Cause::Declared(limit) => {
            let ceiling = cell.ceilings.iter().find(|ceiling| ceiling.limit == *limit);
            let value =
                ceiling.map_or_else(String::new, |ceiling| format!(", {} IOPS for this load,", number(ceiling.iops)));
            let is_shared =
                is_of_machine(*limit) && ceiling.is_some_and(|ceiling| rate < ceiling.iops * share * SHARED_BELOW);
            let what = if is_shared { "this volume and the others reach it together" } else { "the rate is at it" };
            let evidence = format!("The environment declares this limit{value} and {what} {time}.");
            (Some(*limit), ceiling.map(|ceiling| ceiling.iops), evidence, false, false)
        }
        Cause::Level | Cause::Burst => {
            let level = level.expect("a level is what the seconds are put down to");
            let (amount, iops) = match level.limit {
                Limit::DiskThroughput | Limit::VmUncachedThroughput => {
                    (throughput(level.rate), level.rate / block_mean.max(1.0))
                }
                _ => (format!("{} requests/s", number(level.rate)), level.rate),
            };
            let (short, long) = level.queues;
            let clusters = watch.events.as_ref().and_then(|events| events.clusters);
            let presumed = level.presumed && clusters.is_none();
            let why = if level.presumed {
                let figure = if level.is_round { "a figure that limits have" } else { "as even as a limit keeps it" };
                let whose = if level.is_joint { "The rate of all watched volumes together" } else { "The rate" };
                format!("{whose} stays at {amount} {time}, {figure}, while {} wait at any moment.", waiting(long))
            } else {
                format!(
                    "The rate stays at {amount} {time}, whether {} wait or {}: what waits grows, and the rate does not.",
                    waiting(short),
                    waiting(long)
                )
            };
            let (limit, why) = match level.before {
                Some(before) => {
                    let before = match level.limit {
                        Limit::DiskThroughput | Limit::VmUncachedThroughput => throughput(before),
                        _ => format!("{} requests/s", number(before)),
                    };
                    (Limit::BurstExhausted, format!("{why} Before that it was {before}: a burst was used up."))
                }
                None => (level.limit, why),
            };
            let why = match clusters {
                Some(found) => format!("{why} {}", clusters_words(found)),
                None => why,
            };
            (Some(limit), Some(iops), why, true, presumed)
        }
        Cause::Flush => {
            let each = total.flush_ms as f64 * 1e6 / total.flushes.max(1) as f64;
            let evidence = format!(
                "Flushes take {} each, {} a second: {time} goes into making writes durable, with {} outstanding.",
                span(each),
                number(total.flushes as f64 / length),
                waiting(outstanding(all).unwrap_or(0.0))
            );
            (Some(Limit::Flush), None, evidence, true, false)
        }
        Cause::Answers => {
            let took = (total.read_ms + total.write_ms) as f64 * 1e6 / total.requests().max(1) as f64;
            let depth = outstanding(all).unwrap_or(0.0);
            let evidence = format!(
                "For {time} the device has requests, {} at a time, and each takes {}: the rate is what that gives, and no level shows.",
                waiting(depth),
                span(took)
            );
            (Some(Limit::Latency), None, evidence, true, false)
        }
        Cause::Quota(place) => {
            let program = &watch.programs[*place];
            let (used_up, periods) = program.seconds.iter().fold((0, 0), |(used_up, periods), second| {
                (used_up + second.quota_used_up, periods + second.quota_periods)
            });
            let evidence = format!(
                "The CPU quota of {} ran out in {} of its periods, and the device had requests for {} of the time.",
                program.name,
                percent(used_up as f64 / periods.max(1) as f64),
                percent(busy(all))
            );
            (Some(Limit::Cpu), None, evidence, false, false)
        }
        Cause::Processors => {
            let evidence = format!(
                "{} waits for a CPU, {time}; the device had requests for {} of the time.",
                principal(watch).map_or("The application", of_program),
                percent(busy(all))
            );
            (Some(Limit::Cpu), None, evidence, true, false)
        }
        Cause::Cache(place) => {
            let program = &watch.programs[*place];
            let (asked, read) = program
                .seconds
                .iter()
                .fold((0, 0), |(asked, read), second| (asked + second.asked_read_bytes, read + second.read_bytes));
            let evidence = format!(
                "{} reads {} by system calls and {} of that from storage: the page cache answers the rest.",
                program.name,
                throughput(asked as f64 / length),
                throughput(read as f64 / length)
            );
            (Some(Limit::Cache), None, evidence, true, false)
        }
        Cause::Nothing => {
            let who = principal(watch).map(of_program);
            let evidence = if total.requests() == 0 {
                format!("Nothing was asked of the device in {}.", seconds((length * 1e9) as u64))
            } else if let Some(idle) =
                watch.subject.map(|place| &watch.programs[place]).filter(|own| asked_nothing(own))
            {
                format!(
                    "{} read and wrote nothing in {}. The device had requests of others for {} of the time.",
                    idle.name,
                    seconds((length * 1e9) as u64),
                    percent(busy(all))
                )
            } else {
                let who = who.unwrap_or("the application");
                format!(
                    "The device had requests for {} of the time, and no known limit was reached: it waits for {who}, not {who} for it.",
                    percent(busy(all))
                )
            };
            (Some(Limit::Arrival), None, evidence, true, false)
        }
    };
    Binding {
        limit: limit.unwrap_or(Limit::Unexplained),
        ceiling_iops: ceiling,
        utilization: ceiling.map(|ceiling| rate / ceiling.max(1e-9)),
        seen: evidence.into(),
        inferred,
        presumed,
        amplification: None,
    }
}

/// What answers in clusters show.
fn clusters_words(found: AnswersInClusters) -> String {
    format!(
        "Answers come in clusters of {} on average, one every {} ({} of them): a rate limiter lets them through.",
        number(found.answers),
        span(found.every_us as f64 * 1e3),
        percent(found.share)
    )
}

/// "3.2 requests", "1 request".
pub(super) fn waiting(outstanding: f64) -> String {
    match outstanding {
        few if few < 9.95 => format!("{few:.1} requests"),
        many => format!("{} requests", number(many)),
    }
}

fn busy(all: &[Moment]) -> f64 {
    let length: f64 = all.iter().map(|moment| moment.seconds).sum::<f64>().max(1e-9);
    all.iter().map(|moment| moment.busy * moment.seconds).sum::<f64>() / length
}

/// Mean of the requests outstanding while the device was busy; `None` where it never was.
fn outstanding(all: &[Moment]) -> Option<f64> {
    let weights: f64 = all.iter().map(|moment| moment.busy * moment.seconds).sum();
    let sum: f64 = all.iter().map(|moment| moment.outstanding * moment.seconds).sum();
    (weights > 1e-3).then(|| sum / weights)
}

/// A throttle's amount: "3,000 reads/s".
fn throttle_amount(limit: &KernelThrottle) -> String {
    HeldBy { device: String::new(), devices: 1, limit: limit.clone() }.amount()
}

/// What a share of the time went to, in words.
pub(super) fn cause_name(cause: Cause, watch: &WatchRecord) -> String {
    let name = |place: usize| watch.programs.get(place).map_or("an application", |program| program.name.as_str());
    match cause {
        Cause::Throttle(place) => {
            let limit = &watch.throttles[place].limit;
            format!("a kernel throttle in control group {} ({})", limit.group, throttle_amount(limit))
        }
        Cause::Exceeded(limit) => format!("a limit that the volume counts itself ({})", limit.name()),
        Cause::Declared(limit) => format!("a declared limit ({})", limit.name()),
        Cause::Level => "a level that the rate does not pass".to_owned(),
        Cause::Burst => "a level after a burst".to_owned(),
        Cause::Flush => "making writes durable".to_owned(),
        Cause::Answers => "waiting for the device's answers".to_owned(),
        Cause::Quota(place) => format!("the CPU quota of {}", name(place)),
        Cause::Processors => "the machine's CPUs".to_owned(),
        Cause::Cache(place) => format!("{}, which reads from the page cache", name(place)),
        Cause::Nothing => "the device waits for work".to_owned(),
    }
}

/// Whether a program asked neither a file system nor storage for anything.
fn asked_nothing(program: &WatchedProgram) -> bool {
    let sum = program.seconds.iter().copied().fold(ProgramSecond::default(), ProgramSecond::joined);
    sum.storage_bytes() + sum.asked_read_bytes + sum.asked_write_bytes == 0
}

/// Whether as many requests wait at any time, or they come whatever the answers; with the mean outstanding.
pub(super) fn arrivals(watch: &WatchRecord, all: &[Moment]) -> (&'static str, Option<f64>) {
    let mean = outstanding(all);
    let mut waiting: Vec<u64> =
        watch.ticks.iter().filter(|tick| tick.busy() > 0.5).map(|tick| tick.in_flight).collect();
    if waiting.len() < TICKS_MIN {
        return ("unknown", mean);
    }
    waiting.sort_unstable();
    let at = |share: f64| waiting[((waiting.len() - 1) as f64 * share) as usize] as f64;
    let (few, usual, many) = (at(0.1), at(0.5), at(0.9));
    let sorted = |of: fn(&Moment) -> f64| {
        let mut all: Vec<f64> = all.iter().filter(|moment| moment.busy > 0.5).map(of).collect();
        all.sort_by(f64::total_cmp);
        all
    };
    let varies = |sorted: &[f64]| sorted[sorted.len() * 9 / 10] / sorted[sorted.len() / 10].max(1e-9);
    let (rates, queues) = (sorted(Moment::iops), sorted(|moment| moment.outstanding.max(1.0)));
    let is_closed =
        usual >= 1.0 && many <= (usual * CLOSED_SPREAD).max(usual + 0.5) && few * CLOSED_SPREAD >= usual * 0.7;
    let is_open = || rates.len() >= SECONDS_MIN && varies(&rates) <= STEADY_RATE && varies(&queues) >= OPEN_SPREAD;
    let kind = match is_closed {
        true => "closed",
        false if is_open() => "open",
        false => "unknown",
    };
    (kind, mean)
}

/// Findings of a watch, the most important first.
pub(crate) fn findings(record: &RunRecord, cells: &[CellSummary]) -> Vec<Finding> {
    let mut found = Vec::new();
    for cell in cells {
        let Some(watch) = &cell.watch else { continue };
        let mut say = |code: &str, text: String| {
            found.push(Finding { code: code.to_owned(), text: sentence(&text), cells: vec![cell.id.clone()] });
        };
        let causes: Vec<String> = watch
            .causes
            .iter()
            .filter(|cause| cause.share >= LISTED_MIN)
            .map(|cause| format!("{} ({})", cause.cause, percent(cause.share)))
            .collect();
        say(codes::TIME, format!("where the time of {} went: {}", cell.volume, listed(&causes)));
        if let Some(above) = &watch.above_device {
            say(codes::ABOVE, above.in_full(&cell.volume));
        }
        let hidden = watch.hidden.map(hidden_words);
        if !watch.programs.is_empty() || hidden.is_some() {
            let programs: Vec<String> = watch.programs.iter().take(3).map(program_words).collect();
            let programs = if programs.is_empty() { "no program that shows".to_owned() } else { programs.join("; ") };
            let whole = larger_than_the_device(cell, watch).unwrap_or_default();
            let hidden = hidden.map(|hidden| format!(". Others may use it: {hidden}")).unwrap_or_default();
            say(codes::PROGRAMS, format!("who uses {}: {programs}{whole}{hidden}", cell.volume));
        }
        if !watch.askers.is_empty() {
            let askers: Vec<String> = watch.askers.iter().take(3).map(asker_words).collect();
            say(codes::ASKERS, format!("whose requests reach {}: {}", cell.volume, askers.join("; ")));
        }
        // A level has them in its evidence.
        let is_level = cell.binding.as_ref().is_some_and(|binding| binding.ceiling_iops.is_some());
        if let Some(found) = watch.clusters.filter(|_| !is_level) {
            say(codes::CLUSTERS, clusters_words(found));
        }
        say(codes::ARRIVALS, arrivals_words(watch));
        say(codes::GAIN, gain_words(watch, cell.binding.as_ref().map(|binding| binding.limit)));
        if let Some(text) = limits_words(cell, watch) {
            say(codes::LIMITS, text);
        }
    }
    if let Some(watch) = cells.iter().find_map(|cell| cell.watch.as_ref()) {
        let mut text = format!("watching took {:.2} % of one CPU", watch.watching_cpu_share * 100.0);
        if let Some(seen) = watch.events_seen {
            let lost = watch.events_lost.unwrap_or(0);
            text = format!(
                "{text}, the kernel's events {:.2} % of that CPU; they showed {} requests, and {lost} events were lost",
                watch.events_cpu_share.unwrap_or(0.0) * 100.0,
                number(seen as f64)
            );
        }
        let all = record.cells.iter().map(|cell| cell.id.clone()).collect();
        found.push(Finding { code: codes::COST.to_owned(), text: sentence(&text), cells: all });
    }
    found
}

fn asker_words(asker: &EventAsker) -> String {
    let size = |bytes: u64, count: u64| block(bytes.checked_div(count).unwrap_or(0));
    let kind = |count: u64, bytes: u64, name: &str| {
        (count > 0).then(|| format!("{} {name} of {}", number(count as f64), size(bytes, count)))
    };
    let flushes = (asker.flushes > 0).then(|| format!("{} flushes", number(asker.flushes as f64)));
    let reads = kind(asker.reads, asker.read_bytes, "reads");
    let all: Vec<String> =
        [reads, kind(asker.writes, asker.write_bytes, "writes"), flushes].into_iter().flatten().collect();
    format!(
        "{} ({}) {}, mean {}, p99 {}",
        asker.name,
        asker.pid,
        all.join(" and "),
        span(asker.latency_mean_ns as f64),
        span(asker.latency_p99_ns as f64)
    )
}

/// "12 processes of other users cannot be seen: run as root to see them".
pub(super) fn hidden_words(hidden: HiddenProcesses) -> String {
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

fn program_words(program: &ProgramFigures) -> String {
    let several = if program.processes > 1 { format!(", {} processes", program.processes) } else { String::new() };
    format!(
        "{} ({}{several}) reads {} and writes {} of storage, {:.2} CPUs",
        program.name,
        program.pid,
        throughput(program.read_bytes_per_s),
        throughput(program.write_bytes_per_s),
        program.cpus
    )
}

/// Why a program's figures are larger than those of the device that it uses, where they are.
fn larger_than_the_device(cell: &CellSummary, watch: &WatchView) -> Option<String> {
    let of = |figures: &Option<OperationFigures>| figures.as_ref().map_or(0.0, |of| of.throughput_bytes_per_s);
    let (read, written) = (of(&cell.read), of(&cell.write));
    let is_larger = |program: &ProgramFigures| {
        program.read_bytes_per_s > read * PART_MAX || program.write_bytes_per_s > written * PART_MAX
    };
    watch.programs.iter().take(3).any(is_larger).then(|| {
        format!(
            ". The device itself reads {} and writes {}: a program's bytes are those of all devices, and its writes count when they enter \
             the page cache",
            throughput(read),
            throughput(written)
        )
    })
}

fn arrivals_words(watch: &WatchView) -> String {
    match (watch.arrivals.as_str(), watch.outstanding) {
        ("closed", Some(depth)) => {
            format!(
                "it works in a closed loop: about {} wait at any time, and answers decide when more come",
                waiting(depth)
            )
        }
        ("open", _) => {
            "requests come whatever the answers (an open loop): what waits varies, and the rate does not".to_owned()
        }
        (_, Some(depth)) => format!(
            "on average {} are outstanding while the device is busy. Whether it is a closed or an open loop does not show",
            waiting(depth)
        ),
        (_, None) => "no request was outstanding: whether it is a closed or an open loop does not show".to_owned(),
    }
}

/// Whether a cause is storage, or a limit on it.
pub(super) const fn is_storage(limit: Option<Limit>) -> bool {
    !matches!(limit, Some(Limit::Arrival | Limit::Cpu | Limit::Cache))
}

/// The share of the time in which storage, or a limit on it, was waited for.
pub(super) fn waited(watch: &WatchView) -> f64 {
    watch.causes.iter().filter(|cause| is_storage(cause.limit)).map(|cause| cause.share).sum()
}

pub(super) fn gain_words(watch: &WatchView, limit: Option<Limit>) -> String {
    let waited = waited(watch);
    if waited < LISTED_MIN {
        let why =
            if watch.outstanding.is_some() { "it is hardly ever waited for" } else { "nothing asked it for anything" };
        return format!("faster storage gains nothing here: {why}");
    }
    if waited <= WAITED_ALWAYS {
        return format!(
            "storage is waited for {}: without any waiting the same work would be done at most {:.1} times as fast",
            of_the_time(waited),
            1.0 / (1.0 - waited)
        );
    }
    let settles = match limit {
        Some(Limit::Latency) => {
            "a disk that answers twice as fast would do at most twice as much, or more requests at once"
        }
        Some(Limit::Flush) => {
            "a disk that flushes twice as fast would do at most twice as much, or more commits with one flush"
        }
        _ => "how much more it would do without this limit does not show while it holds all the time",
    };
    format!("storage is waited for {}: {settles}", of_the_time(waited))
}

fn limits_words(cell: &CellSummary, watch: &WatchView) -> Option<String> {
    let throttles = watch.throttles.iter().map(|throttle| {
        let used = throttle.asked_per_s.map_or_else(
            || "how much of it is asked for is not shown".to_owned(),
            |asked| format!("{} of it asked for", percent(asked / throttle.limit.per_s.max(1) as f64)),
        );
        format!("{} for control group {}: {used}", throttle_amount(&throttle.limit), throttle.limit.group)
    });
    let rate = cell.total.as_ref().map_or(0.0, |total| total.iops);
    let ceilings = cell.ceilings.iter().map(|ceiling| {
        format!(
            "{} at {} IOPS for this load: {} used",
            ceiling.limit.name(),
            number(ceiling.iops),
            percent(rate / ceiling.iops)
        )
    });
    let all: Vec<String> = throttles.chain(ceilings).collect();
    (!all.is_empty()).then(|| format!("known limits of {}, over the whole time: {}", cell.volume, all.join("; ")))
}
