//! What a watch shows of a device beside what holds it.

use crate::words::throttle::amount;
use crate::words::watch::{cause, clusters, gain, hidden, waiting};
use loadline_analysis::{CeilingUse, DeviceMoves, EventsCost, ProgramFigures, ThrottleUse, WaitAbove, WatchSeen};
use loadline_record::{EventAsker, HiddenProcesses, WatchedLoop};
use loadline_units::words::{block, listed, number, percent, span, throughput};

pub(super) fn watched(seen: &WatchSeen) -> String {
    match seen {
        WatchSeen::Time { device, causes } => {
            let causes = causes.iter().map(|of| format!("{} ({})", cause(&of.cause), percent(of.share)));
            format!("where the time of {device} went: {}", listed(&causes.collect::<Vec<_>>()))
        }
        WatchSeen::AboveDevice { device, wait } => above_device(device, wait),
        WatchSeen::Programs { device, programs: of, device_moves, hidden } => {
            programs(device, of, *device_moves, *hidden)
        }
        WatchSeen::Requests { device, askers } => {
            let askers: Vec<String> = askers.iter().map(asker).collect();
            format!("whose requests reach {device}: {}", askers.join("; "))
        }
        WatchSeen::Clusters(found) => {
            format!("{}: a rate limiter lets them through.", clusters(found.answers, found.every_us, found.share))
        }
        WatchSeen::Arrivals { arrivals: of, in_flight } => arrivals(*of, *in_flight),
        WatchSeen::Gain { gain: of } => gain(*of),
        WatchSeen::Limits { device, throttles, ceilings } => {
            let all: Vec<String> = throttles.iter().map(throttle).chain(ceilings.iter().map(ceiling)).collect();
            format!("known limits of {device}, over the whole time: {}", all.join("; "))
        }
        WatchSeen::Cost { cpu_share, events } => cost(*cpu_share, *events),
    }
}

/// With how that is known, or what shows it.
fn above_device(device: &str, wait: &WaitAbove) -> String {
    let why = format!(
        "the latencies of {device} are the device's alone ({} on average): requests wait for the kernel's throttle before the device, \
         and neither its counters nor its events see them there",
        span(wait.device_ns)
    );
    if let (Some(ns), Some(threads)) = (wait.application_ns, wait.threads_blocked) {
        return format!(
            "{why}. The application waits about {} for each: on average {} of its threads were blocked in the kernel",
            span(ns),
            if threads < 9.95 { format!("{threads:.1}") } else { number(threads) }
        );
    }
    let pid = wait.pid.map_or_else(|| "PID".to_owned(), |pid| pid.to_string());
    format!(
        "{why}. How long the application waits does not show here. Its system calls show it: \
         `sudo timeout 10 strace -f -c -w -p {pid}`"
    )
}

fn programs(
    device: &str,
    programs: &[ProgramFigures],
    moves: Option<DeviceMoves>,
    others: Option<HiddenProcesses>,
) -> String {
    let named: Vec<String> = programs.iter().map(program).collect();
    let named = if named.is_empty() { "no program that shows".to_owned() } else { named.join("; ") };
    let whole = moves.map_or_else(String::new, |moves| {
        format!(
            ". The device itself reads {} and writes {}: a program's bytes are those of all devices, and its writes count when they enter \
             the page cache",
            throughput(moves.read_bytes_per_s),
            throughput(moves.write_bytes_per_s)
        )
    });
    let others = others.map_or_else(String::new, |of| format!(". Others may use it: {}", hidden(of)));
    format!("who uses {device}: {named}{whole}{others}")
}

fn program(program: &ProgramFigures) -> String {
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

fn asker(asker: &EventAsker) -> String {
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

fn arrivals(arrivals: WatchedLoop, in_flight: Option<f64>) -> String {
    match (arrivals, in_flight) {
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

fn throttle(throttle: &ThrottleUse) -> String {
    let used = throttle.asked_per_s.map_or_else(
        || "how much of it is asked for is not shown".to_owned(),
        |asked| format!("{} of it asked for", percent(asked / throttle.limit.per_s.max(1) as f64)),
    );
    format!("{} for control group {}: {used}", amount(&throttle.limit), throttle.limit.group)
}

fn ceiling(of: &CeilingUse) -> String {
    let (used, ceiling) = (percent(of.iops / of.ceiling_iops), number(of.ceiling_iops));
    format!("{} at {ceiling} IOPS for this load: {used} used", of.limit.name())
}

fn cost(cpu_share: f64, events: Option<EventsCost>) -> String {
    let events = events.map_or_else(String::new, |EventsCost { cpu_share, requests, lost }| {
        format!(
            ", the kernel's events {:.2} % of that CPU; they showed {} requests, and {lost} events were lost",
            cpu_share * 100.0,
            number(requests as f64)
        )
    });
    format!("watching took {:.2} % of one CPU{events}", cpu_share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_analysis::CauseShare;
    use loadline_record::{
        AnswersInClusters, KernelThrottle, Limit, ThrottledQuantity, ThrottledRequests, WatchCause, WatchGain,
    };

    fn sda() -> String {
        "sda".to_owned()
    }

    #[test]
    fn what_requests_wait_before_the_device_is_said_with_how_it_is_known_or_what_shows_it() {
        let of = |application_ns, threads_blocked| {
            let wait = WaitAbove { device_ns: 2e6, application_ns, threads_blocked, pid: Some(7) };
            watched(&WatchSeen::AboveDevice { device: sda(), wait })
        };
        let seen = of(Some(160e6), Some(8.0));
        assert!(
            seen.ends_with("about 160 ms for each: on average 8.0 of its threads were blocked in the kernel"),
            "{seen}"
        );
        let unseen = of(None, None);
        assert!(unseen.starts_with("the latencies of sda are the device's alone (2.00 ms on average): "), "{unseen}");
        assert!(
            unseen.ends_with("does not show here. Its system calls show it: `sudo timeout 10 strace -f -c -w -p 7`")
        );
    }

    #[test]
    fn programs_are_said_with_what_their_device_moves_and_with_who_cannot_be_seen() {
        let db = ProgramFigures {
            name: "db".to_owned(),
            pid: 7,
            processes: 2,
            named: true,
            read_bytes_per_s: 8e6,
            write_bytes_per_s: 0.0,
            cpus: 0.5,
            share: None,
        };
        let moves = DeviceMoves { read_bytes_per_s: 4_096_000.0, write_bytes_per_s: 0.0 };
        let of = |programs: &[ProgramFigures], device_moves, hidden| {
            watched(&WatchSeen::Programs { device: sda(), programs: programs.to_vec(), device_moves, hidden })
        };
        assert_eq!(
            of(&[db], Some(moves), None),
            "who uses sda: db (7, 2 processes) reads 8.00 MB/s and writes 0.00 kB/s of storage, 0.50 CPUs. The device itself reads \
             4.10 MB/s and writes 0.00 kB/s: a program's bytes are those of all devices, and its writes count when they enter the page cache"
        );
        // Root is not told to become root.
        for (by_root, said) in [
            (false, "12 processes of other users cannot be seen: run as root to see them"),
            (true, "12 processes cannot be seen from here: run this with CAP_SYS_PTRACE, or outside of the container"),
        ] {
            let text = of(&[], None, Some(HiddenProcesses { processes: 12, by_root }));
            assert_eq!(text, format!("who uses sda: no program that shows. Others may use it: {said}"));
        }
    }

    #[test]
    fn everything_else_that_a_watch_shows_is_one_sentence_with_its_figures() {
        let limit = KernelThrottle {
            requests: ThrottledRequests::Reads,
            counts: ThrottledQuantity::Requests,
            per_s: 1_000,
            group: "/db".into(),
            file: String::new(),
            lifted_by: String::new(),
        };
        let asker = EventAsker {
            name: "db".to_owned(),
            pid: 7,
            reads: 12_000,
            read_bytes: 12_000 * 4_096,
            flushes: 3,
            latency_mean_ns: 16_000_000,
            latency_p99_ns: 99_000_000,
            ..EventAsker::default()
        };
        let of = |cause, share| CauseShare { cause, limit: None, share };
        let causes = vec![of(WatchCause::Answers, 0.7), of(WatchCause::NoWork, 0.3)];
        let throttles = vec![ThrottleUse { limit, asked_per_s: Some(200.0) }];
        let ceilings = vec![CeilingUse { limit: Limit::DiskIops, ceiling_iops: 500.0, iops: 200.0 }];
        for (seen, said) in [
            (
                WatchSeen::Time { device: sda(), causes },
                "where the time of sda went: waiting for the device's answers (70 %) and the device waits for work (30 %)",
            ),
            (
                WatchSeen::Requests { device: sda(), askers: vec![asker] },
                "whose requests reach sda: db (7) 12,000 reads of 4 KiB and 3 flushes, mean 16.0 ms, p99 99.0 ms",
            ),
            (
                WatchSeen::Clusters(AnswersInClusters { answers: 100.0, every_us: 100_000, share: 0.97 }),
                "Answers come in clusters of 100 on average, one every 100 ms (97 % of them): a rate limiter lets them through.",
            ),
            (
                WatchSeen::Arrivals { arrivals: WatchedLoop::Closed, in_flight: Some(4.0) },
                "it works in a closed loop: about 4.0 requests wait at any time, and answers decide when more come",
            ),
            (
                WatchSeen::Gain { gain: WatchGain::Nothing { asked: false } },
                "faster storage gains nothing here: nothing asked it for anything",
            ),
            (
                WatchSeen::Limits { device: sda(), throttles, ceilings },
                "known limits of sda, over the whole time: 1,000 reads/s for control group /db: 20 % of it asked for; disk-iops at 500 \
                 IOPS for this load: 40 % used",
            ),
            (
                WatchSeen::Cost {
                    cpu_share: 0.002,
                    events: Some(EventsCost { cpu_share: 0.001, requests: 12_000, lost: 1 }),
                },
                "watching took 0.20 % of one CPU, the kernel's events 0.10 % of that CPU; they showed 12,000 requests, and 1 events were \
                 lost",
            ),
        ] {
            assert_eq!(watched(&seen), said);
        }
    }
}
