//! Conclusions in sentences.

use super::finding::{how_long, levels, rise};
use super::step::step;
use super::throttle::throttle;
use super::{hosts, watch};
use loadline_analysis::{
    ClosedReached, Conclusion, DepthKept, DepthObjective, KnownLimit, LevelRate, LimitKnown, LoadReached, LoadStop,
    Meaning, StopWay, UncertainRate,
};
use loadline_block::Operation;
use loadline_load::LatencyFigure;
use loadline_record::Limit;
use loadline_units::Duration;
use loadline_units::words::{capital, counted, number, percent, span, throughput};

/// How far the load comes, and what stops it.
#[must_use]
pub fn reached(conclusion: &Conclusion) -> String {
    match &conclusion.reached {
        LoadReached::WatchHolder { holder } => format!("What holds {}: {}", conclusion.volume, watch::holder(holder)),
        LoadReached::Hosts { load, seen } => hosts::limit_of(seen, load),
        LoadReached::Closed(reached) => closed(reached),
        LoadReached::Served { load, up_to } => {
            format!("{} are all served up to {up_to}, the most that was offered (arrival).", capital(load))
        }
        LoadReached::Overloaded { load, up_to, at, rate: done, stop } => {
            let (load, done) = (capital(load), rate(*done));
            let (by, code) = match stop {
                Some(KnownLimit { limit, known }) => (what_binds(*limit), format!(" {}", code(*limit, *known))),
                None => ("what stops them is not known", String::new()),
            };
            let of = format!("of {at}, {done} are completed: {by}{code}.");
            match up_to {
                Some(up_to) => format!("{load} are all served up to {up_to}; {of}"),
                None => format!("{load}: {of}"),
            }
        }
        LoadReached::OfOthers { load, at, mean_ns, max_ns, is_mixed, limit, known } => {
            let (mean, slowest) = (span(*mean_ns), span(*max_ns as f64));
            let answered = if *is_mixed {
                format!("within {mean} on average, whatever they are, and {slowest} at most")
            } else {
                format!("after {mean} on average and {slowest} at most")
            };
            let by = match limit {
                Limit::Arrival => "for most of the time there is nothing to do",
                Limit::Latency => "no limit holds most of them",
                limit => what_binds(*limit),
            };
            format!("{}, {at}, are answered {answered}: {by} {}.", capital(load), code(*limit, *known))
        }
    }
}

fn closed(reached: &ClosedReached) -> String {
    let name = capital(&reached.loads);
    let level = match reached.levels {
        None => rate(reached.rate),
        Some(2) => format!("{}, the mean of two levels,", rate(reached.rate)),
        Some(more) => format!("{}, the mean of {},", rate(reached.rate), counted(more, "level")),
    };
    let at = &reached.at;
    let Some(LoadStop { limit, known, way }) = &reached.stop else {
        return format!("{name} reach {level} at {at}; what stops them is not known.");
    };
    let from = if reached.is_onwards { format!("from {at} on") } else { format!("at {at}") };
    let (code, by) = (code(*limit, *known), what_binds(*limit));
    match way {
        StopWay::Binds => format!("{name} stop at {level} {from}: {by} {code}."),
        StopWay::Presumably => format!("{name} stop at {level} {from}: presumably {by} {code}."),
        StopWay::Throttled(held) => format!("{name} stop at {level} {from}: {} {code}.", throttle(held)),
        StopWay::BindsHere => format!("{name} reach {level} {from}: {by} {code}."),
        StopWay::NotYet => format!("{name} reach {level} at {at}, and no limit stops them there {code}."),
        StopWay::Unexplained => {
            format!("{name} reach {level} {from}, and no known limit explains why not more {code}.")
        }
    }
}

/// What it means; `None` where that is nothing.
#[must_use]
pub fn meaning(conclusion: &Conclusion) -> Option<String> {
    let all: Vec<String> = conclusion.means.iter().map(means).collect();
    (!all.is_empty()).then(|| all.join(" "))
}

/// What to do, and how long that takes; `None` where the conclusion before says it.
#[must_use]
pub fn next(conclusion: &Conclusion) -> Option<String> {
    let steps: Vec<String> = conclusion.steps.iter().map(step).collect();
    let all = steps.join(" ");
    let text = match conclusion.takes_ns {
        Some(ns) => format!("{}. It takes about {}.", all.trim_end_matches('.'), Duration::from_ns(ns).clock()),
        None => all,
    };
    (!steps.is_empty()).then_some(text)
}

/// What binds.
const fn what_binds(limit: Limit) -> &'static str {
    match limit {
        Limit::DiskIops => "the disk's requests per second bind",
        Limit::DiskThroughput => "the disk's bytes per second bind",
        Limit::VmUncachedIops => "the VM's uncached requests per second bind, not the disks",
        Limit::VmUncachedThroughput => "the VM's uncached bytes per second bind, not the disks",
        Limit::VmCachedIops => "the VM's cached requests per second bind, not the disks",
        Limit::VmCachedThroughput => "the VM's cached bytes per second bind, not the disks",
        Limit::BurstExhausted => "the burst is spent and the baseline binds",
        Limit::Cache => "a cache answers, and this is its speed, not the disk's",
        Limit::Memory => "the page cache is too small for what is read",
        Limit::Latency => "each waits only for the one before it",
        Limit::Arrival => "the load asked for no more",
        Limit::Cpu => "the machine's CPUs bind, not the storage",
        Limit::Generator => "loadline itself binds, not the storage",
        Limit::Interface => "the interface between machine and devices binds",
        Limit::Parallelism => "the storage serves only so many at once",
        Limit::Flush => "each write waits until it is durable",
        Limit::Unexplained => "nothing known binds",
    }
}

/// The limit's code, and how it is known: "(disk-iops, inferred)".
fn code(limit: Limit, known: LimitKnown) -> String {
    let known = match known {
        LimitKnown::Predicted => "predicted",
        LimitKnown::Presumed => "presumed",
        LimitKnown::Inferred => "inferred",
        LimitKnown::Declared => "declared",
        LimitKnown::Counted => "counted by the device",
    };
    format!("({}, {known})", limit.name())
}

/// "5,010 IOPS (41.0 MB/s)"; across a burst's end "3,000 IOPS for 30 s, then 500 (2.05 MB/s), which lasts,".
fn rate(rate: LevelRate) -> String {
    let (Some(iops), Some(bytes)) = (rate.iops, rate.bytes_per_s) else { return String::new() };
    let (iops, bytes) = (number(iops), throughput(bytes));
    match rate.before {
        Some(before) => {
            let (before, long) = (number(before.iops), how_long(before.before_ns));
            format!("{before} IOPS {long}, then {iops} ({bytes}), which lasts,")
        }
        None => format!("{iops} IOPS ({bytes})"),
    }
}

/// The same in bytes alone.
fn rate_in_bytes(rate: LevelRate) -> String {
    let bytes = throughput(rate.bytes_per_s.unwrap_or(0.0));
    match rate.before {
        Some(before) => {
            format!("{} {}, then {bytes}, which lasts,", throughput(before.bytes_per_s), how_long(before.before_ns))
        }
        None => bytes,
    }
}

fn means(meaning: &Meaning) -> String {
    match meaning {
        Meaning::TrialsOnTwoLevels(found) => {
            format!("Its trials had {}: something changed between them.", levels(*found))
        }
        Meaning::TrialsApart { trials, least_iops, most_iops } => format!(
            "Its {} lie far apart, between {} and {} IOPS: the mean is a guess.",
            counted(*trials, "trial"),
            number(*least_iops),
            number(*most_iops)
        ),
        Meaning::Rose(found) => format!("It had {}: something changed while it was measured.", rise(found)),
        Meaning::DeeperBringsNothing { times, at } => format!(
            "{} times as many at once brought no more than {at}: they are served one after the other, and more depth brings nothing.",
            number(*times)
        ),
        Meaning::DeeperBringsLittle { times, faster, at } => format!(
            "{} times as many at once brought {faster:.1} times the rate of {at}: still more at once would bring little.",
            number(*times)
        ),
        Meaning::OfLimit { limit } => of_limit(*limit).to_owned(),
        Meaning::NoCredits => {
            "There were no credits to begin with; with some there is more, as long as they last.".to_owned()
        }
        Meaning::MoreByArrivals { at, iops } => {
            format!("At {at} the same requests came to {} IOPS.", number(*iops))
        }
        Meaning::Uncertain { here, deepest: Some(deepest) } => {
            format!("The model's uncertainty: {}, and {}.", uncertain(deepest), uncertain(here))
        }
        Meaning::Uncertain { here, deepest: None } => {
            format!("The model's uncertainty: {}.", uncertain(here))
        }
        Meaning::DeeperAdds { added, objective } => {
            let added = added.as_ref().map(|deep| {
                format!("more at once only adds waiting, {} on average at {}", span(deep.mean_ns), deep.at)
            });
            let parts: Vec<String> = added.into_iter().chain(objective.as_ref().map(kept)).collect();
            format!("{}.", capital(&parts.join("; ")))
        }
        Meaning::InBytes { rate, block, operation, limit } => {
            let by = limit.map_or_else(String::new, |limit| match limit {
                Limit::Unexplained => ", where what stops them is unexplained".to_owned(),
                Limit::Latency => ", where only latency bounds them".to_owned(),
                limit => format!(", where {} ({})", what_binds(limit), limit.name()),
            });
            let what = match operation {
                Some(Operation::Read) => "reads",
                Some(Operation::Write) => "writes",
                _ => "requests",
            };
            format!("In bytes the most is {} with {block} {what}{by}.", rate_in_bytes(*rate))
        }
        Meaning::LeftOnceSpent { iops } => {
            format!("Once what was saved up is spent, {} IOPS are left, which is what to plan with.", number(*iops))
        }
        Meaning::Follows { limit, iops, above, is_near } => {
            let above = format!("{} follows at {} IOPS, {} above", limit.name(), number(*iops), percent(*above));
            if *is_near {
                format!("Lifting it alone gains next to nothing: {above}.")
            } else {
                format!("Beyond it {above}.")
            }
        }
        Meaning::Doubted { at, doubts } => {
            let told: Vec<String> =
                doubts.iter().map(|doubt| format!("{} ({})", doubt.code.name(), doubt.meaning)).collect();
            format!("In doubt at {at}: {}.", told.join("; "))
        }
        Meaning::HeldAbove { at } => {
            format!("At {at} most requests wait above the device: the limit need not be the device's.")
        }
        Meaning::WatchGain { gain } => capital(&watch::gain(*gain)),
        Meaning::Backlog => "What is not completed waits, and the longer the load lasts the longer.".to_owned(),
    }
}

fn uncertain(rate: &UncertainRate) -> String {
    format!("{} to {} IOPS at {}", number(rate.low_iops), number(rate.high_iops), rate.at)
}

/// "20 ms on average is kept up to depth 64".
fn kept(objective: &DepthObjective) -> String {
    let figure = match objective.figure {
        LatencyFigure::Mean => "on average".to_owned(),
        figure => format!("at {}", figure.words()),
    };
    let rule = format!("{} {figure}", Duration::from_ns(objective.limit_ns));
    match &objective.kept {
        DepthKept::Everywhere => format!("{rule} is kept at every depth tried"),
        DepthKept::UpTo(at) => format!("{rule} is kept up to {at}"),
        DepthKept::Nowhere => format!("{rule} is missed at every depth tried"),
    }
}

/// What a limit says of a figure.
const fn of_limit(limit: Limit) -> &'static str {
    match limit {
        Limit::Cpu | Limit::Generator => {
            "The storage was not asked for all that it can do: this is the least that it does, not the most."
        }
        Limit::Cache => "What the cache does not hold goes at the disk's own rate, which this load does not show.",
        Limit::Memory => "Most reads are of data that was in memory before.",
        Limit::BurstExhausted => "The rate before the fall is there only as long as credits last.",
        Limit::VmUncachedIops | Limit::VmUncachedThroughput => {
            "The disks could do more than the VM lets through, and all its disks share what it does."
        }
        Limit::Latency => "No limit of the storage has been reached yet; one lies further up.",
        Limit::Interface => "What the devices could do by themselves does not come through.",
        Limit::Parallelism => "More requests at once wait for the others; no limit on requests or bytes was seen.",
        Limit::Flush => "The time until data is durable stops the writes, with what the file system's journal adds.",
        Limit::VmCachedIops | Limit::VmCachedThroughput => {
            "What the host's cache answers counts against the VM; the disks by themselves do what they do without it."
        }
        Limit::DiskIops | Limit::DiskThroughput | Limit::Arrival | Limit::Unexplained => "",
    }
}
