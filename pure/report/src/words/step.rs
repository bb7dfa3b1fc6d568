//! What to do, in sentences.

use super::verdict::{instead_of_range, on_hosts};
use super::watch;
use loadline_analysis::{AdvisedStep, DiskCheck};
use loadline_record::Limit;
use loadline_units::words::{capital, number, percent};

/// As a sentence.
pub(super) fn step(step: &AdvisedStep) -> String {
    match step {
        AdvisedStep::WatchNext { step } => capital(&watch::next(step)),
        step => format!("{}.", capital(words(step).trim_end_matches('.'))),
    }
}

fn words(step: &AdvisedStep) -> String {
    let text = match step {
        AdvisedStep::WatchNext { step } => return watch::next(step),
        AdvisedStep::FindChangeBetween => "First find out what changed between the trials, and measure again",
        AdvisedStep::FindChangeWithin => "First find out what changed while it was measured, and measure again",
        AdvisedStep::RealStorage => {
            "Measure in a directory there before counting on it: a limit on the way was not published"
        }
        AdvisedStep::FindFailures => {
            "First find out why requests failed; the doubts tell the first of them. A rate with failures in it is not the storage's"
        }
        AdvisedStep::FreeTool => {
            "First measure where nothing stops the tool itself: without a CPU quota, on a machine with CPU to spare"
        }
        AdvisedStep::FillFirst => {
            "First measure what is written (fill in the plan) and larger than every cache: this was not the disk's own rate"
        }
        AdvisedStep::BeAlone => "First measure again with nothing else on the device",
        AdvisedStep::Longer { .. } => {
            "Before relying on the rate, measure for minutes: a burst looks the same in seconds"
        }
        AdvisedStep::Faster => "a disk that answers faster (no head that seeks), or fewer and larger requests",
        AdvisedStep::Lift { command } => {
            return format!("if this limit is not meant, lift it; that costs nothing: {command}");
        }
        AdvisedStep::FindWhoHolds => {
            "look first for what keeps requests above the device: a throttle of the kernel (io.max or blkio of the cgroup), \
             a queue limit or the file system; lifting that costs nothing. If it is meant, fewer and larger requests, or a higher limit"
        }
        AdvisedStep::MoveLimit { limit, check } => return moved(*limit, *check),
        AdvisedStep::LargerRange { .. } => {
            "measure a range larger than the cache before counting on this rate for what is not cached"
        }
        AdvisedStep::InsteadOfRange(instead) => instead_of_range(*instead),
        AdvisedStep::OnHosts { limit } => on_hosts(*limit),
        AdvisedStep::OwnCpus { taken } => {
            return format!(
                "a VM size with CPUs of its own: the hypervisor took {} of the CPU time, and no change of the storage gives that back",
                percent(*taken)
            );
        }
        AdvisedStep::StopOthers { share, busiest } => {
            let named = busiest
                .as_ref()
                .map_or_else(String::new, |name| format!(" (the one that read and wrote most was {name})"));
            return format!(
                "stop what else runs on this machine, which had {} of the busy CPU time{named}, and measure again before changing anything",
                percent(*share)
            );
        }
        AdvisedStep::MoreCpus => {
            "a machine with more or faster CPUs, or larger requests, which cost less CPU for each byte"
        }
        AdvisedStep::VaryFactors => "vary one factor at a time and see which moves it",
        AdvisedStep::AndLift { step, limit, iops } => {
            let by = lift(*limit);
            return format!("{}; and {by}, since {} follows at {} IOPS", words(step), limit.name(), number(*iops));
        }
    };
    text.to_owned()
}

/// What would move a limit, and what would not.
fn moved(limit: Limit, check: Option<DiskCheck>) -> String {
    let text = mover(limit);
    match check {
        None => text.to_owned(),
        Some(DiskCheck::AsDeclared) => format!(
            "find out what holds it, for the environment declares more than this for the disk and has nothing else that binds here: a \
             throttle, pauses, or another disk or size than declared. If the rate is the disk's own after all, {text}"
        ),
        Some(DiskCheck::AsSold) => format!(
            "compare this rate with what the disk is sold with. If they agree, {text}. If the disk should do more, a limit of the \
             VM or of a throttle looks the same from here. To distinguish them, measure two disks at once, or declare the disk \
             in an environment"
        ),
    }
}

const fn mover(limit: Limit) -> &'static str {
    match limit {
        Limit::DiskIops => "fewer and larger requests, a disk with more requests per second, or more disks in a stripe",
        Limit::DiskThroughput => {
            "a disk with more bytes per second, or more disks in a stripe; larger requests do not help"
        }
        Limit::VmUncachedIops | Limit::VmUncachedThroughput => {
            "a larger VM size; faster disks, or more of them, would change nothing"
        }
        Limit::VmCachedIops | Limit::VmCachedThroughput => {
            "a larger VM size, or the host's cache off where the disks by themselves allow more"
        }
        Limit::BurstExhausted => "plan with the rate after the burst, or take a disk whose baseline is high enough",
        Limit::Latency => "have more requests in flight (deeper queues, more threads) before buying anything",
        Limit::Arrival => "offer more, to see where it stops",
        Limit::Generator => "more load threads (threads in the plan), or a larger machine to measure from",
        Limit::Interface => "devices on another interface",
        Limit::Parallelism => {
            "storage that answers faster or serves more at once, or more disks in a stripe; more depth brings little"
        }
        Limit::Flush => {
            "make several writes durable with one flush, or take a disk that makes writes durable faster (a cache with a battery)"
        }
        Limit::Memory => "give it more memory: what is read again then needs no storage",
        // These have steps of their own.
        Limit::Cache | Limit::Cpu | Limit::Unexplained => "",
    }
}

/// What would move the limit that follows right above the one that binds, too.
const fn lift(limit: Limit) -> &'static str {
    match limit {
        Limit::DiskIops => "fewer requests or a disk with more of them per second",
        Limit::DiskThroughput => "a disk with more bytes per second",
        Limit::BurstExhausted => "a disk whose baseline is higher",
        Limit::Interface => "devices on another interface",
        _ => "a larger VM size",
    }
}
