//! A session with an application while its files are copied: one program for its whole length, told over its standard input.
//!
//! It reads `begin` and writes `ready`; then the copy is made; it reads `end` and writes `done`. If this process dies, the
//! program's input ends, and it undoes what it did.

use crate::error::ShelterError;
use loadline_shelter::config::{Group, Moment};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// How long an application may take to be ready, and to end.
const ANSWER_TIME: Duration = Duration::from_secs(120);

/// An application that holds still.
#[derive(Debug)]
pub(crate) struct Session {
    group: String,
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Session {
    /// Begins the session of a group.
    pub(crate) fn begin(group: &Group) -> Result<Self, ShelterError> {
        let words = match &group.moment {
            Moment::Session(words) => words.clone(),
            other => {
                let reason = format!("{other:?} is not known to this build");
                return Err(ShelterError::NotOneMoment { group: group.name.clone(), reason });
            }
        };
        let failed = |reason: String| ShelterError::NotOneMoment { group: group.name.clone(), reason };
        let (program, rest) = words.split_first().ok_or_else(|| failed("the session has no program".into()))?;
        let mut child = Command::new(program)
            .args(rest)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| failed(format!("{program} does not start: {error}")))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
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
        let mut session = Self { group: group.name.clone(), child, input, lines };
        session.exchange("begin", "ready")?;
        Ok(session)
    }

    /// The copy is made: the application goes on.
    pub(crate) fn end(mut self) -> Result<(), ShelterError> {
        self.exchange("end", "done")
    }

    fn exchange(&mut self, word: &str, answer: &str) -> Result<(), ShelterError> {
        let group = self.group.clone();
        let failed = |reason: String| ShelterError::NotOneMoment { group, reason };
        let sent = self.input.as_mut().map(|input| writeln!(input, "{word}").and_then(|()| input.flush()));
        if !matches!(sent, Some(Ok(()))) {
            return Err(failed(format!("its session ended before {word:?}")));
        }
        match self.lines.recv_timeout(ANSWER_TIME) {
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
