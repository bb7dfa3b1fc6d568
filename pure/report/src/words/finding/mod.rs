//! Findings in sentences.

mod device_watch;
mod objective;
mod rates;
mod trials;

pub(super) use trials::{levels, rise};

use super::ceiling_source;
use super::disks::scaling_sentences;
use super::evidence::evidence;
use super::hosts;
use loadline_analysis::{CellDoubts, Finding, FindingSeen, RunSummary, TogetherLoad};
use loadline_record::{DoubtCode, Limit, RunStatus};
use loadline_units::Duration;
use loadline_units::words::{capital, counted, listed, number, span, throughput};

/// What was found, in a sentence or two.
#[must_use]
pub fn finding(summary: &RunSummary, finding: &Finding) -> String {
    let cell = || summary.cells.iter().find(|cell| finding.cells.contains(&cell.id));
    let mut text = said(finding);
    if let (FindingSeen::BoundBy { .. }, Some(binding)) = (&finding.seen, cell().and_then(|cell| cell.binding.as_ref()))
    {
        text = format!("{text} {}", evidence(&binding.seen));
    }
    match &finding.volume {
        Some(volume) => format!("{volume}: {text}"),
        None => capital(&text),
    }
}

fn said(finding: &Finding) -> String {
    match &finding.seen {
        FindingSeen::Written { text } => text.clone(),
        FindingSeen::Damaged { faults, blocks, first } => {
            let first = first.as_ref().map_or_else(String::new, |first| {
                format!(" The first lies at offset {}: {}.", first.offset, first.detail.trim_end_matches('.'))
            });
            let (faults, blocks) = (number(*faults as f64), number(*blocks as f64));
            format!("Data was lost or damaged: {faults} of {blocks} blocks read back were not what was written.{first}")
        }
        FindingSeen::Undamaged { blocks: 0 } => {
            "Nothing was read back although it was asked for: no block had been written.".to_owned()
        }
        FindingSeen::Undamaged { blocks } => {
            format!("All of {} blocks read back were what was written.", number(*blocks as f64))
        }
        FindingSeen::MostRequests { loads } => rates::most_requests(loads),
        FindingSeen::MostBytes { loads } => rates::most_bytes(loads),
        FindingSeen::OfApplications { loads } => rates::of_applications(loads),
        FindingSeen::DeclaredSurpassed { load, iops, ceiling } => format!(
            "{} had {} IOPS ({}), {:.1} times what the environment declares: {} at {} IOPS ({}) does not hold here.",
            load.load,
            number(*iops),
            load.at,
            iops / ceiling.iops,
            ceiling.limit.name(),
            number(ceiling.iops),
            ceiling_source(&ceiling.source)
        ),
        FindingSeen::BoundBy { load, limit: Limit::Unexplained } => {
            format!("{} at {}: what stops them is unexplained.", load.load, load.at)
        }
        FindingSeen::BoundBy { load, limit } => {
            format!("{} at {}: they are bound by {}.", load.load, load.at, limit.name())
        }
        FindingSeen::InClusters { load, clusters, is_level, others } => {
            rates::in_clusters(load, clusters, *is_level, *others)
        }
        FindingSeen::Alone { loads } => rates::alone(loads),
        FindingSeen::Tool { iops, label } => {
            format!("the tool by itself, without storage, does {} requests a second ({label}).", number(*iops))
        }
        FindingSeen::Disks(scaling) => scaling_sentences(scaling).join(" "),
        FindingSeen::Incomplete { status, trials_done, trials, cells_empty } => {
            incomplete(*status, *trials_done, *trials, *cells_empty)
        }
        FindingSeen::EmulationGoesOn { is_asked: false } => {
            "The emulation goes on, or was killed: nothing had been asked of it when its record was last kept."
                .to_owned()
        }
        FindingSeen::EmulationGoesOn { is_asked: true } => {
            "The emulation goes on, or was killed: these are its figures when they were last kept.".to_owned()
        }
        FindingSeen::BurstEnded { load, stage, at_ns, range_ns, rates } => {
            rates::burst_ended(load, *stage, *at_ns, *range_ns, *rates)
        }
        FindingSeen::MoreBurstsEnded { bursts } => {
            format!("{} more ended while their load went on.", counted(*bursts, "burst"))
        }
        FindingSeen::Doubted { doubts, cells } => {
            let parts: Vec<String> = doubts.iter().map(|doubt| doubted(doubt, *cells)).collect();
            format!("To be doubted: {}.", parts.join("; "))
        }
        FindingSeen::FlushLatency { mean_ns, half_ns, p99_ns, max_ns, calls, rule, is_few, doubts } => {
            let doubts = if *is_few { few(doubts) } else { in_doubt(doubts) };
            let takes = format!("making a write durable (fdatasync) takes {}", rates::mean(*mean_ns, *half_ns));
            rates::flushes(&takes, *p99_ns, *max_ns, *calls, *rule, &doubts)
        }
        FindingSeen::LevelsOff(plateau) => rates::plateau(plateau),
        FindingSeen::MoreLevelOff { loads } => {
            format!("{} more level off within the depths measured.", counted(*loads, "load"))
        }
        FindingSeen::Replayed { late_p99_ns, achieved_iops, offered_iops } => format!(
            "99 % of the requests went out at most {} after they were due; {} of {} requests/s were reached ({:+.2} %).",
            span(*late_p99_ns),
            number(*achieved_iops),
            number(*offered_iops),
            (achieved_iops / offered_iops - 1.0) * 100.0
        ),
        FindingSeen::RateRose { load, rise, others } => format!(
            "something changed while it was measured: {} at {} had {}.{} A mean over all of it is the rate of neither. Other load \
             that went, a cache that was filled and a limit set anew do that: find out which, and measure again.",
            load.load,
            load.at,
            trials::rise(rise),
            show(*others, "the like")
        ),
        FindingSeen::StandsStill(stalls) => rates::stands_still(stalls),
        FindingSeen::Together { loads, iops, bytes_per_s, limit } => {
            let held = limit.map_or_else(String::new, |limit| format!("; what stopped them is {}", limit.name()));
            let bytes = bytes_per_s.map_or_else(String::new, |bytes| format!(" and {}", throughput(bytes)));
            let each: Vec<String> = loads.iter().map(beside).collect();
            let (each, all) = (listed(&each), number(*iops));
            format!("At the same time ran {each}: {all} requests a second{bytes} together{held}.")
        }
        FindingSeen::TrialsOnTwoLevels { load, since_ns, until_ns, levels, others } => {
            trials::on_two_levels(load, (*since_ns, *until_ns), *levels, *others)
        }
        FindingSeen::TrialsMove { load, change, first_bytes_per_s, last_bytes_per_s, trials, p_value } => {
            trials::moving(load, *change, (*first_bytes_per_s, *last_bytes_per_s), *trials, *p_value)
        }
        FindingSeen::FirstTrialDiffers { load, first_bytes_per_s, others_bytes_per_s, others, p_value } => {
            trials::first_differs(load, (*first_bytes_per_s, *others_bytes_per_s), *others, *p_value)
        }
        FindingSeen::NoTrend { cells, tested, trials_min, apart } => {
            trials::no_trend(*cells, *tested, *trials_min, apart.as_ref())
        }
        FindingSeen::SteadyBefore { reached, missed, rounds, round_ns } => {
            trials::steady_before(*reached, *missed, *rounds, *round_ns)
        }
        FindingSeen::Watched(seen) => device_watch::watched(seen),
        FindingSeen::MoreHosts { load, seen } => {
            format!("{} ({load}). It shows by this: {}.", hosts::limit(seen), hosts::shows(seen))
        }
        FindingSeen::HostsTogether(seen) => hosts::together(seen),
        FindingSeen::Objective(seen) => objective::turn(seen, finding.cells.len()),
        FindingSeen::MissedByOthers { load, objective, latency_ns, operation, doubts } => {
            let doubts = objective::doubts(doubts, finding.cells.len());
            let latency = objective::latency(*latency_ns, *operation);
            format!("{load} miss {}: {latency}.{doubts}", objective::name(*objective))
        }
        FindingSeen::KeptEverywhere { objective, loads, more, doubts } => {
            let doubts = objective::doubts(doubts, finding.cells.len());
            objective::kept_everywhere(*objective, loads, *more) + &doubts
        }
        FindingSeen::MoreLoseIt { loads } => {
            format!("for {} more the table shows where the latency objective is lost.", counted(*loads, "load"))
        }
    }
}

/// " 2 other cells show the same."; empty where there is none.
fn show(others: usize, what: &str) -> String {
    match others {
        0 => String::new(),
        1 => format!(" 1 other cell shows {what}."),
        several => format!(" {} show {what}.", counted(several, "other cell")),
    }
}

/// Doubts right behind a figure: "; in doubt: cached-reads"; empty where there is none.
fn in_doubt(doubts: &[DoubtCode]) -> String {
    if doubts.is_empty() { String::new() } else { format!("; in doubt: {}", codes(doubts)) }
}

/// The same of a figure that rests on few requests, too.
fn few(doubts: &[DoubtCode]) -> String {
    let few = DoubtCode::FewSamples;
    if doubts.is_empty() { in_doubt(&[few]) } else { format!("{} and {}", in_doubt(doubts), few.name()) }
}

fn codes(doubts: &[DoubtCode]) -> String {
    listed(&doubts.iter().map(|code| code.name().to_owned()).collect::<Vec<String>>())
}

/// "cpu-stolen in 1 of 2 cells (the hypervisor took CPU time away)".
fn doubted(doubt: &CellDoubts, all: usize) -> String {
    let place = match (doubt.cells, all) {
        (_, 1) => "the cell".to_owned(),
        (count, all) if count == all => format!("all {}", counted(all, "cell")),
        (count, all) => format!("{} of {}", number(count as f64), counted(all, "cell")),
    };
    format!("{} in {place} ({})", doubt.code, doubt.meaning)
}

fn incomplete(status: RunStatus, trials_done: usize, trials: usize, cells_empty: usize) -> String {
    let state = match status {
        RunStatus::Finished => "finished",
        RunStatus::Unfinished => "not finished",
        RunStatus::Interrupted => "interrupted",
        RunStatus::Failed => "ended by an error",
    };
    let without = match cells_empty {
        0 => String::new(),
        count => format!(", {} without figures", counted(count, "cell")),
    };
    format!("The run is {state}: {} of {} done{without}.", number(trials_done as f64), counted(trials, "trial"))
}

/// "log at 40 a second (p99 12 ms)"; of a load that flushes, what its flushes take.
fn beside(load: &TogetherLoad) -> String {
    let p99 = load.latency.map_or_else(String::new, |latency| {
        let what = if latency.of_flushes { "a flush, " } else { "" };
        format!(" ({what}p99 {})", span(latency.p99_ns as f64))
    });
    format!("{} at {} a second{p99}", load.load, number(load.iops))
}

/// "for 30 s", or "until what was saved up is spent".
pub(crate) fn how_long(before_ns: Option<u64>) -> String {
    match before_ns {
        Some(ns) => format!("for {}", Duration::from_ns(ns).clock()),
        None => "until what was saved up is spent".to_owned(),
    }
}
