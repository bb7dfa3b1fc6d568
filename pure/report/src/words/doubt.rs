//! What was seen that makes a figure doubtful, as a sentence with its figures.

use super::ceiling_source;
use super::throttle::{cpus, full_queue, memory, throttle};
use loadline_analysis::HeldBy;
use loadline_block::{ErrorKind, Operation};
use loadline_record::{
    AskedAndMoved, Ceiling, Compression, Doubt, DoubtCode, DoubtEvidence, DoubtedFigure, Ending, Excess,
    FewOfOperation, HostSpan, InFlight, KnownDeviation, MemoryBacked, OtherLoad, OthersWaited, QueueFacts, QueueLimit,
    RateChange, Recut, RunTogether, SeenOnHost, SmallerStorage, SourceLimit, StorageChange, VerifyFault, WroteLess,
};
use loadline_units::words::{capital, counted, listed, number, percent, seconds, small_number, span};
use loadline_units::{Bytes, Duration};
use std::collections::BTreeMap;

/// What held an application back while it was recorded.
pub(crate) fn source_limit(limit: &SourceLimit) -> String {
    match limit {
        SourceLimit::Throttle { device, limit } => {
            throttle(&HeldBy { device: device.clone(), devices: 1, limit: limit.clone() })
        }
        SourceLimit::Exceeded { device } => format!("{device} counts that more was asked for than it allows"),
        SourceLimit::Queue { queue } => full_queue(queue),
        SourceLimit::Memory { program, limit } => format!("{} of {program}", memory(limit)),
        SourceLimit::Quota { program, quota } => {
            let figure = quota
                .as_ref()
                .map_or_else(String::new, |quota| format!(" ({} in control group {})", cpus(quota), quota.group));
            format!("the CPU quota of {program}{figure} ran out")
        }
    }
}

/// What was seen, with its figures.
#[must_use]
pub fn doubt_detail(doubt: &Doubt) -> String {
    words(doubt.code, &doubt.seen)
}

fn words(code: DoubtCode, seen: &DoubtEvidence) -> String {
    match seen {
        DoubtEvidence::Written { text } => text.clone(),
        DoubtEvidence::BlocksDiffer { blocks, blocks_checked, first } => {
            blocks_differ(*blocks, *blocks_checked, first.as_ref())
        }
        DoubtEvidence::RequestsFailed { by_kind, first_error } => requests_failed(by_kind, first_error.as_deref()),
        DoubtEvidence::CutShort { ending, measured_ns, planned_ns } => cut_short(ending, *measured_ns, *planned_ns),
        DoubtEvidence::TraceCutShort => format!("The trace {TRACE_CUT_SHORT}"),
        DoubtEvidence::RecordingNotWhole { requests_missing, requests, events_lost } => format!(
            "The recording is not whole: {requests_missing} of {requests} requests are missing, and {events_lost} events of the \
             kernel were lost."
        ),
        DoubtEvidence::SourceLimited { limit, share } => format!(
            "In {} of the recorded time the application could not ask for more: {}.",
            percent(*share),
            source_limit(limit)
        ),
        DoubtEvidence::LimitsNotPublished { limits } => format!("Not known: {}.", listed(limits)),
        DoubtEvidence::ModelDeviates { measurements } => deviations(measurements),
        DoubtEvidence::FileInMemory { file_system } if code == DoubtCode::Buffered => {
            format!("A {file_system} is itself the page cache: what was measured is memory.")
        }
        DoubtEvidence::FileInMemory { file_system } => {
            format!("The file lies in a {file_system}, which is memory: no disk took part.")
        }
        DoubtEvidence::DevicesInMemory { devices } => format!("{} is memory: no disk took part.", listed(devices)),
        DoubtEvidence::MovedLess { devices, bytes } if code == DoubtCode::UnwrittenExtents => format!(
            "The load's own trims make holes in the file, which need no disk to be read: of {} were read {}.",
            listed(devices),
            of_asked(*bytes)
        ),
        DoubtEvidence::MovedLess { devices, bytes } => {
            format!("Of {} were read {}: the rest came from memory.", listed(devices), of_asked(*bytes))
        }
        DoubtEvidence::ResidencyRose { direct, before_share, after_share } => {
            residency_rose(*direct, *before_share, *after_share)
        }
        DoubtEvidence::Resident { share } => {
            format!("{} of the file lay in the page cache before the trial.", percent(*share))
        }
        DoubtEvidence::NeverWritten { operation, share, bytes } => never_written(*operation, *share, *bytes),
        DoubtEvidence::PageCacheAsked => {
            "The load asked for the page cache: rates are those of memory until it is full.".to_owned()
        }
        DoubtEvidence::DirectNotPossible { error } => {
            let why = error.as_ref().map_or_else(String::new, |error| format!(" ({error})"));
            format!("Direct I/O was not possible{why}, so the page cache took part.")
        }
        DoubtEvidence::ContentsInMemory { devices } => contents_in_memory(devices),
        DoubtEvidence::StoredLess { compression, encoded_share, wrote_less } => {
            stored_less(compression.as_ref(), *encoded_share, wrote_less.as_ref())
        }
        DoubtEvidence::ThreadsBusy { threads, busy_threads, above_share, busiest_share } => {
            let busiest = percent(*busiest_share);
            let who = match threads {
                1 => format!("The load thread was {busiest} busy"),
                all => format!(
                    "{busy_threads} of {all} load threads were more than {} busy (the busiest {busiest})",
                    percent(*above_share)
                ),
            };
            format!("{who}: the storage may be able to do more.")
        }
        DoubtEvidence::ToolStopped { total_ns, longest_ns, measured_ns, quota_spent_ns, figures } => {
            let why = quota_spent_ns.map_or_else(
                || "it was stopped, or the machine had no CPU for it, or itself stood still".to_owned(),
                |ns| format!("its control group's CPU quota was spent for {}", seconds(ns)),
            );
            format!(
                "The tool did not run for {} of {} ({}), up to {} at a stretch: {why}. That can stand in {}.",
                seconds(*total_ns),
                seconds(*measured_ns),
                percent(*total_ns as f64 / *measured_ns as f64),
                seconds(*longest_ns),
                figure_names(figures)
            )
        }
        DoubtEvidence::ArrivalsMissed { offered_iops, completed_iops, never_issued } => {
            arrivals_missed(*offered_iops, *completed_iops, *never_issued)
        }
        DoubtEvidence::Backlog { requests, unanswered, late_ns, answered_iops } => format!(
            "This storage cannot carry the recorded load: when the last of {requests} requests was due, {unanswered} were not \
             answered, and the last answer came {} later. It answered {answered_iops:.0} a second.",
            human(*late_ns)
        ),
        DoubtEvidence::OtherRequests { recut, in_flight, queues } => other_requests(recut, in_flight.as_ref(), queues),
        DoubtEvidence::MovedMore { devices, excess, busiest } => {
            let found: Vec<String> = excess.iter().map(excess_words).collect();
            let suspect = busiest
                .as_ref()
                .map_or_else(String::new, |other| format!("; the busiest other process was {}", process_words(other)));
            format!("On {} {}{suspect}.", listed(devices), listed(&found))
        }
        DoubtEvidence::OthersMoved { bytes, busiest } => format!(
            "Other processes moved {} meanwhile, on this device or another; the busiest was {}.",
            size(*bytes),
            busiest.as_ref().map_or_else(String::new, process_words)
        ),
        DoubtEvidence::JobsBeside { jobs, more } => {
            let others = if *more == 0 { jobs.join(", ") } else { format!("{} and {more} more", jobs.join(", ")) };
            format!("It ran at the same time as {others}: what each got is not what it would get alone.")
        }
        DoubtEvidence::CpuStolen { share } => format!(
            "The hypervisor took {} of the CPU time: latencies and rates may be the host's, not the storage's.",
            percent(*share)
        ),
        DoubtEvidence::ClockMoved { drift_ppm, step_ns, coarse_source } => {
            clock_moved(*drift_ppm, *step_ns, coarse_source.as_deref())
        }
        DoubtEvidence::SteadyStateMissed { rounds, round_ns, ends } => {
            let figures = ends.map_or_else(String::new, |RateChange { from_iops, to_iops }| {
                format!(" (from {} IOPS in the first to {} in the last)", number(from_iops), number(to_iops))
            });
            format!(
                "The steady-state rule was not met in {} of {}{figures}.",
                counted(*rounds as usize, "round"),
                seconds(*round_ns)
            )
        }
        DoubtEvidence::RateMoves { rate } => rate_moves(*rate),
        DoubtEvidence::RateStepped { rate, after_s } => format!(
            "The rate {} from {} to {} IOPS after {} s.",
            fell_or_rose(*rate),
            number(rate.from_iops),
            number(rate.to_iops),
            number(*after_s as f64)
        ),
        DoubtEvidence::BucketInShortRun { measured_ns, bucket_ns, is_known, warm_up_ns } => {
            bucket_in_short_run(*measured_ns, *bucket_ns, *is_known, *warm_up_ns)
        }
        DoubtEvidence::FewWindows { measured_ns, window_ns } => format!(
            "Measured for {}: a limit that counts in windows of {} gives out each one's share as it begins, so that so short a run \
             may show up to {} more or less than lasts.",
            seconds(*measured_ns),
            seconds(*window_ns),
            percent(*window_ns as f64 / *measured_ns as f64)
        ),
        DoubtEvidence::CreditsLeft { begin_share, end_share, measured_ns, lasts_ns, afterwards } => format!(
            "It ran on saved-up burst credits: {} of them were left at its beginning and {} after {}, which at this pace are spent in \
             {} more.{}",
            credits_share(*begin_share),
            credits_share(*end_share),
            Duration::from_ns(*measured_ns).clock(),
            Duration::from_ns(*lasts_ns).clock(),
            afterwards.as_ref().map_or_else(String::new, |Ceiling { iops, source, .. }| format!(
                " From then on requests like these come to {iops:.0} IOPS at most ({}).",
                ceiling_source(source)
            ))
        ),
        DoubtEvidence::FewRequests { operations } => {
            let lacking: Vec<String> = operations.iter().map(few_requests).collect();
            format!("{}.", lacking.join("; "))
        }
        DoubtEvidence::AnswersLate { recorded, late_p99_ns, modelled_p99_ns } => {
            answers_late(*recorded, *late_p99_ns, *modelled_p99_ns)
        }
        DoubtEvidence::StorageChanged { changes, more } => storage_changed(changes, *more),
        DoubtEvidence::RequestsBeyondEnd { storage, reach_bytes, size_bytes, requests } => {
            requests_beyond_end(storage, Bytes::new(*reach_bytes), Bytes::new(*size_bytes), *requests)
        }
        DoubtEvidence::RequestsWidened { requests, block_bytes } => format!(
            "{requests} requests were widened to whole blocks of {block_bytes} bytes, which this storage wants."
        ),
        DoubtEvidence::MeasuredElsewhere { tool, counted_device, has_series, not_told } => {
            measured_elsewhere(tool, counted_device.as_deref(), *has_series, not_told)
        }
        DoubtEvidence::HostsApart { together, missing } => hosts_apart(together.as_ref(), missing),
        DoubtEvidence::HostClocks { hosts, not_compared, unsure, to_a_second } => {
            host_clocks(*hosts, not_compared, unsure, to_a_second)
        }
        DoubtEvidence::OnHosts { hosts, seen } => on_hosts(code, *hosts, seen),
        DoubtEvidence::InSomeTrials { having, trials, figures_from, seen } => {
            let rest = match figures_from {
                None => "",
                Some(1) => " The figures rest on the other trial.",
                Some(_) => " The figures rest on the other trials.",
            };
            format!("In {having} of {trials} trials: {}{rest}", words(code, seen))
        }
    }
}

/// What is said of a trace without an end, after its name.
pub const TRACE_CUT_SHORT: &str = "was cut short: whoever records it is still at it, was killed, or could write no more. What came \
                                   after its last record is missing: of a killed one a second or two and what was under way, of a \
                                   full disk all the rest.";

fn size(bytes: u64) -> String {
    Bytes::new(bytes).human()
}

fn human(ns: u64) -> String {
    Duration::from_ns(ns).human()
}

fn of_asked(AskedAndMoved { asked_bytes, moved_bytes }: AskedAndMoved) -> String {
    let share = percent(moved_bytes as f64 / asked_bytes as f64);
    format!("{} of the {} asked ({share})", size(moved_bytes), size(asked_bytes))
}

fn blocks_differ(blocks: u64, blocks_checked: u64, first: Option<&VerifyFault>) -> String {
    let first = first.map_or_else(String::new, |fault| {
        format!("; the first at offset {}: {}", fault.offset, fault.detail.trim_end_matches('.'))
    });
    let (blocks, blocks_checked) = (number(blocks as f64), number(blocks_checked as f64));
    format!("{blocks} of {blocks_checked} blocks read back were not what was written{first}.")
}

fn requests_failed(by_kind: &BTreeMap<ErrorKind, u64>, first_error: Option<&str>) -> String {
    let kinds: Vec<String> = by_kind.iter().map(|(kind, n)| format!("{} {kind}", number(*n as f64))).collect();
    let first = first_error.map_or_else(String::new, |error| format!("; the first: {}", error.trim_end_matches('.')));
    let requests = counted(by_kind.values().sum::<u64>() as usize, "request");
    format!("{requests} failed ({}){first}.", listed(&kinds))
}

fn cut_short(ending: &Ending, measured_ns: u64, planned_ns: u64) -> String {
    let why = match ending {
        Ending::Complete => "It ended before its time".to_owned(),
        Ending::Interrupted => "It was stopped by the user".to_owned(),
        Ending::Failed(reason) => format!("It could not go on: {reason}"),
        Ending::Hung(request) => format!("A request was not answered: {request}"),
    };
    format!("{why}; {} of {} were measured.", seconds(measured_ns), seconds(planned_ns))
}

fn deviations(measurements: &[KnownDeviation]) -> String {
    let known = measurements.iter().map(|of| format!("{}: {} ({})", of.disk, of.text, of.source));
    format!("{}.", known.collect::<Vec<_>>().join("; "))
}

fn residency_rose(direct: bool, before_share: f64, after_share: f64) -> String {
    let (before, after) = (percent(before_share), percent(after_share));
    if direct {
        format!("Direct I/O was asked for, and yet the file's share in the page cache rose from {before} to {after}.")
    } else {
        format!(
            "The file's share in the page cache rose from {before} to {after}, and nothing shows how much came from it."
        )
    }
}

fn never_written(operation: Operation, share: f64, bytes: u64) -> String {
    let meaning = match operation {
        Operation::Write => {
            "the first write of a block is also work for the file system, which writes over written blocks are not"
        }
        _ => "such reads need no disk",
    };
    format!("{} of the file ({}) was never written when the load began: {meaning}.", percent(share), size(bytes))
}

fn contents_in_memory(devices: &[MemoryBacked]) -> String {
    let each = devices.iter().map(|MemoryBacked { device, file, file_system }| match file_system {
        Some(kind) => format!("{device} is the file {file} in a {kind}, which is memory"),
        None => format!("{device} goes through the page cache to its file {file}"),
    });
    let each = listed(&each.collect::<Vec<_>>());
    format!("Direct I/O ends above: {each}. What was read and written need not have reached a disk.")
}

fn stored_less(
    compression: Option<&Compression>,
    encoded_share: Option<f64>,
    wrote_less: Option<&WroteLess>,
) -> String {
    let mut found = Vec::new();
    found.extend(compression.map(|Compression { file_system, option }| match option {
        None => format!("the file system is {file_system}, which may compress and leaves out zeros"),
        Some(option) => format!("the {file_system} is mounted with {option}"),
    }));
    found.extend(
        encoded_share.map(|share| format!("{} of the file is compressed or otherwise encoded", percent(share))),
    );
    found.extend(wrote_less.map(|of| format!("to {} were written only {}", listed(&of.devices), of_asked(of.bytes))));
    format!("{}.", capital(&listed(&found)))
}

fn figure_names(figures: &[DoubtedFigure]) -> String {
    let name = |figure: &DoubtedFigure| match figure {
        DoubtedFigure::Rate => "the rate",
        DoubtedFigure::P99 => "p99",
        DoubtedFigure::P999 => "p99.9",
        DoubtedFigure::P9999 => "p99.99",
        DoubtedFigure::Maximum => "the maximum",
    };
    listed(&figures.iter().map(|figure| name(figure).to_owned()).collect::<Vec<_>>())
}

fn arrivals_missed(offered_iops: f64, completed_iops: f64, never_issued: Option<u64>) -> String {
    let off = completed_iops / offered_iops - 1.0;
    let never_issued = never_issued.map_or_else(String::new, |missed| {
        format!("; {} arrivals were never issued, and their waiting is in no latency", number(missed as f64))
    });
    format!(
        "{} requests a second were offered and {} completed ({} {}){never_issued}.",
        number(offered_iops),
        number(completed_iops),
        percent(off.abs()),
        if off < 0.0 { "fewer" } else { "more" }
    )
}

fn other_requests(recut: &[Recut], in_flight: Option<&InFlight>, queues: &[QueueFacts]) -> String {
    let mut found: Vec<String> = recut.iter().map(recut_words).collect();
    found.extend(in_flight.map(|of| {
        format!(
            "of {} requests outstanding {} had {} on average, {}",
            number(of.outstanding),
            listed(&of.devices),
            small_number(of.on_devices),
            others_waited(&of.others, of.outstanding)
        )
    }));
    let queues: Vec<String> = queues.iter().map(queue_words).collect();
    let queues = if queues.is_empty() { String::new() } else { format!(" ({})", queues.join("; ")) };
    format!("{}{queues}.", capital(&found.join("; ")))
}

fn recut_words(recut: &Recut) -> String {
    let (from, to) = (recut.asked_size(), recut.device_size());
    let how = if to > from { "merged" } else { "split" };
    let by = recut.split_by.as_ref().map_or_else(String::new, |by| format!(" ({})", queue_limit(by, from)));
    format!(
        "{}s were {how}: {} of {} on average reached the device for {} of {} asked{by}",
        recut.operation.name(),
        number(recut.device_requests as f64),
        size(to as u64),
        number(recut.asked_requests as f64),
        size(from as u64)
    )
}

/// Buffers lie in pages of this size at worst, each a piece of memory of its own.
const PAGE: f64 = 4_096.0;

fn queue_limit(limit: &QueueLimit, asked_size: f64) -> String {
    let QueueLimit { device, request_bytes_max, segments_max } = limit;
    let bytes = request_bytes_max.map(size);
    match (segments_max, bytes) {
        (Some(segments), bytes) => format!(
            "{device} takes requests of at most {} pieces of memory (max_segments){}: in pages of 4 KiB {} are {} pieces",
            number(*segments as f64),
            bytes.map_or_else(String::new, |most| format!(", though up to {most}")),
            size(asked_size as u64),
            number((asked_size / PAGE).ceil())
        ),
        (None, bytes) => {
            format!("{device} takes requests of at most {} (max_sectors_kb)", bytes.unwrap_or_default())
        }
    }
}

fn others_waited(others: &OthersWaited, outstanding: f64) -> String {
    match others {
        OthersWaited::NeverCame => "since most of what was asked never came to it".to_owned(),
        OthersWaited::Throttle { device, devices, limit } => {
            let held = HeldBy { device: device.clone(), devices: *devices, limit: limit.clone() };
            format!("so the others waited before it: {}", throttle(&held))
        }
        OthersWaited::ToolBusy => {
            "so the others waited before it, first of all in the tool itself, whose threads were busy".to_owned()
        }
        OthersWaited::NotHandedOver { in_kernel } => format!(
            "so the others waited before it; of {} not even the kernel had more than {} on average, since handing over takes as long as \
             answers do, and the time that the rest waited for it counts in their latency",
            number(outstanding),
            small_number(*in_kernel)
        ),
        OthersWaited::Unknown => {
            "so the others waited before it (a limit of the kernel, a lock of the file system, a full queue)".to_owned()
        }
    }
}

fn queue_words(QueueFacts { device, requests, scheduler }: &QueueFacts) -> String {
    let mut parts = Vec::new();
    parts.extend(requests.map(|n| format!("a queue of {n} requests")));
    parts.extend(scheduler.as_ref().map(|s| format!("the scheduler {s}")));
    format!("{device} has {}", listed(&parts))
}

fn excess_words(Excess { operation, bytes, requests }: &Excess) -> String {
    let moved = if *operation == Operation::Write { "written" } else { "read" };
    match requests {
        None => format!("{} more were {moved} than asked", size(*bytes)),
        Some(requests) => {
            format!("{} more requests of {} in all were {moved} than asked", number(*requests), size(*bytes))
        }
    }
}

fn process_words(other: &OtherLoad) -> String {
    let OtherLoad { pid, name, read_bytes, write_bytes } = other;
    format!("{name} (process {pid}; {} read, {} written)", size(*read_bytes), size(*write_bytes))
}

fn clock_moved(drift_ppm: Option<f64>, step_ns: Option<i64>, coarse_source: Option<&str>) -> String {
    let mut seen = Vec::new();
    seen.extend(drift_ppm.map(|ppm| format!("ran {} parts per million off its reference", number(ppm))));
    seen.extend(step_ns.map(|ns| format!("was stepped by {} ms", number((ns as f64 / 1e6).round()))));
    seen.extend(coarse_source.map(|source| format!("has the source {source}, which ticks in milliseconds")));
    format!("The clock {}.", listed(&seen))
}

fn fell_or_rose(rate: RateChange) -> &'static str {
    if rate.to_iops < rate.from_iops { "fell" } else { "rose" }
}

fn rate_moves(rate: RateChange) -> String {
    let RateChange { from_iops: from, to_iops: to } = rate;
    let by = if from > 0.0 { format!(" by {}", percent((to - from).abs() / from)) } else { String::new() };
    format!(
        "The rate {} steadily{by} over the measured time, from about {} to {} IOPS.",
        fell_or_rose(rate),
        number(from),
        number(to)
    )
}

fn bucket_in_short_run(measured_ns: u64, bucket_ns: u64, is_known: bool, warm_up_ns: u64) -> String {
    let bucket = if is_known { seconds(bucket_ns) } else { "about a second".to_owned() };
    let unless = if warm_up_ns > 0 {
        format!(", unless the warm-up of {} used that up", seconds(warm_up_ns))
    } else {
        String::new()
    };
    format!(
        "Measured for {}: a limit kept by a token bucket of {bucket} lets so short a run show up to {} more than lasts{unless}.",
        seconds(measured_ns),
        percent(bucket_ns as f64 / measured_ns as f64)
    )
}

/// With as many decimals as it takes to distinguish it from all of them.
fn credits_share(share: f64) -> String {
    let percent = share * 100.0;
    if share > 0.98 && share < 1.0 { format!("{percent:.2} %") } else { format!("{percent:.0} %") }
}

fn few_requests(FewOfOperation { operation, requests, figures }: &FewOfOperation) -> String {
    let noun = match (operation, requests) {
        (Operation::Flush, 2..) => "flushes".to_owned(),
        (_, 1) => operation.name().to_owned(),
        _ => format!("{}s", operation.name()),
    };
    let verb = if *requests == 1 { "is" } else { "are" };
    format!("{} {noun} {verb} too few for {}", number(*requests as f64), figure_names(figures))
}

fn answers_late(recorded: bool, late_p99_ns: u64, modelled_p99_ns: u64) -> String {
    let (when, so) = if recorded {
        ("When it was recorded, answers", "Whoever waited for them asked later than on the recorded disk.")
    } else {
        ("Answers", "Clients measured this machine rather than the disk.")
    };
    format!(
        "{when} left late: p99 {} after the model's time, beside a modelled latency of p99 {}. {so}",
        human(late_p99_ns),
        human(modelled_p99_ns)
    )
}

fn storage_changed(changes: &[StorageChange], more: u64) -> String {
    let one = |StorageChange { at_ns, what }: &StorageChange| {
        let span = human(at_ns.unsigned_abs());
        if *at_ns < 0 { format!("{span} before it, {what}") } else { format!("after {span} {what}") }
    };
    let mut listed: Vec<String> = changes.iter().map(one).collect();
    listed.extend((more > 0).then(|| format!("and {more} more")));
    format!(
        "The storage was changed on purpose, counted from the first request as the seconds are: {}. The figures mix what was before \
         and after, and ceilings are those of the environment at the beginning.",
        listed.join("; ")
    )
}

fn requests_beyond_end(storage: &SmallerStorage, reach: Bytes, size: Bytes, requests: u64) -> String {
    match storage {
        SmallerStorage::Target { target } => format!(
            "The recorded requests reach {}, and {target} holds {size}: {requests} beyond its end were moved to places that nobody \
             asks for.",
            reach.human()
        ),
        SmallerStorage::Model { volume, environment, moved_bytes, trims } => {
            let trimmed =
                if *trims > 0 { format!(", and {trims} trims moved with them or cut") } else { String::new() };
            let moved = match requests {
                0 => format!("{trims} trims were cut at its end"),
                _ => format!(
                    "{requests} beyond its end, to {} in places of 1 MiB, were moved to its last places that nobody asks for{trimmed}",
                    Bytes::new(*moved_bytes).human()
                ),
            };
            format!("{volume}: the recorded requests reach {reach}, and {environment} holds {size}: {moved}.")
        }
    }
}

fn measured_elsewhere(tool: &str, counted_device: Option<&str>, has_series: bool, not_told: &[String]) -> String {
    let around = counted_device.map_or_else(
        || {
            "nothing was noted around it. Not checked: whether reads came from a cache or from blocks never written, which requests \
             reached the device and how many at once, other load on the device, CPU time taken by the hypervisor, the clock"
                .to_owned()
        },
        |device| {
            format!(
                "nothing but its own counts of {device} was noted around it. Not checked: whether reads fell on blocks never \
                 written, CPU time taken by the hypervisor, the clock"
            )
        },
    );
    let course = if has_series {
        ""
    } else {
        " There is no course of seconds: whether the rate was steady, and whether it lasts, is not known."
    };
    let more: String = not_told.iter().fold(String::new(), |all, sentence| all + " " + sentence + ".");
    format!("{tool} measured it, and {around}.{course}{more}")
}

fn hosts_apart(together: Option<&RunTogether>, missing: &[String]) -> String {
    let mut parts = Vec::new();
    parts.extend(together.map(|together| match together {
        RunTogether::Never => "the hosts never all ran at the same time, so there is no rate of all of them".to_owned(),
        RunTogether::Partly { share, begun_late, ended_early } => {
            let mut why: Vec<String> = Vec::new();
            let spelled = |HostSpan { host, span_ns }: &HostSpan| (host.clone(), span(*span_ns as f64));
            why.extend(
                begun_late.as_ref().map(spelled).map(|(host, span)| format!("{host} began {span} after the first")),
            );
            why.extend(
                ended_early.as_ref().map(spelled).map(|(host, span)| format!("{host} ended {span} before the last")),
            );
            format!("all hosts ran together for {} of the time: {}", percent(*share), listed(&why))
        }
    }));
    if !missing.is_empty() {
        parts.push(format!("there is no record of this trial of {}", listed(missing)));
    }
    parts.join("; ")
}

fn host_clocks(hosts: u32, not_compared: &[String], unsure: &[HostSpan], to_a_second: &[String]) -> String {
    let mut parts = Vec::new();
    if !not_compared.is_empty() {
        let are_all = not_compared.len() == hosts as usize;
        let which = if are_all { "all hosts".to_owned() } else { listed(not_compared) };
        parts.push(format!("the wall clocks of {which} were taken as they are"));
    }
    parts.extend(unsure.iter().map(|HostSpan { host, span_ns }| {
        format!("the clock of {host} is known within {} only", span(*span_ns as f64))
    }));
    if !to_a_second.is_empty() {
        parts.push(format!("{} recorded the begin of its trial to a second only", listed(to_a_second)));
    }
    parts.join("; ")
}

fn on_hosts(code: DoubtCode, hosts: u32, seen: &[SeenOnHost]) -> String {
    let each: Vec<(&str, String)> = seen.iter().map(|one| (one.host.as_str(), words(code, &one.seen))).collect();
    match each.as_slice() {
        [(_, first), ..] if each.len() == hosts as usize && each.iter().all(|(_, words)| words == first) => {
            format!("on every host: {first}")
        }
        _ => each.iter().map(|(host, words)| format!("{host}: {words}")).collect::<Vec<_>>().join("; "),
    }
}
