//! A watch in words: what bound, how that is known, what it would gain, and the verdict.

use super::of_the_time;
use crate::finding::{Finding, FindingCode, FindingSeen};
use crate::summary::{CauseShare, CellSummary, OperationFigures, ProgramFigures, WatchView};
use crate::verdict_block::HeldBy;
use crate::words::{block, listed, number, percent, span, throughput};
use loadline_record::{
    AnswersInClusters, EventAsker, HiddenProcesses, KernelThrottle, Limit, RunRecord, WatchCause, WatchGain,
    WatchedLoop,
};

/// A cause with less of the time than this is not listed.
const LISTED_MIN: f64 = 0.01;
/// Storage that is waited for longer than this leaves nothing to compare with.
const WAITED_ALWAYS: f64 = 0.95;
/// A program that moves more than this many times the bytes of its device moves some of them elsewhere.
const PART_MAX: f64 = 1.02;

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

/// A throttle's amount: "3,000 reads/s".
fn throttle_amount(limit: &KernelThrottle) -> String {
    HeldBy { device: String::new(), devices: 1, limit: limit.clone() }.amount()
}

/// What a share of the time went to, in words.
pub(super) fn cause_words(cause: &WatchCause) -> String {
    match cause {
        WatchCause::Throttle { throttle } => {
            format!("a kernel throttle in control group {} ({})", throttle.group, throttle_amount(throttle))
        }
        WatchCause::CountedExcess { limit } => format!("a limit that the volume counts itself ({})", limit.name()),
        WatchCause::DeclaredLimit { limit } => format!("a declared limit ({})", limit.name()),
        WatchCause::Level => "a level that the rate does not pass".to_owned(),
        WatchCause::LevelAfterBurst => "a level after a burst".to_owned(),
        WatchCause::Flushes => "making writes durable".to_owned(),
        WatchCause::Answers => "waiting for the device's answers".to_owned(),
        WatchCause::Quota { program } => format!("the CPU quota of {program}"),
        WatchCause::Processors => "the machine's CPUs".to_owned(),
        WatchCause::PageCache { program } => format!("{program}, which reads from the page cache"),
        WatchCause::NoWork => "the device waits for work".to_owned(),
    }
}

/// Findings of a watch, the most important first.
pub(crate) fn findings(record: &RunRecord, cells: &[CellSummary]) -> Vec<Finding> {
    let mut found = Vec::new();
    for cell in cells {
        let Some(watch) = &cell.watch else { continue };
        let mut say = |code: FindingCode, text: String| {
            let (seen, cells) = (FindingSeen::Written { text }, vec![cell.id.clone()]);
            found.push(Finding { code, volume: None, seen, cells });
        };
        let causes: Vec<String> = watch
            .causes
            .iter()
            .filter(|cause| cause.share >= LISTED_MIN)
            .map(|cause| format!("{} ({})", cause_words(&cause.cause), percent(cause.share)))
            .collect();
        say(FindingCode::WatchedTime, format!("where the time of {} went: {}", cell.volume, listed(&causes)));
        if let Some(above) = &watch.above_device {
            say(FindingCode::WatchedAboveDevice, above.in_full(&cell.volume));
        }
        let hidden = watch.hidden.map(hidden_words);
        if !watch.programs.is_empty() || hidden.is_some() {
            let programs: Vec<String> = watch.programs.iter().take(3).map(program_words).collect();
            let programs = if programs.is_empty() { "no program that shows".to_owned() } else { programs.join("; ") };
            let whole = larger_than_the_device(cell, watch).unwrap_or_default();
            let hidden = hidden.map(|hidden| format!(". Others may use it: {hidden}")).unwrap_or_default();
            say(FindingCode::WatchedPrograms, format!("who uses {}: {programs}{whole}{hidden}", cell.volume));
        }
        if !watch.askers.is_empty() {
            let askers: Vec<String> = watch.askers.iter().take(3).map(asker_words).collect();
            say(FindingCode::WatchedRequests, format!("whose requests reach {}: {}", cell.volume, askers.join("; ")));
        }
        // A level has them in its evidence.
        let is_level = cell.binding.as_ref().is_some_and(|binding| binding.ceiling_iops.is_some());
        if let Some(found) = watch.clusters.filter(|_| !is_level) {
            say(FindingCode::WatchedClusters, clusters_words(found));
        }
        say(FindingCode::WatchedArrivals, arrivals_words(watch));
        say(FindingCode::WatchedGain, gain_words(watch.gain));
        if let Some(text) = limits_words(cell, watch) {
            say(FindingCode::WatchedLimits, text);
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
        let seen = FindingSeen::Written { text };
        found.push(Finding { code: FindingCode::WatchedCost, volume: None, seen, cells: all });
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
    match (watch.arrivals, watch.outstanding) {
        (WatchedLoop::Closed, Some(depth)) => {
            format!(
                "it works in a closed loop: about {} wait at any time, and answers decide when more come",
                waiting(depth)
            )
        }
        (WatchedLoop::Open, _) => {
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
pub(super) fn waited(causes: &[CauseShare]) -> f64 {
    causes.iter().filter(|cause| is_storage(cause.limit)).map(|cause| cause.share).sum()
}

/// What faster storage would bring.
pub(super) fn gain(outstanding: Option<f64>, causes: &[CauseShare], limit: Option<Limit>) -> WatchGain {
    match waited(causes) {
        waited if waited < LISTED_MIN => WatchGain::Nothing { asked: outstanding.is_some() },
        waited if waited <= WAITED_ALWAYS => WatchGain::AtMost { share_of_time: waited, times: 1.0 / (1.0 - waited) },
        waited => WatchGain::NotShown { share_of_time: waited, limit },
    }
}

pub(super) fn gain_words(gain: WatchGain) -> String {
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
