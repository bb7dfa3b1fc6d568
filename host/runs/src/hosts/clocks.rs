//! Clocks of hosts, compared by messages through a pipe: a program asks, another on the host answers with its wall clock.
//!
//! One line goes there and one comes back, a hundred times. Whatever connects both carries it, such as ssh.

use crate::{Error, HostsRefusal, InputKind, Refusal, read_text, wall_clock};
use loadline_analysis::{ClockExchange, ClockReading};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// Exchanges in a comparison by default.
pub const EXCHANGES_DEFAULT: u32 = 100;
/// The schema of a line in a file of comparisons.
pub const CLOCKS_SCHEMA: &str = "loadline.clocks/1";
/// What asks for the time, and what ends the answers.
const ASK: &str = "time\n";
/// A line of an answer at most, and lines that a shell of the host may print before the first answer.
const LINE_MAX: usize = 4_096;
const GREETINGS_MAX: u32 = 100;
/// The word before an answer: what a login shell prints is no answer.
const ANSWER: &str = "loadline-clock";

/// Why a clock was not compared.
#[derive(Debug, thiserror::Error)]
pub enum ClockError {
    /// The command does not start.
    #[error("cannot start `{command}`")]
    NotStarted {
        /// The command.
        command: String,
        /// Why not.
        source: io::Error,
    },
    /// What answers is not loadline, or it stopped.
    #[error("no answer of `loadline clock serve` came through `{command}`: {said}")]
    NoAnswer {
        /// The command.
        command: String,
        /// What came instead.
        said: String,
    },
    /// Its clock or the one here went back all the time.
    #[error("a clock went back during every exchange: clocks that are being set cannot be compared")]
    WentBack,
}

/// Hosts whose clocks were compared at one time: a line of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClocksCompared {
    /// [`CLOCKS_SCHEMA`].
    pub schema: String,
    /// By the name of the host.
    pub hosts: BTreeMap<String, ClockReading>,
}

impl ClocksCompared {
    /// Of these hosts.
    #[must_use]
    pub fn of(hosts: BTreeMap<String, ClockReading>) -> Self {
        Self { schema: CLOCKS_SCHEMA.to_owned(), hosts }
    }

    /// The line, without its end.
    #[must_use]
    pub fn line(&self) -> String {
        serde_json::to_string(self).expect("readings are plain data")
    }
}

/// Answers each line with the wall clock, until there is none.
///
/// # Errors
/// The other side went away.
pub fn serve_clock(asked: impl io::Read, mut answers: impl Write, wall_ns: &dyn Fn() -> u64) -> io::Result<()> {
    let mut asked = BufReader::new(asked);
    let mut line = String::new();
    loop {
        line.clear();
        if io::Read::take(&mut asked, LINE_MAX as u64).read_line(&mut line)? == 0 {
            return Ok(());
        }
        let received_ns = wall_ns();
        if line == ASK {
            writeln!(answers, "{ANSWER} {received_ns} {}", wall_ns())?;
            answers.flush()?;
        }
    }
}

/// Asks what answers at the other end of two pipes. `command` names it in errors.
///
/// # Errors
/// [`ClockError`].
pub(crate) fn ask_clock(
    mut asks: impl Write,
    answers: impl io::Read,
    count: u32,
    wall_ns: &dyn Fn() -> u64,
    command: &str,
) -> Result<ClockReading, ClockError> {
    let failed = |said: String| ClockError::NoAnswer { command: command.to_owned(), said };
    let mut answers = BufReader::new(answers);
    let mut exchanges = Vec::new();
    let (mut greetings, mut last) = (0, String::new());
    for _ in 0..count.max(1) {
        let sent_ns = wall_ns();
        // One that went away is read to its end, which says more than a pipe without a reader.
        let _ = asks.write_all(ASK.as_bytes()).and_then(|()| asks.flush());
        let (received_ns, answered_ns, back_ns) = loop {
            let mut line = String::new();
            let read = io::Read::take(&mut answers, LINE_MAX as u64).read_line(&mut line);
            let back_ns = wall_ns();
            match read {
                Ok(0) if last.is_empty() => return Err(failed("it ended without a word".to_owned())),
                Ok(0) => return Err(failed(format!("it ended after {last:?}"))),
                Ok(_) => {}
                Err(error) => return Err(failed(error.to_string())),
            }
            if let Some((received_ns, answered_ns)) = answer(&line) {
                break (received_ns, answered_ns, back_ns);
            }
            line.trim().clone_into(&mut last);
            greetings += 1;
            if greetings > GREETINGS_MAX {
                return Err(failed(format!("it said {last:?}")));
            }
        };
        exchanges.push(ClockExchange { sent_ns, received_ns, answered_ns, back_ns });
    }
    ClockReading::best_of(&exchanges).ok_or(ClockError::WentBack)
}

fn answer(line: &str) -> Option<(u64, u64)> {
    let (received, answered) = line.trim().strip_prefix(ANSWER)?.trim().split_once(' ')?;
    Some((received.parse().ok()?, answered.parse().ok()?))
}

/// Compares the clock of a host with the one here. `command` is what runs `loadline clock serve` there, by the shell of this machine.
///
/// # Errors
/// [`ClockError`].
pub fn compare_clock(command: &str, count: u32) -> Result<ClockReading, ClockError> {
    let mut child = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|source| ClockError::NotStarted { command: command.to_owned(), source })?;
    let (asks, answers) = (child.stdin.take().expect("it is piped"), child.stdout.take().expect("it is piped"));
    let found = ask_clock(asks, answers, count, &wall_clock::unix_ns, command);
    // Its input is closed by now, which ends it.
    let _ = child.wait();
    found
}

/// All readings of a file of comparisons, by host.
///
/// # Errors
/// A [`Refusal`] where it cannot be read, or a line is no comparison.
pub fn read_clocks(path: &Path) -> Result<BTreeMap<String, Vec<ClockReading>>, Error> {
    let refused = |why: String| Refusal::from(HostsRefusal::NoClocks { file: path.to_owned(), why });
    let text = read_text(path, InputKind::Plan).map_err(|error| refused(error.to_string()))?;
    let mut all: BTreeMap<String, Vec<ClockReading>> = BTreeMap::new();
    for (number, line) in (1..).zip(text.lines()) {
        let found: ClocksCompared =
            serde_json::from_str(line).map_err(|error| refused(format!("line {number}: {error}")))?;
        if found.schema != CLOCKS_SCHEMA {
            return Err(refused(format!("line {number} is of schema {:?}", found.schema)).into());
        }
        for (host, reading) in found.hosts {
            all.entry(host).or_default().push(reading);
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_analysis::clock_at;
    use std::net::{TcpListener, TcpStream};

    /// A clock that is hours ahead and too fast by 500 ppm, counted from `since_ns`.
    fn other(since_ns: u64, wall_ns: u64) -> u64 {
        wall_ns + 7_200_000_000_000 + (wall_ns - since_ns) / 2_000
    }

    #[test]
    fn a_clock_of_another_host_is_known_within_the_error_that_is_told() {
        let since_ns = wall_clock::unix_ns();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            for _ in 0..2 {
                let (stream, _) = listener.accept().unwrap();
                stream.set_nodelay(true).unwrap();
                let shows = || other(since_ns, wall_clock::unix_ns());
                serve_clock(stream.try_clone().unwrap(), stream, &shows).unwrap();
            }
        });
        let compared = || {
            let stream = TcpStream::connect(address).unwrap();
            stream.set_nodelay(true).unwrap();
            ask_clock(stream.try_clone().unwrap(), stream, 50, &wall_clock::unix_ns, "tcp").unwrap()
        };
        let readings = [compared(), compared()];
        server.join().unwrap();
        let at = readings[0].at_unix_ns.midpoint(readings[1].at_unix_ns);
        let truth = other(since_ns, at) - at;
        let found = clock_at(&readings, at).unwrap();
        let off = found.offset_ns.abs_diff(truth.cast_signed());
        assert!(off <= found.error_ns + found.error_ns / 1_000, "{off} {found:?}");
        assert!(readings.iter().all(|reading| reading.exchanges == 50));
    }

    #[test]
    fn what_a_shell_prints_first_is_passed_over_and_what_is_no_loadline_is_an_error() {
        let greeted = |said: &str| ask_clock(io::sink(), said.as_bytes(), 1, &wall_clock::unix_ns, "ssh node1");
        let now = wall_clock::unix_ns();
        // Its time lies between the two of this side.
        assert!(greeted(&format!("Welcome to node1\n{ANSWER} {now} {now}\n")).is_ok());
        let error = greeted("bash: loadline: command not found\n").unwrap_err().to_string();
        assert!(error.contains("ssh node1") && error.contains("it ended after \"bash: loadline"), "{error}");
        let endless = "no\n".repeat(200);
        assert!(greeted(&endless).unwrap_err().to_string().contains("it said \"no\""));
    }

    #[test]
    fn comparisons_of_a_file_are_readings_of_each_host() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("clocks.json");
        let reading = |at_unix_ns| ClockReading { at_unix_ns, offset_ns: -7, error_ns: 3, exchanges: 100 };
        let line = |at| ClocksCompared::of(BTreeMap::from([("node1".to_owned(), reading(at))])).line();
        std::fs::write(&path, format!("{}\n{}\n", line(1), line(2))).unwrap();
        assert_eq!(read_clocks(&path).unwrap(), BTreeMap::from([("node1".to_owned(), vec![reading(1), reading(2)])]));
        std::fs::write(&path, "{\"schema\":\"loadline.clocks/9\",\"hosts\":{}}\n").unwrap();
        assert!(read_clocks(&path).unwrap_err().to_string().contains("line 1"));
    }
}
