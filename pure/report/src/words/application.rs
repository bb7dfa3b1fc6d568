//! What an application does while its device waits for work, in words.

use loadline_record::{ApplicationAt, ThreadsWaiting};
use loadline_units::words::number;

/// What a program does while its device waits for work.
pub(super) fn at_work(program: &str, at: ApplicationAt) -> String {
    match at {
        ApplicationAt::Computing => format!("{program} computes"),
        ApplicationAt::Locks => format!("{program} waits for a lock"),
        ApplicationAt::Threads => format!("threads of {program} wait for one another"),
        ApplicationAt::Sockets => {
            format!("{program} waits at its sockets, for its clients or for what it asked of others")
        }
        ApplicationAt::Processes => format!("{program} waits for another process"),
        ApplicationAt::Pauses => format!("{program} pauses"),
    }
}

/// "it uses 0.30 CPUs; threads that wait: 3.0 for locks, 1.0 at sockets".
pub(super) fn waits_of(cpus: f64, threads: &ThreadsWaiting) -> String {
    let all = [
        (threads.locks, "for locks"),
        (threads.threads, "for one another"),
        (threads.sockets, "at sockets"),
        (threads.processes, "for other processes"),
        (threads.pauses, "for the end of a pause"),
    ];
    let seen = all.into_iter().filter(|(count, _)| *count >= 0.05);
    let seen: Vec<String> = seen.map(|(count, what)| format!("{} {what}", few(count))).collect();
    let used = format!("it uses {cpus:.2} CPUs");
    if seen.is_empty() { used } else { format!("{used}; threads that wait: {}", seen.join(", ")) }
}

/// "3.2", "12".
pub(super) fn few(count: f64) -> String {
    if count < 9.95 { format!("{count:.1}") } else { number(count) }
}

/// What to do about it.
pub(super) const fn step(at: ApplicationAt) -> &'static str {
    match at {
        ApplicationAt::Computing => "let it work on more at once, or give it a faster CPU",
        ApplicationAt::Locks => "find who holds the lock that it waits for",
        ApplicationAt::Threads => "see which of its threads the others wait for",
        ApplicationAt::Sockets => "see who is slow at the other end of its sockets",
        ApplicationAt::Processes => "see what the other process does",
        ApplicationAt::Pauses => "see why it pauses",
    }
}
