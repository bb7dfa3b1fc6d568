//! What an application does around the copy of its files: programs before and after it, or one program for its whole length.
//!
//! A session reads `begin` and writes `ready`; then the copy is made; it reads `end` and writes `done`. If this process dies, the
//! program's input ends, and it undoes what it did.

use crate::error::ShelterError;
use loadline_shelter_policy::config::{Group, Moment};
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// How often a program is looked at that should end.
const LOOK: Duration = Duration::from_millis(5);
/// Characters of a program's last words at most.
const WORDS_MAX: usize = 200;

/// A group whose application was asked to let its files be.
#[derive(Debug)]
pub(crate) struct QuietGroup {
    group: String,
    /// The program that undoes what the first one did; it runs in any case.
    after: Option<Vec<String>>,
    timeout: Duration,
    session: Option<Session>,
}

impl QuietGroup {
    /// Runs what comes before the copy, then begins the session; `None` if the group has neither.
    pub(crate) fn begin(group: &Group) -> Result<Option<Self>, ShelterError> {
        let has_session = matches!(group.moment, Moment::Session(_));
        if group.before.is_none() && group.after.is_none() && !has_session {
            return Ok(None);
        }
        let timeout = Duration::from_nanos(group.timeout.as_ns());
        let mut quiet = Self { group: group.name.clone(), after: group.after.clone(), timeout, session: None };
        if let Some(before) = &group.before {
            // A program that failed may have done half of its work: what comes after it runs when this is dropped.
            quiet.run("before", before)?;
        }
        if has_session {
            quiet.session = Some(Session::begin(group)?);
        }
        Ok(Some(quiet))
    }

    /// The copy is made: the application goes on. The copy counts only if this does not fail.
    pub(crate) fn end(mut self) -> Result<(), ShelterError> {
        let ended = self.session.take().map_or(Ok(()), Session::end);
        let after = self.after.take().map_or(Ok(()), |after| self.run("after", &after));
        ended.and(after)
    }

    fn run(&self, which: &str, words: &[String]) -> Result<(), ShelterError> {
        run_program(words, self.timeout).map_err(|reason| ShelterError::NotOneMoment {
            group: self.group.clone(),
            reason: format!("its program {which:?} {reason}"),
        })
    }
}

impl Drop for QuietGroup {
    fn drop(&mut self) {
        self.session = None;
        if let Some(after) = self.after.take() {
            // Whatever went wrong was said already: this only lets the application go on.
            let _ = self.run("after", &after);
        }
    }
}

/// Runs a program to its end, within a time. On failure: why, in words.
fn run_program(words: &[String], timeout: Duration) -> Result<(), String> {
    use std::os::unix::process::CommandExt as _;
    let (program, rest) = words.split_first().ok_or("has no name")?;
    let mut command = Command::new(program);
    // A group of its own: with it ends what it started.
    command.args(rest).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().map_err(|error| format!("does not start: {program}: {error}"))?;
    let said = child.stderr.take().map(|output| {
        std::thread::spawn(move || {
            let lines = BufReader::new(output).lines().map_while(Result::ok);
            lines.filter(|line| !line.trim().is_empty()).last().unwrap_or_default()
        })
    });
    let begun = std::time::Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if begun.elapsed() < timeout => std::thread::sleep(LOOK),
            _ => {
                let group = rustix::process::Pid::from_child(&child);
                let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
                let _ = child.wait();
                return Err(format!("did not end within {:.1} s: {program}", timeout.as_secs_f64()));
            }
        }
    };
    if status.success() {
        return Ok(());
    }
    let said: String = said.and_then(|said| said.join().ok()).unwrap_or_default().chars().take(WORDS_MAX).collect();
    Err(format!("failed ({status}): {program}: {said}"))
}

/// What a program prints, line by line, as it comes.
pub(crate) fn lines_of(output: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (sender, lines) = channel();
    if let Some(output) = output {
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
    }
    lines
}

/// A program that lets an application's files be as long as it runs.
#[derive(Debug)]
struct Session {
    group: String,
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    timeout: Duration,
}

impl Session {
    /// Begins the session of a group.
    fn begin(group: &Group) -> Result<Self, ShelterError> {
        let words = if let Moment::Session(words) = &group.moment { words.as_slice() } else { &[] };
        let failed = |reason: String| ShelterError::NotOneMoment { group: group.name.clone(), reason };
        let (program, rest) = words.split_first().ok_or_else(|| failed("the session has no program".into()))?;
        let mut child = Command::new(program)
            .args(rest)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| failed(format!("{program} does not start: {error}")))?;
        let (input, lines) = (child.stdin.take(), lines_of(child.stdout.take()));
        let timeout = Duration::from_nanos(group.timeout.as_ns());
        let mut session = Self { group: group.name.clone(), child, input, lines, timeout };
        session.exchange("begin", "ready")?;
        Ok(session)
    }

    /// The copy is made: the application goes on.
    fn end(mut self) -> Result<(), ShelterError> {
        self.exchange("end", "done")
    }

    fn exchange(&mut self, word: &str, answer: &str) -> Result<(), ShelterError> {
        let group = self.group.clone();
        let failed = |reason: String| ShelterError::NotOneMoment { group, reason };
        let sent = self.input.as_mut().map(|input| writeln!(input, "{word}").and_then(|()| input.flush()));
        if !matches!(sent, Some(Ok(()))) {
            return Err(failed(format!("its session ended before {word:?}")));
        }
        match self.lines.recv_timeout(self.timeout) {
            Ok(line) if line.trim() == answer => Ok(()),
            Ok(line) => Err(failed(format!("its session wrote {line:?} where {answer:?} was due"))),
            Err(RecvTimeoutError::Timeout) => Err(failed(format!("its session did not write {answer:?} in time"))),
            Err(RecvTimeoutError::Disconnected) => Err(failed(format!("its session ended before {answer:?}"))),
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Its input ends: it undoes what it did.
        self.input = None;
        let begun = std::time::Instant::now();
        while begun.elapsed() < Duration::from_secs(2) {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
