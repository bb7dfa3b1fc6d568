//! Sentences about a device that others use.

use loadline_analysis::HeldBy;
use loadline_record::{HiddenProcesses, KernelThrottle, Rate, WatchCause, WatchFact};
use loadline_units::words::{number, percent, seconds, span, throughput};

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
            let claim = format!(
                "Answers come in clusters of {} on average, one every {} ({} of them)",
                number(*answers),
                span(*every_us as f64 * 1e3),
                percent(*share)
            );
            return (claim, Some("a rate limiter lets them through".to_owned()));
        }
        WatchFact::FlushesAwaited { each_ns, per_s, in_flight, share_of_time } => {
            let claim = format!("Flushes take {} each, {} a second", span(*each_ns), number(*per_s));
            let detail = format!(
                "{} goes into making writes durable, with {} outstanding",
                of_the_time(*share_of_time),
                waiting(*in_flight)
            );
            return (claim, Some(detail));
        }
        WatchFact::AnswersAwaited { each_ns, in_flight, share_of_time } => {
            let claim = format!(
                "For {} the device has requests, {} at a time, and each takes {}",
                of_the_time(*share_of_time),
                waiting(*in_flight),
                span(*each_ns)
            );
            return (claim, Some("the rate is what that gives, and no level shows".to_owned()));
        }
        WatchFact::QuotaUsedUp { program, periods_share, busy_share } => format!(
            "The CPU quota of {program} ran out in {} of its periods, and the device had requests for {} of the time",
            percent(*periods_share),
            percent(*busy_share)
        ),
        WatchFact::CpuAwaited { program, share_of_time, busy_share } => format!(
            "{} waits for a CPU, {}; the device had requests for {} of the time",
            program.as_deref().unwrap_or("The application"),
            of_the_time(*share_of_time),
            percent(*busy_share)
        ),
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
            let claim =
                format!("The device had requests for {} of the time, and no known limit was reached", percent(*busy_share));
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

/// A throttle's amount: "3,000 reads/s".
fn amount(limit: &KernelThrottle) -> String {
    HeldBy { device: String::new(), devices: 1, limit: limit.clone() }.amount()
}

/// "3.2 requests", "12 requests".
fn waiting(in_flight: f64) -> String {
    match in_flight {
        few if few < 9.95 => format!("{few:.1} requests"),
        many => format!("{} requests", number(many)),
    }
}

/// "all of the time", "83 % of the time".
fn of_the_time(share: f64) -> String {
    if share > ALL { "all of the time".to_owned() } else { format!("{} of the time", percent(share)) }
}

/// What a share of the time went to.
pub(crate) fn cause(cause: &WatchCause) -> String {
    match cause {
        WatchCause::Throttle { throttle } => {
            format!("a kernel throttle in control group {} ({})", throttle.group, amount(throttle))
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
    use loadline_record::{ThrottledQuantity, ThrottledRequests};

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
}
